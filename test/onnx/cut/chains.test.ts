import onnxProto from 'onnx-proto';
import * as ort from 'onnxruntime-node';
import { describe, expect, it } from 'vitest';
import { exposeTensors, extractPartition, type OnnxModel, readModel } from '../../../src/onnx/index.js';
import { feedsOf, sharedModel, tensorOutputs } from '../feeds.js';
import { relativeError, run, runChain, spread, type Tensors, validCuts } from '../runtime.js';
import { hasShared, sharedBytes, sharedModels } from '../shared.js';

const CUTS = 20;
/** These models run long or have thousands of nodes, so fewer of their cuts are tried as two-partition chains. */
const SLOW = /dnsmos|densenet|resnet50|inception|gpt2|super_res/;
const FEWER_CUTS = 2;
const TOLERANCE = 1e-4;

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

describe.skipIf(!hasShared)('partitions of the shared models, chained', () => {
  it.each(
    sharedModels(),
  )('extractPartition() cuts %s at up to 20 places without changing its answer', async (name) => {
    const model = comparable(name);
    const feeds = feedsOf(name, model);
    const outputs = tensorOutputs(model);
    const { types, cuts } = await validCuts(model, feeds);
    const positions = spread(cuts, CUTS).map((cut) => cut.position);
    expect(positions.length).toBeGreaterThan(name.startsWith('silero') ? 2 : 8);

    const exact = { level: 'disabled', types, outputs } as const;
    const unoptimized = await run(model.bytes, feeds, exact);
    expectSame(await runChain(model, positions, feeds, exact), unoptimized);
    for (const position of SLOW.test(name) ? spread(positions, FEWER_CUTS) : positions)
      expectSame(await runChain(model, [position], feeds, exact), unoptimized);

    const optimized = await run(model.bytes, feeds, { level: 'all', outputs });
    expectNear(await runChain(model, positions, feeds, { ...exact, level: 'all' }), optimized);
  });

  it.each([
    'resnet50',
    'squeezenet',
    'densenet121',
    'inception_v1',
    'shufflenet',
  ])('extractPartition() of light_%s gives the published output through four partitions', async (short) => {
    const model = sharedModel(`light_${short}.onnx`);
    const input = model.graph.inputs[0]!;
    const size = 3 * 224 * 224;
    const ramp = Float32Array.from({ length: size }, (_, i) => i / size);
    const feeds = { [input.name]: new ort.Tensor('float32', ramp, [1, 3, 224, 224]) };
    const { types, cuts } = await validCuts(model, feeds);
    const positions = [0.2, 0.5, 0.8].map((at) => cuts[Math.floor(at * cuts.length)]!.position);
    const [output] = tensorOutputs(model) as [string];
    const chained = await runChain(model, positions, feeds, { level: 'all', types, outputs: [output] });
    const published = onnxProto.onnx.TensorProto.decode(sharedBytes(`light_${short}_output_0.pb`));
    const raw = published.rawData!;
    const values = new Float32Array(raw.buffer.slice(raw.byteOffset, raw.byteOffset + raw.byteLength));
    const error = relativeError(chained[output]!, new ort.Tensor('float32', values, chained[output]!.dims));
    expect(error).toBeLessThan(TOLERANCE);
  });

  it('extractPartition() with boundary float16 sends half the bytes under one name on both sides', async () => {
    const model = sharedModel('squeezenet.onnx');
    const feeds = feedsOf('squeezenet.onnx', model);
    const { types, cuts } = await validCuts(model, feeds);
    const { position, tensors } = cuts[30]!;
    const options = { types, boundary: 'float16' } as const;
    const first = extractPartition(model, { from: 0, to: position, ...options });
    const second = extractPartition(model, { from: position, to: model.graph.nodes.length, ...options });
    expect(first.outputs).toEqual(tensors.map((tensor) => `${tensor}/float16`));
    expect(second.inputs).toEqual(first.outputs);
    const sent = await run(first.bytes, feeds, { level: 'all' });
    for (const name of first.outputs) expect(sent[name]!.type).toBe('float16');
  });

  it.each([
    'yolox_nano.onnx',
    'tinyvit_demo.onnx',
    'bert_toy.onnx',
    'gpt2_past.onnx',
  ])('extractPartition() with boundary float16 changes %s by little', async (name) => {
    const model = sharedModel(name);
    const feeds = feedsOf(name, model);
    const outputs = tensorOutputs(model);
    const { types, cuts } = await validCuts(model, feeds);
    const positions = spread(cuts, 5).map((cut) => cut.position);
    const options = { level: 'all', types, outputs, boundary: 'float16' } as const;
    const halved = await runChain(model, positions, feeds, options);
    const whole = await run(model.bytes, feeds, { level: 'all', outputs });
    const errors = outputs.map((output) => relativeError(halved[output]!, whole[output]!));
    expect(Math.max(...errors)).toBeGreaterThan(0);
    expect(Math.max(...errors)).toBeLessThan(0.02);
  });
});
