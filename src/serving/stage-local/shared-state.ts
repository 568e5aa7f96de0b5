import type { Lists } from '../../collections/index.js';
import type { Streams } from '../../random/index.js';
import type { Durations, OpenBatches, PlanColumns, Requests, WaitingTasks } from '../state/index.js';
import type { Topology } from '../topology.js';
import type { PlannedBatches } from './forming/planned-batches.js';
import type { Readings } from './pard-state/readings.js';
import type { StatePlanner } from './pard-state/state-planner.js';
import type { Gears } from './scaling/gears.js';

/** SharedState is the state of one stage-local scheduler that its parts work on together. */
export interface SharedState {
  readonly topology: Topology;
  readonly columns: PlanColumns;
  readonly requests: Requests;
  readonly batches: OpenBatches;
  readonly queues: WaitingTasks;
  /** The tasks of each queue that are collected for the next batch: none where batches are not formed ahead. */
  readonly collected: Lists;
  readonly durations: Durations;
  readonly planned: PlannedBatches;
  /** The planner that observes the stages, for rules that decide by what it observed. */
  readonly planner?: StatePlanner | undefined;
  /** The gears of a plan of cascades. */
  readonly gears?: Gears | undefined;
  /** The readings that replace those of docs/pard.md where the paper of PARD leaves a choice open. */
  readonly readings?: Readings | undefined;
  /** The streams of rules that draw random numbers. */
  readonly streams: Streams;
}
