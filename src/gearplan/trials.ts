import { quickselect } from 'simple-statistics';
import { itemAt } from '../collections/index.js';
import { type Cascade, floorOf } from './cascade.js';
import { GearRun, GearRunRoom, type GearTrial } from './gear-run.js';
import { Balance, type ModelPlacement, modelLoads } from './placement.js';
import type { FamilyModel, GearProblem, LoadRange } from './problem.js';
import { writtenShares } from './shares.js';

/**
 * A trial counts as many requests as there are samples, since some stretches of these have more work; at least and at
 * most this many,
 */
const LEAST_COUNTED = 8_000;
const MOST_COUNTED = 20_000;
/** after queues were filled at twice the rate for the time of one latency, and have settled for this many times the latency. */
export const SETTLE_LATENCIES = 10;
/** Where that would be more than this many requests, queues are filled and settle for a shorter time. */
export const MOST_SETTLING = 6_000;
/** The rates that a gear of the first range is tried at, as shares of its highest. */
const SHARES_OF_FIRST = [0.01, 0.05, 0.2, 0.5, 1];
/** Of the requests that may be late, a range that is planned for more load allows this many times that share less, */
const STRICTER = 5;
/** and never less than this share of them. */
const LEAST_LATE = 0.5;

/** ArrivalsOf draws the arrivals of a load: so many, at a mean rate, always the same. */
export type ArrivalsOf = (requests: number, rps: number) => Float64Array;

/**
 * proportionalArrivals gives loads whose gaps are the same at every rate, in proportion, so that a rate is no harder by
 * chance than another. They come at the rate that is asked for to the last request, since a load that is slower by chance
 * promises too much. Gaps are drawn when they are first needed.
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
    const drawn = times.subarray(0, requests);
    const nsPerGap = (1e9 / rps) * (requests / (drawn.at(-1) ?? 1));
    return drawn.map((time) => Math.round(time * nsPerGap));
  };
}

/**
 * promisedRps gives the rates at which a range is tried and confirmed: its ends and its middle. The first range, whose lower
 * end is no load, has several low rates, at which batches wait for company to their timeout.
 */
export function promisedRps({ fromRps, toRps }: Pick<LoadRange, 'fromRps' | 'toRps'>): number[] {
  if (fromRps > 0) return [fromRps, (fromRps + toRps) / 2, toRps];
  return SHARES_OF_FIRST.map((share) => share * toRps);
}

/** quantileWith is the share of requests that a trial asks for in time, where a range is planned for more load by a share. */
export function quantileWith(quantile: number, headroom: number): number {
  return 1 - (1 - quantile) * Math.max(LEAST_LATE, 1 - STRICTER * headroom);
}

/** TunedGear is how a cascade is batched in a range, and what the trial gave. */
export interface TunedGear {
  readonly minQueues: readonly number[];
  readonly timeoutNs: number;
  /** The time within which the promised quantile of the requests was answered. */
  readonly latencyNs: number;
  /** The time within which 95 % of the requests were answered, which is the same where that share is promised. */
  readonly p95Ns: number;
  /** The share of the time in which the busiest device was busy, at the highest rate. */
  readonly busy: number;
}

/** GearError says why a cascade does not serve a range: its models need more time than there is, or requests are late. */
export interface GearError {
  readonly by: 'load' | 'latency';
  /** The model that needs most of the time. */
  readonly model: number;
}

/** TriedGear is the answer of a trial. */
export type TriedGear = { readonly gear: TunedGear } | { readonly error: GearError };

/** TriedGears keeps what gears gave in several searches, and counts how often requests came and batches began in all of them. */
export class TriedGears {
  readonly answers = new Map<string, TriedGear>();
  events = 0;
}

/** Load is what a gear is tried on: its arrivals, of which the first do not count. */
interface Load {
  readonly arrivalsNs: Float64Array;
  readonly warmUp: number;
}

/**
 * Trials tries cascades at the ends and in the middle of a range, with minimum queue lengths as short as will do
 * (CascadeServe §4.5). The highest is raised by the range's headroom. Queues are filled first and let settle, since a load
 * that is a little too high is late only after longer. It remembers what it tried. `count` is the number of simulated
 * gears, the work of a search.
 */
export class GearTrials {
  count = 0;
  /** How often requests came to queues and batches began in all of them. */
  events = 0;
  private readonly loads = new Map<number, Load>();
  private readonly room = new GearRunRoom();

  constructor(
    private readonly problem: GearProblem,
    private readonly arrivalsOf: ArrivalsOf,
    private readonly tried = new TriedGears(),
  ) {}

  /** try tries a cascade in a range on a placement. */
  try(range: number, cascade: Cascade, placement: ModelPlacement): TriedGear {
    const { latencyNs } = this.problem;
    const key = `${range}/${this.headroom(range)}/${latencyNs}/${cascade.models}/${cascade.thresholds}/${placement}`;
    const before = this.tried.answers.get(key);
    if (before !== undefined) return before;
    const answer = this.answer(range, cascade, placement);
    this.tried.answers.set(key, answer);
    return answer;
  }

  private answer(range: number, cascade: Cascade, placement: ModelPlacement): TriedGear {
    const { models, latencyNs, ranges, quantile: promised } = this.problem;
    const { toRps } = itemAt(ranges, range);
    const rps = toRps * (1 + this.headroom(range));
    const balance = new Balance(placement, models.length);
    const { share, bottleneck } = balance.utilization(modelLoads(models, cascade, rps));
    if (share > 1) return { error: { by: 'load', model: bottleneck } };
    let by: GearError['by'] = 'latency';
    const quantile = quantileWith(promised, this.headroom(range));
    if (floorOf(models, cascade, quantile) > latencyNs) return { error: { by, model: bottleneck } };
    const first = itemAt(models, cascade.models[0] as number);
    const shares = writtenShares(placement, modelLoads(models, cascade, toRps));
    for (const minQueue of queueLengths(first.latencyNs.length)) {
      const batchedNs = batchedFloor(models, cascade, { minQueue, quantile });
      // The first request of a batch waits for the others, and then for the batch.
      if (((minQueue - 1) / rps) * 1e9 + batchedNs > latencyNs) break;
      // At half of the rate, which is above the lowest of every range but the first two, a queue still fills in time.
      const filledNs = Math.round((2e9 * (minQueue - 1)) / toRps);
      const timeoutNs = Math.min(filledNs, Math.floor(latencyNs - batchedNs));
      const minQueues = cascade.models.map((_, step) => (step === 0 ? minQueue : 1));
      const gear = this.gear(range, quantile, { cascade, placement, shares, minQueues, timeoutNs });
      if (typeof gear === 'object') return { gear };
      by = gear;
    }
    return { error: { by, model: bottleneck } };
  }

  /** gear tries minimum queue lengths at the rates of a range. @returns what the trials gave, or why one failed */
  private gear(
    range: number,
    quantile: number,
    trial: Pick<GearTrial, 'cascade' | 'placement' | 'shares' | 'minQueues' | 'timeoutNs'>,
  ): TunedGear | GearError['by'] {
    this.count += 1;
    const ends = itemAt(this.problem.ranges, range);
    const { minQueues, timeoutNs } = trial;
    let tuned: TunedGear = { minQueues, timeoutNs, latencyNs: 0, p95Ns: 0, busy: 0 };
    // The highest rate refuses most.
    for (const promised of promisedRps(ends).reverse()) {
      const rps = promised === ends.toRps ? promised * (1 + this.headroom(range)) : promised;
      const times = this.times(quantile, trial, this.loadAt(rps));
      if (typeof times === 'string') return times;
      const latencyNs = Math.max(tuned.latencyNs, times.latencyNs);
      const [p95Ns, busy] = [Math.max(tuned.p95Ns, times.p95Ns), Math.max(tuned.busy, times.busy)];
      tuned = { ...tuned, latencyNs, p95Ns, busy };
    }
    return tuned;
  }

  private times(
    quantile: number,
    trial: Omit<GearTrial, 'arrivalsNs' | 'warmUp'>,
    { arrivalsNs, warmUp }: Load,
  ): Pick<TunedGear, 'latencyNs' | 'p95Ns' | 'busy'> | GearError['by'] {
    const { models, latencyNs } = this.problem;
    const counted = arrivalsNs.length - warmUp;
    const mostLate = lateAllowed(quantile, counted);
    const limits = Number.isFinite(latencyNs) ? { limitNs: latencyNs, mostLate } : {};
    const run = new GearRun(models, { ...trial, arrivalsNs, warmUp, ...limits }, this.room);
    const ended = run.run();
    this.events += run.events;
    this.tried.events += run.events;
    if (ended === undefined) return 'latency';
    if (!run.keptUp) return 'load';
    const beyondP95 = lateAllowed(0.95, counted);
    const times = ended.subarray(warmUp);
    for (let i = 0; i < times.length; i++) times[i]! -= arrivalsNs[warmUp + i] as number;
    const answeredNs = slowestBut(times, mostLate);
    const p95Ns = beyondP95 === mostLate ? answeredNs : slowestBut(times, beyondP95);
    return { latencyNs: answeredNs, p95Ns, busy: run.busiest };
  }

  private headroom(range: number): number {
    return this.problem.headroom?.[range] ?? 0;
  }

  private loadAt(rps: number): Load {
    const before = this.loads.get(rps);
    if (before !== undefined) return before;
    const { models, latencyNs } = this.problem;
    const samples = models[0]?.certainty.length ?? 0;
    const counted = Number.isFinite(latencyNs)
      ? Math.max(LEAST_COUNTED, Math.min(MOST_COUNTED, samples))
      : MOST_COUNTED;
    const load = filledLoad(this.arrivalsOf, { rps, latencyNs, counted });
    this.loads.set(rps, load);
    return load;
  }
}

/** filledLoad gives a load before which queues are filled at twice its rate. */
function filledLoad(
  arrivalsOf: ArrivalsOf,
  { rps, latencyNs, counted }: { readonly rps: number; readonly latencyNs: number; readonly counted: number },
): Load {
  // Where no latency is promised, a trial only shows that queues do not grow.
  const perLatency = Number.isFinite(latencyNs) ? (rps * latencyNs) / 1e9 : 0;
  const settle = Math.ceil(Math.min(MOST_SETTLING, SETTLE_LATENCIES * perLatency));
  const wanted = Math.ceil((2 * settle) / SETTLE_LATENCIES);
  const arrivalsNs = arrivalsOf(wanted + settle + counted, rps);
  // Where somebody gives fewer arrivals than were asked for, most of them count all the same.
  const fill = Math.min(wanted, arrivalsNs.length >>> 3);
  const filledNs = Math.round((arrivalsNs[fill] ?? 0) / 2);
  for (let i = 0; i < arrivalsNs.length; i++)
    arrivalsNs[i] =
      i < fill ? Math.round((arrivalsNs[i] as number) / 2) : (arrivalsNs[i] as number) - filledNs;
  return { arrivalsNs, warmUp: Math.min(fill + settle, arrivalsNs.length >>> 1) };
}

/**
 * batchedFloor is the time within which the quantile of samples is answered that wait for nothing but their batches, where
 * the first step has any batch of up to `minQueue`.
 */
function batchedFloor(
  models: readonly FamilyModel[],
  cascade: Cascade,
  { minQueue, quantile }: { readonly minQueue: number; readonly quantile: number },
): number {
  const first = itemAt(models, cascade.models[0] as number);
  const slowestNs = first.latencyNs.subarray(0, minQueue).reduce((most, ns) => Math.max(most, ns), 0);
  return floorOf(models, cascade, quantile) - (first.latencyNs[0] as number) + slowestNs;
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

/** slowestBut is the longest of all times but the `mostLate` longest. It puts the times in another order. */
function slowestBut(times: Float64Array, mostLate: number): number {
  return valueAt(times, Math.max(0, times.length - 1 - mostLate));
}

/** valueAt is the value that would stand at a place if they were sorted. It puts them in another order. */
export function valueAt(values: Float64Array, place: number): number {
  // Quickselect only reads and exchanges values, which columns allow as lists do.
  quickselect(values as unknown as number[], place);
  return values[place] as number;
}
