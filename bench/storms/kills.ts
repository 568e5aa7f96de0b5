import { setTimeout as sleep } from 'node:timers/promises';
import type { LoadReport } from '../../src/loadgen/index.js';
import { streamOf } from '../../src/random/index.js';
import { type RunningServer, startServer } from '../../src/runtime/index.js';
import { measuresOf } from '../results/result.js';
import { tableText } from '../results/table.js';
import { COUNT_NAMES, countCells, driven, otherEndings, plannedModel, type Target } from './load-client.js';
import type { Storm } from './storm.js';

const SCHEDULERS = ['stage-local', 'reservation', 'reactive', 'fifo'] as const;
const BETWEEN_KILLS_MS = 1000;
/** A killed executor is back within this time; a longer time is a failure. */
const BACK_MS = 20_000;

interface Row {
  readonly scheduler: string;
  readonly killed: number;
  readonly report: LoadReport;
  /** Whether all executors were up again at the end. */
  readonly isWhole: boolean;
}

interface KillOptions {
  readonly kills: number;
  /** The rate as a share of the planned one. */
  readonly load: number;
}

/** kills serves a bundle under load with each scheduler, while it kills one executor after another. */
export async function kills(target: Target, options: KillOptions): Promise<Storm> {
  const rows: Row[] = [];
  for (const scheduler of SCHEDULERS) rows.push(await underKills(target, scheduler, options));
  return {
    table: tableText([
      ['scheduler', 'kills', ...COUNT_NAMES, 'attainment', 'p99 ms'],
      ...rows.map(({ scheduler, killed, report }) => [
        scheduler,
        String(killed),
        ...countCells(report),
        (report.attainment ?? 0).toFixed(4),
        (report.latencyMs?.p99 ?? 0).toFixed(0),
      ]),
    ]),
    measures: measuresOf(rows, ({ scheduler }) => scheduler, {
      attainment: ({ report }) => report.attainment,
      'answered with 503': ({ report }) => report.dropped,
      'p99 ms': ({ report }) => report.latencyMs?.p99,
    }),
    rows,
    faults: rows.flatMap(faultsOf),
  };
}

function faultsOf({ scheduler, report, isWhole }: Row): string[] {
  const { sent, inTime, late, dropped, failed, cancelled } = report;
  const faults = otherEndings(report);
  if (sent !== inTime + late + dropped + failed + cancelled) faults.push('not every request got one answer');
  if (!isWhole) faults.push('not every executor was started again');
  return faults.map((fault) => `${scheduler}: ${fault}`);
}

async function underKills(
  target: Target,
  scheduler: (typeof SCHEDULERS)[number],
  { kills, load }: KillOptions,
): Promise<Row> {
  const model = await plannedModel(target);
  const server = await startServer(target.folder, { port: 0, scheduler });
  const executors = server.executorPids().length;
  const durationS = (kills * BETWEEN_KILLS_MS) / 1000 + 2;
  const report = driven(server.url, { model, load, durationS, seed: target.seed });
  const killed = await killOneByOne(server, kills, streamOf(target.seed, `kills/${scheduler}`));
  const told = await report;
  const isWhole = await allBack(server, executors);
  await server.close();
  return { scheduler, killed, report: told, isWhole };
}

async function killOneByOne(
  server: RunningServer,
  kills: number,
  { integer }: { integer(below: number): number },
): Promise<number> {
  let killed = 0;
  while (killed < kills) {
    await sleep(BETWEEN_KILLS_MS);
    const pids = server.executorPids();
    const pid = pids[integer(Math.max(1, pids.length))];
    if (pid === undefined) continue;
    process.kill(pid, 'SIGKILL');
    killed += 1;
  }
  return killed;
}

async function allBack(server: RunningServer, executors: number): Promise<boolean> {
  const until = performance.now() + BACK_MS;
  while (performance.now() < until) {
    if (server.executorPids().length === executors) return true;
    await sleep(100);
  }
  return false;
}
