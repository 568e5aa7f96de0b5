/**
 * This program compares policies with the best of some schedulers, on the twelve workloads of PARD's evaluation and on
 * examples/pooled at 0.95 and 1.1 of its load:
 *
 *     node dist/bench/pard/better.js [policy …] [--against pard,stage-local,reactive] [--applications tm,lv,ga,da]
 *         [--from made|published] [--seconds 300] [--latency 1] [--jitter 0.05] [--bound] [--seed 1] [--seeds 3] [--only lv] [--choose]
 *         [--threads 2] [--json file]
 *
 * A policy is a scheduler and choices as `--policy` takes them, with commas between: `pard,placement=on-arrival,formation=eager`.
 * The drop rate is the share of requests that are not answered in time. Each policy also has the mean of its difference to the
 * best of the schedulers, which is the one with the fewest drops on that workload over all seeds, and its standard error over
 * seeds. Seeds of `--choose`, for choosing policies, are never those of a run without it, which reports.
 * With `--bound`, "least possible" is what no policy drops less than with the devices that the last policy had, when it had
 * them, if executions take what is planned (`oracle/bound.ts`).
 *
 * Rates are made or those of `../shared/traces`. `--latency` stretches all latencies, as `pardWorkload` says; with `--jitter`
 * executions take planned times multiplied by log-normal factors of this coefficient of variation.
 */
import { resolve } from 'node:path';
import { JobPool } from '../../src/jobs/index.js';
import { prepareSimulation, SimulationPool } from '../../src/simulation/index.js';
import { benchArguments, benchNumber } from '../arguments.js';
import { inputsAt, measuresOf, saveResult } from '../results/result.js';
import { tableText } from '../results/table.js';
import type { FigureRow } from './figures/figure-rows.js';
import type { AskedRuns } from './figures/served-runs.js';
import { TRACE_VARIATIONS, type TraceName } from './made-traces.js';
import { PUBLISHED_FILES } from './published-traces.js';
import { APPLICATIONS, type ApplicationName } from './workloads.js';

const USAGE =
  'node dist/bench/pard/better.js [policy …] [--against pard,stage-local,reactive] [--applications tm,lv,ga,da] [--from made] [--seconds 300] [--latency 1] [--jitter 0.05] [--bound] [--seed 1] [--seeds 3] [--only lv] [--choose] [--threads 2] [--json file]';

const POOLED = resolve(import.meta.dirname, '../../../examples/pooled/expected-plan.json');
const POOLED_LOADS = [0.95, 1.1];
/** Seeds by which policies are chosen begin after this one. */
const CHOOSING = 1_000_000;

/** Case is a workload, with the figures of one seed under each policy in turn. */
interface Case {
  readonly name: string;
  readonly run: (seed: number) => Promise<readonly Share[]>;
}

/** Share is what one policy makes of a workload and seed. */
interface Share {
  /** The share of requests that were not answered in time. */
  readonly dropRate: number;
  /**
   * The least such share of any policy that has the same devices at the same times; only of pipelines, and where it was
   * asked for.
   */
  readonly leastDropRate?: number | undefined;
}

interface Row {
  readonly name: string;
  readonly policy: string;
  /** By seed. */
  readonly dropRates: readonly number[];
  readonly leastDropRates: readonly number[];
}

const { values, positionals } = benchArguments(USAGE, {
  against: { type: 'string', default: 'pard,stage-local,reactive' },
  applications: { type: 'string', default: 'tm,lv,ga,da' },
  from: { type: 'string', default: 'made' },
  seconds: { type: 'string', default: '300' },
  latency: { type: 'string', default: '1' },
  jitter: { type: 'string' },
  bound: { type: 'boolean', default: false },
  seed: { type: 'string', default: '1' },
  seeds: { type: 'string', default: '3' },
  only: { type: 'string', default: '' },
  choose: { type: 'boolean', default: false },
  threads: { type: 'string', default: '2' },
  json: { type: 'string' },
});
const { from } = values;
const applications = values.applications.split(',').filter((name) => name !== '') as ApplicationName[];
if (!applications.every((name) => APPLICATIONS.includes(name)) || (from !== 'made' && from !== 'published')) {
  process.stderr.write(`usage: ${USAGE}\n`);
  process.exit(2);
}
const seconds = benchNumber(USAGE, '--seconds', values.seconds);
const threads = benchNumber(USAGE, '--threads', values.threads);
const latencyFactor = benchNumber(USAGE, '--latency', values.latency);
const jitterCv = values.jitter === undefined ? undefined : benchNumber(USAGE, '--jitter', values.jitter);
const firstSeed = benchNumber(USAGE, '--seed', values.seed) + (values.choose ? CHOOSING : 0);
const seeds = Array.from({ length: benchNumber(USAGE, '--seeds', values.seeds) }, (_, i) => firstSeed + i);
const against = values.against.split(',');
const policies = [...against, ...positionals].map((text) => ({ text, served: servedBy(text) }));
const pool = new JobPool<AskedRuns, FigureRow[], never>('#dist/bench/pard/figures/runs-worker.js', {
  what: 'simulation',
  threads,
});
const rows: Row[] = [];
try {
  const asked = cases().filter(({ name }) => new RegExp(values.only).test(name));
  for (const found of await Promise.all(asked.map(rowsOf))) rows.push(...found);
} finally {
  await pool.close();
}
if (values.json !== '-') show(rows);
const { json, ...options } = values;
saveResult(json, {
  bench: 'pard-better',
  options: { ...options, policies: positionals },
  inputs:
    from === 'made' ? {} : Object.assign({}, ...Object.values(PUBLISHED_FILES).map((path) => inputsAt(path))),
  measures: measuresOf(rows, ({ name, policy }) => `${name}, ${policy}`, {
    'drop rate': ({ dropRates }) => dropRates,
  }),
  rows,
});

function cases(): Case[] {
  const traces = Object.keys(TRACE_VARIATIONS) as TraceName[];
  const pipelines = applications.flatMap((application) =>
    traces.map((trace) => ({
      name: `${application}-${trace}`,
      run: (seed: number) =>
        pool.run({
          application,
          trace,
          durationS: seconds,
          seed,
          from: from as 'made' | 'published',
          latencyFactor,
          jitterCv,
          servers: policies.map(({ text, served }) => ({ name: text, ...served })),
          bounds: values.bound ? 'own-devices' : 'none',
        }),
    })),
  );
  const pooled = POOLED_LOADS.map((loadFactor) => ({
    name: `pooled at ${loadFactor}`,
    run: (seed: number) => pooledShares(seed, loadFactor),
  }));
  return [...pipelines, ...pooled];
}

function servedBy(text: string): { readonly scheduler: string; readonly policy: string[] } {
  const [scheduler = '', ...policy] = text.split(',');
  return { scheduler, policy };
}

async function pooledShares(seed: number, loadFactor: number): Promise<Share[]> {
  const settings = { seed, duration: seconds, ...(jitterCv === undefined ? {} : { jitter: jitterCv }) };
  const prepared = await Promise.all(
    policies.map(({ served }) => prepareSimulation(POOLED, { ...settings, ...served })),
  );
  const [first] = prepared;
  const simulations = new SimulationPool((first as (typeof prepared)[number]).setup, { threads: 1 });
  const runs = await simulations.runAll(
    prepared.map(({ setup: { scheduler } }, i) => ({
      name: (policies[i] as (typeof policies)[number]).text,
      job: { scheduler, loadFactor },
    })),
  );
  await simulations.close();
  return runs.map(({ figures: { overall } }) => ({ dropRate: 1 - overall.inTime / overall.arrived }));
}

async function rowsOf({ name, run }: Case): Promise<Row[]> {
  const ofSeeds = await Promise.all(seeds.map(run));
  return policies.map(({ text }, i) => ({
    name,
    policy: text,
    dropRates: ofSeeds.map((shares) => (shares[i] as Share).dropRate),
    leastDropRates: ofSeeds.flatMap((shares) => (shares[i] as Share).leastDropRate ?? []),
  }));
}

function show(all: readonly Row[]): void {
  const names = [...new Set(all.map(({ name }) => name))];
  const cells = names.map((name) => {
    const found = all.filter((row) => row.name === name);
    const best = bestOf(found);
    const least = found.at(-1)?.leastDropRates ?? [];
    return [
      name,
      least.length === 0 ? '–' : percent(mean(least)),
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
      ['drops, %', 'least possible', ...against, ...positionals.map((_, i) => `policy ${i + 1}`)],
      ...cells,
      [
        ...['mean of pipelines', ''],
        ...[...against, ...positionals].map((policy) => percent(mean(ratesOf(twelve, policy)))),
      ],
    ]),
  );
  const ofPipelines = [...new Set(twelve.map(({ name }) => name))].map((name) =>
    twelve.filter((row) => row.name === name),
  );
  const bests = ofPipelines.map((found) => mean(bestOf(found).dropRates));
  process.stdout.write(`the best of each pipeline: ${percent(mean(bests))} in the mean\n`);
  positionals.forEach((policy, i) => {
    const rates = ofPipelines.map((found) => mean(ratesOf(found, policy)));
    const fewer = 1 - mean(rates) / mean(bests);
    const shares = rates.map((rate, k) => 1 - rate / (bests[k] as number));
    process.stdout.write(
      `policy ${i + 1}: ${percent(fewer)} % fewer drops than these, and ${percent(mean(shares))} % fewer in the mean of what each has fewer: ${policy}\n`,
    );
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
