import { NONE as SHARED_NONE } from '../../../collections/index.js';
import { must } from '../../broken-promise.js';
import { type OpenBatches, PoolsUp, type Requests, type WaitingTasks } from '../../state/index.js';
import type { PipelineChoice } from '../policy.js';
import type { SharedState } from '../shared-state.js';
import { Pipelines } from './pipelines.js';

const NONE = SHARED_NONE;

/** ByPipelineState is what placements by pipeline work on together. */
export type ByPipelineState = Pick<
  SharedState,
  'topology' | 'columns' | 'durations' | 'requests' | 'queues' | 'batches'
>;

/**
 * ByPipeline is what placements have in common that give a request its pipeline when it comes (PipelineChoice), and a device
 * one batch at a time.
 */
export abstract class ByPipeline {
  protected readonly poolsUp: PoolsUp;
  private readonly pipelines: Pipelines;
  /** `runs` is the batch on each device, NONE where it is idle or down; `endAt` is when it is expected to end. */
  protected readonly runs: Int32Array;
  protected readonly endAt: Float64Array;
  /** `lastUse` is when the last execution of each pool ended. */
  private readonly lastUse: Float64Array;
  /**
   * isUnequal says whether each pool has devices of several classes, and when the last execution of each
   * device ended.
   */
  private readonly isUnequal: Uint8Array;
  private readonly lastDeviceUse: Float64Array;
  private readonly open: OpenBatches;
  private readonly tasks: Requests;
  private readonly waitingTasks: WaitingTasks;

  constructor(state: ByPipelineState, choice: PipelineChoice) {
    this.poolsUp = new PoolsUp(state.topology);
    this.pipelines = new Pipelines(choice, this.poolsUp, state);
    this.runs = new Int32Array(state.topology.devices.length).fill(NONE);
    this.endAt = new Float64Array(state.topology.devices.length);
    this.lastUse = new Float64Array(state.topology.pools.length);
    this.isUnequal = Uint8Array.from(state.topology.pools, ({ classes }) => (classes === undefined ? 0 : 1));
    this.lastDeviceUse = new Float64Array(state.topology.devices.length);
    this.open = state.batches;
    this.tasks = state.requests;
    this.waitingTasks = state.queues;
  }

  /** begin places a task at the beginning of a pipeline. */
  begin(at: number, task: number): void {
    this.enter(task, this.choose(at, task));
  }

  /**
   * goOn lets the task wait for the pool. Where the task's pipeline is not up and another is, it begins again
   * there: the driver still has the request's inputs. In a DAG it waits: its row may be at other stages too.
   */
  goOn(at: number, task: number, pool: number): void {
    this.tasks.setPool(task, pool);
    if (this.tasks.flowOf(task) !== NONE || this.poolsUp.isUp(pool)) return;
    this.ended(task);
    const entry = this.choose(at, task);
    if (this.poolsUp.isUp(entry)) {
      this.enter(task, entry);
      this.tasks.setQueuedAt(task, at);
    } else this.pipelines.entered(this.tasks.entryOf(task));
  }

  private choose(at: number, task: number): number {
    const request = this.tasks.requestOf(task);
    return this.pipelines.choose(this.tasks.modelOf(request), this.waitingTasks.latestEnd(task), at);
  }

  private enter(task: number, entry: number): void {
    this.pipelines.entered(entry);
    this.tasks.setEntry(task, entry);
    this.tasks.setPool(task, entry);
  }

  branched(task: number): void {
    this.pipelines.entered(this.tasks.entryOf(task));
  }

  ended(task: number): void {
    const entry = this.tasks.entryOf(task);
    if (entry !== NONE) this.pipelines.left(entry);
  }

  /** devicesUp counts the devices of a pool that are up. */
  devicesUp(pool: number): number {
    return this.poolsUp.devicesIn(pool);
  }

  /** freeAt is when the batch on a device is expected to end, 0 where it has none. */
  freeAt(device: number): number {
    return this.runs[device] === NONE ? 0 : (this.endAt[device] as number);
  }

  lastUseAt(pool: number, device: number): number {
    return (this.isUnequal[pool] === 1 ? this.lastDeviceUse[device] : this.lastUse[pool]) as number;
  }

  started(_at: number, batch: number): void {
    must(this.runs[this.open.device(batch)] === batch, 'a batch started that is not on its device');
  }

  executed(at: number, batch: number): void {
    this.lastUse[this.open.pool(batch)] = at;
    this.lastDeviceUse[this.open.device(batch)] = at;
    this.fellFree(batch);
  }

  failed(_at: number, batch: number): void {
    this.fellFree(batch);
  }

  private fellFree(batch: number): void {
    const device = this.open.device(batch);
    must(this.runs[device] === batch, 'a batch ended that was not on its device');
    this.runs[device] = NONE;
    this.fellIdle(device);
  }

  /** fellIdle hears of a device that has ended its batch; it may have been retired. */
  protected abstract fellIdle(device: number): void;

  isDeviceUp(device: number): boolean {
    return this.poolsUp.isDeviceUp(device);
  }

  /** running is the batch on a device, NONE where there is none. */
  running(device: number): number {
    return this.runs[device] as number;
  }

  abstract retire(device: number): readonly number[];

  /** deviceDown gives the batch that was on a device. */
  deviceDown(device: number): readonly number[] {
    const batch = this.runs[device] as number;
    this.retire(device);
    this.runs[device] = NONE;
    return batch === NONE ? [] : [batch];
  }
}
