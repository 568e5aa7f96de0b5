import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  deployPlan,
  partitionModelFile,
  profileModelFile,
  serveBundle,
  validateFiles,
} from '../../src/api/index.js';
import { solveSpec } from '../../src/specs/index.js';
import { fewOf, inWholeRun, WHOLE } from '../cases.js';
import { noise } from '../onnx/noise.js';
import { FEATURES, looksUp, MIXING, rowModel } from '../onnx/row-models.js';
import * as w from '../onnx/writer.js';
import { makeBatchesCheap, ONE_CPU } from '../specs/specs.js';

const DEVICES = ['cpu=cpu:1'];

let folder: string;
const at = (file: string): string => join(folder, file);
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-batches-'));
  await writeFile(at('spec.yaml'), ONE_CPU);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** waves holds numbers from −1 to 1. */
const waves = (count: number): number[] => Array.from({ length: count }, (_, i) => Math.sin(i));
const half = (count: number): number[] => waves(count).map((value) => value / 2);

/** A convolutional model at batch 1 whose file does not tell the shape that its Reshape takes apart, as padding is automatic. */
function shapeless(): Uint8Array {
  const graph = w.graph({
    nodes: [
      w.node('Conv', ['x', 'kernel'], ['c'], { attributes: [w.attribute.text('auto_pad', 'VALID')] }),
      w.node('Reshape', ['c', 'rows'], ['r']),
      w.node('Relu', ['r'], ['a']),
      w.node('MatMul', ['a', 'weights'], ['y']),
    ],
    inputs: [w.value('x', w.FLOAT, [1, 3, 6, 6])],
    outputs: [w.value('y', w.FLOAT, [1, 2])],
    initializers: [
      w.floats('kernel', [4, 3, 3, 3], waves(108)),
      w.int64s('rows', [2], [-1, 64]),
      w.floats('weights', [64, 2], half(128)),
    ],
  });
  return w.model(graph);
}

function profile(options: { batchTolerance?: number; batch?: number[]; fill?: Record<string, number> } = {}) {
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
    output: at('model.profile.json'),
    ...options,
  });
}

/** answers gives what a server of the bundle answers for rows, and what the original model answers for each alone. */
async function answers(
  rows: number,
  dims: readonly number[],
): Promise<{ served: number[]; alone: number[] }> {
  const size = dims.reduce((product, dim) => product * dim, 1);
  const data = waves(rows * size);
  const session = await InferenceSession.create(at('model.onnx'));
  const alone: number[] = [];
  for (let row = 0; row < rows; row++) {
    const x = new Tensor('float32', Float32Array.from(data.slice(row * size, (row + 1) * size)), [
      1,
      ...dims,
    ]);
    alone.push(...((await session.run({ x })).y!.data as Float32Array));
  }
  await session.release();
  const server = await serveBundle(at('bundle'), { port: 0 });
  try {
    const inputs = [{ name: 'x', shape: [rows, ...dims], datatype: 'FP32', data }];
    const response = await fetch(`${server.url}/v2/models/model/infer`, {
      method: 'POST',
      body: JSON.stringify({ inputs }),
    });
    const text = await response.text();
    expect(response.status, text).toBe(200);
    return { served: JSON.parse(text).outputs[0].data, alone };
  } finally {
    await server.close();
  }
}

describe('a model at batch 1 whose file tells too few shapes', () => {
  beforeAll(() => writeFile(at('model.onnx'), shapeless()));

  it('is profiled in batches, and its profile holds the shape that was measured for that', async () => {
    const { profile: made } = await profile();
    expect(made.model.fixedBatch).toBeUndefined();
    expect(made.model.measuredShapes).toEqual({ c: [1, 4, 4, 4] });
    expect(made.model.inputs).toMatchObject([{ name: 'x', shape: [1, 3, 6, 6], batchAxis: 0 }]);
    expect(Object.keys(made.devices.cpu?.blockLatencyUs[1] ?? {})).toEqual(['1', '2']);
  });

  inWholeRun(
    'is cut, deployed without being run again, and answers every row as the original does',
    async () => {
      const cut = { devices: DEVICES, blocks: 2, method: 'greedy', boundary: 'exact' } as const;
      const part = await partitionModelFile(at('model.onnx'), { ...cut, extract: at('cut') });
      expect(part.profile.model.measuredShapes).toEqual({ c: [1, 4, 4, 4] });
      expect(part.extracted?.largestDifference).toBe(0);
      await makeBatchesCheap(at('model.profile.json'));
      expect((await solveSpec(at('spec.yaml'), { output: at('plan.json') })).outcome).toBe('plan');
      await deployPlan(at('plan.json'), { output: at('bundle') });
      const { served, alone } = await answers(2, [3, 6, 6]);
      expect(served.length).toBe(alone.length);
      served.forEach((value, i) => {
        expect(value).toBeCloseTo(alone[i]!, 5);
      });
    },
  );

  it('is refused where the profile holds a shape that does not fit', async () => {
    const text = await readFile(at('model.profile.json'), 'utf8');
    const wrong = JSON.parse(text);
    wrong.model.measuredShapes = { c: [1, 4, 4, 3] };
    await writeFile(at('model.profile.json'), JSON.stringify(wrong));
    await solveSpec(at('spec.yaml'), { output: at('plan.json') });
    await expect(deployPlan(at('plan.json'), { output: at('bundle') })).rejects.toThrow(
      /its profile says that it takes any batch, but Reshape [\s\S]*Profile it again\./,
    );
    await writeFile(at('model.profile.json'), text);
  });
});

/** A dense layer of int8 weights, quantized while it runs: all rows of a batch share one scale. */
function quantized(): Uint8Array {
  const next = noise(11);
  const weights = Uint8Array.from({ length: 32 }, () => Math.floor(next() * 256));
  const graph = w.graph({
    nodes: [
      w.node('Relu', ['x'], ['r']),
      w.node('DynamicQuantizeLinear', ['r'], ['q', 'scale', 'zero'], { name: 'quantize' }),
      w.node('MatMulInteger', ['q', 'weights', 'zero'], ['sums']),
      w.node('Cast', ['sums'], ['f'], { attributes: [w.attribute.int('to', w.FLOAT)] }),
      w.node('Mul', ['f', 'scale'], ['y']),
    ],
    inputs: [w.value('x', w.FLOAT, [1, 8])],
    outputs: [w.value('y', w.FLOAT, [1, 4])],
    initializers: [w.message([1, 8], [1, 4], [2, 3], [8, 'weights'], [9, weights])],
  });
  return w.model(graph);
}

describe('a model whose rows influence one another slightly', () => {
  const TOLERANCE = 0.05;
  const said = /the rows of a batch influence one another; they may differ .* by up to 0\.05 of the largest/;
  beforeAll(() => writeFile(at('model.onnx'), quantized()));

  inWholeRun('runs at batch 1 by default, and its profile says what the option would need', async () => {
    const { profile: made } = await profile();
    expect(made.model.fixedBatch).toBe(1);
    expect(made.model.batchTolerance).toBeUndefined();
    expect(made.measurement?.warnings?.join()).toMatch(
      /the first node that mixes rows is DynamicQuantizeLinear "quantize"; `batchTolerance` would have to be 0\.0/,
    );
  });

  it('is planned in batches within a tolerance that profile, plan and validation show', async () => {
    const { profile: made } = await profile({ batchTolerance: TOLERANCE });
    expect(made.model).toMatchObject({ batchTolerance: TOLERANCE });
    expect(made.model.fixedBatch).toBeUndefined();
    await makeBatchesCheap(at('model.profile.json'));
    const solved = await solveSpec(at('spec.yaml'), { output: at('plan.json') });
    if (solved.outcome !== 'plan') throw new Error(solved.outcome);
    expect(solved.plan.models[0]?.batchTolerance).toBe(TOLERANCE);
    expect(solved.warnings.join()).toMatch(said);
    expect(solved.plan.notes?.join()).toMatch(said);
    for (const file of ['plan.json', 'model.profile.json'])
      expect(await validateFiles([at(file)])).toMatchObject([
        { ok: true, what: expect.stringMatching(said) },
      ]);
    const cut = { devices: DEVICES, blocks: 1, method: 'greedy', boundary: 'exact' } as const;
    const part = await partitionModelFile(at('model.onnx'), { ...cut, profile: at('model.profile.json') });
    expect(part.profile.model.batchTolerance).toBe(TOLERANCE);
  });

  it('is not planned by a plan that hides the tolerance', async () => {
    const text = await readFile(at('plan.json'), 'utf8');
    const hidden = JSON.parse(text);
    delete hidden.models[0].batchTolerance;
    await writeFile(at('plan.json'), JSON.stringify(hidden));
    expect(await validateFiles([at('plan.json')])).toMatchObject([
      { ok: false, message: expect.stringMatching(/batchTolerance: is absent; the profile has 0\.05/) },
    ]);
    await writeFile(at('plan.json'), text);
  });

  inWholeRun('is deployed and answers the rows of a batch within the tolerance', async () => {
    await deployPlan(at('plan.json'), { output: at('bundle') });
    const { served, alone } = await answers(2, [8]);
    const largest = Math.max(...alone.map(Math.abs));
    expect(served.length).toBe(alone.length);
    served.forEach((value, i) => {
      expect(Math.abs(value - alone[i]!)).toBeLessThan(TOLERANCE * largest);
    });
  });
});

describe('a model that makes its answer of all rows of a batch', () => {
  /** The answers of 24 clients at once, each with one row of one to four large values. */
  async function served(rows: readonly (readonly number[])[]): Promise<number[][]> {
    const server = await serveBundle(at('bundle'), { port: 0 });
    try {
      return await Promise.all(
        rows.map(async (data) => {
          const inputs = [{ name: 'x', shape: [1, FEATURES], datatype: 'FP32', data }];
          const body = JSON.stringify({ inputs });
          const response = await fetch(`${server.url}/v2/models/model/infer`, { method: 'POST', body });
          expect(response.status).toBe(200);
          return ((await response.json()) as { outputs: { data: number[] }[] }).outputs[0]!.data;
        }),
      );
    } finally {
      await server.close();
    }
  }

  it.each(fewOf(['a list of what passes a threshold', 'an early exit by the largest value'], 1))(
    'gives each of 24 clients at once what is its own: %s',
    async (name) => {
      await writeFile(at('model.onnx'), rowModel(MIXING[name]!.model));
      const { profile: made } = await profile({ batch: [1, 2, 4] });
      expect(made.model.fixedBatch).toBe(1);
      expect((await solveSpec(at('spec.yaml'), { output: at('plan.json') })).outcome).toBe('plan');
      await deployPlan(at('plan.json'), { output: at('bundle') });
      const rows = Array.from({ length: 24 }, (_, client) =>
        Array.from({ length: FEATURES }, (_, i) =>
          i <= client % 4 ? (client % 3) + 2.5 + client / 100 : -client / 100,
        ),
      );
      const session = await InferenceSession.create(at('model.onnx'));
      for (const [client, answer] of (await served(rows)).entries()) {
        const x = new Tensor('float32', Float32Array.from(rows[client]!), [1, FEATURES]);
        const own = Object.values(await session.run({ x }))[0]!.data as Float32Array;
        expect(answer).toEqual(Array.from(own, (value) => expect.closeTo(value, 4)));
      }
      await session.release();
    },
  );
});

if (WHOLE)
  describe('a model that does not run on zeros', () => {
    const ZEROLESS: [string, string | number, object][] = [
      ['a symbolic batch', 'n', {}],
      ['a fixed batch', 1, {}],
      ['its input filled', 'n', { fill: { x: 0.5 } }],
    ];
    it.each(ZEROLESS)('is served once it was profiled: %s', async (_, batch, options) => {
      await writeFile(at('model.onnx'), rowModel(looksUp(8), batch));
      const { profile: made } = await profile(options);
      expect(made.model.fixedBatch).toBeUndefined();
      await makeBatchesCheap(at('model.profile.json'));
      expect((await solveSpec(at('spec.yaml'), { output: at('plan.json') })).outcome).toBe('plan');
      await deployPlan(at('plan.json'), { output: at('bundle') });
      const server = await serveBundle(at('bundle'), { port: 0 });
      try {
        const infer = async (data: readonly number[]) => {
          const inputs = [{ name: 'x', shape: [1, FEATURES], datatype: 'FP32', data }];
          const body = JSON.stringify({ inputs });
          return fetch(`${server.url}/v2/models/model/infer`, { method: 'POST', body });
        };
        const response = await infer([1, 2, 3, 4, 5, 6, 7, 8]);
        expect(response.status).toBe(200);
        const { outputs } = (await response.json()) as { outputs: { data: number[] }[] };
        expect(outputs[0]?.data).toEqual([7, 6, 5, 4, 3, 2, 1, 0]);
        expect((await infer(new Array<number>(FEATURES).fill(0))).status).not.toBe(200);
      } finally {
        await server.close();
      }
    });
  });

it('reports an output that is no tensor in profile, plan and bundle, and serves the tensors beside it', async () => {
  const ml = 'ai.onnx.ml';
  const classes = { domain: ml, attributes: [w.attribute.strings('classlabels_strings', ['a', 'b'])] };
  const graph = w.graph({
    nodes: [
      w.node('Relu', ['x'], ['r']),
      w.node('Softmax', ['r'], ['p']),
      w.node('ZipMap', ['p'], ['named'], classes),
    ],
    inputs: [w.value('x', w.FLOAT, ['n', 2])],
    outputs: [w.value('p', w.FLOAT, ['n', 2]), w.maps('named')],
  });
  await writeFile(at('model.onnx'), w.model(graph, { opsets: { '': 17, [ml]: 3 } }));
  const { profile: made } = await profile();
  expect(made.model.unservedOutputs).toEqual(['named']);
  const noCuts = made.layers?.map(({ noCut }) => noCut);
  expect(noCuts).toEqual([undefined, 'nothing after it gives an output that is a tensor', undefined]);
  const solved = await solveSpec(at('spec.yaml'), { output: at('plan.json') });
  if (solved.outcome !== 'plan') throw new Error(solved.outcome);
  const said = 'output named is not a tensor: it is not served';
  expect(solved.plan.notes).toContain(`model: ${said}`);
  await deployPlan(at('plan.json'), { output: at('bundle') });
  const files = ['model.onnx', 'model.profile.json', 'plan.json', 'bundle'];
  for (const told of await validateFiles(files.map(at)))
    expect(told).toMatchObject({ ok: true, what: expect.stringContaining(said) });
  const server = await serveBundle(at('bundle'), { port: 0 });
  try {
    const body = JSON.stringify({ inputs: [{ name: 'x', shape: [1, 2], datatype: 'FP32', data: [1, 1] }] });
    const response = await fetch(`${server.url}/v2/models/model/infer`, { method: 'POST', body });
    expect(await response.json()).toMatchObject({ outputs: [{ name: 'p', data: [0.5, 0.5] }] });
  } finally {
    await server.close();
  }
});
