import {
  DeviceState,
  OutcomeCode,
  type SimulationObserver,
  type SimulationView,
} from '../../../src/simulator/index.js';
import type { WorkerSteps } from '../oracle/problem.js';

const NS_PER_S = 1e9;
const NS_PER_MS = 1e6;

/** RunCounts is what one scheduler made of a workload. Seconds are those in which requests came. */
export interface RunCounts {
  readonly arrived: number;
  readonly inTime: number;
  readonly late: number;
  readonly dropped: number;
  readonly failed: number;
  /** Requests that were dropped before they came to a stage, and at each stage. */
  readonly droppedAtEntry: number;
  readonly droppedAt: Uint32Array;
  /** The device time of all requests, and of those that were dropped or late. */
  readonly usedNs: number;
  readonly wastedNs: number;
  readonly arrivedIn: Uint32Array;
  readonly inTimeIn: Uint32Array;
  /** By stage, how long a task waits in the mean before its batch begins, of tasks that were executed. */
  readonly waitMs: Float64Array;
  /** By stage, how many are in a batch in the mean. */
  readonly batch: Float64Array;
  /** By stage, the devices that are up over time. */
  readonly workers: readonly WorkerSteps[];
}

type EndedRequest = Parameters<NonNullable<SimulationObserver['ended']>>;

/**
 * WatchedRun observes a run of one application and counts what the figures of PARD's evaluation need. Device time that a
 * request takes after it was dropped on another branch counts as wasted.
 */
export class WatchedRun implements SimulationObserver {
  private readonly outcomes = new Float64Array(4);
  private readonly droppedAt: Uint32Array;
  private droppedAtEntry = 0;
  private usedNs = 0;
  private wastedNs = 0;
  private readonly arrivedIn: Uint32Array;
  private readonly inTimeIn: Uint32Array;
  private readonly waitedNs: Float64Array;
  private readonly tasks: Float64Array;
  private readonly batches: Float64Array;
  private readonly workers: { readonly fromNs: number[]; readonly count: number[] }[] = [];
  private readonly poolOf: number[] = [];
  private readonly isUp: boolean[] = [];
  /** By the number of a request, its device time, and whether it was dropped. */
  private readonly spentNs: number[] = [];
  private readonly isLost: boolean[] = [];
  /** By the number of a request and stage, when all that leads to the stage had ended. */
  private readonly readyNs: number[] = [];
  private view: SimulationView | undefined;

  /** @param seconds how long requests come */
  constructor(
    private readonly pools: number,
    seconds: number,
  ) {
    this.droppedAt = new Uint32Array(pools);
    this.arrivedIn = new Uint32Array(seconds);
    this.inTimeIn = new Uint32Array(seconds);
    this.waitedNs = new Float64Array(pools);
    this.tasks = new Float64Array(pools);
    this.batches = new Float64Array(pools);
  }

  begun(view: SimulationView): void {
    this.view = view;
    const { pools, devices } = view.topology;
    pools.forEach((pool, p) => {
      for (const device of pool.devices) {
        this.poolOf[device] = p;
        this.isUp[device] = devices[device]?.standby !== true;
      }
      const up = pool.devices.filter((device) => this.isUp[device]).length;
      this.workers.push({ fromNs: [0], count: [up] });
    });
  }

  arrived(atNs: number, _model: number, request: number): void {
    this.arrivedIn[Math.floor(atNs / NS_PER_S)]! += 1;
    this.spentNs[request] = 0;
    this.isLost[request] = false;
    for (let pool = 0; pool < this.pools; pool++) this.readyNs[request * this.pools + pool] = atNs;
  }

  ended(...[, , request, arrivedNs, outcome, , pool]: EndedRequest): void {
    this.outcomes[outcome]! += 1;
    const spentNs = this.spentNs[request]!;
    this.usedNs += spentNs;
    if (outcome === OutcomeCode.inTime) this.inTimeIn[Math.floor(arrivedNs / NS_PER_S)]! += 1;
    if (outcome === OutcomeCode.late || outcome === OutcomeCode.dropped) this.wastedNs += spentNs;
    this.isLost[request] = outcome === OutcomeCode.dropped;
    if (outcome !== OutcomeCode.dropped) return;
    if (pool < 0) this.droppedAtEntry += 1;
    else this.droppedAt[pool]! += 1;
  }

  executed(
    ...[batch, pool, , size, , startNs, endNs]: Parameters<NonNullable<SimulationObserver['executed']>>
  ): void {
    const { core, topology } = this.view as SimulationView;
    const { edges } = topology.pools[pool]!;
    const shareNs = (endNs - startNs) / size;
    this.batches[pool]! += 1;
    this.tasks[pool]! += size;
    for (let i = 0; i < size; i++) {
      const request = this.view!.requestOf(core.batchTask(batch, i));
      const row = request * this.pools;
      this.waitedNs[pool]! += startNs - this.readyNs[row + pool]!;
      for (const { to } of edges) this.readyNs[row + to] = Math.max(this.readyNs[row + to]!, endNs);
      if (this.isLost[request]) {
        this.usedNs += shareNs;
        this.wastedNs += shareNs;
      } else this.spentNs[request]! += shareNs;
    }
  }

  scaled(atNs: number, device: number, state: number): void {
    const isUp = state === DeviceState.up;
    if (state === DeviceState.comesUp || isUp === this.isUp[device]) return;
    this.isUp[device] = isUp;
    const { fromNs, count } = this.workers[this.poolOf[device]!]!;
    const now = count.at(-1)! + (isUp ? 1 : -1);
    if (fromNs.at(-1) === atNs) count[count.length - 1] = now;
    else {
      fromNs.push(atNs);
      count.push(now);
    }
  }

  counts(): RunCounts {
    const { outcomes, droppedAtEntry, droppedAt, usedNs, wastedNs, arrivedIn, inTimeIn, workers } = this;
    return {
      arrived: arrivedIn.reduce((sum, count) => sum + count, 0),
      inTime: outcomes[OutcomeCode.inTime]!,
      late: outcomes[OutcomeCode.late]!,
      dropped: outcomes[OutcomeCode.dropped]!,
      failed: outcomes[OutcomeCode.failed]!,
      droppedAtEntry,
      droppedAt,
      usedNs,
      wastedNs,
      arrivedIn,
      inTimeIn,
      workers,
      waitMs: this.waitedNs.map((ns, pool) => ns / this.tasks[pool]! / NS_PER_MS),
      batch: this.tasks.map((tasks, pool) => tasks / this.batches[pool]!),
    };
  }
}
