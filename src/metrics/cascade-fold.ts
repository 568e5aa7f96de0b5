import { largestOf, NONE } from '../collections/index.js';
import { NS_PER_MS, NS_PER_S } from '../formats/index.js';
import { quantileOfSorted } from './percentiles.js';
import type { BatchView } from './run-metrics.js';
import { OutcomeIndex } from './run-shape.js';

/** CascadeShape is what a CascadeFold must know of a run. */
export interface CascadeShape {
  /** The number of models. */
  readonly stages: number;
  readonly gears: number;
  readonly durationNs: number;
  /** Requests are taken together that arrived in one window of this length. */
  readonly windowNs?: number;
  /** isRight says whether a model's answer to a request is right, by the number of requests before it. */
  readonly isRight: (order: number, stage: number) => boolean;
}

/** CascadeFigures says how the requests of a gear plan were answered. */
export interface CascadeFigures {
  /** The share of answered requests that were answered rightly; absent where none was answered. */
  readonly accuracy?: number;
  /** The share of answered requests that each model answered, and the share of these that is right. */
  readonly answeredBy: readonly { readonly share: number; readonly accuracy?: number }[];
  /** The share of time in which each gear was active. */
  readonly gearShares: readonly number[];
  /** How often another gear became active. */
  readonly shifts: number;
  readonly windows?: readonly CascadeWindow[];
}

/** CascadeWindow has the answered requests that arrived in a window. */
export interface CascadeWindow {
  readonly fromS: number;
  readonly accuracy?: number;
  readonly p95Ms?: number;
  /** The gear that was active longest. */
  readonly gear: number;
}

type EndedRequest = [atNs: number, model: number, request: number, arrivedNs: number, outcome: number];

/**
 * CascadeFold observes a run of a gear plan: which model answered each request, and whether rightly, and which gear was
 * active when. With windows it keeps every latency.
 */
export class CascadeFold {
  private view: BatchView | undefined;
  /** The stage that executed each open request last, and the number of requests before it, by its number. */
  private readonly last: number[] = [];
  private readonly order: number[] = [];
  private arrivals = 0;
  private readonly answered: Float64Array;
  private readonly right: Float64Array;
  private readonly gearNs: Float64Array;
  private readonly windows: { answered: number; right: number; latencies: number[]; gearNs: Float64Array }[];
  private gear = 0;
  private gearFromNs = 0;
  private shifts = 0;

  constructor(private readonly shape: CascadeShape) {
    this.answered = new Float64Array(shape.stages);
    this.right = new Float64Array(shape.stages);
    this.gearNs = new Float64Array(shape.gears);
    const count =
      shape.windowNs === undefined ? 0 : Math.max(1, Math.ceil(shape.durationNs / shape.windowNs));
    this.windows = Array.from({ length: count }, () => ({
      answered: 0,
      right: 0,
      latencies: [],
      gearNs: new Float64Array(shape.gears),
    }));
  }

  begun(view: BatchView): void {
    this.view = view;
  }

  arrived(_atNs: number, _model: number, request: number): void {
    this.last[request] = NONE;
    this.order[request] = this.arrivals++;
  }

  /** executed reports that a batch was executed: its number, pool, device and size. */
  executed(...[batch, pool, , size]: [batch: number, pool: number, device: number, size: number]): void {
    const { core, requestOf } = this.view as BatchView;
    for (let i = 0; i < size; i++) this.last[requestOf(core.batchTask(batch, i))] = pool;
  }

  /** ended reports that a request has ended: when, its model and number, when it came, and its outcome. */
  ended(...[atNs, , request, arrivedNs, outcome]: EndedRequest): void {
    const stage = this.last[request] as number;
    if (stage === NONE || (outcome !== OutcomeIndex.inTime && outcome !== OutcomeIndex.late)) return;
    const isRight = this.shape.isRight(this.order[request] as number, stage) ? 1 : 0;
    this.answered[stage]! += 1;
    this.right[stage]! += isRight;
    const window = this.windows[Math.floor(arrivedNs / (this.shape.windowNs ?? 1))];
    if (window === undefined) return;
    window.answered += 1;
    window.right += isRight;
    window.latencies.push(atNs - arrivedNs);
  }

  /** shifted reports that another gear is active. */
  shifted(atNs: number, gear: number): void {
    this.addGear(atNs);
    this.gear = gear;
    this.shifts += 1;
  }

  private addGear(untilNs: number): void {
    const toNs = Math.min(untilNs, this.shape.durationNs);
    this.gearNs[this.gear]! += Math.max(0, toNs - this.gearFromNs);
    const { windowNs } = this.shape;
    for (let fromNs = this.gearFromNs; windowNs !== undefined && fromNs < toNs; ) {
      const window = Math.floor(fromNs / windowNs);
      const endNs = Math.min(toNs, (window + 1) * windowNs);
      const cell = this.windows[window];
      if (cell !== undefined) cell.gearNs[this.gear]! += endNs - fromNs;
      fromNs = endNs;
    }
    this.gearFromNs = Math.max(this.gearFromNs, toNs);
  }

  /** figures gives the figures of the run until a time. Nothing is reported afterwards. */
  figures(untilNs: number): CascadeFigures {
    this.addGear(untilNs);
    const all = sum(this.answered);
    const gearNs = sum(this.gearNs);
    return {
      ...shareIfAny('accuracy', sum(this.right), all),
      answeredBy: Array.from(this.answered, (answered, stage) => ({
        share: all === 0 ? 0 : answered / all,
        ...shareIfAny('accuracy', this.right[stage] as number, answered),
      })),
      gearShares: Array.from(this.gearNs, (ns) => (gearNs === 0 ? 0 : ns / gearNs)),
      shifts: this.shifts,
      ...(this.shape.windowNs === undefined ? {} : { windows: this.windowFigures(this.shape.windowNs) }),
    };
  }

  private windowFigures(windowNs: number): CascadeWindow[] {
    return this.windows.map(({ answered, right, latencies, gearNs }, i) => {
      const sorted = Float64Array.from(latencies).sort();
      return {
        fromS: (i * windowNs) / NS_PER_S,
        ...shareIfAny('accuracy', right, answered),
        ...(answered === 0 ? {} : { p95Ms: (quantileOfSorted(sorted, 0.95) as number) / NS_PER_MS }),
        gear: gearNs.indexOf(largestOf(gearNs)),
      };
    });
  }
}

function sum(values: Float64Array): number {
  return values.reduce((all, value) => all + value, 0);
}

function shareIfAny<K extends string>(name: K, part: number, all: number): { readonly [_ in K]?: number } {
  return (all === 0 ? {} : { [name]: part / all }) as { readonly [_ in K]?: number };
}
