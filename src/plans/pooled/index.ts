/**
 * This folder says what a pooled plan is: models cut into partitions that pools of devices serve.
 */
export { diffPlans, type PlanDiff } from './diff.js';
export { pooledFieldChanges } from './diff-fields.js';
export { topologyOf } from './topology.js';
