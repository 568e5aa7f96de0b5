import { expect, test } from 'vitest';
import {
  arrivalsOf,
  describedWorkload,
  highestRps,
  type Workload,
  warmUpNs,
} from '../../src/simulation/workload.js';
import { parseTrace } from '../../src/workload/index.js';

test('highestRps() adds up traces of counts that run at once, and leaves traces of arrival times out', () => {
  const traceOf = (text: string, model: number) => ({ trace: parseTrace(text), model });
  const sources = [
    traceOf('interval_s,count\n1,8\n3,3\n', 0),
    traceOf('interval_s,count\n2,2\n1,6\n', 1),
    traceOf('1\n2\n', 2),
  ];
  const workload: Workload = {
    kind: 'trace',
    process: 'uniform',
    durationNs: 4e9,
    sources,
    whole: true,
    weights: [1, 1, 1],
  };
  expect(highestRps(workload)).toBe(9);
  expect(highestRps({ ...workload, sources: sources.slice(2) })).toBe(0);
  expect(highestRps({ kind: 'drawn', process: 'poisson', durationNs: 1e9, rps: [3, 4] })).toBe(7);
});

test('arrivalsOf() fills queues with twice the rate of each model for its own time, and all fills end at once', () => {
  const models = [
    { name: 'a', throughputRps: 1, weight: 1 },
    { name: 'b', throughputRps: 1, weight: 1 },
  ];
  const workload: Workload = {
    kind: 'drawn',
    process: 'uniform',
    durationNs: 20e9,
    rps: [100, 50],
    warmUp: { fillNs: [1e9, 4e9], settleNs: 10e9 },
  };
  expect(warmUpNs(workload)).toBe(14e9);
  expect(describedWorkload(workload, models)).toMatchObject({ durationS: 20, warmUpS: 14 });
  const times: number[][] = [[], []];
  for (const all = arrivalsOf(workload, models, 1); all.next(); ) times[all.model]?.push(all.atNs);
  const between = (model: number, fromS: number, toS: number) =>
    (times[model] as number[]).filter((ns) => fromS <= ns / 1e9 && ns / 1e9 < toS).length;
  expect([between(0, 0, 3), between(0, 3, 4), between(0, 4, 34)]).toEqual([300, 200, 3000]);
  expect([between(1, 0, 4), between(1, 4, 34), between(1, 34, 99)]).toEqual([400, 1500, 0]);
});
