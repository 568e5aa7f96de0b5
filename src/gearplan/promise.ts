import { largestOf } from '../collections/index.js';
import type { GearPromise, PromisedRate } from '../formats/index.js';
import { attainmentOverRuns, CONFIDENCE, highestLowerEnd } from '../metrics/index.js';
import type { GearPlanBody } from './plan-body.js';
import { MOST_SETTLING, promisedRps, SETTLE_LATENCIES, valueAt } from './trials.js';

/** Runs count about this many requests: no run of the Poisson loads has less than 8,000. */
const COUNTED_REQUESTS = 8_500;
/** Queues are filled and settle as in a trial, and for this many intervals of switching at least. */
const SETTLE_INTERVALS = 5;
/** Gears rise one by one in the first interval, and what that leaves is served before a run counts, after this many requests. */
const MOST_RISING = 20_000;

/** The seeds by which a plan is judged while gears are chosen, */
const SEARCH_SEEDS = [1, 2];
/** and those that confirm a rate, by which nothing was chosen. After a plan was not confirmed, the next one gets others. */
const CONFIRMING_SEEDS = 8;
const FIRST_SEED = 201;
const SEEDS_APART = 1_000;
/** While gears are chosen, so much less of what may be late is allowed, so that most of what holds is confirmed. */
const SPARED = 0.1;
/** Gears share the blame for a rate that is not held where this many of its late requests came under them. */
const BLAMED = 0.25;

/** PromisedLoad is a steady Poisson load at which a plan is simulated, as the room `simulation` takes it. */
interface PromisedLoad {
  readonly rps: number;
  readonly fillNs: number;
  readonly settleNs: number;
  readonly durationNs: number;
}

/** PromisedRun is what became of the requests that count. */
interface PromisedRun {
  readonly latenciesNs: Float64Array;
  readonly gears: Int32Array;
  readonly inForce: readonly number[];
  readonly busiest: number;
}

/** SimulateGears gives what simulates a whole plan, with gears that switch, on a load under a seed. */
export type SimulateGears = (plan: GearPlanBody) => (load: PromisedLoad, seed: number) => PromisedRun;

/** promisedLoad says how long a run at a rate lasts, and what comes before. */
export function promisedLoad(
  { promisedMs, intervalMs }: { readonly promisedMs: number; readonly intervalMs: number },
  rps: number,
): PromisedLoad {
  const latencyNs = 1e6 * promisedMs;
  const perRequestNs = 1e9 / rps;
  const mostNs = MOST_SETTLING * perRequestNs;
  const risenNs = Math.min(SETTLE_INTERVALS * 1e6 * intervalMs, MOST_RISING * perRequestNs);
  return {
    rps,
    fillNs: Math.round(Math.min(latencyNs, mostNs / SETTLE_LATENCIES)),
    settleNs: Math.round(Math.max(Math.min(SETTLE_LATENCIES * latencyNs, mostNs), risenNs)),
    durationNs: Math.round(COUNTED_REQUESTS * perRequestNs),
  };
}

/** ratesOf lists the rates at which a plan is confirmed, the lowest first. */
function ratesOf(gears: readonly { readonly fromRps: number; readonly toRps: number }[]): number[] {
  return [...new Set(gears.flatMap(promisedRps))].sort((a, b) => a - b);
}

/** JudgedRate is what a rate has reached. */
interface JudgedRate {
  /** The mean share of requests in time. */
  readonly mean: number;
  /** The gears under which most requests were late, where the rate is not held. */
  readonly blamed?: readonly number[];
  /** The simulations that confirm the rate. */
  readonly confirmed?: ConfirmedRate;
}

/** ConfirmedRate is what all runs gave at a rate that is held. */
interface ConfirmedRate {
  readonly rate: PromisedRate;
  readonly p95Ms: number;
  readonly busiest: number;
}

/** Remembered is what confirmed a rate, with what that depends on: the gears that were active. */
interface Remembered {
  readonly inForce: readonly number[];
  readonly parts: string;
  readonly judged: JudgedRate;
}

/** JudgedPlan says which rates of a plan are held. */
export interface JudgedPlan {
  /** By range, whether its gear is to be planned for more. */
  readonly failed: readonly number[];
  /** The rate with the least share in time, where one is not held. */
  readonly worst?: NotHeldRate;
}

/** NotHeldRate is a rate that a plan does not hold, and the mean share of its requests in time. */
export interface NotHeldRate {
  readonly rps: number;
  readonly mean: number;
}

/** HeldPlan is a plan whose promise is confirmed. */
export interface HeldPlan {
  readonly promise: GearPromise;
  /** By gear, what its runs gave. */
  readonly gears: readonly { readonly p95Ms: number; readonly utilization: number }[];
}

/** The promise of all plans that are judged. */
interface Promised {
  readonly promisedMs: number;
  readonly quantile: number;
  /** isStopped says whether no more is to be simulated than what confirms a plan. */
  readonly isStopped?: () => boolean;
  /** The first seed of the runs that confirm a rate, where a promise is repeated. */
  readonly firstSeedOf?: (rps: number) => number | undefined;
}

/** Simulated is a whole plan that can be simulated on a load under a seed. */
type Simulated = ReturnType<SimulateGears>;

/**
 * PromiseJudge simulates whole plans at the ends and in the middle of each range. A rate that was confirmed, and whose gears
 * have not changed since, is not simulated again.
 */
export class PromiseJudge {
  /** How many plans were not confirmed. Each further one is judged by seeds of its own. */
  private failures = 0;
  private readonly known = new Map<number, Remembered>();
  /** The rates that are looked at while gears are chosen: all of the first plan, and then those that were not held. */
  private open: readonly number[] | undefined;

  constructor(
    private readonly simulate: SimulateGears,
    private readonly promised: Promised,
  ) {}

  /** expected judges a plan by the seeds by which gears are chosen; undefined where that was stopped. */
  expected(plan: GearPlanBody): JudgedPlan | undefined {
    const { quantile, isStopped = () => false } = this.promised;
    const simulate = this.served(plan);
    const wanted = 1 - (1 - SPARED) * (1 - quantile);
    const judged: (NotHeldRate & { readonly blamed?: readonly number[] })[] = [];
    for (const rps of this.open ?? ratesOf(plan.gears)) {
      if (isStopped()) return undefined;
      const load = this.loadOf(plan, rps);
      const runs = SEARCH_SEEDS.map((seed) => simulate(load, seed));
      const mean = meanOf(runs.map((run) => this.inTime(run)));
      judged.push({ rps, mean, ...(mean >= wanted ? {} : { blamed: this.blamed(plan, runs) }) });
    }
    const failed = judged.filter(({ blamed }) => blamed !== undefined);
    this.open = failed.map(({ rps }) => rps);
    return summaryOf(failed);
  }

  /**
   * held confirms a plan by seeds by which none of its gears was chosen, from the highest rate on. It ends at the first rate
   * that is not held.
   */
  held(plan: GearPlanBody): HeldPlan | Required<JudgedPlan> {
    const simulate = this.served(plan);
    const confirmed = new Map<number, ConfirmedRate>();
    for (const rps of ratesOf(plan.gears).reverse()) {
      const judged = this.judged(plan, simulate, rps);
      if (judged.confirmed === undefined) {
        this.open = [rps];
        this.failures += 1;
        return { failed: judged.blamed ?? [], worst: { rps, mean: judged.mean } };
      }
      confirmed.set(rps, judged.confirmed);
    }
    const { promisedMs, quantile } = this.promised;
    const promise = {
      latencyMs: promisedMs,
      quantile,
      arrivals: 'poisson' as const,
      confidence: CONFIDENCE,
      runs: CONFIRMING_SEEDS,
      rates: [...confirmed.values()].map(({ rate }) => rate).reverse(),
    };
    return { promise, gears: gearFigures(plan, confirmed) };
  }

  /** served simulates a plan as it is served whose requests are to be answered within the latency that is looked at. */
  private served(plan: GearPlanBody): Simulated {
    return this.simulate({ ...plan, sloMs: Math.max(plan.sloMs, this.promised.promisedMs) });
  }

  private judged(plan: GearPlanBody, simulate: Simulated, rps: number): JudgedRate {
    const before = this.known.get(rps);
    if (before !== undefined && before.parts === partsOf(plan, before.inForce)) return before.judged;
    const runs: PromisedRun[] = [];
    const judged = this.confirm(plan, rps, (load, seed) => {
      const run = simulate(load, seed);
      runs.push(run);
      return run;
    });
    const inForce = [...new Set(runs.flatMap((run) => run.inForce))];
    this.known.set(rps, { inForce, parts: partsOf(plan, inForce), judged });
    return judged;
  }

  private confirm(plan: GearPlanBody, rps: number, simulate: Simulated): JudgedRate {
    const { quantile, firstSeedOf } = this.promised;
    const firstSeed = firstSeedOf?.(rps) ?? FIRST_SEED + SEEDS_APART * this.failures;
    const load = this.loadOf(plan, rps);
    const runs: PromisedRun[] = [];
    const shares: number[] = [];
    const isLost = () =>
      shares.length > 0 && highestLowerEnd(shares, CONFIRMING_SEEDS - runs.length) < quantile;
    // Once the other runs cannot lift the lower end to the promised share, they say nothing more.
    while (runs.length < CONFIRMING_SEEDS && !isLost()) {
      const run = simulate(load, firstSeed + runs.length);
      runs.push(run);
      shares.push(this.inTime(run));
    }
    const requests = runs.reduce((sum, { latenciesNs }) => sum + latenciesNs.length, 0);
    const isWhole = runs.length === CONFIRMING_SEEDS;
    const attainment = isWhole ? attainmentOverRuns(shares, requests) : undefined;
    if (attainment === undefined || attainment.low < quantile)
      return { mean: meanOf(shares), blamed: this.blamed(plan, runs) };
    const rate = { rps, firstSeed, requests, attainment };
    const busiest = Math.min(1, meanOf(runs.map((run) => run.busiest)));
    return { mean: attainment.mean, confirmed: { rate, p95Ms: p95Of(runs) / 1e6, busiest } };
  }

  private loadOf({ switching: { intervalMs } }: GearPlanBody, rps: number): PromisedLoad {
    return promisedLoad({ ...this.promised, intervalMs }, rps);
  }

  private inTime({ latenciesNs }: PromisedRun): number {
    const latencyNs = Math.round(1e6 * this.promised.promisedMs);
    let inTime = 0;
    for (let i = 0; i < latenciesNs.length; i++) if ((latenciesNs[i] as number) <= latencyNs) inTime += 1;
    return latenciesNs.length === 0 ? 1 : inTime / latenciesNs.length;
  }

  private blamed({ gears }: GearPlanBody, runs: readonly PromisedRun[]): number[] {
    const latencyNs = Math.round(1e6 * this.promised.promisedMs);
    const late = gears.map(() => 0);
    for (const run of runs)
      for (let i = 0; i < run.gears.length; i++)
        if ((run.latenciesNs[i] as number) > latencyNs) late[run.gears[i] as number]! += 1;
    const all = late.reduce((sum, count) => sum + count, 0);
    return late.flatMap((count, gear) => (all > 0 && count >= BLAMED * all ? [gear] : []));
  }
}

function summaryOf(failed: readonly (NotHeldRate & { readonly blamed?: readonly number[] })[]): JudgedPlan {
  const [worst] = failed.toSorted((a, b) => a.mean - b.mean);
  return {
    failed: [...new Set(failed.flatMap(({ blamed = [] }) => blamed))],
    ...(worst === undefined ? {} : { worst: { rps: worst.rps, mean: worst.mean } }),
  };
}

/** p95Of is the time within which 95 % of the requests of all runs were answered that were answered at all. */
function p95Of(runs: readonly PromisedRun[]): number {
  const times = new Float64Array(runs.reduce((sum, { latenciesNs }) => sum + latenciesNs.length, 0));
  let count = 0;
  for (const { latenciesNs } of runs)
    for (const ns of latenciesNs) {
      if (ns < Number.POSITIVE_INFINITY) times[count++] = ns;
    }
  if (count === 0) return 0;
  return valueAt(times.subarray(0, count), Math.max(0, Math.ceil(0.95 * count) - 1));
}

/**
 * repeatedPromise simulates the runs again that confirm a plan's promise, by their seeds.
 * @returns what they give; the rate that comes shortest where one is not held
 */
export function repeatedPromise(
  plan: GearPlanBody,
  simulate: SimulateGears,
): HeldPlan | Required<JudgedPlan> {
  const { latencyMs, quantile, rates } = plan.promise as GearPromise;
  const firstSeeds = new Map(rates.map(({ rps, firstSeed }) => [rps, firstSeed]));
  const promised = { promisedMs: latencyMs, quantile, firstSeedOf: (rps: number) => firstSeeds.get(rps) };
  return new PromiseJudge(simulate, promised).held(plan);
}

/** partsOf is all of a plan on which a simulation depends, in which only some gears were active. */
function partsOf({ gears, placement, stages, sloMs }: GearPlanBody, inForce: readonly number[]): string {
  const used = inForce.map((gear) => ({ cascade: gears[gear]?.cascade, timeoutMs: gears[gear]?.timeoutMs }));
  return JSON.stringify([inForce, used, placement, stages.map(({ name }) => name), sloMs]);
}

/** gearFigures gives each gear the largest p95 of its range, and how busy the busiest device is at its highest rate. */
function gearFigures(
  { gears }: GearPlanBody,
  confirmed: ReadonlyMap<number, ConfirmedRate>,
): HeldPlan['gears'] {
  const of = (rps: number) => confirmed.get(rps) as ConfirmedRate;
  return gears.map((gear) => ({
    p95Ms: largestOf(promisedRps(gear).map((rps) => of(rps).p95Ms)),
    utilization: of(gear.toRps).busiest,
  }));
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
