import { totalmem } from 'node:os';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import {
  ExecutionError,
  type Executor,
  MemoryGuard,
  measureRotation,
  OutOfMemoryError,
  startExecutor,
  type TensorData,
} from '../../src/execution/index.js';
import {
  availableMemoryBytes,
  heldBytes,
  memoryText,
  parseCachedFileBytes,
  parseHeldBytes,
} from '../../src/execution/memory.js';
import { modelFolder, tinyModel, unary } from './tiny-models.js';

const MIB = 2 ** 20;
const linux = process.platform === 'linux';
const folder = modelFolder();
const started: Executor[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((executor) => executor.close()));
});
afterAll(() => folder.remove());

describe('memory of the system', () => {
  it('availableMemoryBytes() is positive and at most the whole memory', () => {
    expect(availableMemoryBytes()).toBeGreaterThan(0);
    expect(availableMemoryBytes()).toBeLessThanOrEqual(totalmem());
  });

  it.runIf(linux)(
    'heldBytes() is the memory of one process, and undefined once the process has ended',
    () => {
      const own = heldBytes(process.pid)!;
      expect(own).toBeGreaterThan(10 * MIB);
      expect(own).toBeLessThanOrEqual(process.memoryUsage.rss());
      expect(heldBytes(2 ** 30)).toBeUndefined();
    },
  );

  it('parseHeldBytes() reads the status of a process with and without separate figures', () => {
    const status =
      'Name:\tnode\nVmRSS:\t  900 kB\nRssAnon:\t  500 kB\nRssFile:\t  380 kB\nRssShmem:\t  20 kB\n';
    expect(parseHeldBytes(status)).toBe(520 * 1024);
    expect(parseHeldBytes('VmRSS:\t  900 kB\n')).toBe(900 * 1024);
    expect(parseHeldBytes('Name:\tgone\n')).toBeUndefined();
  });

  it('parseCachedFileBytes() reads the file of either version of control groups', () => {
    expect(parseCachedFileBytes('anon 7\ninactive_file 30\nactive_file 12\n')).toBe(42);
    const first = 'inactive_file 1\nactive_file 2\ntotal_inactive_file 30\ntotal_active_file 40\n';
    expect(parseCachedFileBytes(first)).toBe(70);
    expect(parseCachedFileBytes('')).toBe(0);
  });

  it.each([
    [1, '1 MiB'],
    [850 * MIB, '850 MiB'],
    [1280 * MIB, '1.25 GiB'],
    [12.54 * 1024 * MIB, '12.5 GiB'],
  ])('memoryText(%d) is %s', (bytes, text) => {
    expect(memoryText(bytes)).toBe(text);
  });
});

describe('MemoryGuard', () => {
  /** guarded makes a guard over processes that hold the bytes of the table. */
  function guarded(held: Record<number, number>, options: { limit?: number; available?: () => number }) {
    const killed: number[] = [];
    const guard = new MemoryGuard({
      limitBytes: options.limit,
      held: (pid) => held[pid],
      available: options.available ?? (() => 1000 * MIB),
    });
    for (const pid of Object.keys(held).map(Number)) guard.watch(pid, () => killed.push(pid));
    const release = () => {
      for (const pid of Object.keys(held).map(Number)) guard.unwatch(pid);
    };
    return { guard, killed, release };
  }

  it('kills no process while all together stay within the limit', () => {
    const { guard, killed, release } = guarded({ 1: 60 * MIB, 2: 40 * MIB }, { limit: 100 * MIB });
    guard.look();
    expect(killed).toEqual([]);
    release();
  });

  it('kills the largest process once when all together pass the limit, and reports the bytes taken and allowed', () => {
    const held = { 1: 60 * MIB, 2: 41 * MIB };
    const { guard, killed, release } = guarded(held, { limit: 100 * MIB });
    guard.look();
    guard.look();
    expect(killed).toEqual([1]);
    expect(guard.unwatch(1)).toEqual({
      why: 'memory ran out: its process took 60 MiB (101 MiB with the others), and 100 MiB are allowed',
      bytes: 60 * MIB,
    });
    guard.look();
    expect(killed).toEqual([1]);
    release();
  });

  it('keeps a tenth of the available memory free without a limit, and kills before the machine runs out', () => {
    let available = 1000 * MIB;
    const { guard, killed, release } = guarded({ 7: 800 * MIB }, { available: () => available });
    expect(guard.limitBytes).toBe(900 * MIB);
    available = 51 * MIB;
    guard.look();
    expect(killed).toEqual([]);
    available = 49 * MIB;
    guard.look();
    expect(killed).toEqual([7]);
    const why = 'memory ran out: its process took 800 MiB, and 49 MiB were left on this machine';
    expect(guard.unwatch(7).why).toBe(why);
    release();
  });
});

describe('an executor that is watched', () => {
  /** This model turns x[n] into a tensor of n × 64 MiB, in a file of some hundred bytes. */
  const large = folder.write(
    'large.onnx',
    tinyModel({
      nodes: [
        { op: 'Cast', inputs: ['times'], outputs: ['repeats'], attributes: [{ name: 'to', type: 2, i: 7 }] },
        { op: 'Tile', inputs: ['x', 'repeats'], outputs: ['tiled'] },
        { op: 'ReduceMax', inputs: ['tiled'], outputs: ['y'] },
      ],
      inputs: { x: ['float32', ['n']] },
      outputs: { y: ['float32', [1]] },
      initializers: { times: { dims: [1], values: [2 ** 24] } },
    }),
  );
  const x = (n: number): TensorData => ({ dtype: 'float32', dims: [n], data: new Float32Array(n) });

  async function watched(limitBytes: number): Promise<Executor> {
    const executor = await startExecutor(
      { provider: 'cpu', threads: 1 },
      { memory: new MemoryGuard({ limitBytes }) },
    );
    started.push(executor);
    return executor;
  }

  it.runIf(linux)(
    'ends with an error that names the limit when it takes more, and this process continues',
    async () => {
      const executor = await watched(300 * MIB);
      const { model } = await executor.load(large);
      expect((await executor.run(model, { x: x(1) })).outputs.y?.dims).toEqual([1]);
      const error = await executor.run(model, { x: x(8) }).catch((error: unknown) => error);
      expect(error).toBeInstanceOf(OutOfMemoryError);
      expect((error as OutOfMemoryError).message).toMatch(
        /^Cannot run a model on cpu:1: memory ran out: its process took .*, and 300 MiB are allowed$/,
      );
      await expect(executor.run(model, { x: x(1) })).rejects.toThrow(OutOfMemoryError);
    },
  );

  it('reports a failed allocation as memory that ran out, and continues', async () => {
    const executor = await watched(2 ** 50);
    const huge = tinyModel({
      nodes: [
        { op: 'Cast', inputs: ['times'], outputs: ['repeats'], attributes: [{ name: 'to', type: 2, i: 7 }] },
        { op: 'Expand', inputs: ['x', 'repeats'], outputs: ['y'] },
      ],
      inputs: { x: ['float32', ['n']] },
      outputs: { y: ['float32', ['m']] },
      initializers: { times: { dims: [1], values: [2 ** 48] } },
    });
    const { model } = await executor.load(folder.write('huge.onnx', huge));
    const error = await executor.run(model, { x: x(1) }).catch((error: unknown) => error);
    expect(error).toBeInstanceOf(OutOfMemoryError);
    expect((error as OutOfMemoryError).why).toMatch(
      /^memory ran out: one allocation of 1048576\.0 GiB failed, and .* are free$/,
    );
    const { model: small } = await executor.load(folder.write('neg.onnx', unary('Neg', 'float32', ['n'])));
    expect((await executor.run(small, { x: x(1) })).outputs.y?.dims).toEqual([1]);
  });

  it.skipIf(process.platform === 'win32')(
    'reports that memory may have run out when another process kills it',
    async () => {
      const executor = await watched(2 ** 50);
      const { model } = await executor.load(large);
      const forLong = { warmupRuns: 0, minRuns: 1, minMs: 60_000, maxMs: 60_000, pauseMs: 0 };
      const parts = [{ model, feeds: { x: x(1) } }];
      const pending = measureRotation(executor, parts, forLong).catch((error: unknown) => error);
      process.kill(executor.pid, 'SIGKILL');
      const error = (await pending) as OutOfMemoryError;
      expect(error).toBeInstanceOf(OutOfMemoryError);
      expect(error.why).toMatch(
        /^its process was killed.*, as happens when a system runs out of memory; .* are free now$/,
      );
    },
  );

  it('does not mention memory when its own close() kills it', async () => {
    const executor = await watched(2 ** 50);
    process.kill(executor.pid, 'SIGSTOP');
    const pending = executor.load(large).catch((error: unknown) => error);
    await executor.close({ graceMs: 50 });
    expect(await pending).toBeInstanceOf(ExecutionError);
    expect(await pending).not.toBeInstanceOf(OutOfMemoryError);
  });
});
