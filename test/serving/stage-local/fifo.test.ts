import { describe, expect, it } from 'vitest';
import { topologyOf } from '../../../src/plans/index.js';
import { streamOf } from '../../../src/random/index.js';
import { FIFO_POLICY } from '../../../src/serving/index.js';
import { arrivals } from '../../../src/workload/index.js';
import { affine, planOf } from '../plans.js';
import { runVirtual } from '../virtual-driver.js';

const MS = 1e6;

const poisson = (rps: number, durationS: number, seed = 1) => [
  ...arrivals({ process: 'poisson', rps, durationS, stream: streamOf(seed, 'arrivals') }),
];

/** A chain with one stage for each of these, far from any SLO. */
const stages = (...parts: { batch: number; virtualGpus: number; latencyUs: (batch: number) => number }[]) =>
  topologyOf(planOf([{ sloMs: 1e6, pipelines: [{ throughputRps: 1, parts }] }]));

/**
 * endsByRecursion computes when requests leave a batch queue by its recursion: a server that becomes free takes the
 * requests that wait, up to a batch.
 */
function endsByRecursion(
  times: number[],
  batch: number,
  servers: number,
  takes: (size: number) => number,
): number[] {
  const free = new Array<number>(servers).fill(0);
  const ends: number[] = [];
  for (let next = 0; next < times.length; ) {
    const server = free.indexOf(Math.min(...free));
    const start = Math.max(free[server] as number, times[next] as number);
    let size = 1;
    while (size < batch && (times[next + size] ?? Number.POSITIVE_INFINITY) <= start) size += 1;
    free[server] = start + takes(size);
    for (let i = 0; i < size; i++) ends[next + i] = free[server] as number;
    next += size;
  }
  return ends;
}

describe('StageLocalCore under FIFO_POLICY', () => {
  it('answers at the times that the recursion of a queue with servers, batches and stages gives', () => {
    for (const [batch, servers, rps] of [
      [1, 1, 150],
      [1, 3, 480],
      [4, 2, 700],
    ] as const) {
      // The second stage forms batches of its own size from what the first one ends. With these latencies it never ends
      // a batch at the instant at which another arrives.
      const first = { batch, virtualGpus: servers, latencyUs: affine(4000, 2000) };
      const second = { batch: 8, virtualGpus: 2, latencyUs: affine(4321, 1999) };
      const topology = stages(first, second);
      const times = poisson(rps, 5);
      const { ended } = runVirtual({ topology, arrivals: times.map((at) => ({ at })), policy: FIFO_POLICY });
      const served = (times: number[], { batch, virtualGpus, latencyUs }: typeof second) =>
        endsByRecursion(
          [...times].sort((a, b) => a - b),
          batch,
          virtualGpus,
          (size) => 1000 * latencyUs(size),
        );
      const wanted = served(served(times, first), second);
      expect(ended.map(({ at }) => at).sort((a, b) => a - b)).toEqual(wanted.sort((a, b) => a - b));
      expect(ended.every(({ outcome }) => outcome === 'inTime')).toBe(true);
    }
  });

  it('gives up no request, and serves in the order of arrival', () => {
    const topology = topologyOf(
      planOf([
        { sloMs: 10, pipelines: [{ throughputRps: 1, parts: [{ batch: 2, latencyUs: () => 10_000 }] }] },
      ]),
    );
    const list = poisson(400, 2).map((at, i) => ({ at, deadline: at + ((i * 7) % 20) * MS }));
    const { executed, ended } = runVirtual({ topology, arrivals: list, policy: FIFO_POLICY });
    expect(ended.some(({ outcome }) => outcome === 'dropped')).toBe(false);
    expect(executed.flatMap((one) => one.arrivals)).toEqual(list.map((_, i) => i));
  });
});
