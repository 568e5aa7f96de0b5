import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { emittedHead } from '../src/artifacts/index.js';
import { type PooledPlan, type PooledSpec, ToldFaults } from '../src/formats/index.js';
import {
  type HeldRates,
  type HeldRun,
  heldRates,
  heldRun,
  PROMISE_REQUESTS,
  PROMISE_SEEDS,
  RANKING_SEEDS,
  SEARCH_SEEDS,
  TRIAL_REQUESTS,
} from '../src/hold/index.js';
import { loadHighs } from '../src/lp/index.js';
import { attainmentOverRuns } from '../src/metrics/index.js';
import { type PlanBody, type PooledProblem, planPooled, resolvePooled } from '../src/milp/index.js';
import { plannedScheduler } from '../src/plans/index.js';
import type { ChosenScheduler } from '../src/serving/index.js';
import { simulatedRates } from '../src/simulation/index.js';
import { solveSpec } from '../src/specs/index.js';
import { benchArguments } from './arguments.js';
import { type Instance, readInstances, readProfile, specOf } from './ppipe/instances.js';
import { inputsAt, measuresOf, saveResult } from './results/result.js';

/**
 * This benchmark asks what plans hold: `node dist/bench/hold.js [part of an instance's name] [--json file]`. For each
 * published instance it plans with the fixed margin of the paper, with every single margin, and by the search
 * (`planner.hold`), and gives the rates that each plan holds with 99 % of each model's requests in time. All are measured
 * alike: by the lower end of the confidence interval over eight seeds. What the search promises is then simulated with
 * seeds that it never saw. A table goes to stderr.
 */
const FOLDER = new URL('../../../shared/data/ppipe/', import.meta.url);
const ATTAINMENT = 0.99;
const FIXED_MARGIN = 0.4;
const MARGINS = [0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5];
/** So many of the single margins that look best are measured exactly. */
const MEASURED = 3;
const FRESH_SEEDS = [901, 902, 903, 904, 905, 906, 907, 908];

interface Row {
  readonly name: string;
  readonly models: number;
  /** Held rates per unit of weight. */
  readonly fixed: number;
  readonly single: number;
  readonly margin: number;
  readonly held: number;
  readonly bound: number;
  readonly trials: number;
  /** How many plans with GPUs moved between pools were simulated, and how many GPUs the plan has elsewhere. */
  readonly variants: number;
  readonly moved: number;
  readonly seconds: number;
  /** The least attainment of a model at the promised rates, over seeds that the search has not seen. */
  readonly fresh: { readonly mean: number; readonly low: number; readonly high: number };
}

const highs = await loadHighs();

function schedulerOf({ models }: PlanBody): ChosenScheduler {
  const leastSloNs = 1e6 * Math.min(...models.map(({ sloMs }) => sloMs));
  const told = new ToldFaults();
  return plannedScheduler({}, { options: {}, leastSloNs }, told) as ChosenScheduler;
}

function simulated(body: PlanBody, run: HeldRun) {
  const plan: PooledPlan = { ...emittedHead('pooled-plan', []), ...body };
  return simulatedRates(plan, { scheduler: schedulerOf(body), arrivals: 'poisson', ...run });
}

/** promisedBy measures as the search does: other seeds confirm what one set of seeds has found. */
async function promisedBy(plan: PlanBody, startRps: readonly number[]): Promise<readonly number[]> {
  const { heldRps } = await heldBy(plan, startRps, { exactTo: 0.002, seeds: RANKING_SEEDS });
  const last = { exactTo: 0.001, seeds: PROMISE_SEEDS, enoughRps: heldRps };
  return (await heldBy(plan, heldRps, last)).heldRps;
}

function heldBy(
  plan: PlanBody,
  startRps: readonly number[],
  more: {
    /** The precision of rates with confidence; absent where a few runs are to do. */
    readonly exactTo?: number;
    readonly seeds: readonly number[];
    readonly enoughRps?: readonly number[];
  },
): Promise<HeldRates> {
  const { exactTo, ...rest } = more;
  const isExact = exactTo !== undefined;
  const run = heldRun(plan.models, isExact ? PROMISE_REQUESTS : TRIAL_REQUESTS);
  return heldRates(simulated(plan, run), {
    plannedRps: plan.models.map(({ throughputRps }) => throughputRps),
    attainment: plan.models.map(() => ATTAINMENT),
    startRps,
    precision: exactTo ?? 0.01,
    judge: isExact ? 'lower-end' : 'mean',
    ...rest,
  });
}

const perWeight = ({ models }: Instance, rps: readonly number[]): number =>
  Math.min(...models.map(({ weight }, m) => (rps[m] as number) / weight));

/** planAt plans an instance with one margin for all models. */
function planAt(instance: Instance, sloMargin: number): PlanBody | undefined {
  const { spec, cluster } = specOf(instance);
  const models = spec.models.map(({ sloMarginMs: _, ...model }) => ({ ...model, sloMargin }));
  const profiles = instance.models.map(({ model }) => readProfile(FOLDER, model));
  const problem: PooledProblem = resolvePooled(
    { ...spec, models },
    { cluster, profiles, where: instance.id },
  );
  const outcome = planPooled(problem, { highs });
  return 'plan' in outcome ? outcome.plan : undefined;
}

interface Single {
  readonly margin: number;
  readonly held: number;
}

/** singles gives what the plan of the fixed margin holds, and the best of those of a single margin. */
async function singles(instance: Instance): Promise<{ fixed: number; best: Single }> {
  const tried: { margin: number; plan: PlanBody; rates: HeldRates; value: number }[] = [];
  for (const margin of MARGINS) {
    const plan = planAt(instance, margin);
    if (plan === undefined) continue;
    const planned = plan.models.map(({ throughputRps }) => throughputRps);
    const rates = await heldBy(plan, planned, { seeds: SEARCH_SEEDS });
    tried.push({ margin, plan, rates, value: perWeight(instance, rates.heldRps) });
  }
  const exactly = async ({ plan, rates }: (typeof tried)[number]): Promise<number> =>
    perWeight(instance, await promisedBy(plan, rates.heldRps));
  const fixed = tried.find(({ margin }) => margin === FIXED_MARGIN);
  let best: Single = { margin: FIXED_MARGIN, held: fixed === undefined ? 0 : await exactly(fixed) };
  const fixedHeld = best.held;
  const ranked = tried.filter((one) => one !== fixed).sort((a, b) => b.value - a.value);
  for (const one of ranked.slice(0, MEASURED)) {
    const held = await exactly(one);
    if (held > best.held) best = { margin: one.margin, held };
  }
  return { fixed: fixedHeld, best };
}

/** searched solves an instance as a user would, from files. */
async function searched(instance: Instance): Promise<{ plan: PooledPlan; seconds: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'inferplan-bench-hold-'));
  try {
    const { spec } = specOf(instance);
    const models = spec.models.map(({ sloMarginMs: _, ...model }, m) => {
      const name = `${m}.profile.json`;
      writeFileSync(join(folder, name), JSON.stringify(readProfile(FOLDER, model.profile).profile));
      return { ...model, profile: name };
    });
    const asked: PooledSpec = { ...spec, models, planner: { ...spec.planner, hold: ATTAINMENT } };
    const path = join(folder, 'spec.json');
    writeFileSync(path, JSON.stringify(asked));
    const start = performance.now();
    const solved = await solveSpec(path);
    const seconds = (performance.now() - start) / 1000;
    if (solved.outcome !== 'plan') throw new Error(`${instance.id}: ${solved.outcome}`);
    return { plan: solved.plan, seconds };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function fresh(plan: PooledPlan): Promise<Row['fresh']> {
  const simulate = simulated(plan, heldRun(plan.models, PROMISE_REQUESTS));
  const rps = plan.models.map(({ heldRps = 0 }) => heldRps);
  const reached: number[][] = rps.map(() => []);
  const arrived = rps.map(() => 0);
  for (const seed of FRESH_SEEDS)
    for (const [m, model] of (await simulate(rps, seed)).entries()) {
      reached[m]?.push(model.attainment ?? 1);
      arrived[m] = (arrived[m] as number) + model.arrived;
    }
  const figures = reached.map((values, m) => attainmentOverRuns(values, arrived[m] as number));
  return figures.reduce((least, figure) => (figure.mean < least.mean ? figure : least));
}

function shortName({ id, models, devices }: Instance): string {
  const names = models.map(({ model }) => model.slice(0, 8)).join('+');
  return `${id.split('/')[0]} ${names} ${Object.keys(devices).join('-')}`;
}

async function runInstance(instance: Instance): Promise<Row> {
  const { plan, seconds } = await searched(instance);
  const { fixed, best } = await singles(instance);
  const { value = 0, bound = 0, trials = 0, variants = 0, moved = 0 } = plan.hold ?? {};
  const single = { single: best.held, margin: best.margin };
  const name = shortName(instance);
  const models = instance.models.length;
  const tried = { trials, variants, moved, seconds };
  return { name, models, fixed, ...single, held: value, bound, ...tried, fresh: await fresh(plan) };
}

function lineOf(row: Row): string {
  const { mean, high } = row.fresh;
  const cells = [
    row.name.padEnd(44),
    row.fixed.toFixed(1).padStart(9),
    row.single.toFixed(1).padStart(9),
    row.margin.toFixed(2).padStart(6),
    row.held.toFixed(1).padStart(9),
    row.bound.toFixed(1).padStart(9),
    (row.single / row.fixed).toFixed(3).padStart(7),
    (row.held / row.fixed).toFixed(3).padStart(7),
    (row.held / row.single).toFixed(3).padStart(7),
    `${row.trials}`.padStart(6),
    `${row.variants}`.padStart(5),
    `${row.moved}`.padStart(5),
    row.seconds.toFixed(1).padStart(6),
    `${(100 * mean).toFixed(2)}`.padStart(7),
    high >= ATTAINMENT ? ' yes' : '  NO',
  ];
  return cells.join(' ');
}

const { values, positionals } = benchArguments(
  "node dist/bench/hold.js [part of an instance's name] [--json file]",
  { json: { type: 'string' } },
);
const wanted = positionals[0] ?? '';
const instances = readInstances(FOLDER).filter((instance) => shortName(instance).includes(wanted));
process.stderr.write(
  `${'instance'.padEnd(44)}  at 0.40  one best margin      held     bound  /0.40: best    held   /best trials other moved  secs. fresh % holds\n`,
);
const rows: Row[] = [];
for (const instance of instances) {
  const row = await runInstance(instance);
  rows.push(row);
  process.stderr.write(`${lineOf(row)}\n`);
}
const mean = (of: (row: Row) => number) => rows.reduce((sum, row) => sum + of(row), 0) / rows.length;
process.stderr.write(
  `mean over the fixed margin: best single ${mean((row) => row.single / row.fixed).toFixed(3)}, held ${mean((row) => row.held / row.fixed).toFixed(3)}; held over the best single: least ${Math.min(...rows.map((row) => row.held / row.single)).toFixed(3)}, mean ${mean((row) => row.held / row.single).toFixed(3)}\n`,
);
saveResult(values.json, {
  bench: 'hold',
  options: { instances: wanted, attainment: ATTAINMENT },
  inputs: inputsAt(FOLDER, 'published instances'),
  measures: measuresOf(rows, ({ name }) => name, {
    'held/s': (row) => row.held,
    'best single margin, held/s': (row) => row.single,
    s: (row) => row.seconds,
  }),
  rows,
});
