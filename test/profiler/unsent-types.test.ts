import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { prepareModel } from '../../src/profiler/index.js';
import { startInProcess } from '../execution/in-process.js';
import * as w from '../onnx/writer.js';

const AS_HERE = { device: { provider: 'cpu', threads: 1 }, startExecutor: startInProcess } as const;
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

const BFLOAT16 = 16;
const to = (type: number) => ({ attributes: [w.attribute.int('to', type)] });

/** Nodes from q to s, of bfloat16, by way of which the type goes on. */
const WAYS: Readonly<Record<string, () => readonly Uint8Array[]>> = {
  'layout operators': () => [w.node('Transpose', ['q'], ['t']), w.node('Transpose', ['t'], ['s'])],
  // No rule follows the types of what an If gives.
  'an If': () => {
    const branch = (output: string) =>
      w.graph({
        nodes: [w.node('Identity', ['q'], [output])],
        inputs: [],
        outputs: [w.message([1, output])],
      });
    const branches = [
      w.attribute.graph('then_branch', branch('a')),
      w.attribute.graph('else_branch', branch('b')),
    ];
    return [
      w.node('Cast', ['flag'], ['c'], to(w.BOOL)),
      w.node('If', ['c'], ['s'], { attributes: branches }),
    ];
  },
};

it.each(Object.entries(WAYS))(
  'prepareModel() gives up only the cuts at bfloat16 behind %s',
  async (_, nodes) => {
    const path = join(folder, 'behind.onnx');
    const graph = w.graph({
      nodes: [
        ...[w.node('Relu', ['x'], ['r']), w.node('Cast', ['r'], ['q'], to(BFLOAT16)), ...nodes()],
        ...[w.node('Cast', ['s'], ['d'], to(w.FLOAT)), w.node('Neg', ['d'], ['y'])],
      ],
      initializers: [w.floats('flag', [1], [1])],
      inputs: [w.value('x', w.FLOAT, ['n', 8])],
      outputs: [w.value('y', w.FLOAT, ['n', 8])],
    });
    writeFileSync(path, w.model(graph, { opsets: { '': 21 }, irVersion: 10 }));
    const { layers } = await prepareModel(path, AS_HERE);
    const cuts = layers.map(({ noCut }) => noCut === undefined);
    expect(cuts).toEqual([true, false, false, false, true, true]);
  },
);

it.each([
  ['an input', [w.node('Cast', ['x'], ['y'], to(w.FLOAT))], BFLOAT16, w.FLOAT, /input x is bfloat16, which/],
  [
    'an output',
    [w.node('Cast', ['x'], ['y'], to(BFLOAT16))],
    w.FLOAT,
    BFLOAT16,
    /output y is bfloat16, which/,
  ],
])('prepareModel() names %s of a type that nobody is handed', async (_, nodes, input, output, said) => {
  const path = join(folder, 'end.onnx');
  const ends = { inputs: [w.value('x', input, ['n', 8])], outputs: [w.value('y', output, ['n', 8])] };
  writeFileSync(path, w.model(w.graph({ nodes, ...ends }), { opsets: { '': 21 }, irVersion: 10 }));
  await expect(prepareModel(path, AS_HERE)).rejects.toThrow(said);
});

it.each([
  ['bfloat16', 16, false],
  ['float8e4m3fn', 17, true],
  ['uint4', 21, true],
  ['int4', 22, true],
])('prepareModel() gives up only the cuts at an inner tensor of %s', async (dtype, code, quantized) => {
  const path = join(folder, `${dtype}.onnx`);
  writeFileSync(path, inner(code, quantized));
  const { layers, fixedBatch } = await prepareModel(path, AS_HERE);
  expect(fixedBatch).toBeUndefined();
  const noCut = layers.map((layer) => layer.noCut);
  expect(noCut).toEqual([undefined, expect.stringContaining(`"q", made by`), undefined, undefined]);
  expect(noCut[1]).toContain(`is ${dtype}, which cannot be sent`);
});
