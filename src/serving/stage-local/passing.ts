import { NONE as SHARED_NONE } from '../../collections/index.js';
import { type Decisions, Decision as SharedDecision } from '../decisions.js';
import {
  type DagColumns,
  type Flows,
  type OpenBatches,
  type RequestLife,
  type Requests,
  Taken as SharedTaken,
} from '../state/index.js';
import type { Onward, OnwardHooks } from './onward.js';

const NONE = SHARED_NONE;

const Decision = SharedDecision;
const Taken = SharedTaken;

/**
 * Passing moves the tasks of DAGs from stage to stage. After an execution, a task goes on along every edge that is
 * taken for it, as one task along each. Before a stage with several edges into it, it waits until all of them have
 * spoken, and the tasks of a row that come there become one. An edge that is not taken says so too: a stage that no
 * edge reaches is left out, and its own edges are not taken either. A task that goes nowhere ends.
 */
export class Passing implements Onward {
  private readonly graph: DagColumns;
  private readonly flows: Flows;
  private readonly requests: Requests;
  private readonly batches: OpenBatches;
  /** The tasks of the batch that is sent on, and whether each has gone along an edge already. */
  private readonly tasks: number[] = [];
  private readonly isGone: boolean[] = [];

  constructor(
    private readonly life: RequestLife,
    private readonly decisions: Decisions,
    private readonly hooks: OnwardHooks,
  ) {
    this.graph = life.graph;
    this.flows = life.flows;
    this.requests = life.requests;
    this.batches = life.batches;
  }

  enter(at: number, request: number, first: number): void {
    const beside = this.graph.entriesBeside(first);
    let task = this.requests.firstTask(request);
    for (let row = this.requests.rowsOf(request); row > 0; row--, task = this.requests.nextTask(task))
      for (const entry of beside) this.hooks.comesTo(at, this.branch(task), entry);
  }

  openFlows(request: number, first: number): void {
    let task = this.requests.firstTask(request);
    for (let row = 0; row < this.requests.rowsOf(request); row++, task = this.requests.nextTask(task))
      this.requests.setFlow(task, this.flows.open(first, row));
  }

  judged(batch: number, verdicts: ArrayLike<number>): void {
    const pool = this.batches.pool(batch);
    for (let i = 0; i < this.batches.size(batch); i++)
      this.flows.setVerdict(this.requests.flowOf(this.batches.task(batch, i)), pool, verdicts[i] ?? 0);
  }

  sendOn(at: number, batch: number): void {
    const pool = this.batches.pool(batch);
    const end = this.graph.firstEdge[pool + 1] as number;
    this.takeOut(batch);
    for (let edge = this.graph.firstEdge[pool] as number; edge < end; edge++) this.sendAlong(edge, batch);
    const { tasks } = this;
    for (let i = 0; i < tasks.length; i++) this.tellNotTaken(at, tasks[i] as number, pool);
    for (let i = 0; i < tasks.length; i++) if (!this.isGone[i]) this.life.endTask(at, tasks[i] as number);
    this.batches.close(batch);
  }

  /** takeOut takes the tasks that are still wanted out of their batch. */
  private takeOut(batch: number): void {
    this.tasks.length = 0;
    this.isGone.length = 0;
    for (let i = 0; i < this.batches.size(batch); i++) {
      const task = this.batches.task(batch, i);
      if (!this.life.cameBack(task)) continue;
      this.tasks.push(task);
      this.isGone.push(false);
    }
  }

  private sendAlong(edge: number, batch: number): void {
    let sent = NONE;
    for (let i = 0; i < this.tasks.length; i++) {
      const task = this.tasks[i] as number;
      if (!this.isTaken(edge, task, this.batches.pool(batch))) continue;
      if (sent === NONE) sent = this.batches.open(this.batches.pool(batch), this.batches.device(batch));
      this.life.putInBatch(sent, this.isGone[i] ? this.branch(task) : task);
      this.isGone[i] = true;
    }
    if (sent === NONE) return;
    this.batches.setMoving(sent, edge);
    this.decisions.push(Decision.transfer, sent, this.batches.device(sent), NONE);
  }

  private branch(from: number): number {
    const task = this.requests.branch(from);
    this.hooks.branched(task);
    return task;
  }

  private isTaken(edge: number, task: number, pool: number): boolean {
    const { taken, below, bit } = this.graph;
    if (taken[edge] === Taken.always) return true;
    const verdict = this.flows.verdict(this.requests.flowOf(task), pool);
    if (taken[edge] === Taken.unsure) return verdict < (below[edge] as number);
    return ((verdict >>> (bit[edge] as number)) & 1) === 1;
  }

  delivered(at: number, batch: number): void {
    const stage = this.graph.to[this.batches.edge(batch)] as number;
    for (let i = 0; i < this.batches.size(batch); i++) {
      const task = this.batches.task(batch, i);
      if (this.life.cameBack(task)) this.reach(at, task, stage);
    }
    this.batches.close(batch);
  }

  stageAfter(batch: number): number {
    return this.graph.to[this.batches.edge(batch)] as number;
  }

  private reach(at: number, task: number, stage: number): void {
    if (this.graph.edgesInto[stage] === 1) {
      this.hooks.comesTo(at, task, stage);
      return;
    }
    const { flows } = this;
    const flow = this.requests.flowOf(task);
    // Of the tasks of a row that come to a stage, the first goes on for all.
    if (flows.waitingAt(flow, stage) === NONE) flows.setWaiting(flow, stage, task);
    else this.requests.endTask(this.requests.requestOf(task));
    if (flows.speak(flow, stage)) this.hooks.comesTo(at, flows.waitingAt(flow, stage), stage);
  }

  private tellNotTaken(at: number, task: number, pool: number): void {
    const { firstEdge, to } = this.graph;
    const flow = this.requests.flowOf(task);
    for (let edge = firstEdge[pool] as number; edge < (firstEdge[pool + 1] as number); edge++)
      if (!this.isTaken(edge, task, pool)) this.isNotReachedBy(at, flow, to[edge] as number);
  }

  /** isNotReachedBy tells that one edge into a stage is not taken. */
  private isNotReachedBy(at: number, flow: number, stage: number): void {
    const { flows, graph } = this;
    if (!flows.speak(flow, stage)) return;
    const waiting = flows.waitingAt(flow, stage);
    if (waiting !== NONE) {
      this.hooks.comesTo(at, waiting, stage);
      return;
    }
    const end = graph.firstEdge[stage + 1] as number;
    for (let edge = graph.firstEdge[stage] as number; edge < end; edge++)
      this.isNotReachedBy(at, flow, graph.to[edge] as number);
  }
}
