import { quickselect } from 'simple-statistics';
import type { Cascade } from './cascade.js';
import { GearRun, type GearTrial } from './gear-run.js';
import { Balance, type ModelPlacement, modelLoads } from './placement.js';
import type { GearProblem } from './problem.js';
import { writtenShares } from './shares.js';

/** A trial has at least so many requests, and at most the second number. */
const LEAST_REQUESTS = 2_000;
const MOST_REQUESTS = 20_000;
/** A trial lasts so many times the latency that is promised, as far as the numbers of requests allow. */
const LATENCIES = 10;

/** ArrivalsOf draws the arrivals of a load: so many, at a mean rate, always the same. */
export type ArrivalsOf = (requests: number, rps: number) => Float64Array;

/**
 * proportionalArrivals gives loads whose gaps are the same at every rate, in proportion, so that a rate is no harder by
 * chance than another. Gaps are drawn when they are first needed.
 * @param gap draws the next gap, of a load with a mean gap of 1
 */
export function proportionalArrivals(gap: () => number): ArrivalsOf {
  let times = new Float64Array(0);
  return (requests, rps) => {
    if (times.length < requests) {
      const before = times;
      let at = before.at(-1) ?? 0;
      times = Float64Array.from({ length: requests }, (_, i) => {
        at = i < before.length ? at : at + gap();
        return before[i] ?? at;
      });
    }
    const nsPerGap = 1e9 / rps;
    return times.subarray(0, requests).map((time) => Math.round(time * nsPerGap));
  };
}

/** TunedGear is how a cascade is batched in a range, and what the trial gave. */
export interface TunedGear {
  readonly minQueues: readonly number[];
  readonly timeoutNs: number;
  /** The time within which the promised quantile of the requests was answered. */
  readonly latencyNs: number;
  /** The time within which 95 % of the requests were answered, which is the same where that share is promised. */
  readonly p95Ns: number;
}

/** GearError says why a cascade does not serve a range: its models need more time than there is, or requests are late. */
export interface GearError {
  readonly by: 'load' | 'latency';
  /** The model that needs most of the time. */
  readonly model: number;
}

/** TriedGear is the answer of a trial. */
export type TriedGear = { readonly gear: TunedGear } | { readonly error: GearError };

/**
 * Trials tries cascades at the highest rate of a range, with minimum queue lengths as short as will do (CascadeServe
 * §4.5). It remembers what it tried. `count` is the number of simulated gears, the work of a search.
 */
export class GearTrials {
  count = 0;
  /** How often requests came to queues and batches began in all of them. */
  events = 0;
  private readonly tried = new Map<string, TriedGear>();
  private readonly arrivals = new Map<number, Float64Array>();

  constructor(
    private readonly problem: GearProblem,
    private readonly arrivalsOf: ArrivalsOf,
  ) {}

  /** try tries a cascade in a range on a placement. */
  try(range: number, cascade: Cascade, placement: ModelPlacement): TriedGear {
    const key = `${range}/${cascade.models}/${cascade.thresholds}/${placement}`;
    const before = this.tried.get(key);
    if (before !== undefined) return before;
    const answer = this.answer(range, cascade, placement);
    this.tried.set(key, answer);
    return answer;
  }

  private answer(range: number, cascade: Cascade, placement: ModelPlacement): TriedGear {
    const { models, latencyNs } = this.problem;
    const rps = this.rpsOf(range);
    const balance = new Balance(placement, models.length);
    const load = modelLoads(models, cascade, rps);
    const { share, bottleneck } = balance.utilization(load);
    if (share > 1) return { error: { by: 'load', model: bottleneck } };
    let by: GearError['by'] = 'latency';
    if (cascade.floorNs > latencyNs) return { error: { by, model: bottleneck } };
    const first = models[cascade.models[0] as number] as GearProblem['models'][number];
    const shares = writtenShares(placement, load);
    for (const minQueue of queueLengths(first.latencyNs.length)) {
      // The first request of a batch waits for the others.
      if (((minQueue - 1) / rps) * 1e9 + cascade.floorNs > latencyNs) break;
      const gear = this.gear(range, cascade, { placement, shares, minQueue });
      if (typeof gear === 'object') return { gear };
      by = gear;
    }
    return { error: { by, model: bottleneck } };
  }

  /** gear tries minimum queue lengths. @returns what a trial gave, or why it failed */
  private gear(
    range: number,
    cascade: Cascade,
    { placement, shares, minQueue }: Pick<GearTrial, 'placement' | 'shares'> & { readonly minQueue: number },
  ): TunedGear | GearError['by'] {
    this.count += 1;
    const { models, latencyNs, quantile } = this.problem;
    const minQueues = cascade.models.map((_, step) => (step === 0 ? minQueue : 1));
    // At half of the rate, which is above the lowest of every range but the first two, a queue still fills in time.
    const timeoutNs = Math.round((2e9 * (minQueue - 1)) / this.rpsOf(range));
    const arrivalsNs = this.arrivalsAt(range);
    const mostLate = lateAllowed(quantile, arrivalsNs.length);
    const limits = Number.isFinite(latencyNs) ? { limitNs: latencyNs, mostLate } : {};
    const trial = { cascade, placement, shares, minQueues, timeoutNs, arrivalsNs, ...limits };
    const run = new GearRun(models, trial);
    const ended = run.run();
    this.events += run.events;
    if (ended === undefined) return 'latency';
    if (!run.keptUp) return 'load';
    const beyondP95 = lateAllowed(0.95, arrivalsNs.length);
    const answeredNs = quantileOf(ended, arrivalsNs, mostLate);
    const p95Ns = beyondP95 === mostLate ? answeredNs : quantileOf(ended, arrivalsNs, beyondP95);
    return { minQueues, timeoutNs, latencyNs: answeredNs, p95Ns };
  }

  private rpsOf(range: number): number {
    return (this.problem.ranges[range] as GearProblem['ranges'][number]).toRps;
  }

  private arrivalsAt(range: number): Float64Array {
    const before = this.arrivals.get(range);
    if (before !== undefined) return before;
    const rps = this.rpsOf(range);
    const { latencyNs } = this.problem;
    const wanted = Number.isFinite(latencyNs)
      ? Math.ceil((rps * LATENCIES * latencyNs) / 1e9)
      : MOST_REQUESTS;
    const requests = Math.max(LEAST_REQUESTS, Math.min(MOST_REQUESTS, wanted));
    const arrivals = this.arrivalsOf(requests, rps);
    this.arrivals.set(range, arrivals);
    return arrivals;
  }
}

/** queueLengths lists minimum queue lengths to try. (CascadeServe adds one at a time; here they double.) */
function queueLengths(most: number): number[] {
  const lengths: number[] = [];
  for (let length = 1; length <= most; length *= 2) lengths.push(length);
  return lengths;
}

/** lateAllowed is how many of the requests may take longer than a quantile. */
function lateAllowed(quantile: number, requests: number): number {
  return Math.floor((1 - quantile) * requests + 1e-9);
}

/** quantileOf is the longest time of all requests but the `mostLate` slowest. */
function quantileOf(endedNs: Float64Array, arrivalsNs: Float64Array, mostLate: number): number {
  const times: number[] = [];
  for (let request = 0; request < endedNs.length; request++)
    times.push((endedNs[request] as number) - (arrivalsNs[request] as number));
  const place = Math.max(0, times.length - 1 - mostLate);
  quickselect(times, place);
  return times[place] as number;
}
