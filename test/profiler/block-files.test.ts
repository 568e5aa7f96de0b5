import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { TensorData } from '../../src/execution/index.js';
import { readModel } from '../../src/onnx/index.js';
import { BlockFeeds, type BlockFile } from '../../src/profiler/block-files.js';
import type { PreparedModel, TensorFinding } from '../../src/profiler/types.js';
import * as w from '../onnx/writer.js';

const NAMES = ['x', 'a', 'b', 'c'];

/** Each of these blocks has one node. Their inputs are x, a, and both b and x. */
const files: BlockFile[] = [['x'], ['a'], ['b', 'x']].map((inputs, k) => ({
  from: k,
  to: k + 1,
  path: `${k}.onnx`,
  inputs,
}));

function tensorOf(name: string): TensorData {
  return { dtype: 'float32', dims: [1], data: Float32Array.of(NAMES.indexOf(name)) };
}

/** feedsOf makes feeds of a model whose tensors have this many elements, and records what each run is asked for. */
function feedsOf(elements: number, folder: string) {
  const graph = w.graph({
    nodes: [w.node('Neg', ['x'], ['a']), w.node('Neg', ['a'], ['b']), w.node('Add', ['b', 'x'], ['c'])],
    inputs: [w.value('x', w.FLOAT, [1])],
    outputs: [w.value('c', w.FLOAT, [1])],
  });
  const findings = NAMES.map((name): [string, TensorFinding] => [
    name,
    { kind: 'tensor', spec: { name, dtype: 'float32', shape: [elements] }, batching: { kind: 'common' } },
  ]);
  const prepared = {
    model: readModel(w.model(graph)),
    request: { x: tensorOf('x') },
    tensors: new Map(findings),
  };
  const asked: string[][] = [];
  const runOnce = async (_path: string, fetches: readonly string[]) => {
    asked.push([...fetches]);
    return Object.fromEntries(fetches.map((name) => [name, tensorOf(name)]));
  };
  const feeds = new BlockFeeds(prepared as unknown as PreparedModel, files, { folder, runOnce });
  return { feeds, asked };
}

function inFolder(use: (folder: string) => Promise<void>): () => Promise<void> {
  return async () => {
    const folder = mkdtempSync(join(tmpdir(), 'inferplan-feeds-'));
    await use(folder).finally(() => rmSync(folder, { recursive: true }));
  };
}

test(
  'BlockFeeds finds small tensors once for all blocks',
  inFolder(async (folder) => {
    const { feeds, asked } = feedsOf(10, folder);
    expect(await feeds.of([2, 1])).toEqual(
      new Map([
        [2, { b: tensorOf('b'), x: tensorOf('x') }],
        [1, { a: tensorOf('a') }],
      ]),
    );
    expect(await feeds.of([1])).toEqual(new Map([[1, { a: tensorOf('a') }]]));
    expect(asked).toEqual([['a', 'b']]);
  }),
);

test(
  'BlockFeeds finds large tensors when a block asks for them, and keeps none',
  inFolder(async (folder) => {
    const { feeds, asked } = feedsOf(4 * 2 ** 20, folder);
    await feeds.of([1]);
    await feeds.of([2]);
    await feeds.of([1]);
    expect(asked).toEqual([['a'], ['b'], ['a']]);
  }),
);

test(
  'BlockFeeds finds tensors with a model whose weights lie beside it',
  inFolder(async (folder) => {
    const graph = w.graph({
      nodes: [
        w.node('Add', ['x', 'weights'], ['a']),
        w.node('Neg', ['a'], ['b']),
        w.node('Neg', ['b'], ['c']),
      ],
      initializers: [w.message([1, 1], [1, 1000], [2, 1], [8, 'weights'], [9, new Uint8Array(4000).fill(7)])],
      inputs: [w.value('x', w.FLOAT, [1])],
      outputs: [w.value('c', w.FLOAT, [1, 1000])],
    });
    const prepared = { model: readModel(w.model(graph)), request: { x: tensorOf('x') }, tensors: new Map() };
    const sizes: number[] = [];
    const runOnce = async (path: string) => {
      sizes.push(readFileSync(path).length);
      return { a: tensorOf('a'), b: tensorOf('b') };
    };
    const feeds = new BlockFeeds(prepared as unknown as PreparedModel, files, { folder, runOnce });
    await feeds.of([1]);
    expect(sizes).toEqual([expect.any(Number)]);
    expect(sizes[0]).toBeLessThan(1000);
    expect(readFileSync(join(folder, 'weights.data'))).toEqual(Buffer.alloc(4000, 7));
  }),
);

test(
  'BlockFeeds runs nothing for tensors that are inputs of the request',
  inFolder(async (folder) => {
    const { feeds, asked } = feedsOf(4 * 2 ** 20, folder);
    expect(await feeds.of([0])).toEqual(new Map([[0, { x: tensorOf('x') }]]));
    expect(asked).toEqual([]);
  }),
);
