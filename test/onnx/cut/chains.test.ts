import onnxProto from 'onnx-proto';
import * as ort from 'onnxruntime-node';
import { describe, expect, it } from 'vitest';
import { bert } from '../../../examples/models/bert.js';
import { unet } from '../../../examples/models/unet.js';
import {
  bindDims,
  exposeTensors,
  extractPartition,
  type OnnxModel,
  readModel,
} from '../../../src/onnx/index.js';
import { cases, fewOf } from '../../cases.js';
import { feedsOf, sharedModel, tensorOutputs } from '../feeds.js';
import { MADE_MODELS } from '../made-models.js';
import { relativeError, run, runChain, spread, type Tensors, validCuts } from '../runtime.js';
import { hasShared, sharedBytes, sharedModels } from '../shared.js';

const CUTS = 20;
/** These models run long or have thousands of nodes, so fewer of their cuts are tried as two-partition chains. */
const SLOW = /dnsmos|densenet|resnet50|inception|gpt2|super_res/;
const FEWER_CUTS = 2;
const TOLERANCE = 1e-4;
const QUICK_MODELS = ['bert_toy', 'dtln_stage1', 'dtln_stage2', 'light_squeezenet', 'mcunet', 'silero_vad'];
const MODELS = cases(
  fewOf(QUICK_MODELS, 1).map((name) => `${name}.onnx`),
  sharedModels(),
);

/** comparable exposes squeezenet's probabilities, because its answer is a class's name and a sequence of maps. */
function comparable(name: string): OnnxModel {
  const model = sharedModel(name);
  const maps = model.graph.nodes.filter((node) => node.op === 'ZipMap').flatMap((node) => node.inputs);
  return maps.length === 0 ? model : readModel(exposeTensors(model, maps), { name });
}

function expectSame(actual: Tensors, expected: Tensors): void {
  for (const [name, tensor] of Object.entries(expected)) {
    expect(actual[name]!.dims, name).toEqual(tensor.dims);
    expect(Buffer.compare(bytesOf(actual[name]!), bytesOf(tensor)), name).toBe(0);
  }
}

function bytesOf(tensor: ort.Tensor): Buffer {
  const { data } = tensor;
  if (Array.isArray(data)) return Buffer.from(JSON.stringify(data));
  const { buffer, byteOffset, byteLength } = data as Float32Array;
  return Buffer.from(buffer, byteOffset, byteLength);
}

function expectNear(actual: Tensors, expected: Tensors): void {
  for (const [name, tensor] of Object.entries(expected)) {
    if (tensor.type === 'string') expect(actual[name]!.data).toEqual(tensor.data);
    else expect(relativeError(actual[name]!, tensor), name).toBeLessThan(TOLERANCE);
  }
}

/** expectChains cuts a model at each of the cuts, and at all of them at once, and compares the answers. */
async function expectChains(
  { model, feeds }: { model: OnnxModel; feeds: Tensors },
  { leastCuts, singleCuts = CUTS }: { leastCuts: number; singleCuts?: number },
): Promise<void> {
  const outputs = tensorOutputs(model);
  const { types, cuts } = await validCuts(model, feeds);
  const positions = spread(cuts, CUTS);
  expect(positions.length).toBeGreaterThanOrEqual(leastCuts);

  const exact = { level: 'disabled', types, outputs } as const;
  const unoptimized = await run(model.bytes, feeds, exact);
  expectSame(await runChain(model, positions, feeds, exact), unoptimized);
  for (const position of spread(positions, singleCuts))
    expectSame(await runChain(model, [position], feeds, exact), unoptimized);

  const optimized = await run(model.bytes, feeds, { level: 'all', outputs });
  expectNear(await runChain(model, positions, feeds, { ...exact, level: 'all' }), optimized);
}

/** expectLittleChange cuts a model at five places, sends float16, and expects answers that change, but by little. */
async function expectLittleChange(model: OnnxModel, feeds: Tensors): Promise<void> {
  const outputs = tensorOutputs(model);
  const { types, cuts } = await validCuts(model, feeds);
  const positions = spread(cuts, 5);
  const options = { level: 'all', types, outputs, boundary: 'float16' } as const;
  const halved = await runChain(model, positions, feeds, options);
  const whole = await run(model.bytes, feeds, { level: 'all', outputs });
  const errors = outputs.map((output) => relativeError(halved[output]!, whole[output]!));
  expect(Math.max(...errors)).toBeGreaterThan(0);
  expect(Math.max(...errors)).toBeLessThan(0.02);
}

/** EXAMPLES are small models of the kinds that are served: a transformer, and one whose skips cross many cuts. */
const EXAMPLES: Record<string, () => Uint8Array> = {
  bert: () => bert({ layers: 2, hidden: 16, heads: 2, vocab: 32, seq: 6 }),
  unet: () => unet({ image: 16, widthMultiplier: 0.25 }),
};

/** madeModel gives one of the models made here, with one request as its batch, and its inputs. */
function madeModel(name: string): { model: OnnxModel; feeds: Tensors } {
  const example = EXAMPLES[name];
  const bytes = example === undefined ? MADE_MODELS[name]!() : bindDims(readModel(example()), { batch: 1 });
  const model = readModel(bytes, { name });
  return { model, feeds: feedsOf(name, model) };
}

describe('partitions of generated models, chained', () => {
  it.each([
    ['convChain', 13],
    ['ownShape', 4],
    ['choosing', 3],
    ['ranksApart', 3],
    ['quantised', 4],
    ['bert', 9],
    ['unet', 9],
  ])(
    'extractPartition() cuts %s at %i places or more without changing its answer',
    async (name, leastCuts) => {
      await expectChains(madeModel(name), { leastCuts });
    },
  );

  it('extractPartition() with boundary float16 sends half the bytes under one name on both sides', async () => {
    const { model, feeds } = madeModel('convChain');
    const { types, cuts } = await validCuts(model, feeds);
    const { position, tensors } = cuts[5]!;
    const options = { types, boundary: 'float16', cuts } as const;
    const first = extractPartition(model, { from: 0, to: position, ...options });
    const second = extractPartition(model, { from: position, to: model.graph.nodes.length, ...options });
    expect(first.outputs).toEqual(tensors.map((tensor) => `${tensor}/float16`));
    expect(second.inputs).toEqual(first.outputs);
    const sent = await run(first.bytes, feeds, { level: 'all' });
    for (const name of first.outputs) expect(sent[name]!.type).toBe('float16');
  });

  it.each(fewOf(['convChain', 'bert', 'unet'], 1))(
    'extractPartition() with boundary float16 changes %s by little',
    async (name) => {
      const { model, feeds } = madeModel(name);
      await expectLittleChange(model, feeds);
    },
  );
});

describe('partitions of the shared models, chained', () => {
  it.each(hasShared ? MODELS : [])(
    'extractPartition() cuts %s at up to 20 places without changing its answer',
    async (name) => {
      const model = comparable(name);
      await expectChains(
        { model, feeds: feedsOf(name, model) },
        {
          leastCuts: name.startsWith('silero') ? 3 : 9,
          singleCuts: SLOW.test(name) ? FEWER_CUTS : CUTS,
        },
      );
    },
  );

  it
    .skipIf(!hasShared)
    .each(
      cases(fewOf(['squeezenet', 'inception_v1'], 1), [
        'resnet50',
        'squeezenet',
        'densenet121',
        'inception_v1',
        'shufflenet',
      ]),
    )('extractPartition() of light_%s gives the published output through four partitions', async (short) => {
    const model = sharedModel(`light_${short}.onnx`);
    const input = model.graph.inputs[0]!;
    const size = 3 * 224 * 224;
    const ramp = Float32Array.from({ length: size }, (_, i) => i / size);
    const feeds = { [input.name]: new ort.Tensor('float32', ramp, [1, 3, 224, 224]) };
    const { types, cuts } = await validCuts(model, feeds);
    const positions = [0.2, 0.5, 0.8].map((at) => cuts[Math.floor(at * cuts.length)]!);
    const [output] = tensorOutputs(model) as [string];
    const chained = await runChain(model, positions, feeds, { level: 'all', types, outputs: [output] });
    const published = onnxProto.onnx.TensorProto.decode(sharedBytes(`light_${short}_output_0.pb`));
    const raw = published.rawData!;
    const values = new Float32Array(raw.buffer.slice(raw.byteOffset, raw.byteOffset + raw.byteLength));
    const error = relativeError(chained[output]!, new ort.Tensor('float32', values, chained[output]!.dims));
    expect(error).toBeLessThan(TOLERANCE);
  });

  it.each(!hasShared ? [] : cases(['bert_toy'], ['yolox_nano', 'tinyvit_demo', 'bert_toy', 'gpt2_past']))(
    'extractPartition() with boundary float16 changes %s by little',
    async (name) => {
      const model = sharedModel(`${name}.onnx`);
      await expectLittleChange(model, feedsOf(name, model));
    },
  );
});
