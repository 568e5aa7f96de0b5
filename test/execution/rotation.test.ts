import { afterAll, afterEach, describe, expect, it } from 'vitest';
import {
  ExecutionError,
  type Executor,
  measureRotation,
  monotonicNs,
  type RunResult,
  startExecutor,
  type TensorData,
  type Tensors,
} from '../../src/execution/index.js';
import { inWholeRun } from '../cases.js';
import { matmulChain, modelFolder } from './tiny-models.js';

const folder = modelFolder();
const started: Executor[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((executor) => executor.close()));
});
afterAll(() => folder.remove());

async function start(slowdown = 1): Promise<Executor> {
  const executor = await startExecutor({ provider: 'cpu', threads: 1, slowdown });
  started.push(executor);
  return executor;
}

function floats(count: number): TensorData {
  return { dtype: 'float32', dims: [count], data: new Float32Array(count).fill(0.5) };
}

/** MadeExecutor takes `waitMs` for a run, and says that the model's number of µs of it was the run itself. */
class MadeExecutor implements Pick<Executor, 'run'> {
  readonly ran: { model: number; feeds: Tensors }[] = [];
  readonly gave: Tensors[] = [];
  /** How many runs were asked for before the one before had ended. */
  early = 0;
  private running = 0;

  constructor(private readonly waitMs = 0) {}

  async run(model: number, feeds: Tensors): Promise<RunResult> {
    this.ran.push({ model, feeds });
    this.early += this.running;
    this.running += 1;
    await new Promise((resolve) => setTimeout(resolve, this.waitMs));
    this.running -= 1;
    // The outputs of a run come in one piece of memory.
    const data = new Float32Array(20_000);
    const [y, z] = [0, 10_000].map((at) => ({
      dtype: 'float32',
      dims: [10_000],
      data: data.subarray(at, at + 10_000),
    }));
    const outputs = { y: y!, z: z! };
    this.gave.push(outputs);
    return { executionUs: model, startedNs: 0, endedNs: 0, outputs };
  }
}

const PARTS = [7, 3, 5].map((model) => ({ model, feeds: { x: floats(model) } }));
const FOREVER = 60_000;

/** PAUSED has a warm-up, and then pauses for 30 ms before each run that counts, of two rotations. */
const PAUSED = { warmupRuns: 1, minRuns: 2, minMs: 0, maxMs: FOREVER, pauseMs: 30 };

/** runsOf gives the runs that count, in the order in which they began. */
function runsOf(measured: Awaited<ReturnType<typeof measureRotation>>) {
  return measured
    .flatMap(({ startedNs, durationUs }) =>
      [...startedNs].map((startNs, i) => ({ startNs, endNs: startNs + durationUs[i]! * 1000 })),
    )
    .sort((a, b) => a.startNs - b.startNs);
}

describe('measureRotation()', () => {
  it('runs its parts in turn on their feeds, each after the one before, and leaves the warm-up out', async () => {
    const made = new MadeExecutor();
    const measured = await measureRotation(made, PARTS, {
      warmupRuns: 2,
      minRuns: 4,
      minMs: 0,
      maxMs: FOREVER,
      pauseMs: 0,
    });
    expect(made.ran).toEqual(Array.from({ length: 6 * 3 }, (_, i) => PARTS[i % 3]));
    expect(made.early).toBe(0);
    expect(measured.map(({ executionUs }) => [...executionUs])).toEqual(
      PARTS.map(({ model }) => [model, model, model, model]),
    );
    const inOrder = Array.from({ length: 12 }, (_, i) => {
      const { startedNs, durationUs } = measured[i % 3]!;
      const run = Math.floor(i / 3);
      return { startNs: startedNs[run]!, endNs: startedNs[run]! + durationUs[run]! * 1000 };
    });
    inOrder.slice(1).forEach(({ startNs }, i) => {
      expect(startNs).toBeGreaterThanOrEqual(inOrder[i]!.endNs - 1);
    });
  });

  it('lets the memory of outputs go at once, and keeps that of feeds', async () => {
    const made = new MadeExecutor();
    const stop = { warmupRuns: 0, minRuns: 2, minMs: 0, maxMs: FOREVER, pauseMs: 0 };
    await measureRotation(made, PARTS, stop);
    for (const { y, z } of made.gave) expect([y!.data.length, z!.data.length]).toEqual([0, 0]);
    for (const { model, feeds } of PARTS) expect(feeds.x.data).toHaveLength(model);
  });

  it('times a run from when it is asked for until its outputs are here', async () => {
    const measured = await measureRotation(new MadeExecutor(20), PARTS.slice(0, 1), {
      warmupRuns: 0,
      minRuns: 2,
      minMs: 0,
      maxMs: FOREVER,
      pauseMs: 0,
    });
    // Timers of Node may fire a millisecond early.
    for (const us of measured[0]!.durationUs) expect(us).toBeGreaterThan(18_000);
    expect([...measured[0]!.executionUs]).toEqual([7, 7]);
  });

  it('stops after minRuns rotations and minMs, or at maxMs, after at least one rotation', async () => {
    const made = new MadeExecutor(5);
    const measure = async (minRuns: number, minMs: number, maxMs: number) =>
      await measureRotation(made, PARTS, { warmupRuns: 0, minRuns, minMs, maxMs, pauseMs: 0 });
    const count = async (...stop: [number, number, number]) =>
      (await measure(...stop)).map(({ durationUs }) => durationUs.length);
    expect(await count(3, 0, FOREVER)).toEqual([3, 3, 3]);
    expect(await count(1e9, 0, 0)).toEqual([1, 1, 1]);
    const [first, , last] = await measure(1, 100, FOREVER);
    const endNs = last!.startedNs.at(-1)! + last!.durationUs.at(-1)! * 1000;
    expect(endNs - first!.startedNs[0]!).toBeGreaterThan(99e6);
  });

  it('pauses before each run that counts', async () => {
    const inOrder = runsOf(await measureRotation(new MadeExecutor(), PARTS, PAUSED));
    inOrder.slice(1).forEach(({ startNs }, i) => {
      // Timers of Node may fire a millisecond early.
      expect(startNs - inOrder[i]!.endNs).toBeGreaterThan(28e6);
    });
    expect(inOrder).toHaveLength(6);
  });

  it('does not pause before the runs of the warm-up', async () => {
    let leastNs = Number.POSITIVE_INFINITY;
    // A busy machine may take any time for a warm-up, but not for all of twenty; with pauses, each would take 120 ms.
    for (let attempt = 0; attempt < 20 && leastNs >= 80e6; attempt++) {
      const begunNs = monotonicNs();
      const [first] = runsOf(await measureRotation(new MadeExecutor(), PARTS, PAUSED));
      leastNs = Math.min(leastNs, first!.startNs - begunNs);
    }
    expect(leastNs).toBeLessThan(80e6);
  });

  inWholeRun('measures a real executor through the messages that carry a batch there and back', async () => {
    const executor = await start();
    const { model } = await executor.load(folder.write('chain.onnx', matmulChain(3, 96)));
    const x = { ...floats(96 * 8), dims: [8, 96] };
    const before = monotonicNs();
    const [measured] = await measureRotation(executor, [{ model, feeds: { x } }], {
      warmupRuns: 1,
      minRuns: 20,
      minMs: 0,
      maxMs: FOREVER,
      pauseMs: 0,
    });
    const { startedNs, durationUs, executionUs } = measured!;
    expect(startedNs[0]).toBeGreaterThan(before);
    for (const [i, us] of durationUs.entries()) expect(us).toBeGreaterThan(executionUs[i]!);
    expect(startedNs.at(-1)! + durationUs.at(-1)! * 1000).toBeLessThanOrEqual(monotonicNs());
    // What it was fed is there for the next rotation.
    expect((await executor.run(model, { x })).outputs.y?.dims).toEqual([8, 96]);
  });

  inWholeRun('holds every run back on an emulated device', async () => {
    const fastest = async (slowdown: number) => {
      const executor = await start(slowdown);
      const { model } = await executor.load(folder.write('chain.onnx', matmulChain(12, 96)));
      const feeds = { x: { ...floats(96 * 8), dims: [8, 96] } };
      const stop = { warmupRuns: 3, minRuns: 30, minMs: 0, maxMs: 5000, pauseMs: 0 };
      const [measured] = await measureRotation(executor, [{ model, feeds }], stop);
      return measured!.executionUs.toSorted()[0]!;
    };
    expect(await fastest(8)).toBeGreaterThan(4 * (await fastest(1)));
  });

  inWholeRun('rejects as a run does: models that are not loaded, and executors that end', async () => {
    const executor = await start();
    const { model } = await executor.load(folder.write('chain.onnx', matmulChain(1, 96)));
    const feeds = { x: { ...floats(96), dims: [1, 96] } };
    const stop = { warmupRuns: 0, minRuns: 1, minMs: FOREVER, maxMs: FOREVER, pauseMs: 0 };
    const refused = measureRotation(
      executor,
      [
        { model, feeds },
        { model: 99, feeds },
      ],
      stop,
    );
    await expect(refused).rejects.toThrow(/99 is not loaded/);
    const endless = measureRotation(executor, [{ model, feeds }], stop).catch((error: unknown) => error);
    await executor.close();
    expect(await endless).toBeInstanceOf(ExecutionError);
  });
});
