import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { loadReportFaults } from '../../../src/checks/index.js';
import type { LoadDocument } from '../../../src/formats/index.js';

const reportOf = (name: string): LoadDocument =>
  JSON.parse(readFileSync(new URL(`reports/${name}.json`, import.meta.url), 'utf8'));
const REPORT = reportOf('several');
const told = (change: object, report = REPORT): string[] =>
  loadReportFaults({ ...report, ...change }).map(({ path, message }) => `${path}: ${message}`);

describe('loadReportFaults()', () => {
  it('takes rates that differ by rounding alone', () => {
    const { attainment, throughputRps } = REPORT;
    expect(told({ attainment: attainment! + 1e-12, throughputRps: throughputRps * (1 - 1e-12) })).toEqual([]);
  });

  it('finds another attainment of all requests where simulations have it', () => {
    const { attainment } = REPORT;
    expect(told({ overall: { attainment } })).toEqual([]);
    expect(told({ overall: { attainment: 0.5 } })).toEqual([
      `/overall/attainment: is 0.5, and attainment is ${attainment}`,
    ]);
  });

  it('counts cancelled requests in no share, and takes what is missing of none', () => {
    const interrupted = reportOf('interrupted');
    const { attainment } = interrupted;
    const cancelled = { sent: interrupted.sent + 3, cancelled: 3, sentRps: interrupted.sentRps * 1.01 };
    const uncounted = { ...cancelled, sendLatenessMs: undefined, sends: undefined };
    expect(told(uncounted, interrupted)).toEqual([]);
    expect(told({ ...uncounted, complete: true }, interrupted)[0]).toBe(
      '/complete: is true, and 3 requests were cancelled',
    );
    expect(told({ attainment: attainment! / 2 }, interrupted)[0]).toMatch(
      /^\/attainment: is .*, and by the counts it is/,
    );
    const none = {
      sent: 0,
      answered: 0,
      inTime: 0,
      late: 0,
      dropped: 0,
      failed: 0,
      cancelled: 0,
      sentRps: 0,
    };
    const absent = {
      attainment: undefined,
      dropRate: undefined,
      latencyMs: undefined,
      latencyHistogram: undefined,
    };
    const silent = {
      ...none,
      ...absent,
      throughputRps: 0,
      goodputRps: 0,
      failures: {},
      sends: [],
      served: undefined,
    };
    expect(
      told(
        { ...silent, sendLatenessMs: undefined, complete: false, durationS: 0.001, elapsedS: 0.001, rps: 1 },
        interrupted,
      ),
    ).toEqual([]);
    expect(told({ ...silent, attainment: 1 }, interrupted)).toContain(
      '/attainment: is 1, and there is nothing that it could be of',
    );
  });

  it('finds outcomes that are not as many as were sent, and parts that are not all of them', () => {
    expect(told({ sent: REPORT.sent + 1 })).toEqual([
      '/sent: is 61, and inTime + late + dropped + failed + cancelled is 60',
      '/sent: is 61, and those of the models are 60',
      '/sendLatenessMs/count: is 60, and there are 61 values',
    ]);
    const [first, second] = REPORT.models!;
    expect(told({ models: [first!, { ...second!, name: first!.name }] })).toContain(
      '/models/1/name: is "short", as another is',
    );
  });

  it('finds percentiles that fall, and means and buckets that they cannot have', () => {
    const latencyMs = REPORT.latencyMs!;
    expect(told({ latencyMs: { ...latencyMs, p95: latencyMs.p90 / 2 } })[0]).toMatch(
      /^\/latencyMs\/p95: is .*, below p90, which is/,
    );
    expect(told({ latencyMs: { ...latencyMs, mean: latencyMs.mean * 9 } })[0]).toMatch(
      /^\/latencyMs\/mean: is .*; values with these percentiles have a mean from/,
    );
    expect(told({ latencyMs: { ...latencyMs, p50: latencyMs.p50 * 1.5 } })[0]).toMatch(
      /^\/latencyMs\/p50: is .*, and by the histogram it is from/,
    );
    const boundsMs = REPORT.latencyHistogram!.boundsMs.with(1, 9);
    expect(told({ latencyHistogram: { ...REPORT.latencyHistogram!, boundsMs } })[0]).toBe(
      '/latencyHistogram/boundsMs/1: is 9, which is not the next bound',
    );
  });

  it('finds an end before what came before it, and more rows of the server than were sent', () => {
    expect(told({ complete: true, durationS: 9 })[0]).toMatch(
      /^\/elapsedS: is .*, and the load of 9 s was complete/,
    );
    const [first, ...others] = REPORT.served!;
    const executions = first!.executions.map((one) => ({
      ...one,
      executed: one.executed + 99,
      measured: 1,
      p95Us: one.medianUs!,
    }));
    expect(told({ served: [{ ...first!, executions }, ...others] })[0]).toMatch(
      /^\/served\/0\/executions: have .* rows of partition 0 of pipeline 0, and 60 were sent/,
    );
  });
});
