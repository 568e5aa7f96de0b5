import { tableText } from '../results/table.js';
import type { Figures, Row } from './measured.js';

/** The largest differences from the simulation, by what runs the stages: of attainment and of p95 or goodput, as shares. */
const BOUNDS = { sleeper: { points: 0.01, share: 0.05 }, cpu: { points: 0.05, share: 0.2 } } as const;
const LEAST_MS = 10;

type Judged = Pick<Row, 'executor' | 'load' | keyof Figures | 'compared'>;

/** holds tells whether a load is as near to its simulation as is asked: undefined where it was not simulated. */
export function holds(
  { executor, load, compared, ...live }: Judged,
  by: 'simulated' | 'withEngine' = 'withEngine',
) {
  if (compared === undefined) return undefined;
  const { points, share } = BOUNDS[executor];
  const { attainment, p95Ms, goodputRps } = compared[by];
  if (load > 1) return Math.abs(live.goodputRps - goodputRps) <= share * goodputRps;
  const nearMs = Math.max(share * p95Ms, LEAST_MS);
  return Math.abs(live.attainment - attainment) <= points && Math.abs(live.p95Ms - p95Ms) <= nearMs;
}

/** simulatedText sets loads on Ray Serve beside their simulations, without and with what the engine adds. */
export function simulatedText(rows: readonly Row[]): string {
  const figures = (text: (of: Figures) => string, row: Row) =>
    [row, row.compared?.simulated, row.compared?.withEngine].map((of) => (of === undefined ? '—' : text(of)));
  const three = (name: string) => [name, 'simulated', 'with engine'];
  const parts = ['executions', 'front', 'queueing'] as const;
  return tableText([
    [
      ...['executor', 'load', 'sent', ...three('in time'), ...three('p95 ms')],
      ...[...three('goodput/s'), ...parts.map((part) => `p95: ${part}`), 'holds', 'with engine', 'busy'],
    ],
    ...rows
      .filter(({ compared }) => compared !== undefined)
      .map((row) => [
        ...[row.executor, String(row.load), String(row.report.sent)],
        ...figures(({ attainment }) => percent(attainment), row),
        ...figures(({ p95Ms }) => p95Ms.toFixed(0), row),
        ...figures(({ goodputRps }) => goodputRps.toFixed(2), row),
        ...parts.map((part) => row.compared?.p95Parts?.[part].toFixed(0) ?? '—'),
        ...(['simulated', 'withEngine'] as const).map((by) => (holds(row, by) ? 'yes' : 'no')),
        percent(row.busy),
      ]),
  ]);
}

/** batchesText sets the batches of each size on Ray Serve beside those of the simulation. */
export function batchesText(rows: readonly Row[]): string {
  const ms = (us: number | undefined) => (us === undefined ? '—' : (us / 1e3).toFixed(1));
  return tableText([
    ['executor', 'load', 'stage', 'batch', 'batches', 'simulated', 'ms', 'planned'],
    ...rows.flatMap(({ executor, load, compared }) =>
      (compared?.executions ?? []).map((one) => [
        ...[executor, load, one.partition, one.batch, one.liveBatches, one.simulatedBatches].map(String),
        ...[ms(one.measuredUs), ms(one.plannedUs)],
      ]),
    ),
  ]);
}

/** sideBySideText sets the systems side by side at each load. */
export function sideBySideText(rows: readonly Row[]): string {
  return tableText([
    ['load', 'system', 'sent', 'in time', 'goodput/s', 'p95 ms', 'late', 'dropped', 'failed', 'busy'],
    ...rows
      .filter(({ executor }) => executor === 'sleeper')
      .toSorted((a, b) => a.load - b.load)
      .map(({ load, system, report: { sent, late, dropped, failed }, ...row }) => [
        ...[String(load), system, String(sent), percent(row.attainment), row.goodputRps.toFixed(2)],
        ...[row.p95Ms.toFixed(0), ...[late, dropped, failed].map(String), percent(row.busy)],
      ]),
  ]);
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
