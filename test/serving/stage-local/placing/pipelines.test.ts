import { describe, expect, it } from 'vitest';
import { Pipelines } from '../../../../src/serving/stage-local/placing/pipelines.js';
import type { PipelineChoice } from '../../../../src/serving/stage-local/policy.js';
import { Durations, PlanColumns, PoolsUp } from '../../../../src/serving/state/index.js';
import { MS, modelOf, stage } from '../../by-hand.js';

/** Pipelines of one stage that take 10, 20 and 30 ms. Pools and devices have the numbers of their pipelines. */
function pipelines(kind: PipelineChoice['kind'], rates: number[], up = rates.map((_, i) => i)) {
  const topology = modelOf(
    100,
    ...rates.map((throughputRps, i) => ({ throughputRps, parts: [stage([10 * (i + 1)])] })),
  );
  const poolsUp = new PoolsUp(topology);
  for (const device of up) poolsUp.deviceUp(device);
  const durations = new Durations(topology, { kind: 'none' });
  const chosen = new Pipelines({ kind }, poolsUp, {
    topology,
    columns: new PlanColumns(topology),
    durations,
  });
  /** Chooses a number of times. Every request stays in its pipeline. */
  const choose = (times: number, latestEnd = 100 * MS, at = 0) =>
    Array.from({ length: times }, () => {
      const entry = chosen.choose(0, latestEnd, at);
      chosen.entered(entry);
      return entry;
    });
  return { choose, chosen, poolsUp };
}

const KINDS = ['proportional', 'least-loaded'] as const;

describe('Pipelines.choose()', () => {
  it('follows planned throughput under "proportional", and takes the first where two are equally far behind', () => {
    const { choose } = pipelines('proportional', [200, 100, 100]);
    // Before each choice the credits are as follows, and the highest pays 400: 200 100 100 | 0 200 200 | 200 −100 300 |
    // 400 0 0, and so on.
    expect(choose(8)).toEqual([0, 1, 2, 0, 0, 1, 2, 0]);
  });

  it('keeps to the planned shares under "proportional"', () => {
    const { choose } = pipelines('proportional', [500, 300, 200]);
    const counts = [0, 0, 0];
    for (const entry of choose(100)) counts[entry]! += 1;
    expect(counts).toEqual([50, 30, 20]);
  });

  it('takes, under "least-loaded", the pipeline with the fewest in flight per planned throughput, and the first of several', () => {
    const { choose, chosen } = pipelines('least-loaded', [200, 100, 100]);
    // One more in flight over the rate is 1/200 1/100 1/100 | 2/200 1/100 1/100, a tie of all | 3/200 1/100 1/100 | …
    expect(choose(4)).toEqual([0, 0, 1, 2]);
    // All are equally loaded. The next goes to the first, but once a task has left the third, the third comes first.
    expect(choose(1)).toEqual([0]);
    chosen.left(2);
    expect(choose(2)).toEqual([2, 0]);
  });

  it('considers only pipelines that can make the deadline, to the nanosecond', () => {
    for (const kind of KINDS) {
      // The second takes 20 ms and has the larger share.
      const exact = pipelines(kind, [100, 900]);
      expect(exact.choose(3, 25 * MS, 5 * MS)).toEqual([1, 1, 1]);
      const late = pipelines(kind, [100, 900]);
      expect(late.choose(3, 25 * MS - 1, 5 * MS)).toEqual([0, 0, 0]);
    }
  });

  it('considers all pipelines that are up where none can make the deadline', () => {
    for (const kind of KINDS) expect(pipelines(kind, [100, 900]).choose(3, 9 * MS)).toEqual([1, 1, 1]);
  });

  it('considers only pipelines that are up, even if too slow, and all where none is up', () => {
    for (const kind of KINDS) {
      expect(pipelines(kind, [900, 100], [1]).choose(3)).toEqual([1, 1, 1]);
      expect(pipelines(kind, [900, 100], [1]).choose(3, 15 * MS)).toEqual([1, 1, 1]);
      expect(pipelines(kind, [100, 900], []).choose(3)).toEqual([1, 1, 1]);
    }
  });

  it('gives no credit, under "proportional", to pipelines that it does not consider', () => {
    const { choose, poolsUp } = pipelines('proportional', [100, 100], [0]);
    expect(choose(5)).toEqual([0, 0, 0, 0, 0]);
    poolsUp.deviceUp(1);
    expect(choose(4)).toEqual([0, 1, 0, 1]);
  });

  it('takes the only pipeline of a model without a check, even if it is down and too slow', () => {
    for (const kind of KINDS) {
      const { chosen } = pipelines(kind, [100], []);
      expect(chosen.choose(0, 0, 50 * MS)).toBe(0);
    }
  });
});
