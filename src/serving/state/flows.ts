import { grownCapacity, grownColumn, NONE as SHARED_NONE, Slots } from '../../collections/index.js';
import type { DagColumns } from './dag-columns.js';

const NONE = SHARED_NONE;

/**
 * Flows holds how far each row of a request has come in its DAG. Every edge into a stage speaks once for a row: the
 * stage is reached by it, or it is not. A stage begins when all have spoken and one has reached it. Requests of chains
 * have no flows. Stages are named by their pools. Memory follows the rows in flight, with 14 bytes per stage of the
 * largest DAG.
 */
export class Flows {
  private readonly slots = new Slots();
  private readonly width: number;
  private rows = new Int32Array(0);
  /** The gear by which each row is served, in cascades. */
  private gears = new Int32Array(0);
  /** The place of pool 0 of each flow in the columns below, which hold the flow's own stages only. */
  private origin = new Int32Array(0);
  /** The number of edges into each stage of a flow that have not spoken. */
  private unspoken = new Uint8Array(0);
  /** The task that waits before each stage until all edges have spoken, NONE where none does. */
  private waiting = new Int32Array(0);
  private verdicts = new Float64Array(0);
  /** begunBeside says whether a stage parallel to each stage has taken the row on. */
  private begunBeside = new Uint8Array(0);

  constructor(private readonly graph: DagColumns) {
    this.width = graph.mostStages;
  }

  /** open takes a slot for one row of a request that enters the DAG whose first stage is that of pool `first`. */
  open(first: number, row: number): number {
    const flow = this.slots.take();
    if (flow >= this.rows.length) this.grow(flow + 1);
    this.rows[flow] = row;
    const from = flow * this.width;
    this.origin[flow] = from - first;
    for (let i = 0; i < this.width; i++) {
      this.unspoken[from + i] = this.graph.edgesInto[first + i] ?? 0;
      this.waiting[from + i] = NONE;
      this.begunBeside[from + i] = 0;
    }
    return flow;
  }

  close(flow: number): void {
    this.slots.giveBack(flow);
  }

  rowOf(flow: number): number {
    return this.rows[flow] as number;
  }

  /** gearOf is the gear that was active when the row came. */
  gearOf(flow: number): number {
    return this.gears[flow] as number;
  }

  setGear(flow: number, gear: number): void {
    this.gears[flow] = gear;
  }

  /**
   * speak reports that one more edge into a stage has spoken.
   * @returns whether all have
   */
  speak(flow: number, stage: number): boolean {
    return --this.unspoken[(this.origin[flow] as number) + stage]! === 0;
  }

  /** waitingAt is the task that waits before a stage, NONE where none does. */
  waitingAt(flow: number, stage: number): number {
    return this.waiting[(this.origin[flow] as number) + stage] as number;
  }

  setWaiting(flow: number, stage: number, task: number): void {
    this.waiting[(this.origin[flow] as number) + stage] = task;
  }

  /** verdict is what the model of a stage said of the row. */
  verdict(flow: number, stage: number): number {
    return this.verdicts[(this.origin[flow] as number) + stage] as number;
  }

  setVerdict(flow: number, stage: number, verdict: number): void {
    this.verdicts[(this.origin[flow] as number) + stage] = verdict;
  }

  /** isBegunBeside returns whether a stage parallel to this one has taken the row on. */
  isBegunBeside(flow: number, stage: number): boolean {
    return this.begunBeside[(this.origin[flow] as number) + stage] === 1;
  }

  setBegunBeside(flow: number, stage: number): void {
    this.begunBeside[(this.origin[flow] as number) + stage] = 1;
  }

  private grow(length: number): void {
    const capacity = grownCapacity(this.rows.length, length);
    this.rows = grownColumn(this.rows, capacity);
    this.gears = grownColumn(this.gears, capacity);
    this.origin = grownColumn(this.origin, capacity);
    this.unspoken = grownColumn(this.unspoken, capacity * this.width);
    this.waiting = grownColumn(this.waiting, capacity * this.width);
    this.verdicts = grownColumn(this.verdicts, capacity * this.width);
    this.begunBeside = grownColumn(this.begunBeside, capacity * this.width);
  }
}
