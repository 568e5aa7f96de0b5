/**
 * This benchmark serves the bundle of a pipeline under more load than it is planned for, with one scheduler after
 * another, and simulates the same requests under the same policy, without transfers, as in a server:
 *
 *     node dist/bench/live/overload.js bundle/ --samples samples.npy --verdicts records.csv [--loads 1.5,3]
 *                                      [--seconds 20] [--schedulers inferline,stage-local,reactive] [--kills 5]
 *                                      [--seed 0] [--json file]
 *
 * A load is a multiple of the rate that the plan's devices can serve (its `throughputRps`). It arrives in a Poisson
 * process that is the same for all schedulers. The samples are sent one after another by a client in a process of its
 * own, and the simulation takes their recorded verdicts in the same order. Every run has a fresh server; before the
 * first one, a load is served that warms up server and client and is not told. For each scheduler and load a line is
 * printed with the shares of requests that were in time, late and dropped, the 95th percentile of the latency of
 * answers, and the invalid rate: live first, then simulated. Live times and verdicts of lateness are those of the
 * client, and the live invalid rate is found by a replay of the server's log. Drops follow by stage, as shares of the
 * requests sent. `others` is the share of the time of all cores that other processes took: latencies mean little where
 * it is large.
 *
 * At last every scheduler serves the largest load once more while executors are killed by SIGKILL, one after another,
 * `--kills` of them. The benchmark ends with status 1 where a request did not get exactly one answer (of the server's
 * counts and of the client's), got neither results nor 503, or where an executor was not up again at the end.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BUNDLE_MANIFEST, stageName } from '../../src/formats/index.js';
import { openBundle } from '../../src/runtime/index.js';
import { benchArguments, benchNumber } from '../arguments.js';
import { inputsAt, measuresOf, saveResult } from '../results/result.js';
import { tableText } from '../results/table.js';
import { arrivalsText, openClient } from './client.js';
import { type Figures, faultsOf, OverloadRun, type Ran } from './overload-run.js';

const USAGE =
  'node dist/bench/live/overload.js <bundle folder> --samples samples.npy --verdicts records.csv [--loads 1.5,3] [--seconds 20] [--schedulers inferline,stage-local,reactive] [--kills 5] [--seed 0] [--json file]';
const WARM_UP = { load: 0.5, durationS: 5 };

const { values, positionals } = benchArguments(USAGE, {
  samples: { type: 'string' },
  verdicts: { type: 'string' },
  loads: { type: 'string', default: '1.5,3' },
  seconds: { type: 'string', default: '20' },
  schedulers: { type: 'string', default: 'inferline,stage-local,reactive' },
  kills: { type: 'string', default: '5' },
  seed: { type: 'string', default: '0' },
  json: { type: 'string' },
});
const [folder] = positionals;
const { samples, verdicts, json, ...options } = values;
if (folder === undefined || samples === undefined || verdicts === undefined) {
  process.stderr.write(`usage: ${USAGE}\n`);
  process.exit(2);
}
const out = json === '-' ? process.stderr : process.stdout;
const loads = options.loads.split(',').map((load) => benchNumber(USAGE, '--loads', load));
const schedulers = options.schedulers.split(',');
const [durationS, kills, seed] = (['seconds', 'kills', 'seed'] as const).map((name) =>
  benchNumber(USAGE, `--${name}`, options[name]),
) as [number, number, number];
const bundle = await openBundle(folder);
const plannedRps = bundle.topology.models[0]?.throughputRps ?? Number.NaN;
const scratch = await mkdtemp(join(tmpdir(), 'overload-'));
const client = openClient();
try {
  const run = new OverloadRun({ folder, bundle, client, samples, verdicts });
  await run.served({ scheduler: schedulers[0] as string, trace: await traceOf(WARM_UP), kills: 0 });
  out.write(`planned rate ${plannedRps.toFixed(1)}/s, ${durationS} s each\n`);
  const rows = await overloaded(run, 0, loads);
  out.write(`${figuresText(rows)}\n${dropsText(rows)}`);
  const killed = kills === 0 ? [] : await overloaded(run, kills, [Math.max(...loads)]);
  if (kills > 0) out.write(`\n${killsText(killed)}`);
  const faults = [...rows, ...killed].flatMap(faultsOf);
  for (const fault of faults) out.write(`DOES NOT HOLD: ${fault}\n`);
  if (faults.length > 0) process.exitCode = 1;
  saveResult(json, {
    bench: 'overload',
    options,
    inputs: inputsAt(join(folder, BUNDLE_MANIFEST), 'the bundle'),
    measures: measuresOf(rows, ({ scheduler, load }) => `${scheduler}, ${load} ×`, {
      'live share in time': ({ live }) => live.inTime,
      'simulated share in time': ({ simulated }) => simulated.inTime,
    }),
    rows: [...rows, ...killed],
  });
} finally {
  client.close();
  await rm(scratch, { recursive: true });
}

type Row = Ran & { readonly load: number };

async function overloaded(run: OverloadRun, kills: number, factors: readonly number[]): Promise<Row[]> {
  const rows: Row[] = [];
  for (const load of factors) {
    const trace = await traceOf({ load, durationS });
    for (const scheduler of schedulers) {
      rows.push({ load, ...(await run.served({ scheduler, trace, kills })) });
      process.stderr.write(`${scheduler} at ${load} ×${kills > 0 ? `, ${kills} kills` : ''}: done\n`);
    }
  }
  return rows;
}

async function traceOf({ load, durationS }: { load: number; durationS: number }): Promise<string> {
  const trace = join(scratch, `arrivals-${load}.csv`);
  await writeFile(trace, arrivalsText([{ rps: load * plannedRps, durationS }], seed));
  return trace;
}

function percent(share: number | undefined): string {
  return share === undefined ? '—' : `${(100 * share).toFixed(1)} %`;
}

function figuresText(rows: readonly Row[]): string {
  const both = ({ live, simulated }: Row, text: (of: Figures) => string) => [text(live), text(simulated)];
  const heads = ['in time', 'late', 'dropped', 'p95 ms', 'invalid'].flatMap((head) => [head, 'simulated']);
  return tableText([
    ['load', 'scheduler', 'sent', ...heads, 'others'],
    ...rows.map((row) => [
      ...[String(row.load), row.scheduler, String(row.sent)],
      ...both(row, ({ inTime }) => percent(inTime)),
      ...both(row, ({ late }) => percent(late)),
      ...both(row, ({ dropped }) => percent(dropped)),
      ...both(row, ({ p95Ms }) => p95Ms?.toFixed(0) ?? '—'),
      ...both(row, ({ invalidRate }) => percent(invalidRate)),
      percent(row.others),
    ]),
  ]);
}

function dropsText(rows: readonly Row[]): string {
  const places = ['entry', ...bundle.topology.pools.map(({ stage }) => stageName(stage))];
  return tableText([
    ['load', 'scheduler', ...places.flatMap((place) => [`at ${place}`, 'simulated'])],
    ...rows.map(({ load, scheduler, live, simulated }) => [
      ...[String(load), scheduler],
      ...places.flatMap((place) => [percent(live.drops[place] ?? 0), percent(simulated.drops[place] ?? 0)]),
    ]),
  ]);
}

function killsText(rows: readonly Row[]): string {
  return tableText([
    ['load', 'scheduler', 'kills', 'sent', 'in time', 'late', '503', 'other', 'counted by the server'],
    ...rows.map(({ load, scheduler, kills, endings, sent, counted }) =>
      [
        ...[load, scheduler, kills, sent, endings.inTime, endings.late, endings.dropped],
        ...[endings.failed + endings.cancelled, counted],
      ].map(String),
    ),
  ]);
}
