/**
 * This benchmark simulates the workflows of examples/workflows as DyOrc's paper serves its own (§8), with the functions
 * of the Azure trace mapped to workflows in turn:
 *
 *     node dist/bench/dyorc.js [--only latency,prediction,accuracy,change,schedulers,scale,groups,long] [--minutes 120] [--seeds 1] [--json file]
 *
 * - latency: DyOrc, a static placement and a Ray-like scheduler on 32 devices: mean latency, loads, batches, what
 *   devices did of the time, and how many next calls were as expected (Fig. 6, 7, 8, 9 and 12).
 * - prediction: what predictions are worth where memory holds all, and where it does not: DyOrc beside greedy,
 *   without predictions, and told what programs will do, which nobody can know.
 * - accuracy: how many next calls, and next components, were as expected, drawn or likeliest (Fig. 12).
 * - change: the mix, where chats double and the others are halved at half time (Fig. 10).
 * - schedulers: DyOrc, greedy and round robin on one server of 8 devices (Fig. 11).
 * - scale: the chat at one load on 8 to 512 devices, with the processor time of a request (Fig. 13 and 14).
 * - groups: the mix on 128 devices under one scheduler, and in four groups of 32.
 * - long: two hours of the mix on 128 devices, with the processor time of all.
 *
 * Processor times are of whole runs in virtual time, the driver included.
 */
import type { WorkflowPlan } from '../src/formats/index.js';
import type { WorkflowScheduler } from '../src/serving/index.js';
import { benchArguments, benchNumber } from './arguments.js';
import { azureLoad, hasTrace, type LoadAsked } from './dyorc/azure-load.js';
import { type Asked, planOfExample, type Served, type ServedLoad, served } from './dyorc/served.js';
import { type Measure, measuresOf, saveResult } from './results/result.js';
import { tableText } from './results/table.js';

const PARTS = { latency, prediction, accuracy, change, schedulers, scale, groups, long } as const;
const USAGE = `node dist/bench/dyorc.js [--only ${Object.keys(PARTS).join(',')}] [--minutes 120] [--seeds 1] [--json file]`;
const { values } = benchArguments(USAGE, {
  only: { type: 'string', default: Object.keys(PARTS).join(',') },
  minutes: { type: 'string', default: '120' },
  seeds: { type: 'string', default: '1' },
  json: { type: 'string' },
});
const minutes = benchNumber(USAGE, 'minutes', values.minutes);
const seeds = Array.from({ length: benchNumber(USAGE, 'seeds', values.seeds) }, (_, i) => 1 + i);

/** The rates of the examples, of 32 devices, in requests per second. */
const RPS = { chat: 16, experts: 10, debate: 6, mix: 9 } as const;
type Example = keyof typeof RPS;
const EXAMPLES = Object.keys(RPS) as Example[];
/** Two hours of the mix at this rate make less than 300,000 calls. */
const LONG_RPS = 13;

/** How is who serves a load, and in what it differs from its own rules. */
type How = { readonly scheduler: WorkflowScheduler } & Partial<Pick<ServedLoad, 'policy' | 'isForeseen'>>;

/** The devices on which predictions are compared: those of the examples, and some that hold less or load slowly. */
const REGIMES: Readonly<Record<string, Asked['device'] & object>> = {
  'as they are': {},
  '40 GiB': { memoryGiB: 40 },
  '40 GiB, 4 GB/s': { memoryGiB: 40, loadGBps: 4 },
  '40 GiB, servers of 120 GiB': { memoryGiB: 40, hostMemoryGiB: 120 },
};
const DROPPING_NONE = { kind: 'never' } as const;
/** WORTHS are those who are compared: what they differ in is what is known of programs. */
const WORTHS: Readonly<Record<string, How>> = {
  static: { scheduler: 'static' },
  greedy: { scheduler: 'greedy' },
  'no predictions': {
    scheduler: 'dyorc',
    policy: { dropping: DROPPING_NONE, prediction: { kind: 'none' } },
  },
  dyorc: { scheduler: 'dyorc', policy: { dropping: DROPPING_NONE } },
  'told the future': { scheduler: 'dyorc', isForeseen: true, policy: { dropping: DROPPING_NONE } },
};

if (!hasTrace()) {
  process.stderr.write('The trace of ../shared is not there: this benchmark has no load.\n');
  process.exit(2);
}
const measures: Measure[] = [];
for (const part of values.only.split(',')) {
  const run = PARTS[part as keyof typeof PARTS];
  if (run !== undefined) measures.push(...(await run()));
}
saveResult(values.json, {
  bench: 'dyorc',
  options: { minutes, seeds, only: values.only },
  measures,
  rows: [],
});

/** Row is what a scheduler made of an example, over all seeds. */
interface Row {
  readonly name: string;
  readonly runs: readonly Served[];
}

function rowOf(name: string, plan: WorkflowPlan, how: Omit<LoadAsked, 'seed' | 'minutes'> & How): Row {
  const { scheduler, policy, isForeseen = false, ...asked } = how;
  const runs = seeds.map((seed) =>
    served(plan, scheduler, {
      ...(policy === undefined ? {} : { policy }),
      seed,
      isForeseen,
      load: azureLoad(plan.workflows.length, { minutes, seed, ...asked }),
    }),
  );
  return { name, runs };
}

async function latency(): Promise<Measure[]> {
  const rows: Row[] = [];
  for (const example of EXAMPLES) {
    const plan = await planOfExample(example);
    for (const scheduler of ['dyorc', 'greedy', 'static', 'ray-like'] as const)
      rows.push(rowOf(`${example}, ${scheduler}`, plan, { scheduler, rps: RPS[example] }));
  }
  return told('Fig. 6 to 9 and 12: 32 devices', rows);
}

async function prediction(): Promise<Measure[]> {
  const rows: Row[] = [];
  const lines: string[][] = [];
  for (const [regime, device] of Object.entries(REGIMES))
    for (const example of EXAMPLES) {
      // What has one component alone needs no memory for another.
      if (example === 'debate' && regime !== 'as they are') continue;
      // A server of 120 GiB holds all that a chat calls.
      if (example === 'chat' && 'hostMemoryGiB' in device) continue;
      const plan = await planOfExample(example, { devices: 8, device });
      const ofRegime = Object.entries(WORTHS).map(([name, how]) =>
        rowOf(`${regime}, ${example}, ${name}`, plan, { ...how, rps: RPS[example] / 4 }),
      );
      rows.push(...ofRegime);
      lines.push([`${regime}, ${example}`, ...ofRegime.map(spreadText)]);
    }
  print(
    'What predictions are worth, on 8 devices: mean ms and its least and most over the seeds',
    ['', ...Object.keys(WORTHS)],
    lines,
  );
  return measuresOf(rows, ({ name }) => `prediction, ${name}`, {
    'mean ms': ({ runs }) => runs.map(({ meanMs }) => meanMs),
    loads: ({ runs }) => runs.map(({ loads }) => loads),
  });
}

function spreadText({ runs }: Row): string {
  const means = runs.map(({ meanMs }) => meanMs);
  const [least, most] = [Math.min(...means), Math.max(...means)];
  return `${mean(means).toFixed(0)} (${least.toFixed(0)}–${most.toFixed(0)})`;
}

async function accuracy(): Promise<Measure[]> {
  const rows: Row[] = [];
  for (const example of EXAMPLES) {
    const plan = await planOfExample(example);
    for (const kind of ['sampled', 'likeliest'] as const)
      rows.push(
        rowOf(`${example}, ${kind}`, plan, {
          scheduler: 'dyorc',
          rps: RPS[example],
          policy: { prediction: { kind, most: 4 } },
        }),
      );
  }
  const shares: Readonly<Record<string, (run: Served) => number>> = {
    'call as expected %': ({ right = 0 }) => 100 * right,
    'component as expected %': ({ rightComponents = 0 }) => 100 * rightComponents,
  };
  print(
    'Fig. 12: what was as expected',
    ['', ...Object.keys(shares)],
    rows.map(({ name, runs }) => [name, ...Object.values(shares).map((of) => shown(mean(runs.map(of))))]),
  );
  return measuresOf(
    rows,
    ({ name }) => `accuracy, ${name}`,
    Object.fromEntries(Object.entries(shares).map(([name, of]) => [name, (row: Row) => row.runs.map(of)])),
  );
}

async function change(): Promise<Measure[]> {
  const plan = await planOfExample('mix');
  const weight = (workflow: number, minute: number): number => {
    if (minute < minutes / 2) return 1;
    return workflow === 0 ? 2 : 0.5;
  };
  const rows = (['dyorc', 'greedy', 'static', 'ray-like'] as const).map((scheduler) =>
    rowOf(`mix, ${scheduler}`, plan, { scheduler, rps: RPS.mix, weight }),
  );
  const halves = ({ runs }: Row, from: number): number =>
    mean(runs.flatMap(({ tenthsMs }) => tenthsMs.slice(from, from + 5)));
  print(
    'Fig. 10: the pattern changes at half time',
    ['', 'before ms', 'after ms'],
    rows.map((row) => [row.name, halves(row, 0).toFixed(0), halves(row, 5).toFixed(0)]),
  );
  return measuresOf(rows, ({ name }) => `change, ${name}`, {
    'mean ms before': (row) => halves(row, 0),
    'mean ms after': (row) => halves(row, 5),
  });
}

async function schedulers(): Promise<Measure[]> {
  const rows: Row[] = [];
  for (const example of EXAMPLES) {
    const plan = await planOfExample(example, { devices: 8 });
    for (const scheduler of ['dyorc', 'greedy', 'round-robin'] as const)
      rows.push(rowOf(`${example}, ${scheduler}`, plan, { scheduler, rps: RPS[example] / 4 }));
  }
  return told('Fig. 11: one server of 8 devices', rows);
}

async function scale(): Promise<Measure[]> {
  const rows: Row[] = [];
  for (const devices of [8, 16, 32, 64, 128, 256, 512]) {
    const plan = await planOfExample('chat', { devices });
    rows.push(rowOf(`chat, ${devices} devices`, plan, { scheduler: 'dyorc', rps: RPS.chat / 4 }));
  }
  return told('Fig. 13 and 14: the load of 8 devices on more', rows);
}

async function groups(): Promise<Measure[]> {
  const rows: Row[] = [];
  for (const subclusters of [1, 4]) {
    const plan = await planOfExample('mix', { devices: 128, subclusters });
    rows.push(
      rowOf(`mix, ${subclusters} of ${128 / subclusters} devices`, plan, {
        scheduler: 'dyorc',
        rps: 4 * RPS.mix,
      }),
    );
  }
  return told('One scheduler for 128 devices, and one for each 32', rows);
}

async function long(): Promise<Measure[]> {
  const plan = await planOfExample('mix', { devices: 128 });
  const load = azureLoad(plan.workflows.length, { minutes: 120, rps: LONG_RPS, seed: 1 });
  return told('Two hours of the mix on 128 devices', [
    { name: 'mix, 128 devices', runs: [served(plan, 'dyorc', { load, seed: 1 })] },
  ]);
}

function told(title: string, rows: readonly Row[]): Measure[] {
  const columns: Readonly<Record<string, (run: Served) => number>> = {
    'mean ms': ({ meanMs }) => meanMs,
    'p50 ms': ({ p50Ms }) => p50Ms,
    'p95 ms': ({ p95Ms }) => p95Ms,
    'p99 ms': ({ p99Ms }) => p99Ms,
    loads: ({ loads }) => loads,
    'mean batch': ({ meanBatch }) => meanBatch,
    'executing %': ({ deviceTime }) => 100 * deviceTime.executing,
    'loading %': ({ deviceTime }) => 100 * deviceTime.loading,
    'both %': ({ deviceTime }) => 100 * deviceTime.both,
    'idle %': ({ deviceTime }) => 100 * deviceTime.idle,
    'as expected %': ({ right }) => (right === undefined ? Number.NaN : 100 * right),
    'component as expected %': ({ rightComponents }) =>
      rightComponents === undefined ? Number.NaN : 100 * rightComponents,
    tasks: ({ tasks }) => tasks,
    'CPU µs/task': ({ cpuUs, tasks }) => cpuUs / tasks,
    'CPU s': ({ cpuUs }) => cpuUs / 1e6,
  };
  print(
    title,
    ['', ...Object.keys(columns)],
    rows.map((row) => [row.name, ...Object.values(columns).map((of) => shown(mean(row.runs.map(of))))]),
  );
  return measuresOf(
    rows,
    ({ name }) => name,
    Object.fromEntries(Object.entries(columns).map(([name, of]) => [name, (row: Row) => row.runs.map(of)])),
  );
}

function shown(value: number): string {
  if (Number.isNaN(value)) return '–';
  return value >= 100 ? value.toFixed(0) : value.toFixed(2);
}

function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, one) => sum + one, 0) / Math.max(1, numbers.length);
}

function print(title: string, names: readonly string[], lines: readonly (readonly string[])[]): void {
  if (values.json !== '-') process.stdout.write(`${title}\n${tableText([names, ...lines])}\n`);
}
