import { describe, expect, it } from 'vitest';
import { bert } from '../../../examples/models/bert.js';
import { mobilenetv2 } from '../../../examples/models/mobilenetv2.js';
import { unet } from '../../../examples/models/unet.js';
import {
  batchDim,
  bindDims,
  exposeTensors,
  makeBatchSymbolic,
  type OnnxModel,
  readModel,
} from '../../../src/onnx/index.js';
import { cases } from '../../cases.js';
import { feedsOf, sharedModel, tensorOutputs } from '../feeds.js';
import { convChain, openSizes } from '../made-models.js';
import { relativeError, run, runEach, type Tensors } from '../runtime.js';
import { hasShared } from '../shared.js';
import { rowOf, stacked } from '../stacking.js';

const BATCHES = [1, 2, 4, 8];
const TOLERANCE = 1e-4;
const DIMS: Record<string, Record<string, number>> = {
  yunet_n_dynamic: { height: 64, width: 96 },
  bert_toy: { max_seq_len_in_batch: 12 },
};
const SYMBOLIC = [
  'squeezenet',
  'dnsmos_sig_bak_ovr',
  'super_resolution',
  'yunet_n_dynamic',
  'bert_toy',
  'gpt2_past',
  'basic_pitch',
];
const FIXED = [
  'light_resnet50',
  'light_squeezenet',
  'light_inception_v1',
  'light_shufflenet',
  'light_densenet121',
  'dtln_stage1',
  'dtln_stage2',
  'mcunet',
  'shufflenet-v2-12-int8',
  'tinyvit_demo',
  'yolox_nano',
];
const QUICK = ['bert_toy', 'dtln_stage1', 'dtln_stage2', 'mcunet', 'yunet_n_dynamic'];
/** These models take a tenth of a second or more per run. They are tried at the largest batch, on three of its rows. */
const SLOW = /dnsmos|densenet|resnet50|super_res|inception/;

/**
 * squeezenet's ArgMax and ZipMap say little, and the light models' equal weights give the same answer to any input. So
 * the probabilities of the former and a few inner tensors of the latter are outputs too.
 */
function prepared(name: string): OnnxModel {
  const model = sharedModel(`${name}.onnx`);
  const inner = model.graph.nodes.filter((node) => node.op === 'Relu' || node.op === 'Softmax');
  const light = name.startsWith('light') ? [inner[0]!.outputs[0]!, inner.at(-1)!.inputs[0]!] : [];
  const maps = model.graph.nodes.filter((node) => node.op === 'ZipMap').flatMap((node) => node.inputs);
  return readModel(exposeTensors(readModel(bindDims(model, DIMS[name] ?? {})), [...maps, ...light]), {
    name,
  });
}

/** batchAxes finds the batch axis of each output, by two runs at different batches. */
function batchAxes(one: Tensors, many: Tensors): Map<string, number> {
  return new Map(
    Object.keys(one).map((name) => [
      name,
      one[name]!.dims.findIndex((dim, axis) => dim !== many[name]!.dims[axis]),
    ]),
  );
}

/** MADE gives models made for tests, and whether the batch of each is fixed. */
const MADE: Record<string, { fixed: boolean; build: () => OnnxModel }> = {
  convChain: { fixed: true, build: () => readModel(convChain(4)) },
  openSizes: { fixed: false, build: () => bound(openSizes(), { height: 6, width: 4 }) },
  mobilenetv2: {
    fixed: true,
    build: () => bound(mobilenetv2({ image: 32, widthMultiplier: 0.25 }), { batch: 1 }),
  },
  bert: {
    fixed: false,
    build: () => readModel(bert({ layers: 1, hidden: 16, heads: 2, vocab: 32, seq: 6 })),
  },
  unet: { fixed: true, build: () => bound(unet({ image: 16, widthMultiplier: 0.25 }), { batch: 1 }) },
};

function bound(bytes: Uint8Array, dims: Record<string, number>): OnnxModel {
  return readModel(bindDims(readModel(bytes), dims));
}

/**
 * expectRowsAsAlone runs a model made symbolic at each batch size, and compares its rows with runs of one request each.
 */
async function expectRowsAsAlone(
  original: OnnxModel,
  { name, fixed, slow }: { name: string; fixed: boolean; slow: boolean },
): Promise<void> {
  const made = makeBatchSymbolic(original);
  if (!made.ok) throw new Error(made.missing);
  const batched = readModel(made.bytes, { name });
  const axes = batchDim(batched);
  if (axes.kind !== 'symbolic') throw new Error(`the batch of ${name} is ${axes.kind}`);
  expect(made.changes.length > 0).toBe(fixed);

  const level = 'all';
  const outputs = tensorOutputs(original).filter((output) => output !== 'classLabel');
  const rows = Array.from({ length: 8 }, (_, seed) => feedsOf(name, original, seed));
  const checked = slow ? [0, 3, 7] : rows.map((_, row) => row);
  const answers = await runEach(
    original.bytes,
    checked.map((row) => rows[row]!),
    { level, outputs },
  );
  const alone = new Map(checked.map((row, index) => [row, answers[index]!]));
  const [first, second] = answers as [Tensors, Tensors];
  for (const size of slow ? [8] : BATCHES) {
    const together = await run(batched.bytes, stacked(rows.slice(0, size), axes.inputs), { level, outputs });
    if (size === 1) {
      for (const output of outputs) expect(together[output]!.dims).toEqual(first[output]!.dims);
      continue;
    }
    for (const [output, axis] of batchAxes(first, together)) {
      expect(together[output]!.dims[axis], output).toBe(size);
      for (const row of checked.filter((at) => at < size)) {
        const error = relativeError(rowOf(together[output]!, axis, row), alone.get(row)![output]!);
        expect(error, `${output}, row ${row} of ${size}`).toBeLessThan(TOLERANCE);
      }
    }
  }
  // Rows must differ, or a mix-up of rows would go unseen.
  const differences = outputs.map((output) => relativeError(first[output]!, second[output]!));
  expect(Math.max(...differences)).toBeGreaterThan(0);
}

describe('batches of generated models', () => {
  it.each(Object.entries(MADE))(
    'makeBatchSymbolic() runs %s at batch 1, 2, 4 and 8, every row as alone',
    async (name, { fixed, build }) => {
      await expectRowsAsAlone(build(), { name, fixed, slow: false });
    },
  );

  it('makeBatchSymbolic() changes the constant of convChain’s Reshape and says so', () => {
    const made = makeBatchSymbolic(readModel(convChain(1)));
    expect(made.ok && made.changes).toEqual([
      'the batch of "data", "probabilities" is "batch"',
      expect.stringMatching(/^Reshape "\S+": \[1, 4\] is \[0, 4\]$/),
    ]);
  });
});

describe.runIf(hasShared)('batches of the shared models', batchesOfShared);

function batchesOfShared(): void {
  it.each(cases(QUICK, [...SYMBOLIC, ...FIXED]))(
    'makeBatchSymbolic() runs %s at batch 1, 2, 4 and 8, every row as alone',
    async (name) => {
      const options = { name, fixed: FIXED.includes(name), slow: SLOW.test(name) };
      await expectRowsAsAlone(prepared(name), options);
    },
  );

  it('makeBatchSymbolic() changes the constant of light_resnet50’s Reshape and says so', () => {
    const made = makeBatchSymbolic(sharedModel('light_resnet50.onnx'));
    expect(made.ok && made.changes).toEqual([
      'the batch of "gpu_0/data_0", "gpu_0/softmax_1" is "batch"',
      'Reshape "n173": [1, 2048] is [0, 2048]',
    ]);
  });

  it('batchDim() says why silero_vad’s batch is ambiguous', () => {
    expect(makeBatchSymbolic(sharedModel('silero_vad.onnx'))).toEqual({
      ok: false,
      missing: 'inputs input, state have open axes without names, so nothing says which grow together',
    });
  });
}
