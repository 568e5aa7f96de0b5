import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import onnxProto from 'onnx-proto';
import * as ort from 'onnxruntime-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { batchDim, makeBatchSymbolic, type OnnxModel, readModel } from '../../../src/onnx/index.js';
import { cases } from '../../cases.js';
import { noise } from '../noise.js';
import { run, type Tensors } from '../runtime.js';
import { hasShared, sharedFile } from '../shared.js';
import { rowOf, stacked } from '../stacking.js';
import * as w from '../writer.js';

const { onnx } = onnxProto;
const FLOAT32 = 1;
/** onnxruntime-node aborts the process on outputs of less than a byte per element. */
const ABORTS = /INT4|INT2|FLOAT4|FLOAT8/i;

/** floatInputs gives a node test's inputs where all are float32. */
function floatInputs(folder: string, model: OnnxModel): Tensors | undefined {
  const feeds: Tensors = {};
  for (const [index, { name }] of model.graph.inputs.entries()) {
    const path = join(folder, 'test_data_set_0', `input_${index}.pb`);
    const tensor = existsSync(path) ? onnx.TensorProto.decode(readFileSync(path)) : undefined;
    if (tensor?.dataType !== FLOAT32 || !tensor.rawData) return undefined;
    const values = new Float32Array(Uint8Array.from(tensor.rawData).buffer);
    feeds[name] = new ort.Tensor('float32', values, (tensor.dims ?? []).map(Number));
  }
  return feeds;
}

/** answerOf gives ONNX Runtime's answer, or nothing for operators and types that its CPU kernels lack. */
async function answerOf(model: OnnxModel, feeds: Tensors): Promise<Tensors | undefined> {
  try {
    return await run(model.bytes, feeds, { level: 'disabled' });
  } catch {
    return undefined;
  }
}

/** Operators that treat every row of x[1, 4, 6] alike, each with what it needs besides x, written as a node of its own. */
const ROW_WISE: Readonly<
  Record<string, () => { nodes: Uint8Array[]; initializers?: Uint8Array[]; y: Dims }>
> = {
  Abs: () => ({ nodes: [w.node('Abs', ['x'], ['y'])], y: X }),
  Sigmoid: () => ({ nodes: [w.node('Sigmoid', ['x'], ['y'])], y: X }),
  Softmax: () => ({
    nodes: [w.node('Softmax', ['x'], ['y'], { attributes: [w.attribute.int('axis', 2)] })],
    y: X,
  }),
  'Add of the same shape': () => ({ nodes: [w.node('Add', ['x', 'x'], ['y'])], y: X }),
  'Mul by a constant that is stretched': () => ({
    nodes: [w.node('Mul', ['x', 'c'], ['y'])],
    initializers: [w.floats('c', [4, 1], [1, -2, 3, 0.5])],
    y: X,
  }),
  'Transpose of the other axes': () => ({
    nodes: [w.node('Transpose', ['x'], ['y'], { attributes: [w.attribute.ints('perm', [0, 2, 1])] })],
    y: [1, 6, 4],
  }),
  'MatMul with weights': () => ({
    nodes: [w.node('MatMul', ['x', 'c'], ['y'])],
    initializers: [w.floats('c', [6, 2], [1, 2, 3, 4, 5, 6, -1, -2, -3, -4, -5, -6])],
    y: [1, 4, 2],
  }),
  'Concat of the other axes': () => ({
    nodes: [w.node('Concat', ['x', 'x'], ['y'], { attributes: [w.attribute.int('axis', 1)] })],
    y: [1, 8, 6],
  }),
  'Reshape to a constant shape': () => ({
    nodes: [w.node('Reshape', ['x', 'to'], ['y'])],
    initializers: [w.int64s('to', [2], [1, 24])],
    y: [1, 24],
  }),
  Flatten: () => ({ nodes: [w.node('Flatten', ['x'], ['y'])], y: [1, 24] }),
};

type Dims = readonly number[];
const X: Dims = [1, 4, 6];

describe('operators written here, batched', () => {
  it.each(Object.keys(ROW_WISE))(
    'makeBatchSymbolic() answers a doubled input with the doubled output: %s',
    async (name) => {
      const { nodes, initializers = [], y } = ROW_WISE[name]!();
      const inputs = [w.value('x', w.FLOAT, [...X])];
      const outputs = [w.value('y', w.FLOAT, [...y])];
      const model = readModel(w.model(w.graph({ nodes, initializers, inputs, outputs })), { name });
      const made = makeBatchSymbolic(model);
      if (!made.ok) throw new Error(name);
      const batch = batchDim(readModel(made.bytes));
      if (batch.kind !== 'symbolic') throw new Error(`${name}: ${batch.kind}`);
      const row = (seed: number): Tensors => {
        const next = noise(seed);
        return {
          x: new ort.Tensor(
            'float32',
            Float32Array.from({ length: 24 }, () => next() - 0.5),
            [...X],
          ),
        };
      };
      const [one, other] = [row(1), row(2)];
      const both = await run(made.bytes, stacked([one, other], batch.inputs), { level: 'disabled' });
      for (const [at, feeds] of [one, other].entries()) {
        const alone = await run(model.bytes, feeds, { level: 'disabled' });
        const wanted = alone.y!.data as Float32Array;
        const got = rowOf(both.y!, 0, at).data as Float32Array;
        expect([...got].map((value, i) => Math.abs(value - wanted[i]!) < 1e-5)).toEqual(
          [...wanted].map(() => true),
        );
      }
    },
  );
});

describe.runIf(hasShared)('the ONNX project’s node tests, batched', publishedNodeTests);

function publishedNodeTests(): void {
  let folder = '';

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'inferplan-onnx-'));
    execFileSync('tar', ['xzf', sharedFile('onnx-node-tests-all.tar.gz'), '-C', folder]);
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('makeBatchSymbolic() gives models that answer a doubled input with the doubled output', async () => {
    const root = join(folder, 'onnx/backend/test/data/node');
    const entries = readdirSync(root).filter((entry, i) => !ABORTS.test(entry) && i % cases(5, 1) === 0);
    let tried = 0;
    for (const name of entries) {
      const model = readModel(new Uint8Array(readFileSync(join(root, name, 'model.onnx'))), { name });
      const made = makeBatchSymbolic(model);
      const feeds = made.ok && made.changes.length > 0 ? floatInputs(join(root, name), model) : undefined;
      const once = feeds === undefined ? undefined : await answerOf(model, feeds);
      if (!made.ok || feeds === undefined || once === undefined) continue;
      const batch = batchDim(readModel(made.bytes));
      if (batch.kind !== 'symbolic') throw new Error(`${name}: ${batch.kind}`);
      tried++;
      const twice = await run(made.bytes, stacked([feeds, feeds], batch.inputs), { level: 'disabled' });
      for (const { name: output, axis } of batch.outputs)
        expectTwice(once[output]!, twice[output]!, axis!, name);
    }
    expect(tried).toBeGreaterThan(cases(40, 200));
  });
}

/** expectTwice checks that both halves of the doubled answer are the single answer, row by row. */
function expectTwice(once: ort.Tensor, twice: ort.Tensor, axis: number, name: string): void {
  const size = once.dims[axis]!;
  expect(twice.dims, name).toEqual(once.dims.map((dim, at) => (at === axis ? 2 * size : dim)));
  for (let row = 0; row < size; row++) {
    const expected = rowOf(once, axis, row).data as Float32Array;
    for (const at of [row, row + size]) {
      const actual = rowOf(twice, axis, at).data as Float32Array;
      const same = actual.every(
        (value, i) => Object.is(value, expected[i]) || Math.abs(value - expected[i]!) < 1e-4,
      );
      expect(same, `${name}, row ${at}`).toBe(true);
    }
  }
}
