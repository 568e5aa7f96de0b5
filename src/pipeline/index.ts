/**
 * This room resolves specs of pipelines, DAGs of whole models on devices of one class or several, with their figures.
 *
 * It takes a spec with its cluster and profiles as values. It gives the plan that the spec fixes with its figures (scale
 * factors, rates, the longest path), or coded reasons why that is no plan, or every fault of the spec. It reads no files
 * and simulates nothing. `inferline` chooses what a spec leaves open, and the graph is in `plans`.
 * Start reading at `resolve.ts`, then `given.ts`.
 */

export { DEFAULT_NAME, leastSloMs, servedApplications } from './applications.js';
export { replicaCount } from './device-sets.js';
export { planChosen, planGiven } from './given.js';
export { classFigures, latencyUsByBatch, measuredBatches } from './latencies.js';
export { busiestUplink } from './link-uses.js';
export { drawnDurationNs, tracedSpan } from './load-duration.js';
export { loadTooHighText } from './load-too-high.js';
export { longestPath, type PathTimes } from './longest-path.js';
export { givenFigures, openFigures } from './measured-figures.js';

export { countWithin, objectiveNotes, objectivesOf, shareWithin } from './objectives.js';
export { type OpenProblem, resolveOpen, unprofiledNotes } from './open.js';
export {
  freeCounts,
  freeGpus,
  type GivenOutcome,
  type GivenProblem,
  type GivenReason,
  type PipelineFiles,
  serverCounts,
} from './problem.js';

export { pipelineSpecFaults, resolveGiven, weightBytes } from './resolve.js';

export { FALLBACKS, IN_ORDER, pipelineServing, servesInOrder } from './serving.js';
export { classUses, hourlyCost } from './stage-placement.js';
export { type DevicesOf, grantedStandby, standbyOf, withStandby } from './standby.js';

export { type RunPipeline, resolveRun } from './to-count.js';
export { edgeBytes, linkUs } from './transfers.js';
export { scaleFactors } from './visits.js';
