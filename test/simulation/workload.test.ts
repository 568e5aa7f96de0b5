import { expect, test } from 'vitest';
import { highestRps, type Workload } from '../../src/simulation/workload.js';
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
