import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { prepareModel } from '../../src/profiler/index.js';
import { startInProcess } from '../execution/in-process.js';
import * as w from '../onnx/writer.js';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'inferplan-unsent-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** inner writes x[n, 8] → y[n, 8] with an inner tensor `q` of a type that ONNX Runtime hands over to nobody. */
function inner(code: number, quantized: boolean): Uint8Array {
  const to = (type: number) => ({ attributes: [w.attribute.int('to', type)] });
  const there = quantized
    ? [
        w.node('QuantizeLinear', ['r', 'scale', 'zero'], ['q']),
        w.node('DequantizeLinear', ['q', 'scale', 'zero'], ['d']),
      ]
    : [w.node('Cast', ['r'], ['q'], to(code)), w.node('Cast', ['q'], ['d'], to(w.FLOAT))];
  const zero = w.message([2, code], [8, 'zero'], [9, Uint8Array.of(0)]);
  const graph = w.graph({
    nodes: [w.node('Relu', ['x'], ['r']), ...there, w.node('Neg', ['d'], ['y'])],
    initializers: quantized ? [w.floats('scale', [], [0.1]), zero] : [],
    inputs: [w.value('x', w.FLOAT, ['n', 8])],
    outputs: [w.value('y', w.FLOAT, ['n', 8])],
  });
  return w.model(graph, { opsets: { '': 21 }, irVersion: 10 });
}

it.each([
  ['bfloat16', 16, false],
  ['float8e4m3fn', 17, true],
  ['uint4', 21, true],
  ['int4', 22, true],
])('prepareModel() gives up only the cuts at an inner tensor of %s', async (dtype, code, quantized) => {
  const path = join(folder, `${dtype}.onnx`);
  writeFileSync(path, inner(code, quantized));
  const { layers, fixedBatch } = await prepareModel(path, {
    device: { provider: 'cpu', threads: 1 },
    startExecutor: startInProcess,
  });
  expect(fixedBatch).toBeUndefined();
  const noCut = layers.map((layer) => layer.noCut);
  expect(noCut).toEqual([undefined, expect.stringContaining(`"q", made by`), undefined, undefined]);
  expect(noCut[1]).toContain(`is ${dtype}, which cannot be sent`);
});
