import type { CascadeTypes } from './cascade/index.js';
import type { PipelineTypes } from './pipeline/index.js';
import type { PooledTypes } from './pooled/index.js';
import type { SpecKind } from './spec-kind.js';
import type { SpecOf } from './spec-of.js';
import type { WorkflowTypes } from './workflow/index.js';

/** SpecTypes has the types of each kind of spec. */
export interface SpecTypes {
  readonly pooled: PooledTypes;
  readonly pipeline: PipelineTypes;
  readonly cascade: CascadeTypes;
  readonly workflow: WorkflowTypes;
}

/** AnySpecTypes are the types of a spec whose kind is known to nobody who asks; they hold together by where they come from. */
export type AnySpecTypes = SpecTypes[SpecKind];

/** SPECS has a door to what is asked of each kind of spec, so that no command loads what another kind needs. */
const SPECS: { readonly [K in SpecKind]: () => Promise<SpecOf<SpecTypes[K]>> } = {
  pooled: async () => (await import('./pooled/index.js')).POOLED_SPECS,
  pipeline: async () => (await import('./pipeline/index.js')).PIPELINE_SPECS,
  cascade: async () => (await import('./cascade/index.js')).CASCADE_SPECS,
  workflow: async () => (await import('./workflow/index.js')).WORKFLOW_SPECS,
};

/**
 * specOf gives what is asked of specs of a kind. Its functions take specs, plans and cases of that kind only.
 */
export function specOf<K extends SpecKind>(kind: K): Promise<SpecOf<SpecTypes[K]>> {
  return SPECS[kind]();
}
