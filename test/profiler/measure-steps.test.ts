import { expect, test } from 'vitest';
import { MemoryGuard, type TensorData, tensorBytes } from '../../src/execution/index.js';
import { readModel } from '../../src/onnx/index.js';
import type { BlockFeeds, BlockFile } from '../../src/profiler/block-files.js';
import { measureInSteps } from '../../src/profiler/measure-steps.js';
import type { Stand } from '../../src/profiler/stand.js';
import type { PreparedModel, TensorFinding } from '../../src/profiler/types.js';
import * as w from '../onnx/writer.js';

const MIB = 2 ** 20;
const BLOCKS = 4;
const NAMES = Array.from({ length: BLOCKS + 1 }, (_, i) => `t${i}`);

/** preparedOf makes a chain t0 → t1 → … → t4 whose tensors take this many bytes per request. Each node is a block. */
function preparedOf(bytes: number): PreparedModel {
  const graph = w.graph({
    nodes: NAMES.slice(1).map((name, i) => w.node('Neg', [NAMES[i]!], [name])),
    inputs: [w.value('t0', w.FLOAT, ['n', 1])],
    outputs: [w.value('t4', w.FLOAT, ['n', 1])],
  });
  const findings = NAMES.map((name): [string, TensorFinding] => [
    name,
    {
      kind: 'tensor',
      batching: { kind: 'stacked', axis: 0 },
      spec: { name, dtype: 'float32', shape: [1, bytes / 4], batchAxis: 0 },
    },
  ]);
  const prepared = { model: readModel(w.model(graph)), tensors: new Map(findings), request: { t0: value() } };
  return prepared as unknown as PreparedModel;
}

function value(): TensorData {
  return { dtype: 'float32', dims: [1, 1], data: new Float32Array(1) };
}

/** madeStand makes a stand that records what is loaded together, what is fed, the pauses, and how often processes start. */
function madeStand() {
  const loaded: string[] = [];
  const together: string[][] = [];
  const fed: number[] = [];
  const pausesMs: number[] = [];
  const load: Stand['load'] = async (path) => {
    loaded.push(path);
    return {
      models: [0],
      loadMs: loaded.length,
      release: async () => void loaded.splice(loaded.indexOf(path), 1),
    };
  };
  const rotate: Stand['rotate'] = async (parts, { minRuns, pauseMs }) => {
    pausesMs.push(pauseMs);
    together.push([...loaded]);
    for (const { feeds } of parts)
      fed.push(Object.values(feeds).reduce((sum, tensor) => sum + tensorBytes(tensor), 0));
    const run = { durationUs: together.length, executionUs: 0 };
    return {
      runs: parts.map(() => new Array<typeof run>(minRuns).fill(run)),
      rotations: minRuns,
      elapsedMs: 1,
    };
  };
  const stand: Stand = { load, rotate, close: async () => {} };
  let opened = 0;
  let open = false;
  const of = async () => {
    if (!open) opened++;
    open = true;
    return stand;
  };
  const close = async () => {
    open = false;
  };
  return { stands: { of, close }, together, fed, pausesMs, opened: () => opened };
}

function partsOf(prepared: PreparedModel, batch: number) {
  const files = Array.from({ length: BLOCKS }, (_, k): BlockFile => {
    return { from: k, to: k + 1, path: `block ${k}`, inputs: [NAMES[k]!] };
  });
  const asked: (readonly number[])[] = [];
  const of: BlockFeeds['of'] = async (blocks) => {
    asked.push(blocks);
    return new Map(blocks.map((block) => [block, { [NAMES[block]!]: value() }]));
  };
  const ids = ['whole', ...files.keys()] as const;
  const group = { className: 'cpu', virtual: 1, batch };
  const feeds = { of } as unknown as BlockFeeds;
  const memory = new MemoryGuard({ limitBytes: 2 ** 40 });
  return { parts: { group, ids, prepared, whole: 'whole', files, feeds, memory }, asked };
}

const LIMITS = { warmupRuns: 0, minRuns: 10, minMs: 0, maxMs: 1e9, pauseMs: 3 };

test('measureInSteps() measures all parts in one rotation where their tensors are small', async () => {
  const { stands, together, fed, opened } = madeStand();
  const { parts } = partsOf(preparedOf(MIB), 4);
  const timed = await measureInSteps(stands, parts, { limits: LIMITS, onRound: () => {} });
  expect(together).toEqual([['whole', 'block 0', 'block 1', 'block 2', 'block 3']]);
  expect(timed.map(({ id, runs }) => [id, runs.length])).toEqual(['whole', 0, 1, 2, 3].map((id) => [id, 10]));
  // Every part is fed the input of one request, repeated four times.
  expect(fed).toEqual(new Array(5).fill(16));
  expect(opened()).toBe(1);
});

test('measureInSteps() loads and feeds only some parts at once where tensors are large, and the whole model first and last', async () => {
  const { stands, together, opened } = madeStand();
  const { parts, asked } = partsOf(preparedOf(12 * MIB), 8);
  const fractions: number[] = [];
  const onRound = (fraction: number) => void fractions.push(fraction);
  const timed = await measureInSteps(stands, parts, { limits: LIMITS, onRound });
  expect(together[0]).toEqual(['whole']);
  expect(together.at(-1)).toEqual(['whole']);
  for (const loaded of together) expect(loaded).toHaveLength(1);
  expect(opened()).toBe(together.length);
  expect(asked.flat().sort()).toEqual([0, 1, 2, 3]);
  expect(timed.map(({ id }) => id)).toEqual(['whole', 0, 1, 2, 3]);
  // The first rotation has half of the whole model's runs, and the last has the other half.
  expect(timed[0]?.runs.map(({ durationUs }) => durationUs)).toEqual([1, 1, 1, 1, 1, 6, 6, 6, 6, 6]);
  expect(timed[1]?.runs).toHaveLength(10);
  expect(fractions).toEqual([0, 0.1, 0.3, 0.5, 0.7, 0.9].map((part) => expect.closeTo(part)));
});

test('measureInSteps() pauses on a whole device, and not beside virtual GPUs that are to be busy', async () => {
  for (const [virtual, pauseMs] of [
    [1, 3],
    [2, 0],
  ] as const) {
    const { stands, pausesMs } = madeStand();
    const { parts } = partsOf(preparedOf(MIB), 4);
    const group = { ...parts.group, virtual };
    await measureInSteps(stands, { ...parts, group }, { limits: LIMITS, onRound: () => {} });
    expect(pausesMs).toEqual([pauseMs]);
  }
});
