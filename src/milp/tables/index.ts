/**
 * What profiles say, as tables the planner sums and looks up; from a spec and its profiles to a problem.
 *
 * A latency of a profile becomes a figure of a plan here: `tables.ts` sums layers or blocks between two cuts for each device
 * class, virtual size and batch. Start with `resolve.ts`, then `tables.ts`.
 */

export { blockOfLayers } from './layer-rows.js';
export { fastestGpuRps, type Normalised, normalised, powerOfTwo, type Scale } from './normalised.js';
export { type ProfileFile, resolvePooled } from './resolve.js';
export {
  type ClassTable,
  classesOf,
  fitsMemory,
  type ModelTable,
  modelTable,
  type ProblemTables,
  type Slot,
  slowerLink,
  transferUs,
  virtualGpuRps,
} from './tables.js';
