import type { Streams } from '../../random/index.js';
import type { Durations, OpenBatches, PlanColumns, Requests, TaskQueues } from '../state/index.js';
import type { Topology } from '../topology.js';
import type { Gears } from './gears.js';
import type { PlannedBatches } from './planned-batches.js';

/** SharedState is the state of one stage-local scheduler that its parts work on together. */
export interface SharedState {
  readonly topology: Topology;
  readonly columns: PlanColumns;
  readonly requests: Requests;
  readonly batches: OpenBatches;
  readonly queues: TaskQueues;
  readonly durations: Durations;
  readonly planned: PlannedBatches;
  /** The gears of a plan of cascades. */
  readonly gears?: Gears | undefined;
  /** The streams of rules that draw random numbers. */
  readonly streams: Streams;
}
