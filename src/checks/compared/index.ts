/**
 * This folder finds where comparisons of plans, and verifications of a load by its simulation, contradict themselves.
 */
export { comparisonFaults } from './comparison-faults.js';
export { verificationFaults } from './verification-faults.js';
