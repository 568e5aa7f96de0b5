import { DEFAULT_POLICY, type StageLocalPolicy } from './policy.js';

/** Ray Serve waits so long for the batch of a `@serve.batch` that names no `batch_wait_timeout_s`. */
const BATCH_WAIT_TIMEOUT_NS = 10e6;

/**
 * RAY_SERVE_GATHER_MS is how long a replica of a bundle for Ray Serve that is idle waits for the rest of a batch: rows that left
 * a stage together are sent on one after the other.
 */
export const RAY_SERVE_GATHER_MS = 5;

const RAY_SERVE: StageLocalPolicy = {
  ...DEFAULT_POLICY,
  order: { kind: 'fifo' },
  placement: 'per-device',
  choice: { kind: 'proportional' },
  dispatch: { kind: 'two-ongoing' },
  formation: { kind: 'gathered', gatherNs: 1e6 * RAY_SERVE_GATHER_MS },
  drop: { kind: 'full-batch', share: 1 },
  late: { kind: 'drop' },
  correction: { kind: 'none' },
};

/**
 * ENGINE_POLICIES holds how other engines serve a plan. docs/serving.md says of each choice what of the engine it stands for.
 * - ray-serve: Ray Serve with the batcher of the app that `plan deploy` writes: a replica takes what waits for it when it has
 *   ended a batch, and drops what would be late alone, or in a full batch while more than that waits.
 * - ray-serve-batch: Ray Serve with its own `@serve.batch`, which knows no deadlines.
 * - triton: Triton's dynamic batcher, with one queue a model, batches of up to the planned one, and a queue policy that rejects
 *   what has waited longer than the stage's part of what the SLO leaves beside executions.
 */
export const ENGINE_POLICIES = {
  'ray-serve': RAY_SERVE,
  'ray-serve-batch': {
    ...RAY_SERVE,
    formation: { kind: 'sealed', timeoutNs: BATCH_WAIT_TIMEOUT_NS },
    drop: { kind: 'timed-out', slos: 2 },
  },
  triton: {
    ...RAY_SERVE,
    placement: 'on-arrival',
    dispatch: DEFAULT_POLICY.dispatch,
    formation: { kind: 'delay', delayNs: 0 },
    drop: { kind: 'stage-budget', shares: 'spare', until: 'start' },
  },
} as const satisfies Record<string, StageLocalPolicy>;
