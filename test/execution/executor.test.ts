import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import {
  allowedCores,
  type Device,
  DTYPES,
  ExecutionError,
  type Executor,
  type ExecutorOptions,
  measureRotation,
  monotonicNs,
  randomTensor,
  startExecutor,
  type TensorData,
} from '../../src/execution/index.js';
import { readModel } from '../../src/onnx/index.js';
import { inLongRun, inWholeRun } from '../cases.js';
import { matmulChain, modelFolder, tensorType, tinyModel, unary } from './tiny-models.js';

const folder = modelFolder();
const started: Executor[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((executor) => executor.close()));
});
afterAll(() => folder.remove());

async function start(device: Partial<Device> = {}, options: ExecutorOptions = {}): Promise<Executor> {
  const executor = await startExecutor({ provider: 'cpu', threads: 1, ...device }, options);
  started.push(executor);
  return executor;
}

let common: Promise<Executor> | undefined;
afterAll(async () => await (await common)?.close());

/** shared gives the executor for all tests that leave it unchanged. */
function shared(): Promise<Executor> {
  common ??= startExecutor({ provider: 'cpu', threads: 1 });
  return common;
}

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function floats(values: number[], dims = [values.length]): TensorData {
  return { dtype: 'float32', dims, data: Float32Array.from(values) };
}

const chain = folder.write('chain.onnx', matmulChain(12, 96));
const chainFeeds = {
  x: floats(
    Array.from({ length: 96 * 8 }, (_, i) => Math.cos(i)),
    [8, 96],
  ),
};

describe('Executor.run()', () => {
  it('answers with the model’s outputs, device time and monotonic start and end', async () => {
    const executor = await shared();
    const { model, loadMs, inputs, outputs } = await executor.load(
      folder.write('neg.onnx', unary('Neg', 'float32', ['batch', 3])),
    );
    expect({ inputs, outputs }).toEqual({ inputs: ['x'], outputs: ['y'] });
    expect(loadMs).toBeGreaterThan(0);
    const beforeNs = monotonicNs();
    const result = await executor.run(model, { x: floats([1, -2, 3, 4, 5, 6], [2, 3]) });
    expect(result.outputs.y).toEqual(floats([-1, 2, -3, -4, -5, -6], [2, 3]));
    expect(result.startedNs).toBeGreaterThan(beforeNs);
    expect(result.endedNs).toBeLessThan(monotonicNs());
    expect(result.executionUs).toBeCloseTo((result.endedNs - result.startedNs) / 1000, 3);
  });

  it('sends every dtype to the child and back, empty tensors too', async () => {
    const executor = await shared();
    let next = 0;
    for (const dtype of [...Object.keys(DTYPES), 'string']) {
      const path = folder.write(`${dtype}.onnx`, unary('Identity', dtype, ['n', 2]));
      const { model } = await executor.load(path);
      for (const n of [0, 3]) {
        const x = randomTensor({ dtype, dims: [n, 2] }, () => (next++ % 10) / 10);
        expect((await executor.run(model, { x })).outputs.y, `${dtype}[${n}, 2]`).toEqual(x);
      }
    }
  });

  it('handles requests in order, whether or not they are sent ahead', async () => {
    const executor = await shared();
    const { model } = await executor.load(folder.write('abs.onnx', unary('Abs', 'float32', ['n'])));
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, i) => executor.run(model, { x: floats(new Array(200_000).fill(-i)) })),
    );
    results.forEach(({ outputs }, i) => {
      expect(outputs.y!.data[0]).toBe(i);
      expect(outputs.y!.data[199_999]).toBe(i);
    });
    const ends = results.map(({ endedNs }) => endedNs);
    expect([...ends].sort((a, b) => a - b)).toEqual(ends);
  });

  inWholeRun('holds the results of an emulated device back to slowdown × the measured time', async () => {
    const ratio = async (slowdown: number) => {
      const executor = await start({ slowdown });
      const { model } = await executor.load(chain);
      const stop = { warmupRuns: 5, minRuns: 30, minMs: 0, maxMs: 2000, pauseMs: 0 };
      const [measured] = await measureRotation(executor, [{ model, feeds: chainFeeds }], stop);
      const wallNs = monotonicNs();
      const { executionUs } = await executor.run(model, chainFeeds);
      expect((monotonicNs() - wallNs) / 1000).toBeGreaterThanOrEqual(executionUs);
      return measured!.executionUs.toSorted()[0]!;
    };
    // The fastest runs are compared. The true times differ far more than a noisy host makes them differ.
    expect(await ratio(8)).toBeGreaterThan(4 * (await ratio(1)));
  });

  it('leaves out outputs that are not tensors, and gives only those that are asked for by name', async () => {
    const executor = await shared();
    const bytes = tinyModel({
      nodes: [
        { op: 'SequenceConstruct', inputs: ['x'], outputs: ['list'] },
        { op: 'Neg', inputs: ['x'], outputs: ['y'] },
        { op: 'Abs', inputs: ['x'], outputs: ['z'] },
      ],
      inputs: { x: ['float32', [2]] },
      outputs: {
        list: { sequenceType: { elemType: tensorType('float32', [2]) } },
        y: ['float32', [2]],
        z: ['float32', [2]],
      },
    });
    const { model, outputs, outputInfo } = await executor.load(folder.write('list.onnx', bytes));
    expect(outputs).toEqual(['list', 'y', 'z']);
    expect(outputInfo).toEqual([
      { name: 'list' },
      { name: 'y', dtype: 'float32', shape: [2] },
      { name: 'z', dtype: 'float32', shape: [2] },
    ]);
    const feeds = { x: floats([1, -2]) };
    expect(Object.keys((await executor.run(model, feeds)).outputs)).toEqual(['y', 'z']);
    expect((await executor.run(model, feeds, ['z'])).outputs).toEqual({ z: floats([1, 2]) });
  });

  it('rejects with the message of ONNX Runtime, and serves the next run', async () => {
    const executor = await start({}, { name: 'fast' });
    const { model } = await executor.load(chain);
    await expect(executor.run(model, {})).rejects.toThrow(/Cannot run a model on fast: input 'x' is missing/);
    await expect(executor.run(model, { x: floats([1]) })).rejects.toThrow(ExecutionError);
    await expect(executor.run(model, { x: floats([1, 2], [8, 96]) })).rejects.toThrow(/size.*768.*length.*2/);
    const halves = { dtype: 'float16', dims: [1], data: Float32Array.of(1) };
    await expect(executor.run(model, { x: halves })).rejects.toThrow(
      /x: is float16 and held in Float32Array/,
    );
    const odd = { dtype: 'float8', dims: [1], data: Uint8Array.of(1) };
    await expect(executor.run(model, { x: odd })).rejects.toThrow(
      /dtype is "float8"; known types are float32/,
    );
    const cut = { dtype: 'string', dims: [2], data: ['a', 'b\0c'] };
    await expect(executor.run(model, { x: cut })).rejects.toThrow(
      'x: string 1 holds a NUL, at which ONNX Runtime for Node would end it',
    );
    await expect(executor.run(model, chainFeeds, ['nope'])).rejects.toThrow(/nope/);
    await expect(executor.run(99, chainFeeds)).rejects.toThrow(/model 99 is not loaded/);
    await expect(executor.load('nowhere/none.onnx')).rejects.toThrow(
      /Cannot load nowhere\/none\.onnx on fast/,
    );
    await expect(executor.load(folder.write('bad.onnx', Buffer.from('not onnx')))).rejects.toThrow(
      ExecutionError,
    );
    expect((await executor.run(model, chainFeeds)).outputs.y!.dims).toEqual([8, 96]);
  });
});

describe('Executor.nodeTimings()', () => {
  it('times every node in every run, sums to no more than the run, and leaves no files behind', async () => {
    const executor = await shared();
    const timings = await executor.nodeTimings(chain, chainFeeds, { runs: 4, optimization: 'disabled' });
    expect(timings.nodes.map(({ name, op }) => [name, op])).toEqual(
      Array.from({ length: 12 }, (_, i) => [`node${i}`, 'MatMul']),
    );
    expect(timings.runUs).toHaveLength(4);
    timings.runUs.forEach((runUs, run) => {
      const sum = timings.nodes.reduce((total, { us }) => total + us[run]!, 0);
      expect(sum).toBeLessThanOrEqual(runUs);
      expect(sum).toBeGreaterThan(0);
    });
    // The optimized graph comes without its weights: it is read for the names of its nodes.
    expect(timings.optimizedModel!.length).toBeGreaterThan(0);
    expect(timings.optimizedModel!.length).toBeLessThan(96 * 96 * 4);
    expect(timingFolders()).toEqual([]);
  });

  it('counts nodes inside a Loop as part of the Loop', async () => {
    const executor = await shared();
    const path = folder.write('loop.onnx', loopModel());
    const trips: TensorData = { dtype: 'int64', dims: [], data: BigInt64Array.of(50n) };
    const feeds = { trips, x: floats(new Array(64 * 64).fill(0.01), [64, 64]) };
    const { nodes, runUs } = await executor.nodeTimings(path, feeds, { runs: 3, optimization: 'disabled' });
    expect(nodes.map(({ op, us }) => [op, us.length])).toEqual([
      ['Neg', 3],
      ['Loop', 3],
      ['Abs', 3],
    ]);
    runUs.forEach((us, run) => {
      expect(nodes.reduce((sum, node) => sum + node.us[run]!, 0)).toBeLessThanOrEqual(us);
    });
  });

  it('gives an optimized graph that can be read where a branch of an If holds a large weight', async () => {
    const executor = await shared();
    const path = folder.write('branches.onnx', ifModel());
    const feeds = {
      flag: { dtype: 'bool', dims: [], data: Uint8Array.of(1) } as TensorData,
      x: floats(new Array(64 * 64).fill(0.5), [64, 64]),
    };
    const { nodes, optimizedModel } = await executor.nodeTimings(path, feeds, { runs: 2 });
    expect(nodes.map(({ op }) => op)).toContain('If');
    const { graph } = readModel(optimizedModel!, { name: 'optimized' });
    expect(graph.nodes.map(({ op }) => op)).toContain('If');
  });

  /** timingFolders lists what this process has left; others may be running models too. */
  function timingFolders(): string[] {
    return readdirSync(tmpdir()).filter((name) => name.startsWith(`inferplan-timings-${process.pid}-`));
  }
});

/** ifModel is y = x·w, or x·v, as a flag says. The weights are in the branches, larger than ONNX Runtime inlines. */
function ifModel(): Uint8Array {
  const branch = (name: string, factor: number) => ({
    type: 5,
    g: {
      name,
      node: [{ name: `${name}_mm`, opType: 'MatMul', input: ['x', `${name}_w`], output: [`${name}_y`] }],
      output: [{ name: `${name}_y`, type: tensorType('float32', [64, 64]) }],
      initializer: [
        {
          name: `${name}_w`,
          dims: [64, 64],
          dataType: 1,
          floatData: Array.from({ length: 64 * 64 }, (_, i) => Math.sin(factor * i)),
        },
      ],
    },
  });
  return tinyModel({
    nodes: [
      {
        op: 'If',
        inputs: ['flag'],
        outputs: ['y'],
        attributes: [
          { ...branch('then', 1), name: 'then_branch' },
          { ...branch('else', 2), name: 'else_branch' },
        ],
      },
    ],
    inputs: { flag: ['bool', []], x: ['float32', [64, 64]] },
    outputs: { y: ['float32', [64, 64]] },
  });
}

function loopModel(): Uint8Array {
  const valueInfo = (name: string, dtype: string, dims: (number | string)[]) => ({
    name,
    type: tensorType(dtype, dims),
  });
  const body = {
    name: 'body',
    node: [
      { name: 'mm', opType: 'MatMul', input: ['v', 'v'], output: ['v1'] },
      { name: 'id', opType: 'Identity', input: ['c'], output: ['c1'] },
    ],
    input: [valueInfo('i', 'int64', []), valueInfo('c', 'bool', []), valueInfo('v', 'float32', [64, 64])],
    output: [valueInfo('c1', 'bool', []), valueInfo('v1', 'float32', [64, 64])],
  };
  return tinyModel({
    nodes: [
      { op: 'Neg', inputs: ['x'], outputs: ['n'] },
      {
        op: 'Loop',
        inputs: ['trips', '', 'n'],
        outputs: ['l'],
        attributes: [{ name: 'body', type: 5, g: body }],
      },
      { op: 'Abs', inputs: ['l'], outputs: ['y'] },
    ],
    inputs: { trips: ['int64', []], x: ['float32', [64, 64]] },
    outputs: { y: ['float32', [64, 64]] },
  });
}

function residentMiB(pid: number): number {
  const kibibytes = /^VmRSS:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1];
  return Number(kibibytes) / 1024;
}

describe('an executor’s process', () => {
  inWholeRun('ends alone when it is killed: pending calls reject, and exited resolves', async () => {
    const [victim, other] = [await start({ slowdown: 1e6 }, { name: 'victim' }), await start()];
    const { model } = await victim.load(chain);
    const pending = [victim.run(model, chainFeeds), victim.run(model, chainFeeds)];
    const outcomes = Promise.allSettled(pending);
    process.kill(victim.pid, 'SIGKILL');
    expect(await victim.exited).toEqual({ code: null, signal: 'SIGKILL' });
    for (const outcome of await outcomes) {
      expect(outcome.status).toBe('rejected');
      expect(String((outcome as PromiseRejectedResult).reason)).toMatch(
        /ExecutionError: Cannot .* on victim: its process \d+ ended by SIGKILL/,
      );
    }
    await expect(victim.run(model, chainFeeds)).rejects.toThrow(ExecutionError);
    const { model: alive } = await other.load(chain);
    expect((await other.run(alive, chainFeeds)).outputs.y!.dims).toEqual([8, 96]);
  });

  inWholeRun('answers what was asked before close(), and then ends', async () => {
    const executor = await start();
    const { model } = await executor.load(chain);
    const last = executor.run(model, chainFeeds);
    await Promise.all([executor.close(), executor.close()]);
    expect((await last).outputs.y!.dims).toEqual([8, 96]);
    expect(await executor.exited).toEqual({ code: 0, signal: null });
  });

  inWholeRun('is killed by close() when a run does not end within the grace time', async () => {
    const executor = await start({ slowdown: 1e6 });
    const { model } = await executor.load(chain);
    const endless = executor.run(model, chainFeeds).catch((error: unknown) => error);
    await executor.close({ graceMs: 100 });
    expect(await executor.exited).toEqual({ code: null, signal: 'SIGKILL' });
    expect(await endless).toBeInstanceOf(ExecutionError);
  });

  it('does not end by the terminal’s Ctrl-C', async () => {
    const executor = await start();
    const { model } = await executor.load(chain);
    process.kill(executor.pid, 'SIGINT');
    expect((await executor.run(model, chainFeeds)).outputs.y!.dims).toEqual([8, 96]);
  });

  it('runs on the cores it is given, where the system pins', async () => {
    const core = allowedCores().at(-1);
    const executor = await start({}, core === undefined ? {} : { cores: [core] });
    if (executor.cores !== undefined) expect(executor.cores).toEqual([core]);
    expect((await start({}, { cores: [9999] })).cores).toBeUndefined();
  });

  inWholeRun('keeps the program running while it closes, until its child is gone', async () => {
    const executor = await start();
    const closed = executor.close();
    while (isThere(executor.pid)) {
      expect(process.getActiveResourcesInfo()).toContain('ProcessWrap');
      await new Promise((resolve) => setImmediate(resolve));
    }
    await closed;
  });

  inLongRun('does not grow over hundreds of loads and releases', async ({ skip }) => {
    skip(!existsSync('/proc/self/status'), 'this system does not tell what a process holds');
    const executor = await start();
    const path = folder.write('wide.onnx', matmulChain(2, 512));
    const cycle = async (times: number) => {
      for (let i = 0; i < times; i++) {
        const { model } = await executor.load(path);
        await executor.run(model, { x: floats(new Array(512).fill(0.1), [1, 512]) });
        await executor.release(model);
      }
      return residentMiB(executor.pid);
    };
    const before = await cycle(40);
    // A leak of only the 1 MiB of weights would add up to 160.
    expect((await cycle(160)) - before).toBeLessThan(80);
  });
});
