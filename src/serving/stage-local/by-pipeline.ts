import { NONE as SHARED_NONE } from '../../collections/index.js';
import { PoolsUp, type Requests, type WaitingTasks } from '../state/index.js';
import { Pipelines } from './pipelines.js';
import type { PipelineChoice } from './policy.js';
import type { SharedState } from './shared-state.js';

const NONE = SHARED_NONE;

/** ByPipeline is what placements have in common that give a request its pipeline when it comes (PipelineChoice). */
export abstract class ByPipeline {
  protected readonly poolsUp: PoolsUp;
  private readonly pipelines: Pipelines;
  private readonly tasks: Requests;
  private readonly waitingTasks: WaitingTasks;

  constructor(
    state: Pick<SharedState, 'topology' | 'columns' | 'durations' | 'requests' | 'queues'>,
    choice: PipelineChoice,
  ) {
    this.poolsUp = new PoolsUp(state.topology);
    this.pipelines = new Pipelines(choice, this.poolsUp, state);
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
}
