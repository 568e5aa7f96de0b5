import { describe, expect, it } from 'vitest';
import {
  allowedLate,
  demandsOf,
  leastReplicas,
  ReplicaCapacity,
  withFloors,
} from '../../src/inferline/floors.js';
import type { PlanningProblem } from '../../src/inferline/problem.js';
import {
  isLinked,
  leastSenders,
  senderOf,
  sendingReplicas,
  sendingUp,
  sentNs,
  windowNs,
} from '../../src/inferline/senders.js';
import { readStageGraph } from '../../src/plans/index.js';

const { graph } = readStageGraph({
  stages: [{ name: 'a', next: ['b', { to: 'c', probability: 0.25 }] }, { name: 'b' }, { name: 'c' }],
});

/** A row takes 3 ns to another class, and 1 ns within one; a hundred times as long from a to c. */
const problem: PlanningProblem = {
  graph,
  stages: [
    { candidates: [candidate('cpu', [1]), candidate('gpu', [1, 4])] },
    { candidates: [candidate('cpu', [1])] },
    { candidates: [candidate('cpu', [1]), candidate('gpu', [1])] },
  ],
  objectives: [{ attainment: 0.9, sloNs: 100 }],
  counts: {},
  transferNs: ({ edge, fromDevice, toDevice, rows }) =>
    rows * (fromDevice === toDevice ? 1 : 3) * (edge.to === 2 ? 100 : 1),
};

function candidate(device: string, batches: readonly number[]) {
  const most = batches.at(-1) as number;
  return { device, batches, hourlyCost: 1, latencyNs: Float64Array.from({ length: most }, (_, n) => 10 + n) };
}

describe('What a stage sends', () => {
  it('takes the time of a row on each edge, to the nearest class or to the chosen one', () => {
    const sender = (k: number, chosen?: number[], change: Partial<PlanningProblem> = {}) =>
      senderOf({ ...problem, ...change }, { stage: 0, candidate: k }, chosen);
    expect(sender(0)).toEqual({ stage: 0, device: 'cpu', rowsNs: [1, 100] });
    expect(sender(1)).toEqual({ stage: 0, device: 'gpu', rowsNs: [3, 100] });
    expect(sender(1, [1, 0, 0]).rowsNs).toEqual([3, 300]);
    expect(sender(0, [0, 0, 1]).rowsNs).toEqual([1, 300]);
    // Times that are stretched are those of links that are busier, and not longer ones.
    expect(sender(1, undefined, { stretch: 2 }).rowsNs).toEqual([1.5, 50]);
    const { transferNs: _, ...unlinked } = problem;
    expect(senderOf(unlinked, { stage: 0, candidate: 0 }).rowsNs).toEqual([0, 0]);
    expect(senderOf(problem, { stage: 1, candidate: 0 }).rowsNs).toEqual([]);
  });

  it('is on links where some transfer of some choice takes time', () => {
    expect(isLinked(problem)).toBe(true);
    const { transferNs: _, ...unlinked } = problem;
    expect(isLinked(unlinked)).toBe(false);
    expect(isLinked({ ...problem, transferNs: () => 0 })).toBe(false);
    const only = (wanted: (fromDevice: string, toDevice: string, to: number, rows: number) => boolean) =>
      isLinked({
        ...problem,
        transferNs: ({ fromDevice, toDevice, edge, rows }) =>
          wanted(fromDevice, toDevice, edge.to, rows) ? 1 : 0,
      });
    expect(only((from, to, stage) => from === 'gpu' && to === 'gpu' && stage === 2)).toBe(true);
    expect(only((_from, _to, _stage, rows) => rows === 4)).toBe(true);
    expect(only((_from, to, stage) => to === 'gpu' && stage === 1)).toBe(false);
  });

  it('takes the uplinks of so many servers, in all and of requests in a row', () => {
    const demand = {
      visits: 20,
      headNs: 10,
      tailNs: 0,
      sent: [20, 6],
      bursts: [
        { requests: 1, spanNs: 0 },
        { requests: 12, spanNs: 20 },
      ],
    };
    const rowsNs = [30, 100];
    const objective = { attainment: 0.9, sloNs: 100 };
    expect(sentNs({ stage: 0, device: '', rowsNs }, demand, 2)).toBe(18 * 30 + 4 * 100);
    expect(sentNs({ stage: 0, device: '', rowsNs }, demand, 7)).toBe(13 * 30);
    const atNs = Float64Array.from({ length: 20 }, (_, i) => 50 + 10 * i);
    expect(windowNs(atNs, objective)).toBe(190 + 100);
    expect(windowNs(new Float64Array(0), objective)).toBe(100);
    const least = (change: object = {}, isAlways = [true, false], slo = objective) =>
      leastSenders(
        { stage: 0, device: '', rowsNs },
        { ...demand, ...change },
        { atNs, objective: slo, isAlways },
      );
    // All take 940 of 290 ns. Of twelve in a row, ten take 300 of 20 + 100 − 10 ns.
    expect(least()).toBe(4);
    expect(least({ bursts: [] })).toBe(4);
    expect(least({ sent: [20, 2] })).toBe(3);
    expect(least({ sent: [2, 2] })).toBe(3);
    expect(least({ sent: [2, 2] }, [true, true])).toBe(12);
    expect(least({ sent: [2, 2] }, [false, false])).toBe(1);
    // No time is left for what has none.
    expect(least({ sent: [2, 2], headNs: 120 })).toBe(1);
  });

  it('takes so many at the mean rate, and replicas on as many', () => {
    const sender = senderOf(problem, { stage: 0, candidate: 0 });
    const loaded = (rps: number, visits = 1) => ({ ...problem, load: { rps, visits: [visits, 1, 1] } });
    expect(sendingUp(problem, sender)).toBe(1);
    // A visit sends a row for 1 ns, and a quarter of one for 100 ns.
    expect(sendingUp(loaded(1e9 / 26), sender)).toBe(1);
    expect(sendingUp(loaded(1.01e9 / 26), sender)).toBe(2);
    expect(sendingUp(loaded(1e9 / 26, 5), sender)).toBe(5);
    expect(sendingUp(loaded(0), sender)).toBe(1);
    expect(sendingReplicas(problem, 'cpu', 3)).toBe(3);
    expect(sendingReplicas({ servers: { cpu: 3 } } as never, 'cpu', 3)).toBe(3);
    expect(sendingReplicas({ servers: { cpu: 2 } } as never, 'cpu', 3)).toBe(1e12);
    expect(sendingReplicas({ servers: { cpu: 4 }, stretch: 1.5 } as never, 'cpu', 3)).toBe(4);
    expect(sendingReplicas({ servers: { cpu: 9 }, stretch: 1.5 } as never, 'cpu', 3)).toBe(5);
    expect(sendingReplicas({ servers: { cpu: 2 }, stretch: 1.5 } as never, 'gpu', 3)).toBe(5);
  });
});

describe('What a sample asks of a stage', () => {
  it('is its visits, its times before and after, its bursts and what it sends on', () => {
    const atNs = Float64Array.of(0, 5, 6, 50);
    const verdicts = [Int32Array.of(1, 0, 1, 0), undefined, undefined];
    const relaxed = withFloors(problem);
    expect(relaxed.stageNs).toEqual([10, 10, 10]);
    // On the way to c, a row takes 100 ns at least.
    expect(relaxed.edgeNs).toEqual([[1, 100], [], []]);
    const sent = (fromDevice: string, toDevice: string, k = 1) =>
      relaxed.problem.transferNs!({ from: 0, edge: graph.edges[0]![k]!, fromDevice, toDevice, rows: 2 });
    const floor = relaxed.problem.stages[0]!.candidates.at(-1)!.device;
    expect([sent('cpu', 'gpu'), sent('cpu', floor), sent(floor, 'gpu'), sent(floor, floor, 0)]).toEqual([
      600, 100, 100, 1,
    ]);
    expect(demandsOf(relaxed, { atNs, verdicts })).toEqual([
      {
        visits: 4,
        headNs: 0,
        tailNs: 11,
        sent: [4, 2],
        bursts: [
          { requests: 1, spanNs: 0 },
          { requests: 2, spanNs: 1 },
          { requests: 3, spanNs: 6 },
          { requests: 4, spanNs: 50 },
        ],
      },
      expect.objectContaining({ visits: 4, headNs: 11, tailNs: 0, sent: [] }),
      {
        visits: 2,
        headNs: 110,
        tailNs: 0,
        sent: [],
        bursts: [
          { requests: 1, spanNs: 0 },
          { requests: 2, spanNs: 6 },
        ],
      },
    ]);
    const [first, , third] = demandsOf(relaxed, { atNs, verdicts }, Uint8Array.of(1, 0, 0, 1));
    expect([first?.visits, first?.sent, third?.visits]).toEqual([2, [2, 1], 1]);
    const [both] = demandsOf(relaxed, { atNs, verdicts }, Uint8Array.of(1, 0, 1, 0));
    expect([both?.tailNs, both?.sent]).toEqual([110, [2, 2]]);
  });

  it('may be late for as many requests as the share allows', () => {
    for (let requests = 0; requests <= 60; requests++)
      for (const attainment of [0, 0.1, 0.29, 0.3, 0.55, 0.57, 0.7, 0.9, 0.95, 0.99, 1]) {
        const isMet = (late: number) => requests === 0 || (requests - late) / requests >= attainment;
        let most = 0;
        while (most < requests && isMet(most + 1)) most++;
        expect(allowedLate({ attainment, sloNs: 1 }, requests), `${attainment} of ${requests}`).toBe(most);
      }
  });

  it('takes replicas that have time for its bursts, in batches that are short enough', () => {
    const demand = { visits: 30, headNs: 10, tailNs: 20, sent: [], bursts: [{ requests: 30, spanNs: 40 }] };
    const latencyNs = Float64Array.of(20, 30, 60);
    const capacity = new ReplicaCapacity(latencyNs, 30);
    const least = (sloNs: number, byBatch: boolean, requests = 30) =>
      leastReplicas(demand, { capacity, objective: { attainment: 0.9, sloNs }, requests, byBatch });
    // All but three of thirty within 40 + 130 − 30 ns: pairs of rows take 30 ns, so that nine rows are served.
    expect(least(130, false)).toBe(3);
    // Only single rows are within 50 − 30 ns: of 60 ns they take 20 each, and pairs would be four.
    expect(least(50, true)).toBe(9);
    expect(least(50, false)).toBe(7);
    // A hundred requests may have all thirty late but twenty.
    expect(least(130, false, 100)).toBe(3);
    expect(least(130, false, 300)).toBe(1);
  });

  it('fits a replica as often as the fastest batches allow, and never more than there are', () => {
    const rows = new ReplicaCapacity(Float64Array.of(20, 30, 60), 7).byBatchesOf(Number.POSITIVE_INFINITY);
    expect([-1, 0, 19, 20, 29, 30, 49, 50, 59, 60, 90, 109, 110, 1e9].map(rows)).toEqual([
      0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 6, 6, 7, 7,
    ]);
    // A batch of three is faster than one of two, which may have an empty place.
    const odd = new ReplicaCapacity(Float64Array.of(20, 30, 24), 6).byBatchesOf(Number.POSITIVE_INFINITY);
    expect([20, 23, 24, 48].map(odd)).toEqual([1, 1, 3, 6]);
    const many = new ReplicaCapacity(Float64Array.of(20, 30), 5000).byBatchesOf(Number.POSITIVE_INFINITY);
    expect([30 * 1024 - 1, 30 * 1024, 30 * 1500 + 29].map(many)).toEqual([2047, 2048, 3001]);
    const slow = new ReplicaCapacity(Float64Array.of(20, 30), 7).byBatchesOf(25);
    expect([20, 40, 60].map(slow)).toEqual([1, 2, 3]);
  });
});
