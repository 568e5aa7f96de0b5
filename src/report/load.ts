import type {
  LabelledOutcomes,
  LoadAnsweredBy,
  LoadOutcomes,
  ModelLoad,
  PriorityLoad,
} from '../artifacts/index.js';
import type { LoadReport } from '../loadgen/index.js';
import { count, figure, orDash, percent, type Table } from './table.js';

/** loadTable has one row per figure of a load report, with the five most frequent reasons of failure. */
export function loadTable(report: LoadReport): Table {
  const share = (count: number): string => (report.sent === 0 ? '—' : percent(count / report.sent));
  const ms = (value: number | undefined): string => orDash(value, (some) => `${figure(some)} ms`);
  const { latencyMs: latency, sendLatenessMs: lateness } = report;
  const interrupted =
    report.complete === false
      ? `, interrupted at ${figure(report.elapsedS)} of ${figure(report.durationS)} s`
      : '';
  const rows: [string, string, string][] = [
    [
      'sent',
      String(report.sent),
      `${figure(report.sentRps)} requests/s, asked for ${figure(report.rps)}${interrupted}`,
    ],
    ['in time', String(report.inTime), share(report.inTime)],
    ['late', String(report.late), share(report.late)],
    ['dropped', String(report.dropped), share(report.dropped)],
    ['failed', String(report.failed), share(report.failed)],
    ...failureRows(report),
    ['throughput', figure(report.throughputRps), 'answered/s'],
    [
      'goodput',
      figure(report.goodputRps),
      `in time/s${report.sloMs === undefined ? '' : `, SLO ${figure(report.sloMs)} ms`}`,
    ],
    ['attainment', orDash(report.attainment, (share) => percent(share, 2)), ''],
    ['latency p50', ms(latency?.p50), 'from the intended send'],
    ['latency p90', ms(latency?.p90), ''],
    ['latency p99', ms(latency?.p99), ''],
    ['latency max', ms(latency?.max), ''],
    ['sent late p99', ms(lateness?.p99), 'by this client'],
  ];
  if (report.cancelled > 0)
    rows.splice(4, 0, ['cancelled', String(report.cancelled), 'still open when it ended']);
  return { columns: ['load', '', ''], rows };
}

const OUTCOME_COLUMNS = ['sent', 'in time', 'late', 'dropped', 'failed', 'attainment', 'p50 ms', 'p99 ms'];

/** loadModelTable has one row per model of a load on several models, with its own SLO and outcomes. */
export function loadModelTable(models: readonly ModelLoad[]): Table {
  return {
    columns: ['model', ...OUTCOME_COLUMNS, 'SLO ms'],
    rows: models.map((model) => [model.name, ...outcomeCells(model), orDash(model.sloMs, figure)]),
  };
}

/** loadPriorityTable has one row per priority of a load, with the outcomes of the requests that sent it. */
export function loadPriorityTable(priorities: readonly PriorityLoad[]): Table {
  return {
    columns: ['priority', ...OUTCOME_COLUMNS],
    rows: priorities.map((one) => [one.priority === 0 ? 'none' : `${one.priority}`, ...outcomeCells(one)]),
  };
}

function outcomeCells({
  sent,
  inTime,
  late,
  dropped,
  failed,
  attainment,
  latencyMs,
}: LoadOutcomes): string[] {
  return [
    ...[sent, inTime, late, dropped, failed].map((each) => count(each)),
    orDash(attainment, (share) => percent(share, 2)),
    ...[latencyMs?.p50, latencyMs?.p99].map((ms) => orDash(ms, figure)),
  ];
}

/** Reasons of failure that are shown, the most frequent first. */
const MOST_REASONS = 5;
const LONGEST_REASON = 200;

function failureRows({ failures }: LoadReport): [string, string, string][] {
  const reasons = Object.entries(failures).sort(([, a], [, b]) => b - a);
  const shown = reasons
    .slice(0, MOST_REASONS)
    .map(([why, count]): [string, string, string] => ['', String(count), why.slice(0, LONGEST_REASON)]);
  const left = reasons.slice(MOST_REASONS).reduce((sum, [, count]) => sum + count, 0);
  return left === 0 ? shown : [...shown, ['', String(left), 'for other reasons']];
}

/** labelledLine says how many of the answers to labelled samples are right. */
export function labelledLine({ answered, right, accuracy, samples }: LabelledOutcomes): string {
  const share = accuracy === undefined ? '' : `, ${percent(accuracy, 2)}`;
  return `${count(right)} of ${count(answered)} answers right${share}, to ${count(samples)} labelled samples in turn`;
}

/** answeredByLine says which models of a cascade answered, the one of the most rows first. */
export function answeredByLine(answeredBy: readonly LoadAnsweredBy[]): string {
  return `answered by ${answeredBy.map(({ stage, share }) => `${stage} ${percent(share)}`).join(', ')}`;
}
