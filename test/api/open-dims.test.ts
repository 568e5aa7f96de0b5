import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deployPlan, partitionModelFile, profileModelFile, serveBundle } from '../../src/api/index.js';
import { solveSpec } from '../../src/specs/index.js';
import { describeInWholeRun, inWholeRun, WHOLE } from '../cases.js';
import * as w from '../onnx/writer.js';
import { makeBatchesCheap, ONE_CPU } from '../specs/specs.js';

const DEVICES = ['cpu=cpu:1'];
const SIZE = 8;

let folder: string;
const at = (file: string): string => join(folder, file);
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-open-dims-'));
  await writeFile(at('spec.yaml'), ONE_CPU);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** waves holds numbers from −1 to 1. */
const waves = (count: number): number[] => Array.from({ length: count }, (_, i) => Math.sin(i));

/** A small convolutional model whose input and output declare these sizes. */
function convolution(input: (number | string)[], output: (number | string)[]): Uint8Array {
  const pads = w.attribute.ints('pads', [1, 1, 1, 1]);
  const graph = w.graph({
    nodes: [
      w.node('Conv', ['x', 'kernel'], ['c'], { attributes: [pads] }),
      w.node('Relu', ['c'], ['r']),
      w.node('GlobalAveragePool', ['r'], ['pooled']),
      w.node('Flatten', ['pooled'], ['flat']),
      w.node('MatMul', ['flat', 'weights'], ['y']),
    ],
    inputs: [w.value('x', w.FLOAT, input)],
    outputs: [w.value('y', w.FLOAT, output)],
    initializers: [w.floats('kernel', [4, 3, 3, 3], waves(108)), w.floats('weights', [4, 2], waves(8))],
  });
  return w.model(graph);
}

function profileAt(dim: Record<string, number> | undefined) {
  return profileModelFile(at('model.onnx'), {
    warmup: 1,
    minRuns: 1,
    minMs: 1,
    maxMs: 50,
    batch: [1, 2],
    virtual: [1],
    devices: DEVICES,
    blocks: '2',
    boundary: 'exact',
    dim,
    output: at('model.profile.json'),
  });
}

describeInWholeRun('a model whose input has sizes of −1', () => {
  const dim = { 'x.2': SIZE, 'x.3': SIZE };
  beforeAll(() => writeFile(at('model.onnx'), convolution([-1, 3, -1, -1], [-1, 2])));

  /** profiled profiles the model for the first test that asks. */
  let profiledOnce: ReturnType<typeof profileAt> | undefined;
  function profiled(): ReturnType<typeof profileAt> {
    profiledOnce ??= profileAt(dim);
    return profiledOnce;
  }

  inWholeRun(
    'is refused with the names of the sizes that must be given, and is taken with them',
    async () => {
      await expect(profileAt(undefined)).rejects.toThrow(
        /dimension x\.2 is not given[\s\S]*dimension x\.3 is not given\nGive `dim` x\.2=<size> `dim` x\.3=<size>\./,
      );
      const { profile } = await profiled();
      expect(profile.model).toMatchObject({
        dims: dim,
        inputs: [{ name: 'x', shape: [1, 3, SIZE, SIZE], batchAxis: 0 }],
        outputs: [{ name: 'y', shape: [1, 2], batchAxis: 0 }],
      });
      expect(profile.model.fixedBatch).toBeUndefined();
    },
  );

  it('is cut, deployed and served, and answers as the original does', async () => {
    await profiled();
    const cut = { devices: DEVICES, blocks: 2, method: 'greedy', boundary: 'exact' } as const;
    const profile = at('model.profile.json');
    const { extracted } = await partitionModelFile(at('model.onnx'), { ...cut, profile, extract: at('cut') });
    expect(extracted?.files.length).toBe(2);
    expect(extracted?.largestDifference).toBeLessThan(1e-5);
    await makeBatchesCheap(profile);
    expect((await solveSpec(at('spec.yaml'), { output: at('plan.json') })).outcome).toBe('plan');
    await deployPlan(at('plan.json'), { output: at('bundle') });

    const dims = [2, 3, SIZE, SIZE];
    const data = waves(2 * 3 * SIZE * SIZE);
    const session = await InferenceSession.create(at('model.onnx'));
    const expected = await session.run({ x: new Tensor('float32', Float32Array.from(data), dims) });
    await session.release();
    const server = await serveBundle(at('bundle'), { port: 0 });
    try {
      const response = await fetch(`${server.url}/v2/models/model/infer`, {
        method: 'POST',
        body: JSON.stringify({ inputs: [{ name: 'x', shape: dims, datatype: 'FP32', data }] }),
      });
      expect(response.status, await response.clone().text()).toBe(200);
      const { outputs } = (await response.json()) as { outputs: { shape: number[]; data: number[] }[] };
      expect(outputs[0]?.shape).toEqual([2, 2]);
      const right = expected.y?.data as Float32Array;
      outputs[0]?.data.forEach((answer, i) => {
        expect(answer).toBeCloseTo(right[i]!, 5);
      });
    } finally {
      await server.close();
    }
  });
});

describe('a model whose input has sizes of 0', () => {
  it('is refused where a size is 0, and is taken with other sizes', async () => {
    await writeFile(at('model.onnx'), convolution([0, 3, 0, 0], [0, 2]));
    await expect(profileAt(undefined)).rejects.toThrow(
      /the size of x\.0, x\.2, x\.3 is 0; where that means any size, give `dim` x\.0=<size> `dim` x\.2=/,
    );
    if (!WHOLE) return;
    const { profile } = await profileAt({ 'x.2': SIZE, 'x.3': SIZE });
    expect(profile.model.inputs).toMatchObject([{ shape: [1, 3, SIZE, SIZE], batchAxis: 0 }]);
    expect(profile.model.fixedBatch).toBeUndefined();
  });
});
