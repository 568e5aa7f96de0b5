import { NONE as SHARED_NONE } from '../../../collections/index.js';
import type { Decisions } from '../../decisions.js';
import { type RequestLife, Taken as SharedTaken } from '../../state/index.js';
import { AlongEdges } from './along-edges.js';
import type { Onward, OnwardHooks } from './onward.js';

const NONE = SHARED_NONE;
const Taken = SharedTaken;

/**
 * Passing moves the tasks of DAGs from stage to stage. After an execution, a task goes on along every edge that is
 * taken for it, as one task along each. Before a stage with several edges into it, it waits until all of them have
 * spoken, and the tasks of a row that come there become one. An edge that is not taken says so too: a stage that no
 * edge reaches is left out, and its own edges are not taken either. A task that goes nowhere ends.
 */
export class Passing extends AlongEdges implements Onward {
  /** isGone says whether each task of the batch that is sent on has gone along an edge already. */
  private readonly isGone: boolean[] = [];

  constructor(
    life: RequestLife,
    decisions: Decisions,
    private readonly hooks: OnwardHooks,
  ) {
    super(life, decisions);
  }

  enter(at: number, request: number, first: number): void {
    const beside = this.graph.entriesBeside(first);
    let task = this.requests.firstTask(request);
    for (let row = this.requests.rowsOf(request); row > 0; row--, task = this.requests.nextTask(task))
      for (const entry of beside) this.hooks.comesTo(at, this.branch(task), entry);
  }

  sendOn(at: number, batch: number): void {
    const pool = this.batches.pool(batch);
    const end = this.graph.firstEdge[pool + 1] as number;
    this.takeOut(batch);
    if (this.hooks.watchesEdges(pool)) this.tellTaken(pool);
    this.isGone.length = 0;
    for (let i = 0; i < this.tasks.length; i++) this.isGone.push(false);
    for (let edge = this.graph.firstEdge[pool] as number; edge < end; edge++) this.sendAlong(edge, batch);
    const { tasks } = this;
    for (let i = 0; i < tasks.length; i++) this.tellNotTaken(at, tasks[i] as number, pool);
    for (let i = 0; i < tasks.length; i++) if (!this.isGone[i]) this.life.endTask(at, tasks[i] as number);
    this.batches.close(batch);
  }

  protected goingAlong(edge: number, i: number, batch: number): number {
    const task = this.tasks[i] as number;
    if (!this.isTaken(edge, task, this.batches.pool(batch))) return NONE;
    const going = this.isGone[i] ? this.branch(task) : task;
    this.isGone[i] = true;
    return going;
  }

  private tellTaken(pool: number): void {
    const first = this.graph.firstEdge[pool] as number;
    const count = (this.graph.firstEdge[pool + 1] as number) - first;
    for (let i = 0; i < this.tasks.length; i++) {
      let mask = 0;
      for (let edge = 0; edge < count; edge++)
        if (this.isTaken(first + edge, this.tasks[i] as number, pool)) mask |= 1 << (edge & 31);
      this.hooks.took(pool, mask);
    }
  }

  private branch(from: number): number {
    const task = this.requests.branch(from);
    this.hooks.branched(task);
    return task;
  }

  private isTaken(edge: number, task: number, pool: number): boolean {
    const { taken, below, bit } = this.graph;
    switch (taken[edge] as SharedTaken) {
      case Taken.always:
        return true;
      case Taken.verdict:
        return ((this.verdictOn(task, pool) >>> (bit[edge] as number)) & 1) === 1;
      case Taken.unsure:
        return this.verdictOn(task, pool) < (below[edge] as number);
    }
  }

  private verdictOn(task: number, pool: number): number {
    return this.flows.verdict(this.requests.flowOf(task), pool);
  }

  protected reaches(at: number, task: number, stage: number): void {
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

  /** isNotReachedBy reports that one edge into a stage is not taken. */
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
