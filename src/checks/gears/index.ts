/**
 * This folder finds where a gear plan contradicts itself, and where what it promises does.
 */
export { gearPlanFaults } from './gear-plan-faults.js';
export { gearPromiseFaults } from './promise-faults.js';
export { gearRecordFaults, type RecordsOfPlan } from './record-faults.js';
