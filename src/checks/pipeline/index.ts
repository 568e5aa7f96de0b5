/**
 * This folder finds where a pipeline plan contradicts itself, by a reading of its graph of its own.
 */
export { pipelinePlanFaults } from './pipeline-plan-faults.js';
