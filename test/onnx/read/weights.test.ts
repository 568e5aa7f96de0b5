import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as ort from 'onnxruntime-node';
import { expect, it } from 'vitest';
import { bert } from '../../../examples/models/bert.js';
import { readModel, withoutWeights } from '../../../src/onnx/index.js';
import * as w from '../writer.js';

const FILE = 'weights.data';

it('withoutWeights() moves large raw initializers to a data file, each at a page, and the model stays the same', async () => {
  const model = readModel(bert({ layers: 1, hidden: 32, heads: 2, vocab: 100, seq: 8, seed: 1 }));
  const { bytes, weights } = withoutWeights(model, FILE);
  const light = readModel(bytes);
  expect(light.graph.nodes.map(({ name, op }) => [name, op])).toEqual(
    model.graph.nodes.map(({ name, op }) => [name, op]),
  );
  expect(bytes.length).toBeLessThan(model.bytes.length / 4);
  let at = 0;
  for (const [name, { byteLength, dtype, dims, external }] of light.graph.initializers) {
    const before = model.graph.initializers.get(name)!;
    expect({ dtype, dims, byteLength }).toEqual({
      dtype: before.dtype,
      dims: before.dims,
      byteLength: before.byteLength,
    });
    expect(external === undefined).toBe(byteLength < 1024);
    if (external === undefined) continue;
    expect(external).toEqual({ location: FILE, offset: weights[at]!.offset, length: byteLength });
    expect(external.offset % 4096).toBe(0);
    const raw = Buffer.from(before.encoded).subarray(-byteLength);
    expect(raw.equals(weights[at]!.bytes)).toBe(true);
    at += 1;
  }
  expect(at).toBe(weights.length);
  const folder = await mkdtemp(join(tmpdir(), 'inferplan-weights-'));
  try {
    const data = Buffer.alloc(weights.at(-1)!.offset + weights.at(-1)!.bytes.length);
    for (const { offset, bytes } of weights) data.set(bytes, offset);
    await writeFile(join(folder, FILE), data);
    await writeFile(join(folder, 'light.onnx'), bytes);
    await writeFile(join(folder, 'whole.onnx'), model.bytes);
    const [one, other] = await Promise.all(
      ['light', 'whole'].map((name) => firstOutput(join(folder, `${name}.onnx`), model.graph.inputs)),
    );
    expect(one).toEqual(other);
  } finally {
    await rm(folder, { recursive: true });
  }
}, 30_000);

it('withoutWeights() leaves values of other fields, external tensors and small initializers where they are', () => {
  const typed = Array.from({ length: 400 }, (_, i) => i);
  const model = readModel(
    w.model(
      w.graph({
        nodes: [w.node('Sum', ['x', 'typed', 'small', 'far'], ['y'])],
        inputs: [w.value('x', w.FLOAT, [400])],
        outputs: [w.value('y', w.FLOAT, [400])],
        initializers: [
          w.message([1, 400], [2, w.FLOAT], ...typed.map((value) => [4, float(value)] as const), [
            8,
            'typed',
          ]),
          w.floats('small', [1], [1]),
          w.externalFloats('far', [400], { location: 'far.bin' }),
        ],
      }),
    ),
  );
  const { bytes, weights } = withoutWeights(model, FILE);
  expect(weights).toEqual([]);
  expect(Buffer.compare(readModel(bytes).graph.encoded, model.graph.encoded)).toBe(0);
});

/** float is the packed field of one value. */
function float(value: number): Uint8Array {
  return new Uint8Array(Float32Array.of(value).buffer);
}

async function firstOutput(path: string, inputs: readonly { readonly name: string }[]) {
  const session = await ort.InferenceSession.create(path, { logSeverityLevel: 3 });
  const feeds = Object.fromEntries(
    inputs.map(({ name }) => [
      name,
      new ort.Tensor(
        'int64',
        BigInt64Array.from({ length: 8 }, () => 1n),
        [1, 8],
      ),
    ]),
  );
  const values = await session.run(feeds);
  await session.release();
  return values[session.outputNames[0]!]!.data;
}
