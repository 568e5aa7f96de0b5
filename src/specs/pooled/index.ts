/**
 * This folder answers pooled specs: it loads them, solves them on threads, searches for what they hold, times partitions,
 * confirms plans and compares cases. `POOLED_SPECS` is its only door.
 */
import { counted } from '../../formats/index.js';
import type { SpecOf } from '../spec-of.js';
import type { PooledTypes } from './kind.js';
import { loadProblem } from './pooled.js';

export type { PooledTypes } from './kind.js';

/** POOLED_SPECS is what is asked of pooled specs. */
export const POOLED_SPECS: SpecOf<PooledTypes> = {
  load: loadProblem,
  described: ({ problem }) => `pooled spec of ${counted(problem.models.length, 'model')}`,
  notes: ({ problem }) => problem.models.flatMap(({ notes }) => notes),
  solving: async () => (await import('./solve.js')).solvingPooled,
  confirming: async () => (await import('./confirm.js')).confirmingPooled,
  comparing: async () => (await import('./compare.js')).comparingPooled,
};
