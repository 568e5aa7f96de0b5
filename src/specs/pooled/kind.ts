import type { PooledPlan } from '../../artifacts/index.js';
import type { PlanExplanation } from '../../milp/index.js';
import type { KindTypes } from '../spec-of.js';
import type { CompareCase } from './cases.js';
import type { HeldOutcome } from './hold.js';
import type { LoadedPooled, LoadedProblem } from './pooled.js';

/** PooledTypes are the types of pooled specs. */
export interface PooledTypes extends KindTypes {
  readonly spec: 'pooled';
  readonly plan: PooledPlan;
  readonly outcome: 'plan';
  readonly explanation: PlanExplanation;
  readonly loaded: LoadedProblem;
  readonly compared: LoadedPooled;
  readonly variant: CompareCase;
  readonly answer: HeldOutcome;
}
