/**
 * This program compares policies on the workloads of PARD's evaluation where some requests weigh more than others:
 *
 *     node dist/bench/pard/priorities.js [policy …] [--seconds 120] [--seed 1] [--seeds 5] [--only tm,lv,da] [--shares 0.1,0.5]
 *         [--weight 10] [--choose] [--json file]
 *
 * A policy is a scheduler and choices as `--policy` takes them, with commas between. Each row gives, for a workload and a
 * share of heavy requests, the share that requests not in time have of all weight, the same of heavy and of light requests and
 * of all, and the least possible weighted share with the devices that the first policy had. Seeds of `--choose` are never
 * those of a run without it.
 */
import { LevelFold, type LevelsFigures } from '../../src/metrics/index.js';
import { uniformAt } from '../../src/random/index.js';
import { drawnLevels } from '../../src/workload/index.js';
import { benchArguments, benchNumber } from '../arguments.js';
import { measuresOf, saveResult } from '../results/result.js';
import { tableText } from '../results/table.js';
import { type SharedWorld, served, worldOf } from './figures/served-runs.js';
import { TRACE_VARIATIONS, type TraceName } from './made-traces.js';
import { inTimeBound } from './oracle/bound.js';
import { offlineProblem } from './oracle/of-topology.js';
import type { OfflineProblem, WorkerSteps } from './oracle/problem.js';
import { type ApplicationName, pardWorkload, servedWorkload } from './workloads.js';

const USAGE =
  'node dist/bench/pard/priorities.js [policy …] [--seconds 120] [--seed 1] [--seeds 5] [--only tm,lv,da] [--shares 0.1,0.5] [--weight 10] [--choose] [--json file]';
const LEVELS = ['weighing=levels', 'weighing.margin=0.25'].join(',');
const POLICIES = ['pard', `pard,${LEVELS}`, 'room-first', `room-first,${LEVELS}`];
/** Seeds by which policies are chosen begin after this one. */
const CHOOSING = 1_000_000;

interface Row {
  readonly name: string;
  readonly policy: string;
  readonly weighted: readonly number[];
  readonly heavy: readonly number[];
  readonly light: readonly number[];
  readonly all: readonly number[];
}

/** The shares of one run that are not in time. */
type Lost = readonly [weighted: number, heavy: number, light: number, all: number];

const { values, positionals } = benchArguments(USAGE, {
  seconds: { type: 'string', default: '120' },
  seed: { type: 'string', default: '1' },
  seeds: { type: 'string', default: '5' },
  only: { type: 'string', default: 'tm,lv,da' },
  traces: { type: 'string', default: Object.keys(TRACE_VARIATIONS).join(',') },
  shares: { type: 'string', default: '0.1,0.5' },
  weight: { type: 'string', default: '10' },
  choose: { type: 'boolean', default: false },
  json: { type: 'string' },
});
const seconds = benchNumber(USAGE, '--seconds', values.seconds);
const weight = benchNumber(USAGE, '--weight', values.weight);
const firstSeed = benchNumber(USAGE, '--seed', values.seed) + (values.choose ? CHOOSING : 0);
const seeds = Array.from({ length: benchNumber(USAGE, '--seeds', values.seeds) }, (_, i) => firstSeed + i);
const policies = positionals.length > 0 ? positionals : POLICIES;
const rows: Row[] = [];
for (const application of values.only.split(',') as ApplicationName[])
  for (const trace of values.traces.split(',') as TraceName[])
    for (const share of values.shares.split(',').map(Number))
      rows.push(...(await rowsOf(application, trace, share)));
if (values.json !== '-') show();
const { json, ...options } = values;
saveResult(json, {
  bench: 'pard-priorities',
  options: { ...options, policies },
  measures: measuresOf(rows, ({ name, policy }) => `${name}, ${policy}`, {
    'weighted drop rate': ({ weighted }) => weighted,
    'drop rate of heavy': ({ heavy }) => heavy,
    'drop rate of light': ({ light }) => light,
    'drop rate': ({ all }) => all,
  }),
  rows,
});

async function rowsOf(application: ApplicationName, trace: TraceName, share: number): Promise<Row[]> {
  const lost: Lost[][] = [...policies, 'least possible'].map(() => []);
  for (const seed of seeds) {
    const made = await pardWorkload({ application, trace, durationS: seconds, seed });
    const mix = [
      { priority: 1, share, weight },
      { priority: 2, share: 1 - share, weight: 1 },
    ];
    const levelOf = drawnLevels(mix, (purpose) => uniformAt(seed, purpose));
    const weights = mix.map((one) => one.weight);
    const world = worldOf(servedWorkload(made));
    let workers: readonly WorkerSteps[] | undefined;
    policies.forEach((text, p) => {
      const [scheduler = '', ...policy] = text.split(',');
      const fold = new LevelFold({ weights, levelOf, warmUpNs: 0 });
      const counts = served(servedWorkload(made, { scheduler, policy }), world, {
        seconds,
        observers: [fold],
        weight: (order) => weights[levelOf(order)] as number,
      });
      workers ??= counts.workers;
      lost[p]?.push(lostOf(fold.figures(1e9 * seconds)));
    });
    lost[policies.length]?.push(leastLost(world, workers as readonly WorkerSteps[], levelOf));
  }
  return lost.map((each, p) => {
    const [weighted = [], heavy = [], light = [], all = []] = [0, 1, 2, 3].map((i) =>
      each.map((one) => one[i] as number),
    );
    const name = `${application}-${trace}, ${100 * share} %`;
    return { name, weighted, heavy, light, all, policy: policies[p] ?? 'least possible' };
  });
}

function lostOf({ levels, weightedDropRate = 0 }: LevelsFigures): Lost {
  const [heavy = 0, light = 0] = levels.map(({ attainment = 1 }) => 1 - attainment);
  const arrived = levels.reduce((sum, level) => sum + level.arrived, 0);
  const inTime = levels.reduce((sum, level) => sum + level.inTime, 0);
  return [weightedDropRate, heavy, light, 1 - inTime / arrived];
}

/**
 * leastLost bounds what any policy loses with the same devices. The weight in time is the least weight times all requests in
 * time, and what heavy ones weigh more times the heavy ones in time. Each number is bounded by itself: that of the heavy as if
 * no others came. (What is bounded of light ones follows from nothing, and is that of all.)
 */
function leastLost(
  { topology, arrivalNs, verdict }: SharedWorld,
  workers: readonly WorkerSteps[],
  levelOf: (order: number) => number,
): Lost {
  const problem = offlineProblem(topology, { arrivalNs, verdict, workers });
  const heavy = only(problem, (order) => levelOf(order) === 0);
  const all = arrivalNs.length;
  const heavies = heavy.arrivalNs.length;
  const [allIn, heavyIn] = [problem, heavy].map((one) => inTimeBound(one, { mostArrivals: 0 })) as [
    number,
    number,
  ];
  const most = allIn + (weight - 1) * heavyIn;
  return [1 - most / (all + (weight - 1) * heavies), 1 - heavyIn / heavies, Number.NaN, 1 - allIn / all];
}

function only(problem: OfflineProblem, isIn: (order: number) => boolean): OfflineProblem {
  const kept = Array.from(problem.arrivalNs.keys()).filter(isIn);
  const of = (column: Float64Array | Int32Array) => kept.map((order) => column[order] as number);
  return {
    ...problem,
    arrivalNs: Float64Array.from(of(problem.arrivalNs)),
    deadlineNs: Float64Array.from(of(problem.deadlineNs)),
    routeOf: Int32Array.from(of(problem.routeOf)),
  };
}

function show(): void {
  process.stdout.write(
    tableText([
      ['workload, heavy', 'policy', 'weighted %', 'heavy %', 'light %', 'all %'],
      ...rows.map(({ name, policy, weighted, heavy, light, all }) => [
        ...[name, policy],
        ...[weighted, heavy, light, all].map(percent),
      ]),
    ]),
  );
}

/** percent gives a mean and two standard errors. */
function percent(list: readonly number[]): string {
  const mean = list.reduce((sum, value) => sum + value, 0) / list.length;
  if (Number.isNaN(mean)) return '–';
  const squares = list.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  const error = Math.sqrt(squares / Math.max(1, list.length - 1) / list.length);
  return `${(100 * mean).toFixed(2)} ± ${(200 * error).toFixed(2)}`;
}
