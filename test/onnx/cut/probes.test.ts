import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as ort from 'onnxruntime-node';
import { describe, expect, it } from 'vitest';
import { type OnnxModel, type Probe, probeTensors, readModel } from '../../../src/onnx/index.js';
import { run } from '../runtime.js';
import * as w from '../writer.js';

const LENGTH = 6;

/** chain makes a model x[n, 4] → t1 … t6, where each tensor is twice the one before. */
function chain(parts: w.ModelParts = {}): OnnxModel {
  const steps = Array.from({ length: LENGTH }, (_, i) => i + 1);
  const graph = w.graph({
    nodes: steps.map((i) => w.node('Add', [name(i - 1), name(i - 1)], [name(i)], { name: `node ${i}` })),
    inputs: [w.value('x', w.FLOAT, ['n', 4])],
    outputs: [w.value(name(LENGTH), w.FLOAT, ['n', 4])],
  });
  return readModel(w.model(graph, parts));
}

function name(i: number): string {
  return i === 0 ? 'x' : `t${i}`;
}

const feeds = {
  x: new ort.Tensor(
    'float32',
    Float32Array.from({ length: 12 }, (_, i) => i),
    [3, 4],
  ),
};

/** ranInOrder lists the names of nodes in the order in which ONNX Runtime ran them. */
async function ranInOrder(bytes: Uint8Array, outputs: readonly string[]): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'inferplan-order-'));
  try {
    const session = await ort.InferenceSession.create(bytes, {
      graphOptimizationLevel: 'disabled',
      enableProfiling: true,
      profileFilePrefix: join(folder, 'order'),
    });
    await session.run(feeds, outputs);
    session.endProfiling();
    await session.release();
    const file = readdirSync(folder)[0]!;
    const events = JSON.parse(readFileSync(join(folder, file), 'utf8')) as { name: string; ts: number }[];
    const kernels = events.filter((event) => event.name.endsWith('_kernel_time'));
    return kernels.map((event) => event.name.replace(/_kernel_time$/, ''));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe('probeTensors()', () => {
  const all = Array.from({ length: LENGTH + 1 }, (_, i) => name(i));

  it('gives shapes, also of inputs and outputs', async () => {
    const model = chain();
    const { bytes, outputs } = probeTensors(
      model,
      all.map((tensor): Probe => ({ tensor, asks: 'shape' })),
    );
    const values = await run(bytes, feeds, { level: 'disabled', outputs });
    for (const output of outputs) expect(Array.from(values[output]!.data as BigInt64Array)).toEqual([3n, 4n]);
    expect(new Set(outputs).size).toBe(all.length);
  });

  it('gives the elements at all picks, and whole tensors where no picks are given', async () => {
    const picks = [
      { axis: 0, indices: [0, 2] },
      { axis: 1, indices: [1, 3] },
    ];
    const { bytes, outputs } = probeTensors(chain(), [
      { tensor: 't2', asks: 'elements', picks },
      { tensor: 't1', asks: 'elements', picks: [] },
    ]);
    const values = await run(bytes, feeds, { level: 'disabled', outputs });
    expect(Array.from(values[outputs[0]!]!.data as Float32Array)).toEqual([1, 3, 9, 11].map((x) => 4 * x));
    expect(values[outputs[0]!]!.dims).toEqual([2, 2]);
    expect(outputs[1]).toBe('t1');
    expect(values.t1!.dims).toEqual([3, 4]);
  });

  it('lets each probe run as soon as its tensor is made, so that the tensor can be freed', async () => {
    const { bytes, outputs } = probeTensors(
      chain(),
      all
        .slice(1, -1)
        .map(
          (tensor, i): Probe =>
            i % 2 === 0
              ? { tensor, asks: 'shape' }
              : { tensor, asks: 'elements', picks: [{ axis: 1, indices: [0] }] },
        ),
    );
    const order = await ranInOrder(bytes, outputs);
    outputs.forEach((output, i) => {
      const probe = order.indexOf(output);
      expect(probe).toBeGreaterThan(order.indexOf(`node ${i + 1}`));
      // The next node reads its tensor, and nothing reads it after that.
      expect(probe).toBeLessThan(order.indexOf(`node ${i + 3}`) + (i + 3 > LENGTH ? order.length : 0));
    });
  });

  it('uses names that the model does not have, and imports an operator set where the model has none', async () => {
    const graph = w.graph({
      nodes: [w.node('Gelu', ['x'], ['x/shape probe'], { domain: 'com.microsoft' })],
      inputs: [w.value('x', w.FLOAT, ['n', 4])],
      outputs: [w.value('x/shape probe', w.FLOAT, ['n', 4])],
    });
    const model = readModel(w.model(graph, { opsets: { 'com.microsoft': 1 } }));
    const { bytes, outputs } = probeTensors(model, [{ tensor: 'x', asks: 'shape' }]);
    expect(outputs).toEqual(['x/shape probe_']);
    const values = await run(bytes, feeds, { level: 'disabled', outputs });
    expect(values[outputs[0]!]!.dims).toEqual([2]);
  });

  it('leaves the operator sets alone where it adds no node', () => {
    const graph = w.graph({
      nodes: [w.node('Gelu', ['x'], ['y'], { domain: 'com.microsoft' })],
      inputs: [w.value('x', w.FLOAT, ['n', 4])],
      outputs: [w.value('y', w.FLOAT, ['n', 4])],
    });
    const model = readModel(w.model(graph, { opsets: { 'com.microsoft': 1 } }));
    const { bytes } = probeTensors(model, [{ tensor: 'x', asks: 'elements', picks: [] }]);
    expect([...readModel(bytes).opsets]).toEqual([...model.opsets]);
  });

  it('refuses names that are no tensors of the graph', () => {
    expect(() => probeTensors(chain(), [{ tensor: 'q', asks: 'shape' }])).toThrow(/"q" is no tensor/);
  });
});
