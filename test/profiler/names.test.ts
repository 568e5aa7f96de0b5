import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { bindAsProfiled, boundFields, prepareModel } from '../../src/profiler/index.js';
import { startInProcess } from '../execution/in-process.js';
import * as w from '../onnx/writer.js';

const folder = mkdtempSync(join(tmpdir(), 'inferplan-names-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** These are names of what every object of JavaScript has. */
const NAMES = ['constructor', 'toString'];

test.each(NAMES)('prepareModel() takes an input and an inner tensor called %s as any other', async (name) => {
  const path = join(folder, 'named.onnx');
  const outputs = [w.value('y', w.FLOAT, ['batch', 4])];
  const prepared = async (input: string, inner: string) => {
    const nodes = [
      w.node('Relu', [input], [inner]),
      w.node('Neg', [inner], ['b']),
      w.node('Abs', ['b'], ['y']),
    ];
    const inputs = [w.value(input, w.FLOAT, ['batch', 4])];
    writeFileSync(path, w.model(w.graph({ nodes, inputs, outputs })));
    return await prepareModel(path, {
      device: { provider: 'cpu', threads: 1 },
      startExecutor: startInProcess,
    });
  };
  const model = await prepared(name, 'a');
  expect(model.inputs).toEqual([{ name, dtype: 'float32', shape: [1, 4], batchAxis: 0 }]);
  expect(Object.keys(model.request)).toEqual([name]);
  const inner = await prepared('x', name);
  expect(inner.layers.map(({ cutBytes }) => cutBytes)).toEqual([16, 16, 16]);
});

test('prepareModel() refuses a tensor called __proto__, which the runtime cannot hand over', async () => {
  const path = join(folder, 'proto.onnx');
  const nodes = [w.node('Relu', ['x'], ['__proto__']), w.node('Neg', ['__proto__'], ['y'])];
  const value = (name: string) => w.value(name, w.FLOAT, ['batch', 4]);
  writeFileSync(path, w.model(w.graph({ nodes, inputs: [value('x')], outputs: [value('y')] })));
  const device = { provider: 'cpu', threads: 1 } as const;
  await expect(prepareModel(path, { device, startExecutor: startInProcess })).rejects.toThrow(
    /^Cannot run .*proto\.onnx: ONNX Runtime cannot hand over a tensor called __proto__\nGive the tensor another name\.$/,
  );
});

test.each(NAMES)(
  'prepareModel() refuses an output called %s, which the runtime takes for fetched',
  async (name) => {
    const path = join(folder, 'output.onnx');
    const outputs = [w.value(name, w.FLOAT, ['batch', 4])];
    const inputs = [w.value('x', w.FLOAT, ['batch', 4])];
    writeFileSync(path, w.model(w.graph({ nodes: [w.node('Relu', ['x'], [name])], inputs, outputs })));
    const device = { provider: 'cpu', threads: 1 } as const;
    await expect(prepareModel(path, { device, startExecutor: startInProcess })).rejects.toThrow(
      `ONNX Runtime cannot hand over a tensor called ${name}\nGive the tensor another name.`,
    );
  },
);

test.each(NAMES)('bindModel() measures the shape of a tensor called %s where it is needed', async (name) => {
  const bytes = w.model(
    w.graph({
      nodes: [
        w.node('Dropout', ['x'], ['d']),
        w.node('TopK', ['d', 'four'], [name, 'places']),
        w.node('Reshape', [name, 'rows'], ['r']),
        w.node('Neg', ['r'], ['y']),
      ],
      initializers: [w.int64s('four', [1], [4]), w.int64s('rows', [3], [-1, 2, 2])],
      inputs: [w.value('x', w.FLOAT, [1, 8])],
      outputs: [w.message([1, 'y'])],
    }),
  );
  const path = join(folder, 'shaped.onnx');
  writeFileSync(path, bytes);
  const prepared = await prepareModel(path, {
    device: { provider: 'cpu', threads: 1 },
    startExecutor: startInProcess,
  });
  expect(prepared.fixedBatch).toBeUndefined();
  expect(Object.entries(prepared.measuredShapes)).toEqual([[name, [1, 4]]]);
  const again = bindAsProfiled(bytes, { name: path, ...boundFields(prepared) });
  expect(again.bytes).toEqual(prepared.model.bytes);
});
