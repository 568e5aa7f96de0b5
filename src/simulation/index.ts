/**
 * A plan file simulated: from a plan, options and traces to a run, a sweep of runs, a report document and a timeline.
 *
 * In go a plan, profiles and options as a person gives them; out come runs and documents. The virtual time is `simulator`'s,
 * the decisions are `serving`'s. It writes no report: `api` does. Start with `setup.ts`, then `run.ts`.
 */

export { simulationReport } from './document.js';
export type { SimulationProgress } from './run.js';
export { lengthFaults, prepareSimulation, type SimulationOptions, windowFaults } from './setup.js';
export { runSweep, type SweepOptions, type SweepProgress, sweptLoads } from './sweep.js';
export { SimulationThread } from './thread.js';
export { atLoadFactor } from './workload.js';
