import type { LoadReport } from '../../src/loadgen/index.js';
import { startServer } from '../../src/runtime/index.js';
import { measuresOf } from '../results/result.js';
import { tableText } from '../results/table.js';
import { COUNT_NAMES, countCells, driven, otherEndings, plannedModel, type Target } from './load-client.js';
import type { Storm } from './storm.js';

/** These multiples of the planned rate come before the crowd, each for a sixth of its time. */
const LOWER_LOADS = [0.5, 0.8, 1, 1.3, 2];
const CROWD_LOAD = 10;
/** The crowd's goodput may be lower than the best by this share. */
const MOST_LOSS = 0.1;
/** The memory may grow by this much while the crowd lasts. */
const MOST_GROWTH_MIB = 512;
const SAMPLES = 10;
const MIB = 2 ** 20;

interface Row {
  readonly load: number;
  readonly report: LoadReport;
  /** The server process's resident memory in MiB at even intervals. */
  readonly rssMib: readonly number[];
}

/** crowd drives a server at lower rates, and then for `seconds` at ten times the planned one. */
export async function crowd(target: Target, seconds: number): Promise<Storm> {
  const model = await plannedModel(target);
  const server = await startServer(target.folder, { port: 0 });
  const rows: Row[] = [];
  for (const load of [...LOWER_LOADS, CROWD_LOAD]) {
    const durationS = load === CROWD_LOAD ? seconds : seconds / 6;
    const report = driven(server.url, { model, load, durationS, seed: target.seed });
    rows.push({ load, ...(await watched(report, durationS)) });
  }
  await server.close();
  return {
    table: `planned ${model.throughputRps.toFixed(1)} requests per second\n${tableText([
      ['load', ...COUNT_NAMES, 'goodput rps', 'p99 ms', 'server MiB over time'],
      ...rows.map(({ load, report, rssMib }) => [
        load.toFixed(1),
        ...countCells(report),
        report.goodputRps.toFixed(1),
        (report.latencyMs?.p99 ?? 0).toFixed(0),
        rssMib.map((mib) => mib.toFixed(0)).join(' '),
      ]),
    ])}`,
    measures: measuresOf(rows, ({ load }) => `load ${load}`, {
      'goodput requests/s': ({ report }) => report.goodputRps,
      'server MiB at most': ({ rssMib }) => Math.max(...rssMib),
    }),
    rows,
    faults: faultsOf(rows),
  };
}

function faultsOf(rows: readonly Row[]): string[] {
  const last = rows.at(-1) as Row;
  const lower = rows.slice(0, -1);
  const best = Math.max(...lower.map(({ report }) => report.goodputRps));
  const before = Math.max(...lower.flatMap(({ rssMib }) => rssMib));
  const { goodputRps } = last.report;
  const faults: string[] = [];
  if (goodputRps < (1 - MOST_LOSS) * best)
    faults.push(`goodput is ${goodputRps.toFixed(1)} requests/s, ${best.toFixed(1)} at a lower rate`);
  const grown = Math.max(...last.rssMib) - before;
  if (grown > MOST_GROWTH_MIB) faults.push(`the server's memory grew by ${grown.toFixed(0)} MiB`);
  return [...faults, ...otherEndings(last.report)];
}

async function watched(report: Promise<LoadReport>, durationS: number): Promise<Omit<Row, 'load'>> {
  const rssMib: number[] = [];
  const sample = () => rssMib.push(process.memoryUsage().rss / MIB);
  const timer = setInterval(sample, (1000 * durationS) / SAMPLES);
  const told = await report;
  clearInterval(timer);
  sample();
  return { report: told, rssMib };
}
