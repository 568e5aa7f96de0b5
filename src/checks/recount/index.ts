/**
 * This folder counts the devices of pipeline plans and gear plans again: in use, on standby, by class, by GPU and in memory.
 *
 * It takes a plan as its file has it, and gives faults.
 */
export { countedGpus } from './counted-gpus.js';
export { countedPlan, recountFaults } from './recount.js';
