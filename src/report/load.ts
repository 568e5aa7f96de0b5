import type {
  LabelledOutcomes,
  LoadAnsweredBy,
  LoadOutcomes,
  ModelLoad,
  PriorityLoad,
} from '../formats/index.js';
import type { LoadReport } from '../loadgen/index.js';
import { count, figure, orDash, percent, type Table } from './table.js';

/** loadTable has one row per figure of a load report, with the five most frequent reasons of failure. */
export function loadTable(report: LoadReport): Table {
  const share = (count: number): string => (report.sent === 0 ? '—' : percent(count / report.sent));
  const ms = (value: number | undefined): string => orDash(value, (some) => `${figure(some)} ms`);
  const { latencyMs: latency, sendLatenessMs: lateness } = report;
  const row = (name: string, count: number): [string, string, string] => [name, String(count), share(count)];
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
    ...(isJudged(report)
      ? [row('in time', report.inTime), row('late', report.late)]
      : [row('answered', report.answered)]),
    row('dropped', report.dropped),
    ...dropRows(report),
    ...cancelledRows(report),
    row('failed', report.failed),
    ...failureRows(report),
    ['throughput', figure(report.throughputRps), 'answered/s'],
    ...judgedRows(report),
    ['latency p50', ms(latency?.p50), 'from the intended send'],
    ['latency p90', ms(latency?.p90), ''],
    ['latency p99', ms(latency?.p99), ''],
    ['latency max', ms(latency?.max), ''],
    ['sent late p99', ms(lateness?.p99), 'by this client'],
  ];
  return { columns: ['load', '', ''], rows };
}

/** isJudged says whether an SLO said of every request whether it was in time. */
function isJudged({ sloMs, models }: LoadReport): boolean {
  if (models === undefined) return sloMs !== undefined;
  return models.every((model) => model.sloMs !== undefined || model.sent === 0);
}

function judgedRows(report: LoadReport): [string, string, string][] {
  if (!isJudged(report))
    return [['attainment', '—', 'no SLO says what is in time: none was given, and the server tells none']];
  const slo = report.sloMs === undefined ? '' : `, SLO ${figure(report.sloMs)} ms`;
  return [
    ['goodput', figure(report.goodputRps), `in time/s${slo}`],
    ['attainment', orDash(report.attainment, (share) => percent(share, 2)), ''],
  ];
}

const OUTCOME_COLUMNS = ['sent', 'in time', 'late', 'dropped', 'failed', 'attainment', 'p50 ms', 'p99 ms'];
const SPARE_OUTCOMES = ['p50 ms', 'failed', 'in time', 'late', 'dropped', 'sent'];

/** loadModelTable has one row per model of a load on several models, with its own SLO and outcomes. */
export function loadModelTable(models: readonly ModelLoad[]): Table {
  return {
    columns: ['model', ...OUTCOME_COLUMNS, 'SLO ms'],
    spare: ['SLO ms', ...SPARE_OUTCOMES],
    rows: models.map((model) => [model.name, ...outcomeCells(model), orDash(model.sloMs, figure)]),
  };
}

/** loadPriorityTable has one row per priority of a load, with the outcomes of the requests that sent it. */
export function loadPriorityTable(priorities: readonly PriorityLoad[]): Table {
  return {
    columns: ['priority', ...OUTCOME_COLUMNS],
    spare: SPARE_OUTCOMES,
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
  // Without a share in time of requests that came, nothing said which of them were in time.
  const isJudged = attainment !== undefined || sent === 0;
  return [
    count(sent),
    ...[inTime, late].map((each) => (isJudged ? count(each) : '—')),
    ...[dropped, failed].map((each) => count(each)),
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

function cancelledRows({ cancelled }: LoadReport): [string, string, string][] {
  return cancelled === 0 ? [] : [['cancelled', String(cancelled), 'still open when it ended']];
}

/** dropRows says with which statuses requests were dropped, where other than 503 was among them. */
function dropRows({ drops = {} }: LoadReport): [string, string, string][] {
  const statuses = Object.entries(drops);
  if (statuses.every(([status]) => status === '503')) return [];
  return statuses.map(([status, count]) => ['', String(count), `status ${status}`]);
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
