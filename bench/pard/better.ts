/**
 * This program compares policies with the best of some schedulers, on the twelve workloads of PARD's evaluation and on
 * examples/pooled at 0.95 and 1.1 of its load:
 *
 *     node dist/bench/pard/better.js [policy …] [--against pard,stage-local,reactive] [--seconds 300] [--seed 1] [--seeds 3]
 *         [--only lv] [--choose] [--threads 2] [--json file]
 *
 * A policy is a scheduler and choices as `--policy` takes them, with commas between: `pard,placement=on-arrival,formation=eager`.
 * The drop rate is the share of requests that are not answered in time. Each policy also has the mean of its difference to the
 * best of the schedulers, which is the one with the fewest drops on that workload over all seeds, and its standard error over
 * seeds. Seeds of `--choose`, for choosing policies, are never those of a run without it, which reports.
 */
import { resolve } from 'node:path';
import { ToldFaults } from '../../src/artifacts/index.js';
import { type ChosenScheduler, chosenScheduler } from '../../src/serving/index.js';
import { prepareSimulation, SimulationPool, type SimulationSetup } from '../../src/simulation/index.js';
import { benchArguments, benchNumber } from '../arguments.js';
import { measuresOf, saveResult } from '../results/result.js';
import { tableText } from '../results/table.js';
import { TRACE_VARIATIONS, type TraceName } from './made-traces.js';
import { type ApplicationName, pardWorkload, servedWorkload } from './workloads.js';

const USAGE =
  'node dist/bench/pard/better.js [policy …] [--against pard,stage-local,reactive] [--seconds 300] [--seed 1] [--seeds 3] [--only lv] [--choose] [--threads 2] [--json file]';

const POOLED = resolve(import.meta.dirname, '../../../examples/pooled/expected-plan.json');
const POOLED_LOADS = [0.95, 1.1];
const TWELVE: readonly ApplicationName[] = ['tm', 'lv', 'ga', 'da'];
/** Seeds by which policies are chosen begin after this one. */
const CHOOSING = 1_000_000;

/** Case is a workload of which each seed makes a simulation. */
interface Case {
  readonly name: string;
  readonly setup: (seed: number) => Promise<SimulationSetup>;
  readonly loadFactor?: number;
}

interface Row {
  readonly name: string;
  readonly policy: string;
  /** The share of requests that were not answered in time, by seed. */
  readonly dropRates: readonly number[];
}

const { values, positionals } = benchArguments(USAGE, {
  against: { type: 'string', default: 'pard,stage-local,reactive' },
  seconds: { type: 'string', default: '300' },
  seed: { type: 'string', default: '1' },
  seeds: { type: 'string', default: '3' },
  only: { type: 'string', default: '' },
  choose: { type: 'boolean', default: false },
  threads: { type: 'string', default: '2' },
  json: { type: 'string' },
});
const seconds = benchNumber(USAGE, '--seconds', values.seconds);
const threads = benchNumber(USAGE, '--threads', values.threads);
const firstSeed = benchNumber(USAGE, '--seed', values.seed) + (values.choose ? CHOOSING : 0);
const seeds = Array.from({ length: benchNumber(USAGE, '--seeds', values.seeds) }, (_, i) => firstSeed + i);
const against = values.against.split(',');
const policies = [...against, ...positionals].map((text) => ({ text, served: servedBy(text) }));
const rows: Row[] = [];
for (const one of cases().filter(({ name }) => new RegExp(values.only).test(name)))
  rows.push(...(await rowsOf(one)));
if (values.json !== '-') show(rows);
const { json, ...options } = values;
saveResult(json, {
  bench: 'pard-better',
  options: { ...options, policies: positionals },
  measures: measuresOf(rows, ({ name, policy }) => `${name}, ${policy}`, {
    'drop rate': ({ dropRates }) => dropRates,
  }),
  rows,
});

function cases(): Case[] {
  const traces = Object.keys(TRACE_VARIATIONS) as TraceName[];
  const twelve = TWELVE.flatMap((application) =>
    traces.map((trace) => ({
      name: `${application}-${trace}`,
      setup: async (seed: number) =>
        servedWorkload(await pardWorkload({ application, trace, durationS: seconds, seed })),
    })),
  );
  const pooled = POOLED_LOADS.map((loadFactor) => ({
    name: `pooled at ${loadFactor}`,
    loadFactor,
    setup: async (seed: number) => (await prepareSimulation(POOLED, { seed, duration: seconds })).setup,
  }));
  return [...twelve, ...pooled];
}

function servedBy(text: string): { readonly scheduler: string; readonly policy: readonly string[] } {
  const [scheduler = '', ...policy] = text.split(',');
  return { scheduler, policy };
}

async function rowsOf({ name, setup, loadFactor }: Case): Promise<Row[]> {
  const dropRates: number[][] = policies.map(() => []);
  for (const seed of seeds) {
    const shared = await setup(seed);
    const pool = new SimulationPool(shared, { threads });
    const jobs = policies.map(({ text, served }) => ({
      name: text,
      job: { scheduler: tuned(shared, served), ...(loadFactor === undefined ? {} : { loadFactor }) },
    }));
    const runs = await pool.runAll(jobs);
    await pool.close();
    runs.forEach(({ figures }, i) => {
      const { arrived, inTime } = figures.overall;
      dropRates[i]?.push(1 - inTime / arrived);
    });
  }
  return policies.map(({ text }, i) => ({ name, policy: text, dropRates: dropRates[i] as number[] }));
}

/** tuned is a scheduler with the tuner that the workload has. */
function tuned(
  { scheduler: { tuner } }: SimulationSetup,
  served: ReturnType<typeof servedBy>,
): ChosenScheduler {
  const told = new ToldFaults();
  const chosen = chosenScheduler(served, told);
  if (chosen === undefined || told.count > 0) throw told.error('compare policies');
  return { ...chosen, ...(tuner === undefined ? {} : { tuner }) };
}

function show(all: readonly Row[]): void {
  const names = [...new Set(all.map(({ name }) => name))];
  const cells = names.map((name) => {
    const found = all.filter((row) => row.name === name);
    const best = bestOf(found);
    return [
      name,
      ...against.map((policy) => percent(mean(ratesOf(found, policy)))),
      ...positionals.map((policy) => {
        const rates = ratesOf(found, policy);
        const differences = rates.map((rate, i) => rate - (best.dropRates[i] as number));
        const mark = mean(differences) > 2 * standardError(differences) ? '!' : '';
        return `${percent(mean(rates))} (${signed(mean(differences))} ± ${percent(standardError(differences))})${mark}`;
      }),
    ];
  });
  const twelve = all.filter(({ name }) => !name.startsWith('pooled'));
  process.stdout.write(
    tableText([
      ['drops, %', ...against, ...positionals.map((_, i) => `policy ${i + 1}`)],
      ...cells,
      [
        'mean of pipelines',
        ...[...against, ...positionals].map((policy) => percent(mean(ratesOf(twelve, policy)))),
      ],
    ]),
  );
  const bests = [...new Set(twelve.map(({ name }) => name))].map((name) =>
    mean(bestOf(twelve.filter((row) => row.name === name)).dropRates),
  );
  process.stdout.write(`the best of each pipeline: ${percent(mean(bests))} in the mean\n`);
  positionals.forEach((policy, i) => {
    const fewer = 1 - mean(ratesOf(twelve, policy)) / mean(bests);
    process.stdout.write(`policy ${i + 1}: ${percent(fewer)} % fewer drops than these: ${policy}\n`);
  });
}

/** bestOf is the row of the scheduler with the fewest drops, of those that are compared with. */
function bestOf(found: readonly Row[]): Row {
  return found
    .filter(({ policy }) => against.includes(policy))
    .reduce((best, row) => (mean(row.dropRates) < mean(best.dropRates) ? row : best));
}

function ratesOf(all: readonly Row[], policy: string): number[] {
  return all.filter((row) => row.policy === policy).flatMap(({ dropRates }) => dropRates);
}

function percent(share: number): string {
  return (100 * share).toFixed(2);
}

function signed(share: number): string {
  return `${share >= 0 ? '+' : '−'}${percent(Math.abs(share))}`;
}

function mean(list: readonly number[]): number {
  return list.reduce((sum, value) => sum + value, 0) / list.length;
}

function standardError(list: readonly number[]): number {
  const middle = mean(list);
  const squares = list.reduce((sum, value) => sum + (value - middle) ** 2, 0);
  return Math.sqrt(squares / Math.max(1, list.length - 1) / list.length);
}
