/**
 * This benchmark serves the bundle of a pipeline under a load that doubles, with its tuner and without, and simulates
 * the same requests:
 *
 *     node dist/bench/live-tuner.js bundle/ --rps 18 --samples samples.npy --verdicts records.csv [--steady 20]
 *                                   [--doubled 50] [--window 5] [--tuners inferline,none] [--seed 0] [--json file]
 *
 * For each window it prints the share in time of the requests that ended in it, and how many devices were up at its
 * end; beside these the share of the simulation, there of the requests that arrived in it. The samples are sent one
 * after another, and the simulation takes their recorded verdicts in the same order. The client is a process of its own.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { simulatePlan } from '../src/api/index.js';
import { BUNDLE_MANIFEST } from '../src/formats/index.js';
import { type RunningServer, startServer } from '../src/runtime/index.js';
import { Decision } from '../src/serving/index.js';
import { benchArguments, benchNumber } from './arguments.js';
import { arrivalsText, openClient } from './live/client.js';
import { inputsAt, measuresOf, saveResult } from './results/result.js';
import { tableText } from './results/table.js';

const USAGE =
  'node dist/bench/live-tuner.js <bundle folder> --rps 18 --samples samples.npy --verdicts records.csv [--steady 20] [--doubled 50] [--window 5] [--tuners inferline,none] [--seed 0] [--json file]';

/** Seen is what the server has counted until a time. */
interface Seen {
  readonly inTime: number;
  readonly ended: number;
  readonly devicesUp: number;
}

interface Row {
  readonly tuner: string;
  readonly fromS: number;
  readonly live: number | undefined;
  readonly devicesUp: number;
  readonly simulated: number | undefined;
  readonly simulatedInUse: number | undefined;
}

/** Run is a served load: its windows, and what else is told of it. */
interface Run {
  readonly rows: readonly Row[];
  readonly told: string;
}

await bench();

async function bench(): Promise<void> {
  const { values, positionals } = benchArguments(USAGE, {
    rps: { type: 'string' },
    samples: { type: 'string' },
    verdicts: { type: 'string' },
    steady: { type: 'string', default: '20' },
    doubled: { type: 'string', default: '50' },
    window: { type: 'string', default: '5' },
    tuners: { type: 'string', default: 'inferline,none' },
    seed: { type: 'string', default: '0' },
    json: { type: 'string' },
  });
  const [bundle] = positionals;
  const { rps, samples, verdicts, tuners, json, ...times } = values;
  if (bundle === undefined || rps === undefined || samples === undefined || verdicts === undefined) {
    process.stderr.write(`usage: ${USAGE}\n`);
    process.exitCode = 2;
    return;
  }
  const asNumber = (name: string, text: string): number => benchNumber(USAGE, `--${name}`, text);
  const folder = await mkdtemp(join(tmpdir(), 'live-tuner-'));
  const trace = join(folder, 'doubled.csv');
  const windowS = asNumber('window', times.window);
  const rate = asNumber('rps', rps);
  const phases = [
    { rps: rate, durationS: asNumber('steady', times.steady) },
    { rps: 2 * rate, durationS: asNumber('doubled', times.doubled) },
  ];
  await writeFile(trace, arrivalsText(phases, asNumber('seed', times.seed)));
  const runs: Run[] = [];
  for (const tuner of tuners.split(',')) {
    const run = await served(bundle, { tuner, trace, samples, verdicts, windowS });
    runs.push(run);
    if (json !== '-') process.stdout.write(run.told + tableOf(run.rows));
  }
  await rm(folder, { recursive: true });
  const rows = runs.flatMap((run) => run.rows);
  saveResult(json, {
    bench: 'live-tuner',
    options: { rps, tuners, ...times },
    inputs: inputsAt(join(bundle, BUNDLE_MANIFEST), 'the bundle'),
    measures: measuresOf(rows, ({ tuner, fromS }) => `${tuner}, from ${fromS} s`, {
      'live attainment': ({ live }) => live,
      'simulated attainment': ({ simulated }) => simulated,
    }),
    rows,
  });
}

interface Asked {
  readonly tuner: string;
  readonly trace: string;
  readonly samples: string;
  readonly verdicts: string;
  readonly windowS: number;
}

async function served(bundle: string, { tuner, trace, samples, verdicts, windowS }: Asked): Promise<Run> {
  let beganAt = 0;
  const changes: string[] = [];
  const note = (what: string): void => {
    changes.push(`${what} at ${((performance.now() - beganAt) / 1e3).toFixed(1)} s`);
  };
  const server = await startServer(bundle, {
    port: 0,
    tuner,
    onLog: (event) => {
      if (beganAt === 0 || (event.kind !== 'deviceUp' && event.kind !== 'deviceDown')) return;
      note(`${event.device} is ${event.kind === 'deviceUp' ? 'up' : 'down'}`);
    },
    onDecision: ([word, decision, device]) => {
      if (word !== 'said') return;
      if (decision === Decision.activate) note(`the tuner activates device ${device}`);
      if (decision === Decision.retire) note(`the tuner retires device ${device}`);
    },
  });
  const client = openClient();
  const { report: ended } = await client.send({ url: server.url, trace, samples });
  beganAt = performance.now();
  const seen = await watched(server, { beganAt, windowS, ended });
  const report = await ended;
  client.close();
  await server.close();
  const simulated = await simulatePlan(bundle, { traces: [trace], tuner, windows: windowS, verdicts });
  const windows = simulated.report.windows?.rows ?? [];
  const rows = seen.slice(1).map((now, k): Row => {
    const before = seen[k] as Seen;
    const count = now.ended - before.ended;
    return {
      tuner,
      fromS: k * windowS,
      devicesUp: now.devicesUp,
      live: count === 0 ? undefined : (now.inTime - before.inTime) / count,
      simulated: windows[k]?.attainment,
      simulatedInUse: windows[k]?.inUse?.[0],
    };
  });
  const head = `\n${tuner}: live ${shareText(report.attainment)} of ${report.sent} in time, p95 ${report.latencyMs?.p95?.toFixed(0)} ms; simulated ${shareText(simulated.report.overall.attainment)}, p95 ${simulated.report.overall.latencyMs?.p95?.toFixed(0)} ms\n`;
  return { rows, told: [head, ...changes.map((text) => `${text}\n`)].join('') };
}

/** watched reads the server's counters at the beginning and the end of each window, until the client has ended. */
async function watched(
  server: RunningServer,
  { beganAt, windowS, ended }: { beganAt: number; windowS: number; ended: Promise<unknown> },
): Promise<Seen[]> {
  const seen = [await seenOf(server)];
  const over = ended.then(() => true);
  for (;;) {
    const waitMs = beganAt + seen.length * windowS * 1e3 - performance.now();
    const isOver = await Promise.race([over, sleep(waitMs).then(() => false)]);
    seen.push(await seenOf(server));
    if (isOver) return seen;
  }
}

async function seenOf(server: RunningServer): Promise<Seen> {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  const sum = (line: RegExp): number =>
    [...text.matchAll(line)].reduce((total, [, value]) => total + Number(value), 0);
  return {
    inTime: sum(/^inferplan_outcomes_total\{.*outcome="in_time"\} (\S+)$/gm),
    ended: sum(/^inferplan_outcomes_total\{.*\} (\S+)$/gm),
    devicesUp: sum(/^inferplan_device_up\{.*\} (\S+)$/gm),
  };
}

function shareText(share: number | undefined): string {
  return share === undefined ? '' : `${(100 * share).toFixed(1)} %`;
}

function tableOf(rows: readonly Row[]): string {
  const cells = rows.map((row) => [
    String(row.fromS),
    shareText(row.live),
    String(row.devicesUp),
    shareText(row.simulated),
    row.simulatedInUse?.toFixed(2) ?? '',
  ]);
  return tableText([['from s', 'live', 'up', 'simulated', 'in use'], ...cells]);
}
