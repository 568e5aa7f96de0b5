/**
 * This folder answers specs of cascades: it loads them, plans gears on threads, confirms plans and compares cases.
 * `CASCADE_SPECS` is its only door.
 */
import type { SpecOf } from '../spec-of.js';
import { loadCascade } from './cascade.js';
import type { CascadeTypes } from './kind.js';

export type { CascadeTypes } from './kind.js';

/** CASCADE_SPECS is what is asked of specs of cascades. */
export const CASCADE_SPECS: SpecOf<CascadeTypes> = {
  load: loadCascade,
  described: ({ spec }) => `cascade spec of ${spec.value.models.length} models`,
  notes: ({ resolved }) => resolved.notes,
  solving: async () => (await import('./solve.js')).solvingCascade,
  confirming: async () => (await import('./confirm.js')).confirmingCascade,
  comparing: async () => (await import('./compare.js')).comparingCascade,
};
