import { OutcomeCode, type SimulationObserver, type SimulationView } from '../../../src/simulator/index.js';
import type { Watch } from '../watched-run.js';

/** Passed is what a request spent at each stage of a chain, in nanoseconds: queueing Q, batch wait W and duration D. */
export interface Passed {
  readonly sentNs: number;
  readonly queueing: Float64Array;
  readonly wait: Float64Array;
  readonly duration: Float64Array;
}

/** Collected is a task that was put into a batch: when, where, and how long it had queued. */
export interface Collected {
  readonly atNs: number;
  readonly pool: number;
  readonly queuedNs: number;
}

/** Came is a task that came to a stage, with what was left of its request's SLO. */
export interface Came {
  readonly atNs: number;
  readonly leftNs: number;
}

type Told<K extends keyof SimulationObserver> = Parameters<NonNullable<SimulationObserver[K]>>;

/** StageTimes watches where the time of the requests to a chain goes. It keeps all that it is told. */
export class StageTimes implements Watch {
  /** The requests that were answered in time, in the order of their ends. */
  readonly inTime: Passed[] = [];
  readonly collects: Collected[] = [];
  /** By pool, the tasks that came to it, in order. */
  readonly came: Came[][];
  private readonly open = new Map<number, { passed: Passed; receivedNs: number; batchedNs: number }>();
  private view: SimulationView | undefined;

  constructor(
    private readonly pools: number,
    private readonly sloNs: number,
  ) {
    this.came = Array.from({ length: pools }, () => []);
  }

  begun(view: SimulationView): void {
    this.view = view;
  }

  arrived(atNs: number, _model: number, request: number): void {
    const column = () => new Float64Array(this.pools);
    const passed = { sentNs: atNs, queueing: column(), wait: column(), duration: column() };
    this.open.set(request, { passed, receivedNs: atNs, batchedNs: 0 });
    this.came[0]?.push({ atNs, leftNs: this.sloNs });
  }

  collected(atNs: number, task: number, pool: number): void {
    const one = this.open.get((this.view as SimulationView).requestOf(task));
    if (one === undefined) return;
    const queuedNs = atNs - one.receivedNs;
    one.batchedNs = atNs;
    one.passed.queueing[pool] = queuedNs;
    this.collects.push({ atNs, pool, queuedNs });
  }

  executed(...[batch, pool, , size, , startNs, endNs]: Told<'executed'>): void {
    this.eachOf(batch, size, (one) => {
      one.passed.wait[pool] = startNs - one.batchedNs;
      one.passed.duration[pool] = endNs - startNs;
    });
  }

  transferred(...[batch, pool, , , size, , , endNs]: Told<'transferred'>): void {
    this.eachOf(batch, size, (one) => {
      one.receivedNs = endNs;
      this.came[pool + 1]?.push({ atNs: endNs, leftNs: this.sloNs - (endNs - one.passed.sentNs) });
    });
  }

  ended(...[, , request, , outcome]: Told<'ended'>): void {
    const one = this.open.get(request);
    this.open.delete(request);
    if (one !== undefined && outcome === OutcomeCode.inTime) this.inTime.push(one.passed);
  }

  private eachOf(
    batch: number,
    size: number,
    each: (one: { passed: Passed; receivedNs: number; batchedNs: number }) => void,
  ): void {
    const view = this.view as SimulationView;
    for (let i = 0; i < size; i++) {
      const one = this.open.get(view.requestOf(view.core.batchTask(batch, i)));
      if (one !== undefined) each(one);
    }
  }
}
