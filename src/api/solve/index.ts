/**
 * `solveSpec`: a spec solved on a thread of its own, and what `explain` adds.
 *
 * Start with `solve.ts`; `pooled.ts` loads a spec with its cluster and profiles.
 */
export { type LoadedPooled, loadPooled, loadProblem } from './pooled.js';
export {
  missedWhatWasAsked,
  type Solved,
  type SolveLimits,
  type SolveOptions,
  searchLimits,
  solveSpec,
} from './solve.js';
export { SolverThread } from './solve-thread.js';
