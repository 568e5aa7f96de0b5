import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { bertExported, gptExported } from '../../examples/models/exported-text.js';
import { vitExported } from '../../examples/models/exported-vit.js';
import type { TensorData, Tensors } from '../../src/execution/index.js';
import { boundFields, type PrepareOptions, prepareModel } from '../../src/profiler/index.js';
import { startInProcess } from '../execution/in-process.js';
import { noise } from '../onnx/noise.js';
import { APART, FEATURES, MIXING, type RowModel, rowModel } from '../onnx/row-models.js';
import * as w from '../onnx/writer.js';

const CPU = { provider: 'cpu', threads: 1 } as const;
let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'inferplan-rows-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function written(bytes: Uint8Array): string {
  const path = join(folder, 'rows.onnx');
  writeFileSync(path, bytes);
  return path;
}

function prepared(model: RowModel, options: Partial<PrepareOptions> = {}) {
  return prepareModel(written(rowModel(model)), { device: CPU, startExecutor: startInProcess, ...options });
}

/** Rows that pass thresholds in different numbers of places, and one that passes none. */
function clients(): number[][] {
  const next = noise(3);
  return [0, 3, 1, 8, 2].map((high) =>
    Array.from({ length: FEATURES }, (_, place) => (place < high ? 4 + next() : next())),
  );
}

function feedOf(rows: readonly (readonly number[])[]): Tensors {
  const data = Float32Array.from(rows.flat());
  return { x: { dtype: 'float32', dims: [rows.length, FEATURES], data } };
}

const values = (tensor: TensorData): number[] => Array.from(tensor.data, Number);

/** keepsApart runs a model on each row alone and on all together, and says whether equal parts are what each has alone. */
async function keepsApart(model: RowModel): Promise<boolean> {
  const name = model.outputs?.[0] ?? 'y';
  const executor = await startInProcess(CPU);
  const { model: loaded } = await executor.load(written(rowModel(model)));
  const run = async (feeds: Tensors) => values((await executor.run(loaded, feeds, [name])).outputs[name]!);
  const alone: number[][] = [];
  for (const row of clients()) alone.push(await run(feedOf([row])));
  const together = await run(feedOf(clients()));
  await executor.close();
  const part = together.length / alone.length;
  return alone.every((row, at) => close(row, together.slice(at * part, (at + 1) * part)));
}

const close = (a: readonly number[], b: readonly number[]) =>
  a.length === b.length && a.every((value, i) => Math.abs(value - b[i]!) < 1e-4);

describe('prepareModel() on a graph of any batch that makes answers of the rows of others', () => {
  it.each(Object.entries(MIXING))(
    'profiles it at batch 1 and names the node: %s',
    async (_name, { model, named, silent }) => {
      const { fixedBatch, fixedBatchReason, outputs } = await prepared(model);
      expect({ fixedBatch, fixedBatchReason }).toEqual({
        fixedBatch: 1,
        fixedBatchReason: expect.stringMatching(named),
      });
      expect(outputs.every(({ batchAxis }) => batchAxis === undefined)).toBe(true);
      // What is refused does go wrong, but for those that no value tried here shows.
      expect(await keepsApart(model)).toBe(silent === true);
    },
  );
});

describe('prepareModel() on a graph of any batch whose rows keep apart', () => {
  it.each(Object.entries(APART))('profiles it at any batch: %s', async (_name, model) => {
    const { fixedBatch, fixedBatchReason, trustBatch, outputs } = await prepared(model);
    expect({ fixedBatch, fixedBatchReason, trustBatch }).toEqual({});
    expect(outputs[0]?.batchAxis).toBe(0);
    expect(await keepsApart(model)).toBe(true);
  });

  it.each([
    ['bert', bertExported({ layers: 1, hidden: 16, heads: 2, vocab: 32 }), { sequence: 6 }],
    ['gpt', gptExported({ layers: 1, hidden: 16, heads: 2, vocab: 32 }), { sequence: 6 }],
    ['vit', vitExported({ layers: 1, hidden: 16, heads: 2, image: 32 }), {}],
  ])('profiles a transformer as PyTorch exports it at any batch: %s', async (_name, bytes, dims) => {
    const { fixedBatchReason } = await prepareModel(written(bytes), {
      device: CPU,
      startExecutor: startInProcess,
      dims,
    });
    expect(fixedBatchReason).toBeUndefined();
  });
});

describe('prepareModel() told to trust batches', () => {
  it('takes them, and says against what', async () => {
    const { model } = MIXING['an early exit by the largest value']!;
    const trusted = await prepared(model, { trustBatch: true });
    expect(trusted.fixedBatch).toBeUndefined();
    expect(trusted.outputs).toMatchObject([{ name: 'y', batchAxis: 0 }]);
    expect(boundFields(trusted).trustBatch).toMatch(
      /^ReduceMax "peak of all" on "x" \(batch on axis 0\): it reduces over every axis/,
    );
  });

  it('takes them where two requests differ, too', async () => {
    const mean: RowModel = {
      nodes: [
        w.node('ReduceMean', ['x'], ['m'], { attributes: [w.attribute.ints('axes', [0])] }),
        w.node('Sub', ['x', 'm'], ['y']),
      ],
    };
    expect((await prepared(mean)).fixedBatch).toBe(1);
    const trusted = await prepared(mean, { trustBatch: true });
    expect(trusted).toMatchObject({
      fixedBatch: undefined,
      trustBatch: expect.stringContaining('ReduceMean'),
    });
  });

  it('notes nothing where rows keep apart anyway', async () => {
    const { trustBatch } = await prepared(APART['the largest of each row']!, { trustBatch: true });
    expect(trustBatch).toBeUndefined();
  });

  it('splits no output that has no batch axis', async () => {
    const { model } = MIXING['a list of what passes a threshold']!;
    const { fixedBatch, fixedBatchReason } = await prepared(model, { trustBatch: true });
    expect(fixedBatch).toBe(1);
    expect(fixedBatchReason).toMatch(
      /^NonZero "which" .*; output "list" \(GatherND "GatherND_4"\) .* has no batch axis, so that a batch's cannot be split among its requests$/,
    );
  });
});
