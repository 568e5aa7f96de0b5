/**
 * This folder turns a spec and its profiles into a problem, and the figures of profiles into tables that the planner
 * adds up and looks up.
 *
 * A latency of a profile becomes a figure of a plan here: `span-latencies.ts` adds up layers or blocks between two cuts
 * for each device class, virtual size and batch, less what their joining saves. Start with `resolve.ts`, then
 * `tables.ts`.
 */

export { fastestGpuRps, type Normalised, normalised, powerOfTwo, type Scale } from './normalised.js';
export { modelNotes, type ProfileFile, resolvePooled, unusableNote } from './resolve.js';
export { joinedBetween, leastSpanUs, type SpanLatencies, spanUs } from './span-latencies.js';
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
export { usableFigures } from './usable-figures.js';
