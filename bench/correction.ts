/**
 * This benchmark measures the value of feedback correction, on the published one-model plans at a load factor, when
 * every execution is longer or shorter than profiled, by a factor and by chance.
 *
 *     node dist/bench/correction.js [--load 0.85] [--seconds 8] [--seed 1] [--json file]
 *
 * It prints the attainment without correction and by our defaults, for the mean over the plans and for the worst, and a
 * bound on the mean that no policy passes. The bound assumes that no request waits and links are idle, and lets each
 * pipeline take the batches that are most likely in time within the capacity of its devices (a linear program per
 * plan).
 */
import { existsSync } from 'node:fs';
import { type HighsEngine, LinearModel, loadHighs } from '../src/lp/index.js';
import { topologyOf } from '../src/plans/index.js';
import { streamOf } from '../src/random/index.js';
import {
  type Pool,
  RESERVATION_POLICY,
  ReservationCore,
  type ReservationCorrection,
  type Topology,
} from '../src/serving/index.js';
import { simulate } from '../src/simulator/index.js';
import { DrawnArrivals, steadyLoad } from '../src/workload/index.js';
import { benchArguments, benchNumber } from './arguments.js';
import { profilesIn, publishedInstances, publishedPlan } from './ppipe/plans.js';
import { inputsAt, measuresOf, saveResult } from './results/result.js';

const USAGE = 'node dist/bench/correction.js [--load 0.85] [--seconds 8] [--seed 1] [--json file]';
const FOLDER = new URL('../../../shared/data/ppipe/', import.meta.url);
/**
 * Each case has the factor by which executions are longer, and the coefficient of variation of a normal
 * factor.
 */
const CASES: readonly Case[] = [1, 1.1, 0.9].flatMap((factor) =>
  [0, 0.02, 0.05, 0.1].map((cv) => ({ factor, cv })),
);
const NONE: ReservationCorrection = { kind: 'none' };
const NS_PER_S = 1e9;

interface Case {
  readonly factor: number;
  readonly cv: number;
}

interface Row extends Case {
  readonly bound: number;
  readonly none: number;
  readonly worstNone: number;
  readonly corrected: number;
  readonly worstCorrected: number;
}

const { values } = benchArguments(USAGE, {
  load: { type: 'string', default: '0.85' },
  seconds: { type: 'string', default: '8' },
  seed: { type: 'string', default: '1' },
  json: { type: 'string' },
});
const load = benchNumber(USAGE, '--load', values.load);
const seconds = benchNumber(USAGE, '--seconds', values.seconds);
const seed = benchNumber(USAGE, '--seed', values.seed);
if (!existsSync(FOLDER)) {
  process.stderr.write('The published plans are not here: nothing to measure.\n');
  process.exit(2);
}
const plans = publishedTopologies();
const highs = await loadHighs();
const rows = CASES.map(rowOf);
if (values.json !== '-') process.stdout.write(table(rows));
saveResult(values.json, {
  bench: 'correction',
  options: { load, seconds, seed },
  inputs: inputsAt(FOLDER, 'published plans'),
  measures: measuresOf(rows, ({ factor, cv }) => `executions × ${factor}, jitter ${100 * cv} %`, {
    bound: (row) => row.bound,
    'attainment, corrected': (row) => row.corrected,
    'worst attainment, corrected': (row) => row.worstCorrected,
    'attainment, uncorrected': (row) => row.none,
    'worst attainment, uncorrected': (row) => row.worstNone,
  }),
  rows,
});

function publishedTopologies(): Topology[] {
  const profileOf = profilesIn(FOLDER);
  return publishedInstances(FOLDER)
    .filter(({ models }) => models.length === 1)
    .flatMap((instance) => publishedPlan(instance, 'reference', { profileOf, only: 0 }) ?? [])
    .map((plan) => topologyOf(plan));
}

function rowOf(one: Case): Row {
  const none = plans.map((topology) => attained(topology, one, NONE));
  const corrected = plans.map((topology) => attained(topology, one, RESERVATION_POLICY.correction));
  return {
    ...one,
    bound: mean(plans.map((topology) => bound(highs, topology, one))),
    none: mean(none),
    worstNone: Math.min(...none),
    corrected: mean(corrected),
    worstCorrected: Math.min(...corrected),
  };
}

function attained(topology: Topology, { factor, cv }: Case, correction: ReservationCorrection): number {
  const jitter = streamOf(seed, 'jitter');
  const rate = load * (topology.models[0]?.throughputRps as number);
  const arrivals = new DrawnArrivals({
    process: 'poisson',
    load: steadyLoad(rate, seconds),
    stream: streamOf(seed, 'arrivals'),
    model: 0,
  });
  const { inTime, requests } = simulate({
    topology,
    makeCore: (decisions) => new ReservationCore(topology, decisions, { correction }),
    arrivals,
    execution: (_pool, _size, plannedNs) =>
      Math.round(plannedNs * factor * Math.max(0.1, 1 + cv * jitter.normal())),
  });
  return inTime / requests;
}

/** bound gives the largest share of the requests that any policy could serve in time. */
function bound(engine: HighsEngine, { models, pools }: Topology, { factor, cv }: Case): number {
  const model = new LinearModel();
  const { sloNs, throughputRps, entries } = models[0] as Topology['models'][number];
  const chances: [number, number][] = [];
  for (const entry of entries) {
    const stages = stagesOf(pools, entry);
    const busy: [number, number][][] = stages.map(() => []);
    for (let size = 1; size <= Math.min(...stages.map(({ batch }) => batch)); size++) {
      const rate = model.addVariable(`${entry}/${size}`);
      const took = stages.map(({ latencyNs }) => factor * (latencyNs[size - 1] as number));
      const sentNs = stages
        .slice(0, -1)
        .reduce((sum, { transferNs }) => sum + (transferNs[size - 1] as number), 0);
      const spareNs = sloNs - sentNs - took.reduce((sum, ns) => sum + ns, 0);
      chances.push([rate, normalShare(spareNs, cv * Math.hypot(...took))]);
      stages.forEach(({ devices }, k) => {
        busy[k]?.push([rate, (took[k] as number) / NS_PER_S / size / devices.length]);
      });
    }
    busy.forEach((terms, k) => {
      model.addConstraint(`${entry}/stage ${k}`, terms, { upper: 1 });
    });
  }
  const offered = load * throughputRps;
  model.addConstraint(
    'offered',
    chances.map(([rate]) => [rate, 1]),
    { lower: 0, upper: offered },
  );
  model.addObjective('maximize', chances);
  const solved = engine.solve(model);
  if (solved.status !== 'optimal') throw new Error(`The bound's linear program is ${solved.status}.`);
  return solved.objective / offered;
}

function stagesOf(pools: readonly Pool[], entry: number): Pool[] {
  const stages: Pool[] = [];
  for (let pool: number | undefined = entry; pool !== undefined; pool = pools[pool]?.edges[0]?.to)
    stages.push(pools[pool] as Pool);
  return stages;
}

/**
 * normalShare gives the chance that a normal deviate with this standard deviation is at most `value`
 * (Abramowitz and Stegun 26.2.17, within 1e-7).
 */
function normalShare(value: number, deviation: number): number {
  if (deviation === 0) return value >= 0 ? 1 : 0;
  const x = Math.abs(value / deviation);
  const t = 1 / (1 + 0.2316419 * x);
  const series = [0.31938153, -0.356563782, 1.781477937, -1.821255978, 1.330274429].reduceRight(
    (sum, a) => (sum + a) * t,
    0,
  );
  const above = (Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI)) * series;
  return value >= 0 ? 1 - above : above;
}

function mean(list: readonly number[]): number {
  return list.reduce((sum, value) => sum + value, 0) / list.length;
}

function table(list: readonly Row[]): string {
  const head = 'executions ×  jitter %   bound  corrected (worst)  uncorrected (worst)';
  const lines = list.map(
    ({ factor, cv, bound: most, none, worstNone, corrected, worstCorrected }) =>
      `${factor.toFixed(1).padStart(12)} ${(100 * cv).toFixed(0).padStart(9)} ${most.toFixed(4).padStart(7)}` +
      `   ${corrected.toFixed(4)}  (${worstCorrected.toFixed(3)})     ${none.toFixed(4)}  (${worstNone.toFixed(3)})`,
  );
  return `${plans.length} plans, load factor ${load}\n${head}\n${lines.join('\n')}\n`;
}
