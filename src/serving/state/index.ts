/**
 * The folder `state` holds what every scheduler keeps: requests and their tasks, batches, queues, durations,
 * and which pools are up.
 *
 * In go events and the scheduler's choices, out come the outcomes of requests as decisions. The folder
 * chooses no pipeline, no device and no batch size. Start with `life.ts`, which owns every transition between
 * a request's arrival and its one outcome, then read `requests.ts` for the columns.
 */

export type { FeedbackCorrection, ReservationCorrection } from './corrections.js';
export { DagColumns, Taken } from './dag-columns.js';
export { DeviceMembers } from './device-members.js';
export { Durations } from './durations.js';
export type { Flows } from './flows.js';
export { RequestLife } from './life.js';
export { OpenBatches } from './open-batches.js';
export { NEXT_BY_EDGES, PlanColumns } from './plan-columns.js';
export { PoolsUp } from './pools-up.js';
export { isListOrder, listsOf, waitingTasks, weighedQueues } from './queues-of-order.js';
export { Requests } from './requests.js';
export { TaskQueues } from './task-queues.js';
export type { QueueOrder, WaitingTasks } from './waiting-tasks.js';
export { MOST_LEVELS, type ServingPace, WeighedQueues } from './weighed-queues.js';
