import type { PlanKind } from '../plans/index.js';

/** SPEC_KINDS lists the kinds of spec that are planned. */
export const SPEC_KINDS = ['pooled', 'pipeline', 'cascade', 'workflow'] as const;

/** SpecKind is a kind of spec. */
export type SpecKind = (typeof SPEC_KINDS)[number];

/** PLAN_KIND says which kind of plan answers a kind of spec. */
export const PLAN_KIND: { readonly [K in SpecKind]: PlanKind } = {
  pooled: 'pooled-plan',
  pipeline: 'pipeline-plan',
  cascade: 'gear-plan',
  workflow: 'workflow-plan',
};
