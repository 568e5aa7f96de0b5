/**
 * This room counts the devices of pipeline plans and gear plans again: in use, on standby, by class, by GPU and in memory.
 *
 * It takes a plan as its file has it, and gives faults. It shares no code with the planners, nor with what makes their
 * placements: an arrow rule lets it import only `artifacts`. It searches nothing and simulates nothing.
 */
export { countedPlan, recountFaults } from './recount.js';
