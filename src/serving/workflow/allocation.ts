import type { Streams } from '../../random/index.js';
import type { Decisions } from '../decisions.js';
import type { Topology } from '../topology.js';
import type { Outputs } from './outputs.js';
import type { Residency } from './residency.js';
import type { Placeable, WorkflowTable } from './table.js';
import type { OpenRequest, Task } from './work.js';

/** ReadyTasks hears which tasks can be executed, as far as their inputs are concerned. */
export interface ReadyTasks {
  /** ready reports that all inputs of a task are made. */
  ready(task: Task): void;
  /**
   * left reports that a task that was ready is not to be executed now: its request has its outcome, or an input is
   * lost. It still has the device that it was given.
   */
  left(task: Task): void;
  /** touched reports that a device may have something to do: outputs have come to it or gone from it. */
  touched(device: number): void;
}

/**
 * Allocation gives tasks whose inputs are made to devices, which hold components, and has these executed in batches. It knows
 * nothing of a task before all its inputs are made, and expects none.
 */
export interface Allocation extends ReadyTasks {
  /** ended reports that the batch of these tasks is over on a device, in whichever way. */
  ended(device: number, tasks: readonly Task[]): void;
  /** fetched reports that a fetch has come to its end: what it took can leave where it lay. */
  fetched(): void;
  loaded(device: number, component: number): void;
  /** loadFailed reports that a device could not load a component. */
  loadFailed(device: number, component: number): void;
  deviceUp(device: number): void;
  /**
   * deviceDown takes back the tasks that a device was given.
   * @returns those that it had not begun. They are reported as ready again if they still are.
   */
  deviceDown(device: number): readonly Task[];
  /** drain reports that no further request is taken in. */
  drain(): void;
  /** relieve lets outputs leave the devices where more has come than there is room for. */
  relieve(): void;
  /**
   * decide begins what can be begun.
   * @returns when it is to be asked again at the latest, infinite where nothing but an event changes anything
   */
  decide(at: number): number;
}

/** AllocationParts are what an Allocation decides with. */
export interface AllocationParts {
  readonly topology: Topology;
  readonly table: WorkflowTable;
  readonly placeable: Placeable;
  readonly residency: Residency;
  readonly outputs: Outputs;
  readonly decisions: Decisions;
  readonly streams: Streams;
  /** execute has a device, which executes nothing, execute tasks of one component, whose inputs are there. */
  readonly execute: (at: number, device: number, tasks: readonly Task[]) => void;
  readonly isExecuting: (device: number) => boolean;
  /** drop ends a request whose task no device can be given. */
  readonly drop: (request: OpenRequest) => void;
}
