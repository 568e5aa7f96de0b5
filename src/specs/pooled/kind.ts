import type { PooledPlan } from '../../formats/index.js';
import type { PlanExplanation, PooledOutcome } from '../../milp/index.js';
import type { NotHeld } from '../not-held.js';
import type { KindTypes } from '../spec-of.js';
import type { CompareCase } from './cases.js';
import type { LoadedPooled, LoadedProblem } from './pooled.js';
import type { SolveJob } from './solve-job.js';

/** PooledTypes are the types of pooled specs. */
export interface PooledTypes extends KindTypes {
  readonly spec: 'pooled';
  readonly plan: PooledPlan;
  readonly outcome: 'plan';
  readonly explanation: PlanExplanation;
  readonly loaded: LoadedProblem;
  readonly compared: LoadedPooled;
  readonly variant: CompareCase;
  readonly job: Extract<SolveJob, { readonly kind: 'plan' }>;
  readonly answer: PooledOutcome & { readonly notHeld?: NotHeld | undefined };
}
