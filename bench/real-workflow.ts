/**
 * This benchmark serves a real workflow: four models that others made, one of the examples and two that fit tensors to
 * one another, in a program with a branch and a loop (examples/workflows/programs/photos.mjs).
 *
 *     node dist/bench/real-workflow.js [--rps 3] [--seconds 20] [--warm 5] [--repeats 3] [--kills 5] [--photos 40]
 *                                      [--memory 0.6] [--seed 0] [--folder kept/] [--json file]
 *
 * It goes the way of a user in a fresh folder, with the commands that it prints: `plan profile` with sample photos,
 * `plan solve`, `plan simulate`, `plan deploy`, `plan serve`. The plan has two CPU devices, whose memory is `--memory`
 * of what all components take together, as measured: models move while requests come.
 *
 * Photos are sent over HTTP at random times, and every answer is compared, byte by byte, with that of the same models
 * run by hand with ONNX Runtime. Of each repeat it prints mean, p50 and p95 live, of the simulation of the very
 * requests, and of the simulation in which batches take what they took live; the mean time of a request outside of the
 * server's core (`front`); how many components were loaded and evicted; the most memory that an executor held beyond
 * what it holds without models; and the share of the cores that other processes took, beside which figures say little
 * where it is large.
 *
 * In a last load, executors are killed while requests are open. It ends with status 1 where an answer differs, or a request has no
 * ending. The last lines are those of the table in docs/dyorc.md.
 */
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { markdownTable } from 'markdown-table';
import { median } from 'simple-statistics';
import type { LoadReport } from '../src/loadgen/index.js';
import type { WorkflowRun } from '../src/simulation/index.js';
import { benchArguments, benchNumber } from './arguments.js';
import { otherWork } from './live/other-work.js';
import { heldByProcess, memoryOfEmptyExecutor } from './real-workflow/component-memory.js';
import { PHOTO_COMPONENTS, PUBLISHED, publishedAt } from './real-workflow/photo-models.js';
import { BUNDLE_FOLDER, planPhotos, WORKFLOW } from './real-workflow/photo-workflow.js';
import { openByHand, photoByHand } from './real-workflow/photos-by-hand.js';
import { type ServedProcess, servedProcess } from './real-workflow/plan-commands.js';
import {
  asExecuted,
  type RecordedPhotos,
  recordedPhotos,
  simulatedAgain,
} from './real-workflow/same-requests.js';
import { photoInput, samplePhoto } from './real-workflow/sample-photos.js';
import {
  answersOf,
  endingsText,
  type KnownAnswers,
  type LoadAnswers,
  randomLoad,
} from './real-workflow/served-load.js';
import { measuresOf, saveResult } from './results/result.js';
import { tableText } from './results/table.js';

const OPTIONS = {
  rps: { type: 'string', default: '3' },
  seconds: { type: 'string', default: '20' },
  warm: { type: 'string', default: '5' },
  repeats: { type: 'string', default: '3' },
  kills: { type: 'string', default: '5' },
  photos: { type: 'string', default: '40' },
  memory: { type: 'string', default: '0.6' },
  seed: { type: 'string', default: '0' },
  folder: { type: 'string' },
  json: { type: 'string' },
} as const;
const USAGE =
  'node dist/bench/real-workflow.js [--rps 3] [--seconds 20] [--warm 5] [--repeats 3] [--kills 5] [--photos 40] [--memory 0.6] [--seed 0] [--folder kept/] [--json file]';
const MIB = 2 ** 20;
const LOADS = 'inferplan_component_loads_total';
const DROPS = 'inferplan_drops_total';
const EVICTIONS = 'inferplan_component_evictions_total';
/** The memory of executors is looked at this often. */
const LOOK_MS = 100;

/** Repeat is one load, live and simulated. */
interface Repeat {
  readonly answers: LoadAnswers;
  readonly simulated: WorkflowRun;
  readonly asExecuted: WorkflowRun;
  readonly loads: number;
  readonly evictions: number;
  readonly heldBytes: number;
  readonly others: number;
}

const { values } = benchArguments(USAGE, OPTIONS);
const { json, folder: kept, ...options } = values;
const asNumber = (name: keyof typeof options): number => benchNumber(USAGE, `--${name}`, options[name]);

async function bench(): Promise<void> {
  const photos = Array.from({ length: asNumber('photos') }, (_, i) => samplePhoto(asNumber('seed'), i));
  const planned = await planPhotos(folder, photos, { rps: asNumber('rps'), memoryShare: asNumber('memory') });
  process.stdout.write(memoryText(planned));
  const models = await openByHand(PHOTO_COMPONENTS, (name) => join(folder, `${name}.onnx`));
  const byHand: KnownAnswers['byHand'][number][] = [];
  for (const photo of photos) byHand.push(await photoByHand(models, photo));
  const wanted: KnownAnswers = { workflow: WORKFLOW, inputs: photos.map(photoInput), byHand };
  const recorded = await recordedPhotos(folder);
  const emptyBytes = await memoryOfEmptyExecutor();
  const server = await servedProcess(folder, BUNDLE_FOLDER);
  try {
    await loaded(server, { wanted, durationS: asNumber('warm'), seed: -1 });
    const repeats: Repeat[] = [];
    for (let k = 0; k < asNumber('repeats'); k++)
      repeats.push(await repeated(server, { wanted, recorded, emptyBytes, seed: asNumber('seed') + k }));
    process.stdout.write(repeatsText(repeats));
    const killed = await underKills(server, wanted);
    process.stdout.write(`\n${rowsText(repeats, killed)}\n`);
    saved(repeats, killed);
  } finally {
    process.stderr.write(await server.close());
  }
}

interface Loading {
  readonly wanted: KnownAnswers;
  readonly durationS: number;
  readonly seed: number;
}

function loaded({ url }: ServedProcess, { wanted, durationS, seed }: Loading): Promise<LoadAnswers> {
  return answersOf(url, randomLoad(asNumber('rps'), durationS, seed), wanted);
}

interface Repeating {
  readonly wanted: KnownAnswers;
  readonly recorded: RecordedPhotos;
  readonly emptyBytes: number;
  readonly seed: number;
}

/** repeated sends a load of its own, and simulates its requests. */
async function repeated(
  server: ServedProcess,
  { wanted, recorded, emptyBytes, seed }: Repeating,
): Promise<Repeat> {
  const load = randomLoad(asNumber('rps'), asNumber('seconds'), seed);
  const counters = () => Promise.all([server.total(LOADS), server.total(EVICTIONS)]);
  const [loadsBefore, evictionsBefore] = await counters();
  const others = otherWork(() => [process.pid, server.pid, ...server.executorPids()]);
  let heldBytes = 0;
  const look = setInterval(() => {
    for (const pid of server.executorPids()) heldBytes = Math.max(heldBytes, heldByProcess(pid) - emptyBytes);
  }, LOOK_MS);
  const answers = await answersOf(server.url, load, wanted);
  clearInterval(look);
  const othersShare = others();
  const [loads, evictions] = await counters();
  return {
    answers,
    heldBytes,
    others: othersShare,
    loads: loads - loadsBefore,
    evictions: evictions - evictionsBefore,
    simulated: simulatedAgain(recorded, load),
    asExecuted: simulatedAgain(asExecuted(recorded, answers.report), load),
  };
}

/** Killed is a load during which executors were killed. */
interface Killed {
  readonly kills: number;
  readonly answers: LoadAnswers;
  /** How many requests the server has dropped so far, by reason. */
  readonly drops: Readonly<Record<string, number>>;
}

/** underKills sends a load while it kills one executor after another, at even times. */
async function underKills(server: ServedProcess, wanted: KnownAnswers): Promise<Killed> {
  const [most, durationS] = [asNumber('kills'), asNumber('seconds')];
  const sending = loaded(server, { wanted, durationS, seed: asNumber('seed') + asNumber('repeats') });
  let kills = 0;
  for (let k = 0; k < most; k++) {
    await sleep((durationS * 1e3) / (most + 1));
    const pids = server.executorPids();
    const pid = pids[k % Math.max(1, pids.length)];
    if (pid === undefined) continue;
    process.kill(pid, 'SIGKILL');
    kills += 1;
  }
  const answers = await sending;
  return { kills, answers, drops: await server.totals(DROPS, 'reason') };
}

function memoryText({ deviceBytes, componentBytes }: Awaited<ReturnType<typeof planPhotos>>): string {
  const each = Object.entries(componentBytes).map(([name, bytes]) => `${name} ${mib(bytes)}`);
  const all = Object.values(componentBytes).reduce((sum, bytes) => sum + bytes, 0);
  return `a device has ${mib(deviceBytes)} MiB, and all components take ${mib(all)} MiB: ${each.join(', ')}\n`;
}

function mib(bytes: number): string {
  return (bytes / MIB).toFixed(0);
}

/** COLUMNS are the figures of a repeat, as they are printed. */
const COLUMNS: Readonly<Record<string, (one: Repeat) => string>> = {
  requests: ({ answers }) => String(answers.report.sent),
  equal: ({ answers }) => String(answers.equal),
  'mean ms: live': ({ answers }) => ms(answers.report.latencyMs?.mean),
  simulated: ({ simulated }) => ms(meanOf(simulated)),
  'as executed': (one) => ms(meanOf(one.asExecuted)),
  front: ({ answers }) => ms(frontMs(answers.report)),
  'p50 ms: live': ({ answers }) => ms(answers.report.latencyMs?.p50),
  'simulated ': ({ simulated }) => ms(simulated.figures.overall.latencyMs?.p50),
  'p95 ms: live': ({ answers }) => ms(answers.report.latencyMs?.p95),
  'simulated  ': ({ simulated }) => ms(simulated.figures.overall.latencyMs?.p95),
  'as executed ': (one) => ms(one.asExecuted.figures.overall.latencyMs?.p95),
  'loads: live': ({ loads }) => String(loads),
  'simulated   ': ({ simulated }) => String(simulated.figures.loads),
  evictions: ({ evictions }) => String(evictions),
  'held MiB': ({ heldBytes }) => mib(heldBytes),
  others: ({ others }) => `${(100 * others).toFixed(0)} %`,
};

function repeatsText(repeats: readonly Repeat[]): string {
  return tableText([
    Object.keys(COLUMNS),
    ...repeats.map((one) => Object.values(COLUMNS).map((of) => of(one))),
  ]);
}

function meanOf({ figures }: WorkflowRun): number {
  return figures.overall.latencyMs?.mean ?? Number.NaN;
}

/** frontMs is the mean time of a request outside of the server's scheduling and executing. */
function frontMs({ latencyMs, served: [counted] = [] }: LoadReport): number {
  return (latencyMs?.mean ?? Number.NaN) - (counted?.requestMs ?? Number.NaN);
}

function ms(value = Number.NaN): string {
  return Number.isFinite(value) ? Math.round(value).toLocaleString('en') : '—';
}

/** rowsText writes the lines of docs/dyorc.md: medians over the repeats, and what became of requests under kills. */
function rowsText(repeats: readonly Repeat[], { kills, answers, drops }: Killed): string {
  const of = (figure: (one: Repeat) => number | undefined) => {
    const all = repeats.map((one) => figure(one) ?? Number.NaN);
    return all.length === 0 ? Number.NaN : median(all);
  };
  const line = (name: 'mean' | 'p50' | 'p95') => {
    const live = ({ answers: { report } }: Repeat) => report.latencyMs?.[name];
    const simulated = (run: WorkflowRun) => run.figures.overall.latencyMs?.[name] ?? Number.NaN;
    const ratio = of((one) => (live(one) ?? Number.NaN) / simulated(one.simulated));
    const figures = [of(live), of((one) => simulated(one.simulated)), of((one) => simulated(one.asExecuted))];
    return [name, ...figures.map((value) => `${ms(value)} ms`), ratio.toFixed(2)];
  };
  const table = markdownTable(
    [
      ['', 'live', 'simulated', 'simulated as executed', 'live/simulated'],
      ...(['mean', 'p50', 'p95'] as const).map(line),
      [
        'loads',
        String(of(({ loads }) => loads)),
        String(of((one) => one.simulated.figures.loads)),
        String(of((one) => one.asExecuted.figures.loads)),
        '',
      ],
    ],
    { align: ['l', 'r', 'r', 'r', 'r'] },
  );
  const sent = repeats.reduce((sum, one) => sum + one.answers.report.sent, 0);
  const equal = repeats.reduce((sum, one) => sum + one.answers.equal, 0);
  return [
    table,
    '',
    `- ${equal} of ${sent} answers equal those by hand, byte by byte.`,
    `- ${kills} executors killed: ${endingsText(answers.report, drops)}; ${answers.equal} answers equal those by hand, and ${answers.wrong} differ.`,
  ].join('\n');
}

function saved(repeats: readonly Repeat[], { kills, answers, drops }: Killed): void {
  const all: readonly LoadAnswers[] = [...repeats.map((one) => one.answers), answers];
  const unended = all.reduce((sum, { report }) => sum + report.sent - endedOf(report), 0);
  const wrong = all.reduce((sum, one) => sum + one.wrong, 0);
  if (unended + wrong > 0) {
    process.stderr.write(
      `${unended} requests had no ending, and ${wrong} answers differ from those by hand\n`,
    );
    process.exitCode = 1;
  }
  saveResult(json, {
    bench: 'real-workflow',
    options,
    measures: measuresOf(repeats, () => WORKFLOW, {
      'live mean ms': (one) => one.answers.report.latencyMs?.mean,
      'simulated mean ms': (one) => meanOf(one.simulated),
      'live p95 ms': (one) => one.answers.report.latencyMs?.p95,
      'simulated p95 ms': (one) => one.simulated.figures.overall.latencyMs?.p95,
      loads: ({ loads }) => loads,
    }),
    rows: [{ kills, killed: endingsText(answers.report, drops), wrong }],
  });
}

function endedOf({ answered, dropped, failed, cancelled }: LoadReport): number {
  return answered + dropped + failed + cancelled;
}

const missing = Object.values(PUBLISHED).filter((file) => !existsSync(publishedAt(file)));
if (missing.length > 0) {
  process.stderr.write(
    `This benchmark runs models of ../shared/models, of which ${missing.join(', ')} are not there.\n`,
  );
  process.exit(2);
}
if (kept !== undefined) await mkdir(kept, { recursive: true });
const folder = kept ?? (await mkdtemp(join(tmpdir(), 'inferplan-real-workflow-')));
try {
  await bench();
} finally {
  if (kept === undefined) await rm(folder, { recursive: true, force: true });
}
