/**
 * This folder says what a pooled plan is: models cut into partitions that pools of devices serve.
 */
export { diffPlans, type PlanDiff } from './diff.js';
export { POOLED_PLAN } from './pooled-plan.js';
export { topologyOf } from './topology.js';
