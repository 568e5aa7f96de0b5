/**
 * This benchmark plans cascades of the families that CascadeServe was evaluated on, with their published latencies and
 * drawn records:
 *
 *     node dist/bench/gears.js [--only constrained,times,promises,devices,ablations,sampled,recorded,placements] [--json file]
 *
 * - constrained: how near plans come to exhaustive and random search where all devices hold all models and batches are of
 *   one (Fig. 10).
 * - times: how long the search of 20 ranges takes, once the cascades are counted.
 * - promises: the accuracy of plans whose promise is confirmed, beside what the search found, and the share in time at 100,
 *   70, 35 and 1 % of the highest rate, for 60 s and two seeds, with the time that `plan solve` takes in all; specs of
 *   `../shared/repro/cascade` come first.
 * - devices: how many devices a latency and accuracy need against one model, against switching between models (with our
 *   batching and with the paper's), and against Cocktail+, which autoscales (Fig. 7).
 * - ablations: what switching and cascades contribute by themselves (Fig. 12).
 * - sampled: what sampled cascades lose against the whole frontier.
 * - recorded: plans for real records, with assumed latencies.
 * - placements: devices that do not hold all models, placed by the paper's greedy, from a list, and by the MILP.
 *
 * Plans of promises, devices and ablations are made by `plan solve` from files, and keep their promises in simulation; those of the
 * other parts are what the search finds, before that. Times are of the processor.
 */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { medianSorted } from 'simple-statistics';
import { simulatePlan } from '../src/api/index.js';
import type { CascadeSpec, GearPlan } from '../src/formats/index.js';
import {
  type Cascade,
  cascadeOf,
  cascadeSpace,
  type FamilyModel,
  type GearMethod,
  type GearProblem,
  mostAccurate,
  placementSolver,
  proportionalArrivals,
  rangesOf,
} from '../src/gearplan/index.js';
import { loadHighs } from '../src/lp/index.js';
import { streamOf } from '../src/random/index.js';
import { solveSpec } from '../src/specs/index.js';
import { benchArguments } from './arguments.js';
import { cheapestEnsemble } from './gears/cocktail.js';
import { bertFamily, FAMILY_FILES, hasFamilies, llamaFamily, recordedFamilies } from './gears/families.js';
import { switchingDevices } from './gears/model-switching.js';
import { comparePlacements } from './gears/placements.js';
import { solveFamily, writeFamily } from './gears/planned-family.js';
import { inputsAt, saveResult } from './results/result.js';
import { tableText } from './results/table.js';

const PARTS = [
  ...([
    'constrained',
    'times',
    'promises',
    'devices',
    'ablations',
    'sampled',
    'recorded',
    'placements',
  ] as const),
];
const USAGE = `node dist/bench/gears.js [--only ${PARTS.join(',')}] [--json file]`;
const THRESHOLDS = 32;
const QUANTILE = 0.95;
const REPEATS = 5;
const MOST_DEVICES = 64;
/** Specs whose plans once broke their promise. */
const REPORTED = ['imdb100', 'b85-25', 'low2-d15-20'];
const REPORTED_FOLDER = fileURLToPath(new URL('../../../shared/repro/cascade', import.meta.url));

/** Loads as `plan solve` tries gears with. */
const arrivalsOf = proportionalArrivals(streamOf(1, 'gears/arrivals').exponential);

const { values } = benchArguments(USAGE, {
  only: { type: 'string', default: PARTS.join(',') },
  json: { type: 'string' },
});
const only = values.only.split(',');
if (!hasFamilies()) {
  process.stderr.write('the published latencies are not there: ../shared/data/cascadeserve\n');
  process.exit(2);
}
const bert = bertFamily();
const llama = llamaFamily();
const folder = await mkdtemp(join(tmpdir(), 'inferplan-gears-'));
try {
  await writeFamily(join(folder, 'BERT'), bert);
  await writeFamily(join(folder, 'Llama'), llama);
  const parts: Record<(typeof PARTS)[number], () => unknown> = {
    constrained: () => [
      constrained('BERT', bert, { devices: 4, maxRps: 400 }),
      constrained('Llama', llama, { devices: 4, maxRps: 20 }),
    ],
    times: planningTimes,
    promises,
    devices: async () => [
      ...(await neededDevices('BERT', bert, bertGrid())),
      ...(await neededDevices('Llama', llama, llamaGrid())),
    ],
    ablations,
    sampled: sampledCascades,
    recorded: realRecords,
    placements: async () => comparePlacements(placementSolver(await loadHighs())),
  };
  const rows: Record<string, unknown> = {};
  for (const part of PARTS) if (only.includes(part)) rows[part] = await parts[part]();
  const inputs = Object.assign({}, ...FAMILY_FILES.map((path) => inputsAt(path)));
  saveResult(values.json, { bench: 'gears', options: { only }, inputs, measures: [], rows });
} finally {
  await rm(folder, { recursive: true, force: true });
}

function bertGrid(): Grid {
  return { maxRps: 7600, latenciesMs: [25, 100, 400], accuracies: [0.84, 0.845, 0.85] };
}

function llamaGrid(): Grid {
  return { maxRps: 20, latenciesMs: [1000, 2000, 8000], accuracies: [0.56, 0.62, 0.65] };
}

interface Asked {
  readonly devices: number;
  readonly maxRps: number;
  readonly latencyMs: number;
  readonly ranges?: number;
}

function problemOf(
  models: readonly FamilyModel[],
  { devices, maxRps, latencyMs, ranges = 20 }: Asked,
): GearProblem {
  return {
    models,
    devices,
    memoryBytes: Number.POSITIVE_INFINITY,
    ranges: rangesOf({ maxRps, ranges }),
    latencyNs: 1e6 * latencyMs,
    quantile: QUANTILE,
    thresholds: THRESHOLDS,
  };
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e3;
}

/** confirmed plans a case as `plan solve` does, and gives the processor time with the plan. */
async function confirmed(
  models: readonly FamilyModel[],
  { devices, maxRps, latencyMs, ranges = 20 }: Asked,
  {
    accuracy,
    method = 'gears',
    ...planner
  }: Partial<CascadeSpec['planner']> & { readonly accuracy?: number } = {},
) {
  const before = cpuMs();
  const slo = { latencyMs, ...(accuracy === undefined ? {} : { accuracy }) };
  const family = join(folder, models === bert ? 'BERT' : 'Llama');
  const plan = await solveFamily(family, models, {
    devices,
    maxRps,
    ranges,
    slo,
    planner: { method, ...planner },
  });
  return { plan, ms: cpuMs() - before };
}

/** timed gives the median processor time of a call over some repeats, and its result. */
function timed<T>(make: () => T): { readonly ms: number; readonly value: T } {
  const times: number[] = [];
  let value = make();
  for (let i = 0; i < REPEATS; i++) {
    const before = cpuMs();
    value = make();
    times.push(cpuMs() - before);
  }
  return { ms: medianSorted(times.sort((a, b) => a - b)), value };
}

/** hypervolume is the area below the accuracies that are reached within latencies, over those of the first cascade. */
function hypervolume(latenciesMs: readonly number[], accuracies: readonly number[], least: number): number {
  return latenciesMs.reduce(
    (sum, latencyMs, i) =>
      i === 0
        ? sum
        : sum + (latencyMs - (latenciesMs[i - 1] as number)) * Math.max(0, (accuracies[i - 1] ?? 0) - least),
    0,
  );
}

/** constrained compares plans with exhaustive and random search over a frontier of latencies (Fig. 10). */
function constrained(
  name: string,
  family: readonly FamilyModel[],
  { devices, maxRps }: { readonly devices: number; readonly maxRps: number },
) {
  const models = family.map((model) => ({ ...model, latencyNs: model.latencyNs.slice(0, 1) }));
  const space = cascadeSpace(problemOf(models, { devices, maxRps, latencyMs: 1 }));
  const frontier = space.cascades;
  const leastMs = Math.min(...frontier.map(({ floorNs }) => floorNs)) / 1e6;
  const latenciesMs = Array.from({ length: 20 }, (_, i) => leastMs * 1.1 * 1.35 ** i);
  const { integer } = streamOf(1, 'random plans');
  const plan = (method: GearMethod, latencyMs: number, draws = 0) =>
    mostAccurate(problemOf(models, { devices, maxRps, latencyMs, ranges: 8 }), {
      method,
      arrivalsOf,
      space,
      integer,
      draws,
    });
  const least = Math.min(...frontier.map(({ accuracy }) => accuracy));
  const volumes: Record<string, number> = {};
  const msOf: Record<string, number> = {};
  let draws = 1;
  for (const method of ['gears', 'loop', 'exhaustive', 'random'] as const) {
    // Random search draws until it has had twice the time of a plan.
    if (method === 'random') draws = drawsFor(plan, latenciesMs, 2 * (msOf.gears as number));
    const { ms, value: accuracies } = timed(() =>
      latenciesMs.map((latencyMs) => {
        const found = plan(method, latencyMs, draws);
        return !('choice' in found) ? 0 : found.choice.accuracy;
      }),
    );
    msOf[method] = ms / latenciesMs.length;
    volumes[method] = hypervolume(latenciesMs, accuracies, least);
  }
  const row = {
    name,
    cascades: frontier.length,
    ofExhaustive: Object.fromEntries(
      Object.entries(volumes).map(([method, volume]) => [method, volume / (volumes.exhaustive as number)]),
    ),
    msPerPlan: msOf,
  };
  process.stdout.write(
    `\nconstrained space, ${name}: ${frontier.length} cascades, 8 ranges, ${devices} devices\n`,
  );
  process.stdout.write(
    tableText([
      ['method', 'hypervolume of exhaustive', 'ms per plan'],
      ...Object.keys(volumes).map((method) => [
        method,
        (row.ofExhaustive[method] as number).toFixed(4),
        (msOf[method] as number).toFixed(1),
      ]),
    ]),
  );
  return row;
}

/** drawsFor finds how many random plans take so long as a plan may. */
function drawsFor(
  plan: (method: GearMethod, latencyMs: number, draws: number) => unknown,
  latenciesMs: readonly number[],
  ms: number,
): number {
  let draws = 1;
  for (; draws < 1 << 16; draws *= 2) {
    const before = cpuMs();
    for (const latencyMs of latenciesMs) plan('random', latencyMs, draws);
    if ((cpuMs() - before) / latenciesMs.length >= ms) break;
  }
  return draws;
}

function planningTimes() {
  const cases: [string, readonly FamilyModel[], Asked][] = [
    ['BERT, 1 V100, 400 ms, 7600/s', bert, { devices: 1, maxRps: 7600, latencyMs: 400 }],
    ['BERT, 2 V100, 100 ms, 7600/s', bert, { devices: 2, maxRps: 7600, latencyMs: 100 }],
    ['BERT, 2 V100, 25 ms, 7600/s', bert, { devices: 2, maxRps: 7600, latencyMs: 25 }],
    ['Llama, 4 pairs, 2 s, 20/s', llama, { devices: 4, maxRps: 20, latencyMs: 2000 }],
    ['Llama, 8 pairs, 4 s, 40/s', llama, { devices: 8, maxRps: 40, latencyMs: 4000 }],
  ];
  const rows = cases.map(([name, models, asked]) => {
    const { ms, value } = timed(() => mostAccurate(problemOf(models, asked), { arrivalsOf }));
    return { name, ms, trials: value.trials, status: value.status };
  });
  process.stdout.write('\nplanning with 20 ranges\n');
  process.stdout.write(
    tableText([
      ['case', 'ms', 'gears tried', 'plan'],
      ...rows.map(({ name, ms, trials, status }) => [name, ms.toFixed(0), String(trials), status]),
    ]),
  );
  return rows;
}

/** promises sets plans whose promise is confirmed beside what the search found, and serves them in simulation. */
async function promises() {
  const rows: PromisedRow[] = [];
  for (const name of REPORTED) {
    const path = join(REPORTED_FOLDER, name, 'spec.yaml');
    if (!existsSync(path)) continue;
    const before = cpuMs();
    const solved = await solveSpec(path, { output: join(folder, 'reported.json') });
    const ms = cpuMs() - before;
    if (solved.outcome === 'gear-plan')
      rows.push(await promised({ name, plan: solved.plan, ms, path: join(folder, 'reported.json') }));
  }
  const cases: [string, readonly FamilyModel[], Asked][] = [
    ['BERT, 1 V100, 25 ms', bert, { devices: 1, maxRps: 7600, latencyMs: 25 }],
    ['BERT, 1 V100, 100 ms', bert, { devices: 1, maxRps: 7600, latencyMs: 100 }],
    ['BERT, 1 V100, 400 ms', bert, { devices: 1, maxRps: 7600, latencyMs: 400 }],
    ['BERT, 2 V100, 100 ms', bert, { devices: 2, maxRps: 7600, latencyMs: 100 }],
    ['Llama, 4 pairs, 2 s, 20/s', llama, { devices: 4, maxRps: 20, latencyMs: 2000 }],
    ['Llama, 8 pairs, 4 s, 40/s', llama, { devices: 8, maxRps: 40, latencyMs: 4000 }],
  ];
  for (const [name, models, asked] of cases) {
    const { plan, ms } = await confirmed(models, asked);
    const path = join(folder, models === bert ? 'BERT' : 'Llama', 'plan.json');
    const found = mostAccurate(problemOf(models, asked), { arrivalsOf });
    const searched = 'choice' in found ? found.choice.accuracy : undefined;
    if (plan !== undefined) rows.push({ ...(await promised({ name, plan, ms, path })), searched });
  }
  const percent = (share: number | undefined) => (share === undefined ? '—' : (100 * share).toFixed(2));
  process.stdout.write('\nplans whose promise is confirmed, %\n');
  process.stdout.write(
    tableText([
      ['case', 'the search', 'confirmed', 'devices', 'in time, least', 'most', 'CPU s'],
      ...rows.map(({ name, searched, accuracy, devices, inTime, ms }) => [
        ...[name, percent(searched), percent(accuracy), String(devices)],
        ...[percent(Math.min(...inTime)), percent(Math.max(...inTime)), (ms / 1e3).toFixed(1)],
      ]),
    ]),
  );
  return rows;
}

/** PromisedRow is a plan whose promise is confirmed, with what the search found before and what simulations then show. */
interface PromisedRow {
  readonly name: string;
  readonly searched?: number | undefined;
  readonly accuracy: number;
  readonly devices: number;
  readonly ms: number;
  /** The share in time of each simulation. */
  readonly inTime: readonly number[];
}

/** promised serves a plan in simulations at some loads. */
async function promised({
  name,
  plan,
  ms,
  path,
}: Pick<PromisedRow, 'name' | 'ms'> & {
  readonly plan: GearPlan;
  readonly path: string;
}): Promise<PromisedRow> {
  const inTime: number[] = [];
  const most = plan.gears.at(-1)?.toRps as number;
  for (const share of [1, 0.7, 0.35, 0.01])
    for (const seed of [1, 2]) {
      const { report } = await simulatePlan(path, { rps: [String(share * most)], duration: 60, seed });
      inTime.push(report.overall.attainment ?? Number.NaN);
    }
  const devices = plan.placement.reduce((sum, { count = 1 }) => sum + count, 0);
  process.stderr.write(`${name}: ${inTime.map((share) => (100 * share).toFixed(2)).join(' ')} % in time\n`);
  return { name, accuracy: plan.accuracy, devices, ms, inTime };
}

interface Grid {
  readonly maxRps: number;
  readonly latenciesMs: readonly number[];
  readonly accuracies: readonly number[];
}

/** NeededDevices are the fewest devices of a cell, by method; undefined where `MOST_DEVICES` do not do. */
interface NeededDevices {
  readonly name: string;
  readonly accuracy: number;
  readonly latencyMs: number;
  readonly gears: number | undefined;
  readonly ms: number | undefined;
  readonly clipper: number | undefined;
  readonly dynba: number | undefined;
  readonly cocktail: { readonly mean: number; readonly most: number } | undefined;
}

/** neededDevices finds the fewest devices for latencies and accuracies, by method (Fig. 7). */
async function neededDevices(
  name: string,
  models: readonly FamilyModel[],
  { maxRps, latenciesMs, accuracies }: Grid,
) {
  const rows: NeededDevices[] = [];
  for (const accuracy of accuracies)
    for (const latencyMs of latenciesMs) {
      const asked = { devices: MOST_DEVICES, maxRps, latencyMs };
      const needs: (number | undefined)[] = [];
      for (const method of ['gears', 'ms+', 'dynba'] as const) {
        const { plan } = await confirmed(models, asked, { method, objective: 'devices', accuracy });
        needs.push(plan?.objective.value);
      }
      const [gears, ms, dynba] = needs;
      const { ranges, latencyNs, quantile } = problemOf(models, asked);
      const clipper = switchingDevices(models, { ranges, latencyNs, quantile, accuracy });
      const ensemble = cheapestEnsemble(models, { ranges, latencyNs, quantile, accuracy });
      const cocktail = ensemble && { mean: ensemble.meanDevices, most: ensemble.mostDevices };
      rows.push({ name, accuracy, latencyMs, gears, ms, dynba, clipper, cocktail });
      process.stderr.write(`${name}: ${accuracy} within ${latencyMs} ms is planned\n`);
    }
  process.stdout.write(
    `\ndevices needed up to ${maxRps} requests/s, ${name}: gears / MS+ / MS+ with Clipper's batching / DynBa (— above ${MOST_DEVICES}) / Cocktail+, mean (most)\n`,
  );
  process.stdout.write(
    tableText([
      ['accuracy', ...latenciesMs.map((ms) => `${ms} ms`)],
      ...accuracies.map((accuracy) => [
        accuracy.toFixed(3),
        ...rows
          .filter((row) => row.accuracy === accuracy)
          .map(({ gears, ms, clipper, dynba, cocktail }) =>
            [
              ...[gears, ms, clipper, dynba].map((n) => n ?? '—'),
              cocktail === undefined ? '—' : `${cocktail.mean.toFixed(1)} (${cocktail.most})`,
            ].join(' / '),
          ),
      ]),
    ]),
  );
  return rows;
}

/** ablations compares plans with one cascade for all loads, and with single models (Fig. 12). */
async function ablations() {
  const cases: [string, readonly FamilyModel[], Asked][] = [
    ['BERT, 1 V100, 100 ms', bert, { devices: 1, maxRps: 7600, latencyMs: 100 }],
    ['BERT, 2 V100, 50 ms', bert, { devices: 2, maxRps: 7600, latencyMs: 50 }],
    ['BERT, 1 V100, 25 ms', bert, { devices: 1, maxRps: 7600, latencyMs: 25 }],
    ['Llama, 4 pairs, 2 s', llama, { devices: 4, maxRps: 20, latencyMs: 2000 }],
  ];
  const methods = ['gears', 'static', 'ms+', 'dynba'] as const;
  const rows: ({ readonly name: string } & Partial<Record<(typeof methods)[number], number>>)[] = [];
  for (const [name, models, asked] of cases) {
    const row: { name: string } & Partial<Record<(typeof methods)[number], number>> = { name };
    for (const method of methods) {
      const { plan } = await confirmed(models, asked, { method });
      if (plan !== undefined) row[method] = plan.accuracy;
    }
    rows.push(row);
  }
  process.stdout.write('\naccuracy over the distribution of loads, %\n');
  process.stdout.write(
    tableText([
      ['case', 'gears', 'no switching', 'no cascades', 'one model'],
      ...rows.map((row) => [
        row.name,
        ...methods.map((method) => (row[method] === undefined ? '—' : (100 * row[method]).toFixed(2))),
      ]),
    ]),
  );
  return rows;
}

/** sampledCascades says what plans lose that choose among sampled cascades, as the paper's do (§4.2). */
function sampledCascades() {
  const asked = { devices: 1, maxRps: 7600, latencyMs: 100 };
  const problem = problemOf(bert, asked);
  const whole = mostAccurate(problem, { arrivalsOf });
  const mostRight = cascadeSpace(problem).cascades[0]?.accuracy ?? 0;
  const rows = [100, 1000, 10_000].map((count) => {
    const stream = streamOf(1, `cascades/${count}`);
    const sampled = Array.from({ length: count }, (): Cascade => {
      const models = bert.flatMap((_, i) => (stream.uniform() < 0.5 ? [i] : []));
      const chosen = models.length === 0 ? [stream.integer(bert.length)] : models;
      const thresholds = chosen.slice(1).map(() => (1 + stream.integer(9)) / 10);
      return cascadeOf(bert, { models: chosen, thresholds }, QUANTILE);
    });
    const best = sampled.sort((a, b) => b.accuracy - a.accuracy || a.workNs - b.workNs);
    const space = { ...cascadeSpace(problem), cascades: best };
    const found = mostAccurate(problem, { arrivalsOf, space });
    return { count, accuracy: !('choice' in found) ? undefined : found.choice.accuracy };
  });
  process.stdout.write('\naccuracy of plans from sampled cascades, BERT, 1 V100, 100 ms, %\n');
  process.stdout.write(
    tableText([
      ['cascades', 'accuracy'],
      ['the most accurate cascade, at no load', (100 * mostRight).toFixed(2)],
      ['whole frontier', !('choice' in whole) ? '—' : (100 * whole.choice.accuracy).toFixed(2)],
      ...rows.map(({ count, accuracy }) => [
        String(count),
        accuracy === undefined ? '—' : (100 * accuracy).toFixed(2),
      ]),
    ]),
  );
  return rows;
}

/** realRecords plans families whose records are real, with assumed latencies, on as few devices as make it hard. */
async function realRecords() {
  const methods = ['gears', 'static', 'ms+', 'dynba'] as const;
  const rows = (await recordedFamilies()).map(({ name, models, quality }) => {
    const asked = { devices: 1, maxRps: 7600, latencyMs: 100 };
    const found = methods.map((method) => mostAccurate(problemOf(models, asked), { method, arrivalsOf }));
    const accuracies = found.map((one) => ('choice' in one ? one.choice.accuracy : undefined));
    const [gears] = found;
    return {
      name,
      samples: models[0]?.correct.length ?? 0,
      alone: quality.map(({ accuracy }) => accuracy),
      auroc: quality.map(({ auroc }) => auroc),
      ...Object.fromEntries(methods.map((method, i) => [method, accuracies[i]])),
      bound: gears !== undefined && 'choice' in gears ? gears.choice.bound : undefined,
      accuracies,
    };
  });
  const percent = (share: number | undefined) => (share === undefined ? '—' : (100 * share).toFixed(2));
  process.stdout.write('\nreal records with the latencies of BERT, 1 V100, 100 ms, up to 7600/s, %\n');
  process.stdout.write(
    tableText([
      ['records', 'models alone', 'AUROC', 'gears', 'bound', 'no switching', 'no cascades', 'one model'],
      ...rows.map(({ name, alone, auroc, bound, accuracies: [gears, ...others] }) => [
        name,
        alone.map((share) => (100 * share).toFixed(1)).join(' '),
        auroc.map((share) => (share === undefined ? '—' : share.toFixed(2))).join(' '),
        ...[gears, bound, ...others].map(percent),
      ]),
    ]),
  );
  return rows;
}
