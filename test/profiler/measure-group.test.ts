import { describe, expect, test } from 'vitest';
import type { MeasurePace } from '../../src/execution/index.js';
import { measureGroup, type TimedPart } from '../../src/profiler/measure-group.js';
import type { Rotated, Stand } from '../../src/profiler/stand.js';
import { DEFAULT_LIMITS, type Limits } from '../../src/profiler/types.js';

/** MadeStand is a stand with a clock of its own. Its part i takes (i + 1) × `unitMs` per run. */
class MadeStand implements Stand {
  readonly stops: MeasurePace[] = [];
  released = 0;
  private loaded = 0;

  constructor(
    private readonly unitMs: number,
    private readonly hangs = false,
  ) {}

  async load() {
    const models = [this.loaded++];
    const release = async () => {
      this.released++;
    };
    return { loadMs: 1, models, release };
  }

  async rotate(parts: Parameters<Stand['rotate']>[0], stop: MeasurePace): Promise<Rotated> {
    this.stops.push(stop);
    if (this.hangs) await new Promise(() => {});
    const partMs = parts.map(({ copies }) => (copies.models[0]! + 1) * this.unitMs);
    const rotationMs = partMs.reduce((a, b) => a + b, 0);
    let rotations = 1;
    const elapsedMs = () => rotations * rotationMs;
    while (elapsedMs() < stop.maxMs && (rotations < stop.minRuns || elapsedMs() < stop.minMs)) rotations++;
    const runs = partMs.map((ms) => {
      const run = { durationUs: ms * 1000, executionUs: ms * 900 };
      return new Array<typeof run>(rotations).fill(run);
    });
    return { runs, rotations, elapsedMs: elapsedMs() };
  }

  async close() {}
}

const parts: TimedPart[] = (['whole', 0, 1] as const).map((id) => ({ id, path: `${id}`, feeds: () => ({}) }));

async function measure(stand: MadeStand, limits: Limits, abortAt = Number.POSITIVE_INFINITY) {
  const fractions: number[] = [];
  const abort = new AbortController();
  const timed = measureGroup(stand, parts, {
    limits,
    signal: abort.signal,
    onRound: (fraction) => {
      if (fractions.push(fraction) === abortAt) abort.abort(new Error('enough'));
    },
  });
  return { timed: await timed, fractions };
}

describe('measureGroup()', () => {
  test('gives every part equally many runs, until each has minMs on average', async () => {
    const { timed } = await measure(new MadeStand(1), DEFAULT_LIMITS);
    // The three parts take 200 ms each, in rotations of 1 + 2 + 3 ms.
    expect(timed.map(({ id, runs }) => [id, runs.length, runs[0]?.durationUs])).toEqual([
      ['whole', 100, 1000],
      [0, 100, 2000],
      [1, 100, 3000],
    ]);
  });

  test('continues past minMs until minRuns, in rounds of about a second that report progress', async () => {
    const stand = new MadeStand(50);
    const { timed, fractions } = await measure(stand, DEFAULT_LIMITS);
    // Rotations take 300 ms. Four make a round, and ten are made in all, besides the warm-up call.
    expect(timed.map(({ runs }) => runs.length)).toEqual([10, 10, 10]);
    expect(stand.stops.map(({ minRuns }) => minRuns)).toEqual([1, 10, 6, 2]);
    expect(fractions).toEqual([0, 0, 0.4, 0.8]);
    for (const { maxMs } of stand.stops) expect(maxMs).toBeLessThanOrEqual(1000);
  });

  test('ends when each part has taken maxMs on average, after at least one rotation', async () => {
    const runs = async (unitMs: number) =>
      (await measure(new MadeStand(unitMs), DEFAULT_LIMITS)).timed.map(({ runs }) => runs.length);
    // The three parts take 2000 ms each.
    expect(await runs(200)).toEqual([5, 5, 5]);
    expect(await runs(60_000)).toEqual([1, 1, 1]);
  });

  test('warms up for warmupRuns rotations that do not count, or not at all', async () => {
    const limits = { warmupRuns: 3, minRuns: 5, minMs: 0, maxMs: 1000, pauseMs: 4 };
    const warm = new MadeStand(1);
    expect((await measure(warm, limits)).timed[0]?.runs).toHaveLength(5);
    expect(warm.stops[0]).toMatchObject({ warmupRuns: 2, minRuns: 1, maxMs: 0 });
    expect(warm.stops.map(({ pauseMs }) => pauseMs)).toEqual([4, 4]);
    const cold = new MadeStand(1);
    expect((await measure(cold, { ...limits, warmupRuns: 0 })).timed[0]?.runs).toHaveLength(5);
    expect(cold.stops).toHaveLength(1);
  });

  test('releases the models that it loaded', async () => {
    const stand = new MadeStand(1);
    await measure(stand, DEFAULT_LIMITS);
    expect(stand.released).toBe(3);
  });

  test('stops between rounds when it is aborted', async () => {
    const stand = new MadeStand(50);
    await expect(measure(stand, DEFAULT_LIMITS, 3)).rejects.toThrow('enough');
    expect(stand.stops).toHaveLength(2);
  });

  test('throws the reason at once when it is aborted during a rotation that does not end', async () => {
    const stand = new MadeStand(1, true);
    const abort = new AbortController();
    const run = measureGroup(stand, parts, {
      limits: DEFAULT_LIMITS,
      signal: abort.signal,
      onRound: () => void setTimeout(() => abort.abort(new Error('enough')), 5),
    });
    await expect(run).rejects.toThrow('enough');
    expect(stand.released).toBe(0);
  });
});
