import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type Executor,
  startExecutor,
  type TensorData,
  type Tensors,
  tensorBytes,
} from '../../src/execution/index.js';
import { readModel } from '../../src/onnx/index.js';
import { findTensors } from '../../src/profiler/find-tensors.js';
import { streamOf } from '../../src/random/index.js';
import { inWholeRun, WHOLE } from '../cases.js';
import * as w from '../onnx/writer.js';

const MIB = 2 ** 20;
let folder = '';
let executor: Executor;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-find-'));
  executor = await startExecutor({ provider: 'cpu', threads: 1 });
});
afterAll(async () => {
  await executor.close();
  await rm(folder, { recursive: true });
});

/** counting wraps the executor and records the bytes that every run fetches. */
function counting(): { executor: Executor; fetched: number[] } {
  const fetched: number[] = [];
  const run: Executor['run'] = async (...args) => {
    const result = await executor.run(...args);
    fetched.push(Object.values(result.outputs).reduce((sum, tensor) => sum + tensorBytes(tensor), 0));
    return result;
  };
  const load: Executor['load'] = (...args) => executor.load(...args);
  const release: Executor['release'] = (model) => executor.release(model);
  return { executor: { ...executor, load, run, release }, fetched };
}

/**
 * wide makes a model x[batch, 8, 64] → t0[batch, 8, 64 × times] → … → y. Its file has a few hundred bytes, whatever the
 * size.
 */
function wide(times: number, inner: readonly Uint8Array[], last: string): Uint8Array {
  const graph = w.graph({
    nodes: [
      w.node('Tile', ['x', 'repeats'], ['t0']),
      ...inner,
      w.node('ReduceMax', [last], ['y'], { attributes: [w.attribute.ints('axes', [2])] }),
    ],
    initializers: [w.int64s('repeats', [3], [1, 1, times]), w.int64s('first', [1], [0])],
    inputs: [w.value('x', w.FLOAT, ['batch', 8, 64])],
    outputs: [w.value('y', w.FLOAT, ['batch', 8, 1])],
  });
  return w.model(graph);
}

function chainOf(count: number): Uint8Array[] {
  return Array.from({ length: count }, (_, i) => w.node('Neg', [`t${i}`], [`t${i + 1}`]));
}

function trialOf(bytes: Uint8Array, through: Executor) {
  const request = (name: string): TensorData => {
    const { uniform } = streamOf(1, name);
    return { dtype: 'float32', dims: [1, 8, 64], data: Float32Array.from({ length: 512 }, uniform) };
  };
  const [first, second] = [request('first'), request('second')];
  const data = Float32Array.from([...(first.data as Float32Array), ...(second.data as Float32Array)]);
  const feeds = (x: TensorData): Tensors => ({ x });
  return {
    executor: through,
    model: readModel(bytes),
    folder,
    first: feeds(first),
    second: feeds(second),
    both: feeds({ ...first, dims: [2, 8, 64], data }),
  };
}

test('findTensors() compares all elements of small tensors', async () => {
  const { executor, fetched } = counting();
  const names = ['x', 't0', 't1', 't2', 'y'];
  const found = await findTensors(trialOf(wide(8, chainOf(2), 't2'), executor), names);
  for (const name of names)
    expect(found.get(name)).toMatchObject({ kind: 'tensor', batching: { kind: 'stacked', axis: 0 } });
  expect(found.get('t1')).toMatchObject({ spec: { dtype: 'float32', shape: [1, 8, 512], batchAxis: 0 } });
  // One request has 2 KiB in x, 32 bytes in y and 16 KiB in each other tensor. Both requests together have twice as
  // much.
  const values = 2048 + 32 + 3 * 16384;
  expect(fetched.slice(3)).toEqual([2 * values, values, values]);
});

inWholeRun('findTensors() compares all of 48 MiB too, a bounded part in each run', async () => {
  const { executor, fetched } = counting();
  const names = ['t0', 't1', 't2', 't3'];
  await findTensors(trialOf(wide(6144, chainOf(3), 't3'), executor), names);
  const runs = fetched.slice(3);
  expect(runs).toEqual(names.flatMap(() => [24 * MIB, 12 * MIB, 12 * MIB]));
});

test('findTensors() fetches a bounded part of large tensors, and finds the same as from the whole', async () => {
  const { executor, fetched } = counting();
  // There are seven tensors of 12 MiB.
  const names = ['x', ...Array.from({ length: 7 }, (_, i) => `t${i}`), 'y'];
  const found = await findTensors(trialOf(wide(6144, chainOf(6), 't6'), executor), names);
  for (const name of names)
    expect(found.get(name)).toMatchObject({ kind: 'tensor', batching: { kind: 'stacked', axis: 0 } });
  expect(found.get('t3')).toMatchObject({ spec: { shape: [1, 8, 64 * 6144] } });
  expect(Math.max(...fetched)).toBeLessThanOrEqual(2 * 16 * MIB);
  expect(fetched.reduce((a, b) => a + b, 0)).toBeLessThan(64 * MIB);
});

if (WHOLE)
  test.runIf(process.platform === 'linux')(
    'findTensors() takes about the memory of the tensors that live at once, not of all',
    async () => {
      // The test has an executor of its own, whose peak memory no other test has raised.
      const fresh = await startExecutor({ provider: 'cpu', threads: 1 });
      try {
        const before = peakMiB(fresh.pid);
        // There are twenty tensors of 12 MiB, of which two live at once, and each is twice as large at batch 2.
        await findTensors(
          trialOf(wide(6144, chainOf(19), 't19'), fresh),
          Array.from({ length: 20 }, (_, i) => `t${i}`),
        );
        expect(peakMiB(fresh.pid) - before).toBeLessThan(200);
      } finally {
        await fresh.close();
      }
    },
  );

function peakMiB(pid: number): number {
  return Number(/^VmHWM:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;
}

inWholeRun(
  'findTensors() detects requests that mix in one channel of a large tensor, and mixing that only sizes show',
  async () => {
    const axis = (value: number) => [w.attribute.int('axis', value)];
    const keep = [w.attribute.ints('axes', [0])];
    const inner = [
      ...chainOf(6),
      // The first channel is replaced by its mean over the batch.
      w.node('Gather', ['t6', 'first'], ['channel'], { attributes: axis(1) }),
      w.node('ReduceMean', ['channel'], ['mean'], { attributes: keep }),
      w.node('Sub', ['channel', 'mean'], ['moved']),
      w.node('Concat', ['moved', 't6'], ['mixed'], { attributes: axis(1) }),
      w.node('Shape', ['mixed'], ['size']),
    ];
    const names = ['t6', 'mean', 'mixed', 'size'];
    const found = await findTensors(trialOf(wide(6144, inner, 'mixed'), executor), names);
    const batchings = names.map((name) => {
      const finding = found.get(name);
      return finding?.kind === 'tensor' ? finding.batching : undefined;
    });
    expect(batchings).toMatchObject([
      { kind: 'stacked', axis: 0 },
      { kind: 'mixed', why: expect.stringContaining('its values change with the batch') },
      { kind: 'mixed', why: expect.stringMatching(/at batch 2 \(float32\[2, 9, 393216\]\) it is not/) },
      { kind: 'mixed', why: expect.stringContaining('its values change with the batch') },
    ]);
  },
);

test('findTensors() reports random values as random', async () => {
  const inner = [
    w.node('RandomNormalLike', ['t0'], ['noise'], { name: 'draw' }),
    w.node('Add', ['t0', 'noise'], ['sum']),
  ];
  const found = await findTensors(trialOf(wide(2, inner, 'sum'), executor), ['t0', 'sum']);
  expect(found.get('t0')).toMatchObject({ batching: { kind: 'stacked' } });
  expect(found.get('sum')).toMatchObject({
    batching: {
      kind: 'mixed',
      why: expect.stringMatching(/^its values are random, drawn by RandomNormalLike draw:/),
    },
  });
});
