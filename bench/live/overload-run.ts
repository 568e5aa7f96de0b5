import { setTimeout as sleep } from 'node:timers/promises';
import { simulatePlan } from '../../src/api/index.js';
import type { LoadDocument, SimulationReport } from '../../src/formats/index.js';
import { type OpenedBundle, type RunningServer, startServer } from '../../src/runtime/index.js';
import type { LogEntry } from '../../src/serving/index.js';
import type { Client } from './client.js';
import { invalidRate } from './invalid-rate.js';
import { otherWork } from './other-work.js';

const BETWEEN_KILLS_MS = 1500;
/** A killed executor is up again within this time; a longer time is a failure. */
const BACK_MS = 20_000;
/** A scheduler that drops nothing lets clients wait for as long as it takes. */
const PATIENCE = { timeoutS: 300, connections: 4096 };

/** Figures are what became of a load, as shares of the requests that were sent. */
export interface Figures {
  readonly inTime: number;
  readonly late: number;
  readonly dropped: number;
  readonly p95Ms: number | undefined;
  readonly invalidRate: number | undefined;
  /** The shares that were dropped at each stage, or at the entry. */
  readonly drops: Readonly<Record<string, number>>;
}

/** Ran is a load that was served and simulated. */
export interface Ran {
  readonly scheduler: string;
  readonly kills: number;
  readonly sent: number;
  readonly live: Figures;
  readonly simulated: Figures;
  readonly endings: Pick<LoadDocument, 'inTime' | 'late' | 'dropped' | 'failed' | 'cancelled'>;
  /** The requests that the server counts as ended. */
  readonly counted: number;
  /** Whether all executors were up at the end. */
  readonly isWhole: boolean;
  /** The share of the time of all cores that other processes took. */
  readonly others: number;
}

interface Parts {
  readonly folder: string;
  readonly bundle: OpenedBundle;
  readonly client: Client;
  readonly samples: string;
  readonly verdicts: string;
}

/** faultsOf says which rules a run has broken. */
export function faultsOf({ scheduler, kills, sent, endings, counted, isWhole }: Ran): string[] {
  const faults: string[] = [];
  const ended = Object.values(endings).reduce((sum, count) => sum + count, 0);
  if (ended !== sent) faults.push(`${ended} of ${sent} requests ended at the client`);
  if (counted !== sent) faults.push(`the server counts ${counted} endings of ${sent} requests`);
  const others = endings.failed + endings.cancelled;
  if (others > 0) faults.push(`${others} requests got neither results nor 503`);
  if (!isWhole) faults.push('not every executor was up at the end');
  return faults.map((fault) => `${scheduler}, ${kills} kills: ${fault}`);
}

/** OverloadRun serves loads, each with a fresh server, and simulates them. */
export class OverloadRun {
  constructor(private readonly parts: Parts) {}

  async served(asked: {
    readonly scheduler: string;
    readonly trace: string;
    readonly kills: number;
  }): Promise<Ran> {
    const { scheduler, trace, kills } = asked;
    const { folder, bundle, client, samples, verdicts } = this.parts;
    const log: LogEntry[] = [];
    const server = await startServer(folder, { port: 0, scheduler, onDecision: (entry) => log.push(entry) });
    try {
      const executors = server.executorPids().length;
      const others = otherWork(() => [process.pid, client.pid, ...server.executorPids()]);
      const { report: ended } = await client.send({ url: server.url, trace, samples, ...PATIENCE });
      const [report] = await Promise.all([ended, killOneByOne(server, kills)]);
      const otherShare = others();
      const isWhole = await allBack(server, executors);
      const text = await server.metricsText();
      const { report: simulated } = await simulatePlan(folder, { traces: [trace], scheduler, verdicts });
      const { sent, inTime, late, dropped, failed, cancelled } = report;
      return {
        scheduler,
        kills,
        sent,
        isWhole,
        others: otherShare,
        endings: { inTime, late, dropped, failed, cancelled },
        counted: sumOf(text, 'inferplan_outcomes_total'),
        live: liveFigures(report, text, invalidRate(log, bundle, scheduler)),
        simulated: simulatedFigures(simulated),
      };
    } finally {
      await server.close();
    }
  }
}

function liveFigures(report: LoadDocument, metrics: string, invalid: number | undefined): Figures {
  const { sent, inTime, late, dropped, latencyMs } = report;
  const lines = metrics.matchAll(/^inferplan_drops_total\{.*place="([^"]*)"\} (\S+)$/gm);
  const drops: Record<string, number> = {};
  for (const [, place = '', count] of lines) drops[place] = (drops[place] ?? 0) + Number(count) / sent;
  return {
    inTime: inTime / sent,
    late: late / sent,
    dropped: dropped / sent,
    p95Ms: latencyMs?.p95,
    invalidRate: invalid,
    drops,
  };
}

function simulatedFigures({ overall, drops }: SimulationReport): Figures {
  const { arrived, inTime, late, dropped, latencyMs } = overall;
  const byPlace: Record<string, number> = {};
  for (const { place, count } of drops) byPlace[place] = (byPlace[place] ?? 0) + count / arrived;
  return {
    inTime: inTime / arrived,
    late: late / arrived,
    dropped: dropped / arrived,
    p95Ms: latencyMs?.p95,
    invalidRate: overall.invalidRate,
    drops: byPlace,
  };
}

function sumOf(metrics: string, name: string): number {
  const lines = metrics.split('\n').filter((line) => line.startsWith(`${name}{`));
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

/** killOneByOne kills executors in turn. */
async function killOneByOne(server: RunningServer, kills: number): Promise<void> {
  for (let killed = 0; killed < kills; ) {
    await sleep(BETWEEN_KILLS_MS);
    const pids = server.executorPids();
    const pid = pids[killed % Math.max(1, pids.length)];
    if (pid === undefined) continue;
    process.kill(pid, 'SIGKILL');
    killed += 1;
  }
}

async function allBack(server: RunningServer, executors: number): Promise<boolean> {
  const until = performance.now() + BACK_MS;
  while (performance.now() < until) {
    if (server.executorPids().length === executors) return true;
    await sleep(100);
  }
  return false;
}
