/**
 * This benchmark serves the bundle of a gear plan under steady loads and under a spike, and simulates the same arrivals:
 *
 *     node dist/bench/live-gears.js bundle/ --samples test.npy --labels test-labels.csv [--records test-records.csv]
 *                                   [--rates 60,150,250] [--seconds 20] [--warm 10] [--repeats 5] [--seed 0]
 *                                   [--others 0.05] [--kills 3] [--json file]
 *
 * The spike goes from the lowest rate to the highest and back, each for `--seconds`. For each load it prints the share of
 * right answers live beside the simulated one, p95 and the share in time live beside simulated, and how often the gear
 * changed: the median of the repeats, which have arrivals of their own, and of p95 the least and the most too. It divides
 * the difference of p95 as `plan verify` does, and sets live p95 beside the simulation with the executions and the front of
 * that load too (`live/as executed`), which leaves out how fast the machine was. A second table has how long batches
 * occupied their device beside what the plan takes them for. The client is a process of its own, and a load of `--warm`
 * seconds at the highest rate goes before the first. `--records` has what the models say of the samples that are sent, so
 * that the simulation escalates the same requests; else it answers by the records of the plan.
 *
 * Live latencies mean nothing while others use the cores. A run during which other processes took more than `--others`
 * of the time of all cores is left out, and made again with other arrivals, at most twice as many times as asked for. Each
 * run waits up to a minute for a second of quiet.
 *
 * The last load is the spike once more, during which executors are killed, one after another: `--kills` of them. It ends
 * with status 1 where a request got no answer, or more than one.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { median } from 'simple-statistics';
import { simulatePlan, verifyLoad } from '../src/api/index.js';
import {
  BUNDLE_MANIFEST,
  type CauseParts,
  type LoadDocument,
  type SimulationReport,
} from '../src/formats/index.js';
import { openBundle, startServer } from '../src/runtime/index.js';
import { Decision } from '../src/serving/index.js';
import { benchArguments, benchNumber } from './arguments.js';
import { arrivalsText, openClient } from './live/client.js';
import { otherWork } from './live/other-work.js';
import { inputsAt, measuresOf, saveResult } from './results/result.js';
import { tableText } from './results/table.js';

const USAGE =
  'node dist/bench/live-gears.js <bundle folder> --samples test.npy --labels test-labels.csv [--records test-records.csv] [--rates 60,150,250] [--seconds 20] [--warm 10] [--repeats 5] [--seed 0] [--others 0.05] [--kills 3] [--json file]';

/** Batches counts the batches of one size of a stage, live and simulated, with their median time on the device. */
interface Batches {
  readonly stage: string;
  readonly size: number;
  readonly plannedMs: number | undefined;
  readonly liveMs: number | undefined;
  readonly live: number;
  readonly simulated: number;
}

/** Served is what became of one load, live and simulated. */
interface Served {
  readonly right: number;
  readonly meanMs: number;
  readonly p95Ms: number;
  readonly inTime: number;
  readonly sent: number;
  readonly answered: number;
  readonly shifts: number;
  /** The mean time of a request outside of the server's scheduling and executing. */
  readonly frontMs: number;
  readonly simulatedRight: number;
  readonly simulatedMeanMs: number;
  /** What the difference of p95 comes from, in ms (`plan verify`). */
  readonly p95Parts: CauseParts | undefined;
  readonly simulatedP95Ms: number;
  readonly simulatedInTime: number;
  readonly simulatedShifts: number;
  /** The share of the time of all cores that other processes took. */
  readonly others: number;
  readonly endings: Endings;
  readonly batches: readonly Batches[];
}

/** Endings counts the ways in which requests ended. */
type Endings = Pick<LoadDocument, 'inTime' | 'late' | 'dropped' | 'failed' | 'cancelled'>;

type Phases = readonly { readonly rps: number; readonly durationS: number }[];

/** PAUSE_MS lets the server's measured rate fall back between two loads, as the simulation begins with none. */
const PAUSE_MS = 3000;
const BETWEEN_KILLS_MS = 2000;
const LONGEST_WAIT_S = 60;

const { values, positionals } = benchArguments(USAGE, {
  samples: { type: 'string' },
  labels: { type: 'string' },
  records: { type: 'string' },
  rates: { type: 'string', default: '60,150,250' },
  seconds: { type: 'string', default: '20' },
  warm: { type: 'string', default: '10' },
  repeats: { type: 'string', default: '5' },
  seed: { type: 'string', default: '0' },
  others: { type: 'string', default: '0.05' },
  kills: { type: 'string', default: '3' },
  json: { type: 'string' },
});
const [bundle] = positionals;
const { samples, labels, records, json, ...options } = values;
if (bundle === undefined || samples === undefined || labels === undefined) {
  process.stderr.write(`usage: ${USAGE}\n`);
  process.exit(2);
}
const asNumber = (name: keyof typeof options): number => benchNumber(USAGE, `--${name}`, options[name]);
const rates = options.rates.split(',').map((rate) => benchNumber(USAGE, '--rates', rate));
const durationS = asNumber('seconds');
const [lowest, highest] = [Math.min(...rates), Math.max(...rates)];
const spike: Phases = [lowest, highest, lowest].map((rps) => ({ rps, durationS }));
const spikeName = `${lowest}/s, ${highest}/s, ${lowest}/s`;
const loads: readonly { readonly name: string; readonly phases: Phases }[] = [
  ...rates.map((rps) => ({ name: `${rps}/s`, phases: [{ rps, durationS }] })),
  { name: spikeName, phases: spike },
];
const { plan } = await openBundle(bundle);
if (plan.kind !== 'gear-plan') throw new Error(`${bundle} has no gear plan, but a ${plan.kind}`);
const { stages } = plan;
const folder = await mkdtemp(join(tmpdir(), 'live-gears-'));
let shifts = 0;
const server = await startServer(bundle, {
  port: 0,
  onDecision: ([word, decision]) => {
    if (word === 'said' && decision === Decision.shift) shifts += 1;
  },
});
const client = openClient();
try {
  await served([{ rps: highest, durationS: asNumber('warm') }], -1);
  const rows: { name: string; all: readonly Served[]; leftOut: number }[] = [];
  for (const { name, phases } of loads) rows.push({ name, ...(await quietRuns(phases)) });
  process.stdout.write(`${figuresText(rows)}\n${batchesText(rows.flatMap(({ all }) => all))}\n`);
  const killed = await underKills(asNumber('kills'));
  saveResult(json, {
    bench: 'live-gears',
    options: { bundle, ...options },
    inputs: inputsAt(join(bundle, BUNDLE_MANIFEST), 'the bundle'),
    measures: measuresOf(
      rows.flatMap(({ name, all }) => all.map((one) => ({ name, ...one }))),
      ({ name }) => name,
      {
        'live p95 ms': ({ p95Ms }) => p95Ms,
        'simulated p95 ms': ({ simulatedP95Ms }) => simulatedP95Ms,
      },
    ),
    rows: [...rows, killed],
  });
} finally {
  client.close();
  await server.close();
  await rm(folder, { recursive: true });
}

/** quietRuns serves a load as often as asked for, and leaves out the runs that others disturbed. */
async function quietRuns(phases: Phases): Promise<{ all: readonly Served[]; leftOut: number }> {
  const [seed, repeats, most] = [asNumber('seed'), asNumber('repeats'), asNumber('others')];
  const all: Served[] = [];
  let leftOut = 0;
  for (let k = 0; all.length < repeats && k < 3 * repeats; k++) {
    await quietMoment(most);
    const one = await served(phases, seed + k);
    process.stderr.write(
      `${phases.map(({ rps }) => `${rps}/s`).join(', ')}: p95 ${one.p95Ms.toFixed(1)} ms, simulated ${one.simulatedP95Ms.toFixed(1)} ms, others ${percent(one.others)}${one.others > most ? ', left out' : ''}\n`,
    );
    if (one.others > most) leftOut += 1;
    else all.push(one);
  }
  return { all, leftOut };
}

/** quietMoment waits until others leave the machine alone for a second, for at most a minute. */
async function quietMoment(most: number): Promise<void> {
  for (let second = 0; second < LONGEST_WAIT_S; second++) {
    const others = otherWork(() => [process.pid, client.pid, ...server.executorPids()]);
    await sleep(1000);
    if (!(others() > most)) return;
  }
}

async function served(phases: Phases, seed: number, meanwhile = async () => {}): Promise<Served> {
  const trace = join(folder, 'arrivals.csv');
  await writeFile(trace, arrivalsText([...phases], seed));
  await sleep(PAUSE_MS);
  const shiftsBefore = shifts;
  const others = otherWork(() => [process.pid, client.pid, ...server.executorPids()]);
  const { report: ended } = await client.send({
    url: server.url,
    trace,
    samples: samples as string,
    labels: labels as string,
  });
  const [report] = await Promise.all([ended, meanwhile()]);
  const othersShare = others();
  const shifted = shifts - shiftsBefore;
  const { report: simulated } = await simulatePlan(bundle as string, { traces: [trace], records });
  const load = join(folder, 'load.json');
  await writeFile(load, JSON.stringify(report));
  const { causes } = await verifyLoad(load, { plan: bundle as string, records });
  const { overall, cascade } = simulated;
  const { labelled, inTime, late, dropped, failed, cancelled, served: [counted] = [] } = report;
  const meanMs = report.latencyMs?.mean ?? Number.NaN;
  return {
    right: labelled === undefined ? Number.NaN : labelled.right / labelled.answered,
    meanMs,
    p95Ms: report.latencyMs?.p95 ?? Number.NaN,
    inTime: report.attainment ?? Number.NaN,
    sent: report.sent,
    answered: labelled?.answered ?? 0,
    shifts: shifted,
    frontMs: meanMs - (counted?.requestMs ?? Number.NaN),
    simulatedRight: cascade?.accuracy ?? Number.NaN,
    simulatedMeanMs: overall.latencyMs?.mean ?? Number.NaN,
    p95Parts: causes?.p95LatencyMs,
    simulatedP95Ms: overall.latencyMs?.p95 ?? Number.NaN,
    simulatedInTime: overall.attainment ?? Number.NaN,
    simulatedShifts: cascade?.shifts ?? 0,
    others: othersShare,
    endings: { inTime, late, dropped, failed, cancelled },
    batches: batchesOf(report, simulated),
  };
}

function batchesOf({ served: [counted] = [] }: LoadDocument, { pools }: SimulationReport): Batches[] {
  return stages.flatMap(({ name, latencyUsByBatch }, stage) =>
    latencyUsByBatch.map((plannedUs, i): Batches => {
      const live = counted?.executions.find(({ partition, batch }) => partition === stage && batch === i + 1);
      return {
        stage: name,
        size: i + 1,
        plannedMs: plannedUs === null ? undefined : plannedUs / 1e3,
        liveMs: live?.medianUs === undefined ? undefined : live.medianUs / 1e3,
        live: live?.executed ?? 0,
        simulated: pools[stage]?.sizes[i] ?? 0,
      };
    }),
  );
}

function figuresText(rows: readonly { name: string; all: readonly Served[]; leftOut: number }[]): string {
  return tableText([
    [
      ...['load', 'runs (left out)', 'right: live', 'simulated', 'mean ms: live', 'simulated', 'front'],
      ...[
        'p95 ms: live',
        'simulated',
        'live/simulated',
        'from executions',
        'front',
        'queueing',
        'live/as executed',
        'in time: live',
        'simulated',
      ],
      ...['gear changes: live', 'simulated', 'no answer', 'others'],
    ],
    ...rows
      .filter(({ all }) => all.length > 0)
      .map(({ name, all, leftOut }) => {
        const of = (figure: (one: Served) => number) => median(all.map(figure));
        return [
          ...[name, `${all.length} (${leftOut})`],
          ...[of(({ right }) => right), of(({ simulatedRight }) => simulatedRight)].map(percent),
          ...[of(({ meanMs }) => meanMs), of((one) => one.simulatedMeanMs), of((one) => one.frontMs)].map(
            (ms) => ms.toFixed(1),
          ),
          ...[spread(all.map(({ p95Ms }) => p95Ms)), spread(all.map((one) => one.simulatedP95Ms))],
          of(({ p95Ms, simulatedP95Ms }) => p95Ms / simulatedP95Ms).toFixed(2),
          ...(['executions', 'front', 'queueing'] as const).map((part) =>
            of(({ p95Parts }) => p95Parts?.[part] ?? Number.NaN).toFixed(1),
          ),
          of(({ p95Ms, p95Parts }) => p95Ms / (p95Ms - (p95Parts?.queueing ?? Number.NaN))).toFixed(2),
          ...[of(({ inTime }) => inTime), of((one) => one.simulatedInTime)].map(percent),
          ...[of((one) => one.shifts), of((one) => one.simulatedShifts)].map(String),
          String(all.reduce((sum, { sent, answered }) => sum + sent - answered, 0)),
          percent(Math.max(...all.map(({ others }) => others))),
        ];
      }),
  ]);
}

/** batchesText has a line for each size of a stage that ran often enough for its median to say something. */
function batchesText(runs: readonly Served[]): string {
  const sum = (batches: readonly Batches[], side: 'live' | 'simulated') =>
    batches.reduce((total, one) => total + one[side], 0);
  const lines = stages.flatMap(({ name, latencyUsByBatch }) =>
    latencyUsByBatch.flatMap((_, i) => {
      const same = runs.flatMap(({ batches }) =>
        batches.filter(({ stage, size }) => stage === name && size === i + 1),
      );
      const times = same.flatMap(({ liveMs, live }) => (liveMs === undefined || live < 5 ? [] : [liveMs]));
      if (times.length === 0) return [];
      const [{ plannedMs } = { plannedMs: undefined }] = same;
      const counts = [sum(same, 'simulated'), sum(same, 'live')].map(String);
      return [[name, String(i + 1), ...counts, plannedMs?.toFixed(2) ?? '—', spread(times, 2)]];
    }),
  );
  return tableText([['stage', 'batch', 'simulated', 'live', 'planned ms', 'live ms'], ...lines]);
}

/** underKills serves the spike while executors are killed, and says whether every request got one answer. */
async function underKills(kills: number): Promise<unknown> {
  if (kills === 0) return undefined;
  let killed = 0;
  const one = await served(spike, asNumber('seed'), async () => {
    await sleep(durationS * 1e3);
    while (killed < kills) {
      const [pid] = server.executorPids();
      if (pid !== undefined) {
        process.kill(pid, 'SIGKILL');
        killed += 1;
      }
      await sleep(BETWEEN_KILLS_MS);
    }
  });
  const { sent, endings, shifts: shifted } = one;
  const ended = Object.values(endings).reduce((sum, count) => sum + count, 0);
  const words = Object.entries(endings).map(([how, count]) => `${count} ${how}`);
  process.stdout.write(
    `${spikeName}, ${killed} executors killed: ${sent} sent, ${words.join(', ')}; ${shifted} gear changes\n`,
  );
  if (ended !== sent || endings.failed > 0) {
    process.stderr.write(`${ended} of ${sent} requests got an answer, ${endings.failed} a failure\n`);
    process.exitCode = 1;
  }
  return { name: `${spikeName}, ${killed} kills`, killed, ...one };
}

/** spread gives the median of figures with the least and the most. */
function spread(figures: readonly number[], digits = 1): string {
  const [least, middle, most] = [Math.min(...figures), median([...figures]), Math.max(...figures)];
  return `${middle.toFixed(digits)} (${least.toFixed(digits)}–${most.toFixed(digits)})`;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
