/**
 * This folder says what a gear plan is: cascades of whole models, and which of them serves which load.
 */
export { diffGears } from './diff.js';
export { GEAR_PLAN } from './gear-plan.js';
export { servedCascadeOf, unlikeModelFaults, unservedCascadeFaults } from './served-cascade.js';
