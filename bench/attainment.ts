/**
 * This benchmark simulates PPipe's published plans:
 *
 *     node dist/bench/attainment.js [--table attainment|largest] [--cases 'word word']
 *                                   [--rules published,own] [--runs n] [--seconds 30] [--most 1.2] [--seed 0]
 *                                   [--policy '{…}'] [--threads n] [--data folder]
 *                                   [--json file]
 *
 * The table `attainment` simulates every cell of attainment.csv under the published rules. A cell is met when
 * it is within three standard deviations and half a point. The table `largest` finds the largest load factor
 * at which 99 % are in time, by plan and scheduler, under the published rules and under our defaults.
 * `--policy` changes the defaults, as with {"reservation":{"askOthers":false}}. Without `--table` both are
 * made. Tables go to stderr, JSON to stdout.
 */
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import { JobPool, serveJobs } from '../src/jobs/index.js';
import { benchArguments, benchNumber } from './arguments.js';
import {
  type Attained,
  Attainment,
  largestLoad,
  type PublishedCell,
  type Rules,
  type RunOptions,
  readAttainment,
  type Scheduler,
  type Setting,
} from './ppipe/attainment.js';
import {
  PUBLISHED_PLANS,
  type PublishedPlan,
  profilesIn,
  publishedInstances,
  publishedRps,
} from './ppipe/plans.js';
import { inputsAt, measuresOf, saveResult } from './results/result.js';

interface Job {
  setting: Omit<Setting, 'instance'> & { instance: string };
  options: RunOptions;
  /** The rate to simulate; without it, the largest load factor up to `most` is searched. */
  offeredRps?: number;
  most: number;
  /** The number of simulated requests, roughly. The longest jobs run first. */
  cost: number;
}

type Answer = { attained: Attained } | { largest: number };

const USAGE = `node dist/bench/attainment.js [--table attainment|largest] [--cases 'word word'] [--rules published,own] [--runs n]
  [--seconds 30] [--most 1.2] [--seed 0] [--policy '{…}'] [--threads n] [--data folder] [--json file]`;
const SCHEDULERS: readonly Scheduler[] = ['reservation', 'reactive'];

if (isMainThread) await bench();
else serveSettings();

/** serveSettings simulates on a thread of the pool. The thread reads the published data once. */
function serveSettings(): void {
  let attainmentOf: ReturnType<typeof attainments> | undefined;
  serveJobs<Job, Answer, never, string>(({ setting, options, offeredRps, most }, { data }) => {
    attainmentOf ??= attainments(new URL(data));
    const attainment = attainmentOf(setting, options);
    return offeredRps === undefined
      ? { largest: largestLoad(attainment, most) }
      : { attained: attainment.at(offeredRps) };
  });
}

function attainments(folder: URL): (setting: Job['setting'], options: RunOptions) => Attainment {
  const profileOf = profilesIn(folder);
  const instances = new Map(publishedInstances(folder).map((instance) => [instance.id, instance]));
  return (setting, options) => {
    const instance = instances.get(setting.instance);
    if (instance === undefined) throw new Error(`there is no instance ${setting.instance}`);
    return new Attainment({ ...setting, instance }, profileOf, options);
  };
}

async function bench(): Promise<void> {
  const { values } = benchArguments(USAGE, {
    table: { type: 'string' },
    cases: { type: 'string', default: '' },
    rules: { type: 'string', default: 'published,own' },
    runs: { type: 'string' },
    seconds: { type: 'string', default: '30' },
    most: { type: 'string', default: '1.2' },
    seed: { type: 'string', default: '0' },
    policy: { type: 'string', default: '{}' },
    threads: { type: 'string', default: `${availableParallelism()}` },
    json: { type: 'string' },
    data: { type: 'string', default: new URL('../../../shared/data/ppipe/', import.meta.url).href },
  });
  const number = (name: 'seconds' | 'most' | 'seed' | 'threads') =>
    benchNumber(USAGE, `--${name}`, values[name]);
  const folder = new URL(values.data, `file://${process.cwd()}/`);
  const base = {
    durationS: number('seconds'),
    seed: number('seed'),
    policy: JSON.parse(values.policy) as NonNullable<RunOptions['policy']>,
  };
  const runs = values.runs === undefined ? undefined : benchNumber(USAGE, '--runs', values.runs);
  const run = (jobs: Job[]) => runJobs(jobs, folder, number('threads'));
  const tables: { attainment?: AttainmentRow[]; largest?: LargestRow[] } = {};
  if (values.table !== 'largest') {
    const cells = readAttainment(folder).filter((cell) => isWanted(cell, values.cases));
    tables.attainment = await attainmentTable(cells, { ...base, runs }, run);
  }
  if (values.table !== 'attainment') {
    const settings = settingsOf(folder, values.rules.split(',') as Rules[]).filter((setting) =>
      isWanted(setting, values.cases),
    );
    const options = { ...base, runs: runs ?? 3 };
    tables.largest = await largestTable(settings, options, number('most'), run);
  }
  if (values.json !== '-') process.stdout.write(`${JSON.stringify({ ...base, ...tables }, null, 1)}\n`);
  const { table, cases, rules, most } = values;
  saveResult(values.json, {
    bench: 'attainment',
    options: { ...base, table, cases, rules, runs, most },
    inputs: inputsAt(folder, 'published plans'),
    measures: [
      ...measuresOf(tables.attainment ?? [], (row) => `${nameOf(row)} at ${row.loadFactor}`, {
        attainment: (row) => row.ours.attainment,
      }),
      ...measuresOf(tables.largest ?? [], (row) => `${nameOf(row)}, ${row.rules} rules`, {
        'largest load factor': (row) => row.largest,
      }),
    ],
    rows: tables,
  });
}

type Run = (jobs: Job[]) => Promise<Answer[]>;

/** runJobs simulates on a pool of threads, the longest jobs first. Answers come in the order of the jobs. */
async function runJobs(jobs: Job[], folder: URL, threads: number): Promise<Answer[]> {
  const longestFirst = jobs.map((_, i) => i).sort((a, b) => jobs[b]!.cost - jobs[a]!.cost);
  const answers: Answer[] = [];
  const started = Date.now();
  const pool = new JobPool<Job, Answer, never>(fileURLToPath(import.meta.url), {
    what: 'simulation',
    data: folder.href,
    threads,
  });
  try {
    const named = longestFirst.map((i) => ({ name: nameOf(jobs[i]!.setting), job: jobs[i]! }));
    await pool.runAll(named, (answer, j) => {
      answers[longestFirst[j]!] = answer;
    });
  } finally {
    await pool.close();
  }
  process.stderr.write(`${jobs.length} jobs in ${((Date.now() - started) / 1000).toFixed(0)} s\n`);
  return answers;
}

/** isWanted says whether a case's name holds every word of the filter. */
function isWanted(one: Parameters<typeof nameOf>[0], words: string): boolean {
  return words.split(' ').every((word) => nameOf(one).includes(word));
}

function nameOf({
  instance,
  model,
  plan,
  scheduler,
}: {
  instance: string | { id: string };
  model: number;
  plan: PublishedPlan;
  scheduler: Scheduler;
}): string {
  return `${typeof instance === 'string' ? instance : instance.id} ${model} ${plan} ${scheduler}`;
}

/** setOf names the set of an instance: `ablation/…` has one model, `maf19/…` has three. */
function setOf(instance: string): string {
  return instance.startsWith('ablation') ? 'one-model' : 'three-model';
}

interface AttainmentRow extends PublishedCell {
  ours: Attained;
  off: number;
  met: boolean;
}

async function attainmentTable(
  cells: PublishedCell[],
  options: Omit<RunOptions, 'runs'> & { runs: number | undefined },
  run: Run,
) {
  const answers = await run(
    cells.map(({ instance, model, plan, scheduler, offeredRps, runs }) => ({
      setting: { instance, model, plan, scheduler, rules: 'published' },
      options: { ...options, runs: options.runs ?? runs },
      offeredRps,
      most: 0,
      cost: offeredRps * (scheduler === 'reactive' ? 2 : 1),
    })),
  );
  const rows = cells.map((cell, i) => {
    const { attained } = answers[i] as { attained: Attained };
    const off = attained.attainment - cell.attainment;
    return { ...cell, ours: attained, off, met: Math.abs(off) <= 3 * cell.sd + 0.005 };
  });
  process.stderr.write(
    '\nattainment.csv under the published rules: within three standard deviations and 0.5 points\n',
  );
  process.stderr.write(`${line('set', 'plan', 'scheduler', 'cells', 'met', 'rms off', 'worst off')}\n`);
  for (const group of groupsOf(rows, (row) => [setOf(row.instance), row.plan, row.scheduler])) {
    const offs = group.rows.map(({ off }) => 100 * off);
    const rms = Math.sqrt(offs.reduce((sum, off) => sum + off * off, 0) / offs.length);
    const worst = offs.reduce((most, off) => (Math.abs(off) > Math.abs(most) ? off : most), 0);
    const met = group.rows.filter((row) => row.met).length;
    process.stderr.write(
      `${line(...group.key, `${offs.length}`, `${met}`, rms.toFixed(3), worst.toFixed(3))}\n`,
    );
  }
  for (const row of rows.filter(({ met }) => !met)) {
    const off = `${(100 * row.ours.attainment).toFixed(2)} % for ${(100 * row.attainment).toFixed(2)} ± ${(100 * row.sd).toFixed(2)} %`;
    process.stderr.write(`NOT MET: ${nameOf(row)} at ${row.loadFactor}: ${off}\n`);
  }
  return rows;
}

function settingsOf(folder: URL, rules: readonly Rules[]): Setting[] {
  const shown = publishedInstances(folder).filter(({ id }) => !id.includes('rtmdet'));
  return shown.flatMap((instance) =>
    instance.models.flatMap((_, model) =>
      PUBLISHED_PLANS.filter((plan) => publishedRps(instance, plan) !== undefined).flatMap((plan) =>
        SCHEDULERS.flatMap((scheduler) =>
          rules.map((rule) => ({ instance, model, plan, scheduler, rules: rule })),
        ),
      ),
    ),
  );
}

async function largestTable(settings: Setting[], options: RunOptions, most: number, run: Run) {
  const answers = await run(
    settings.map((setting) => ({
      setting: { ...setting, instance: setting.instance.id },
      options,
      most,
      cost: publishedRps(setting.instance, 'reference')?.[setting.model] as number,
    })),
  );
  const rows = settings.map(({ instance, ...setting }, i) => {
    const { largest } = answers[i] as { largest: number };
    return { instance: instance.id, ...setting, largest };
  });
  process.stderr.write(
    `\nLargest load factor at 99 %, 0.01 steps up to ${most}, late counted as missed; mean, with none counted as more than 1, and least\n`,
  );
  process.stderr.write(`${line('set', 'plan', 'scheduler', 'published', 'own')}\n`);
  for (const group of groupsOf(rows, (row) => [setOf(row.instance), row.plan, row.scheduler])) {
    const figure = (rules: Rules) => meanAndLeast(group.rows.filter((row) => row.rules === rules));
    process.stderr.write(`${line(...group.key, figure('published'), figure('own'))}\n`);
  }
  for (const group of groupsOf(rows, (row) => [setOf(row.instance)])) printEach(group.rows);
  return rows;
}

interface LargestRow {
  instance: string;
  model: number;
  plan: PublishedPlan;
  scheduler: Scheduler;
  rules: Rules;
  largest: number;
}

/** printEach prints each model under the default rules, or under the published ones where only those were asked for. */
function printEach(rows: readonly LargestRow[]): void {
  const rules = rows.some((row) => row.rules === 'own') ? 'own' : 'published';
  const columns = PUBLISHED_PLANS.flatMap((plan) => SCHEDULERS.map((scheduler) => ({ plan, scheduler })));
  process.stderr.write(
    `\n${rules} rules: ${columns.map(({ plan, scheduler }) => `${plan} ${scheduler}`).join(', ')}\n`,
  );
  const shown = rows.filter((row) => row.rules === rules);
  for (const { key, rows: own } of groupsOf(shown, ({ instance, model }) => [instance, `${model}`])) {
    const cells = columns.map(
      ({ plan, scheduler }) =>
        own
          .find((row) => row.plan === plan && row.scheduler === scheduler)
          ?.largest.toFixed(2)
          .padStart(5) ?? '    –',
    );
    process.stderr.write(`${cells.join(' ')}  ${key.join(' ')}\n`);
  }
}

function meanAndLeast(rows: readonly LargestRow[]): string {
  if (rows.length === 0) return '–';
  const all = rows.map(({ largest }) => largest);
  const mean = (of: number[]) => (of.reduce((sum, one) => sum + one, 0) / of.length).toFixed(4);
  return `${mean(all)} ${mean(all.map((one) => Math.min(1, one)))} ${Math.min(...all).toFixed(2)}`;
}

function groupsOf<R>(rows: readonly R[], keyOf: (row: R) => string[]): { key: string[]; rows: R[] }[] {
  const groups = new Map<string, { key: string[]; rows: R[] }>();
  for (const row of rows) {
    const key = keyOf(row);
    const group = groups.get(key.join()) ?? { key, rows: [] };
    group.rows.push(row);
    groups.set(key.join(), group);
  }
  return [...groups.values()];
}

function line(...cells: string[]): string {
  return cells.map((cell, i) => (i < 3 ? cell.padEnd(16) : cell.padStart(22))).join('');
}
