import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import onnxProto from 'onnx-proto';
import * as ort from 'onnxruntime-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { batchDim, makeBatchSymbolic, type OnnxModel, readModel } from '../../../src/onnx/index.js';
import { cases } from '../../cases.js';
import { run, type Tensors } from '../runtime.js';
import { hasShared, sharedFile } from '../shared.js';
import { rowOf, stacked } from '../stacking.js';

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

describe.skipIf(!hasShared)('the ONNX project’s node tests, batched', () => {
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
});

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
