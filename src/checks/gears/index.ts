/**
 * This folder finds where a gear plan contradicts itself.
 */
export { gearPlanFaults } from './gear-plan-faults.js';
