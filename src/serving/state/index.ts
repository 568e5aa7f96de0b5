/**
 * The state that every scheduler keeps: requests and their tasks, batches, queues, durations, pools that are up.
 *
 * `life.ts` is the life of a request: it owns every transition between a request's arrival and its one outcome.
 * Start there, then `requests.ts` for the columns.
 */
export { Batches } from './batches.js';
export type { FeedbackCorrection, ReservationCorrection } from './corrections.js';
export { Durations } from './durations.js';
export { RequestLife } from './life.js';
export { PoolsUp } from './pools-up.js';
export { Requests } from './requests.js';
export { type QueueOrder, TaskQueues } from './task-queues.js';
