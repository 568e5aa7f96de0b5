import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { StartExecutor } from '../../src/execution/index.js';
import { bindAsProfiled, boundFields, type PrepareOptions, prepareModel } from '../../src/profiler/index.js';
import { startInProcess } from '../execution/in-process.js';
import { noise } from '../onnx/noise.js';
import * as w from '../onnx/writer.js';

const CPU = { provider: 'cpu', threads: 1 } as const;
let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'inferplan-batch-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

interface Parts {
  readonly nodes: readonly Uint8Array[];
  readonly initializers?: readonly Uint8Array[];
  readonly batch?: number | string;
}

function modelOf({ nodes, initializers = [], batch = 1 }: Parts): Uint8Array {
  const graph = w.graph({
    nodes,
    initializers,
    inputs: [w.value('x', w.FLOAT, [batch, 8])],
    outputs: [w.message([1, 'y'])],
  });
  return w.model(graph);
}

async function prepare(parts: Parts, options: Partial<PrepareOptions> = {}) {
  const path = join(folder, 'made.onnx');
  writeFileSync(path, modelOf(parts));
  return await prepareModel(path, { device: CPU, startExecutor: startInProcess, ...options });
}

/** loadsOf counts the models that are loaded to prepare one. */
async function loadsOf(parts: Parts, options: Partial<PrepareOptions> = {}): Promise<number> {
  let loads = 0;
  const counting: StartExecutor = async (device, how) => {
    const executor = await startInProcess(device, how);
    const load: typeof executor.load = (...args) => {
      loads++;
      return executor.load(...args);
    };
    return { ...executor, load };
  };
  await prepare(parts, { ...options, startExecutor: counting });
  return loads;
}

/** A dense layer of int8 weights, quantized while it runs: all rows of a batch share one scale. */
function quantized(): Omit<Parts, 'batch'> {
  const next = noise(11);
  const weights = Uint8Array.from({ length: 32 }, () => Math.floor(next() * 256));
  return {
    nodes: [
      w.node('Relu', ['x'], ['r']),
      w.node('DynamicQuantizeLinear', ['r'], ['q', 'scale', 'zero'], { name: 'quantize' }),
      w.node('MatMulInteger', ['q', 'weights', 'zero'], ['sums']),
      w.node('Cast', ['sums'], ['f'], { attributes: [w.attribute.int('to', w.FLOAT)] }),
      w.node('Mul', ['f', 'scale'], ['y']),
    ],
    initializers: [w.message([1, 8], [1, 4], [2, 3], [8, 'weights'], [9, weights])],
  };
}

describe('prepareModel() on a model whose rows influence one another slightly', () => {
  it.each([1, 'batch'])(
    'refuses batches, and names the first such node and the difference: %s',
    async (batch) => {
      const prepared = await prepare({ ...quantized(), batch });
      expect(prepared.fixedBatch).toBe(1);
      expect(prepared.fixedBatchReason).toMatch(
        /^output y: at batch 2 \(float32\[2, 4\]\) .*, but differs from it by \d\.\de-3 of its largest value; the first node that mixes rows is DynamicQuantizeLinear "quantize"; `batchTolerance` would have to be 0\.\d+ or more for these inputs$/,
      );
      expect(boundFields(prepared)).toEqual({ fixedBatch: 1 });
    },
  );

  it.each([1, 'batch'])(
    'takes batches within the tolerance that is given, and says so: %s',
    async (batch) => {
      const made = { ...quantized(), batch };
      const refused = await prepare(made);
      const needed = Number(/would have to be (\S+)/.exec(refused.fixedBatchReason ?? '')?.[1]);
      const prepared = await prepare(made, { batchTolerance: needed });
      expect(prepared.fixedBatch).toBeUndefined();
      expect(prepared.inputs).toMatchObject([{ shape: [1, 8], batchAxis: 0 }]);
      expect(prepared.outputs).toMatchObject([{ shape: [1, 4], batchAxis: 0 }]);
      expect(boundFields(prepared)).toEqual({ batchTolerance: needed });
      const noCut = prepared.layers.map(({ noCut }) => noCut !== undefined);
      expect(noCut).toEqual([false, true, true, true, false]);
      const deployed = bindAsProfiled(modelOf(made), { name: prepared.path, ...boundFields(prepared) });
      expect(deployed.bytes).toEqual(prepared.model.bytes);
      const below = await prepare(made, { batchTolerance: needed * 0.9 });
      expect(below.fixedBatch).toBe(1);
    },
  );

  it('refuses batches where the rows of two requests happen to agree, too', async () => {
    const weights = w.message([1, 8], [1, 4], [2, 3], [8, 'weights'], [9, new Uint8Array(32)]);
    const prepared = await prepare({ ...quantized(), initializers: [weights] });
    expect(prepared.fixedBatchReason).toMatch(
      /^DynamicQuantizeLinear "quantize" on "r" \(batch on axis 0\): it takes its scale from all rows of a batch; outputs differ by rounding only on these inputs, and `batchTolerance` would allow that$/,
    );
    const taken = await prepare({ ...quantized(), initializers: [weights] }, { batchTolerance: 0.01 });
    expect(boundFields(taken)).toEqual({ batchTolerance: 0.01 });
  });

  it('looks for the node that mixes rows once, at the tolerance that is given', async () => {
    const made = { ...quantized(), batch: 'batch' };
    const refused = await loadsOf(made);
    const oneAttempt = (await loadsOf(made, { batchTolerance: 0.5 })) / 2;
    expect(await loadsOf(made, { batchTolerance: 1e-6 })).toBe(refused + oneAttempt);
  });

  it('refuses a tolerance that is no share', async () => {
    for (const batchTolerance of [0, 1, -1, Number.NaN])
      await expect(prepare(quantized(), { batchTolerance })).rejects.toThrow(/give a number between 0 and 1/);
  });
});

describe('prepareModel() on a model that mixes rows', () => {
  it('names the node where that begins, not one that holds the size of the batch', async () => {
    const prepared = await prepare({
      batch: 'batch',
      nodes: [
        w.node('Shape', ['x'], ['s']),
        w.node('Cast', ['s'], ['f'], { attributes: [w.attribute.int('to', w.FLOAT)] }),
        w.node('ReduceSum', ['f'], ['n']),
        w.node('Neg', ['x'], ['a']),
        w.node('Softmax', ['a'], ['b'], { name: 'over rows', attributes: [w.attribute.int('axis', 0)] }),
        w.node('Div', ['b', 'n'], ['c']),
        w.node('Div', ['c', 'n'], ['y']),
      ],
    });
    expect(prepared.fixedBatchReason).toMatch(/the first node that mixes rows is Softmax "over rows"/);
  });

  it('offers no tolerance where whole numbers differ', async () => {
    const prepared = await prepare({
      batch: 'batch',
      nodes: [w.node('ArgMax', ['x'], ['y'], { name: 'which', attributes: [w.attribute.int('axis', 0)] })],
    });
    expect(prepared.fixedBatch).toBe(1);
    expect(prepared.fixedBatchReason).not.toContain('batchTolerance');
  });
});

describe('prepareModel() on a model whose file tells too few shapes', () => {
  const parts: Parts = {
    nodes: [
      w.node('Dropout', ['x'], ['d']),
      w.node('TopK', ['d', 'four'], ['top', 'places']),
      w.node('Reshape', ['top', 'rows'], ['r']),
      w.node('Neg', ['r'], ['y']),
    ],
    initializers: [w.int64s('four', [1], [4]), w.int64s('rows', [3], [-1, 2, 2])],
  };

  it('measures them and says which it needed, so that the same model can be made again', async () => {
    const prepared = await prepare(parts);
    expect(boundFields(prepared)).toEqual({ measuredShapes: { top: [1, 4] } });
    const deployed = bindAsProfiled(modelOf(parts), { name: prepared.path, ...boundFields(prepared) });
    expect(deployed.bytes).toEqual(prepared.model.bytes);
    expect(() => bindAsProfiled(modelOf(parts), { name: 'made', measuredShapes: {} })).toThrow(
      /Cannot bind model made: its profile says that it takes any batch, but Reshape .*\nProfile it again\./,
    );
  });

  it('measures no size that follows from elements, which other requests may set otherwise', async () => {
    const bytes = w.model(
      w.graph({
        nodes: [
          w.node('Mul', ['n', 'zero'], ['nothing']),
          w.node('Add', ['nothing', 'four'], ['count']),
          w.node('Dropout', ['x'], ['d']),
          w.node('TopK', ['d', 'count'], ['top', 'places']),
          w.node('Reshape', ['top', 'rows'], ['r']),
          w.node('Neg', ['r'], ['y']),
        ],
        initializers: [
          w.int64s('zero', [1], [0]),
          w.int64s('four', [1], [4]),
          w.int64s('rows', [3], [-1, 2, 2]),
        ],
        inputs: [w.value('x', w.FLOAT, [1, 8]), w.value('n', w.INT64, [])],
        outputs: [w.message([1, 'y'])],
      }),
    );
    const path = join(folder, 'counted.onnx');
    writeFileSync(path, bytes);
    const options = { device: CPU, startExecutor: startInProcess };
    const open = await prepareModel(path, options);
    expect(boundFields(open)).toEqual({ fixedBatch: 1 });
    const settled = await prepareModel(path, { ...options, fill: { n: 2 } });
    expect(boundFields(settled)).toEqual({ measuredShapes: { top: [1, 4] } });
  });

  it('runs nothing to measure where the file says enough', async () => {
    const known = await loadsOf({ nodes: [w.node('Neg', ['x'], ['y'])] });
    expect(await loadsOf(parts)).toBe(known + 2);
  });
});

describe('prepareModel() on a model with sizes that depend on the data', () => {
  const places = (...nodes: Uint8Array[]): Parts => ({
    nodes: [w.node('Relu', ['x'], ['r']), w.node('NonZero', ['r'], ['places']), ...nodes],
  });

  it('gives no profiled size as fixed', async () => {
    const prepared = await prepare(places(w.node('Transpose', ['places'], ['y'])));
    const size = prepared.request.x!.data as Float32Array;
    const positive = size.filter((value) => value > 0).length;
    expect(prepared.outputs).toEqual([
      { name: 'y', dtype: 'int64', shape: [positive, 2], variableAxes: [0] },
    ]);
    expect(prepared.types.get('y')?.dims).toEqual([undefined, 2]);
  });

  it('gives them so also where two requests had the same size by chance', async () => {
    const prepared = await prepare({
      nodes: [
        w.node('Abs', ['x'], ['a']),
        w.node('Add', ['a', 'one'], ['b']),
        w.node('NonZero', ['b'], ['places']),
        w.node('Transpose', ['places'], ['y']),
      ],
      initializers: [w.floats('one', [1], [1])],
    });
    expect(prepared.outputs).toEqual([{ name: 'y', dtype: 'int64', shape: [8, 2], variableAxes: [0] }]);
  });

  it('gives what is reduced to one size as fixed', async () => {
    const nodes = [
      w.node('Cast', ['places'], ['f'], { attributes: [w.attribute.int('to', w.FLOAT)] }),
      w.node('ReduceMax', ['f'], ['y'], { attributes: [w.attribute.ints('axes', [1])] }),
    ];
    const prepared = await prepare(places(...nodes));
    expect(prepared.outputs).toEqual([{ name: 'y', dtype: 'float32', shape: [2, 1] }]);
  });
});
