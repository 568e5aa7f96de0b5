import { type GearPlan, ToldFaults } from '../../../src/formats/index.js';
import { meanOverRuns } from '../../../src/metrics/index.js';
import { plannedScheduler, planTopologyOf } from '../../../src/plans/index.js';
import { streamOf, streamsOf } from '../../../src/random/index.js';
import { makeCore } from '../../../src/serving/index.js';
import { OutcomeCode, simulate } from '../../../src/simulator/index.js';
import type { RandomModel } from './random-cascade.js';

/** Runs count so many requests, after as many twice as fast and so many that let queues settle. */
const COUNTED = 8_000;
const FILLING = 1_000;
const SETTLING = 4_000;
/** A rate that looks bad in the first runs is judged by so many others, */
const FIRST_RUNS = 2;
const JUDGING_RUNS = 16;
/** and is refuted where the share that is promised lies above their interval, which a true one does once in 100,000. */
const CONFIDENCE = 1 - 2e-5;
/** Shortfalls below this share of the requests are what the confidence of the promise itself leaves open. */
const LEAST_SHORTFALL = 0.001;

/** Shortfall is the share in time of a rate that is not held, with the upper end of its interval. */
export interface Shortfall {
  readonly rps: number;
  readonly mean: number;
  readonly high: number;
}

/** shortfallAt simulates a plan at a steady rate, with seeds of its own, and says where too few are in time. */
export function shortfallAt(
  plan: GearPlan,
  models: readonly RandomModel[],
  {
    rps,
    latencyMs,
    quantile,
  }: { readonly rps: number; readonly latencyMs: number; readonly quantile: number },
): Shortfall | undefined {
  const served = new ServedPlan(plan, models, latencyMs);
  const shares = (from: number, runs: number) =>
    Array.from({ length: runs }, (_, i) => served.shareInTime(rps, from + i));
  const first = shares(90_001, FIRST_RUNS);
  if (meanOf(first) >= quantile) return undefined;
  const judged = shares(91_001, JUDGING_RUNS);
  const interval = meanOverRuns(judged, CONFIDENCE);
  const mean = interval.mean;
  const high = Math.max(interval.high, mean + LEAST_SHORTFALL);
  return high < quantile ? { rps, mean, high } : undefined;
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** ServedPlan is a plan in the simulator, by the code that serves it. Its arrivals are drawn here. */
export class ServedPlan {
  private readonly topology;
  private readonly scheduler;
  private readonly certainty: readonly (readonly number[])[];

  constructor(
    plan: GearPlan,
    models: readonly RandomModel[],
    private readonly latencyMs: number,
  ) {
    this.topology = planTopologyOf(plan);
    const asked = { options: {}, leastSloNs: 1e6 * plan.sloMs, kind: plan.kind };
    this.scheduler = plannedScheduler(plan.serving, asked, new ToldFaults());
    this.certainty = plan.stages.map(
      ({ name }) => (models.find((model) => model.name === name) as RandomModel).certainty,
    );
  }

  /** shareInTime serves one run. Runs of odd seeds begin with full queues, others with empty ones. */
  shareInTime(rps: number, seed: number): number {
    const { topology, scheduler, certainty } = this;
    if (scheduler === undefined) throw new Error('the plan has no scheduler');
    const { exponential, uniform } = streamOf(seed, 'refuted arrivals');
    const fill = seed % 2 === 1 ? FILLING : 0;
    const samples = (certainty[0] as readonly number[]).length;
    const firstSample = Math.floor(samples * uniform());
    const warmUp = fill + SETTLING;
    const arrivals = { atNs: 0, model: 0, count: 0, next: () => false };
    let fromNs = 0;
    arrivals.next = () => {
      if (arrivals.count === warmUp + COUNTED) return false;
      const gap = exponential() / (arrivals.count < fill ? 2 * rps : rps);
      arrivals.atNs += Math.round(1e9 * gap);
      if (arrivals.count === warmUp) fromNs = arrivals.atNs;
      arrivals.count += 1;
      return true;
    };
    const limitNs = Math.round(1e6 * this.latencyMs);
    let inTime = 0;
    let counted = 0;
    const ended = (
      atNs: number,
      _model: number,
      _request: number,
      arrivedNs: number,
      outcome: OutcomeCode,
    ): void => {
      if (fromNs === 0 || arrivedNs < fromNs) return;
      counted += 1;
      const isAnswered = outcome === OutcomeCode.inTime || outcome === OutcomeCode.late;
      if (isAnswered && atNs - arrivedNs <= limitNs) inTime += 1;
    };
    simulate({
      topology,
      arrivals,
      observers: [{ ended }],
      verdict: (order, _row, stage) =>
        (certainty[stage] as readonly number[])[(firstSample + order) % samples] as number,
      makeCore: (decisions) => makeCore(scheduler, topology, { decisions, streams: streamsOf(1, 'core') }),
    });
    return inTime / counted;
  }
}
