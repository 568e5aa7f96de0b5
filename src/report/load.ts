import type { LoadReport } from '../loadgen/index.js';
import { figure, orDash, percent, type Table } from './table.js';

/** loadTable has one row per figure of a load report. */
export function loadTable(report: LoadReport): Table {
  const share = (count: number): string => (report.sent === 0 ? '—' : percent(count / report.sent));
  const ms = (value: number | undefined): string => orDash(value, (some) => `${figure(some)} ms`);
  const { latencyMs: latency, sendLatenessMs: lateness } = report;
  const rows: [string, string, string][] = [
    ['sent', String(report.sent), `${figure(report.sentRps)} requests/s, asked for ${figure(report.rps)}`],
    ['in time', String(report.inTime), share(report.inTime)],
    ['late', String(report.late), share(report.late)],
    ['dropped', String(report.dropped), share(report.dropped)],
    ['failed', String(report.failed), share(report.failed)],
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
    rows.splice(5, 0, ['cancelled', String(report.cancelled), 'still open when it ended']);
  return { columns: ['load', '', ''], rows };
}
