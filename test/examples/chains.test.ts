import * as ort from 'onnxruntime-node';
import { describe, expect, it } from 'vitest';
import { bert } from '../../examples/models/bert.js';
import { bertExported, gptExported } from '../../examples/models/exported-text.js';
import { vitExported } from '../../examples/models/exported-vit.js';
import { mobilenetv2 } from '../../examples/models/mobilenetv2.js';
import { resnet18 } from '../../examples/models/resnet18.js';
import { unet } from '../../examples/models/unet.js';
import { type OnnxModel, readModel } from '../../src/onnx/index.js';
import { streamOf } from '../../src/random/index.js';
import { cases, fewOf } from '../cases.js';
import { relativeError, run, runChain, spread, type Tensors, validCuts } from '../onnx/runtime.js';

const BATCH = 2;
/** The size of axes that are open besides the batch. */
const TOKENS = 12;
const CUTS = 20;
/** The number of cuts that are also tried alone. */
const SINGLE_CUTS = cases(5, CUTS);

const MODELS = {
  resnet18: () => resnet18({ image: 64, widthMultiplier: 0.5 }),
  mobilenetv2: () => mobilenetv2({ image: 64, widthMultiplier: 0.5 }),
  bert: () => bert({ size: 'mini', vocab: 500, seq: 16 }),
  unet: () => unet({ image: 32, widthMultiplier: 0.25 }),
  bertExported: () => bertExported({ vocab: 500 }),
  gptExported: () => gptExported({ vocab: 500 }),
  vitExported: () => vitExported({ image: 32 }),
};

function feedsOf(model: OnnxModel): Tensors {
  const { uniform, integer } = streamOf(4, 'inputs');
  return Object.fromEntries(
    model.graph.inputs.map(({ name, type }) => {
      if (type?.kind !== 'tensor') throw new Error(`${name} is not a tensor`);
      const dims = [BATCH, ...type.dims!.slice(1).map((dim) => (typeof dim === 'number' ? dim : TOKENS))];
      const length = dims.reduce((product, dim) => product * dim, 1);
      const most = name === 'attention_mask' ? 2 : 500;
      const values =
        type.dtype === 'int64'
          ? BigInt64Array.from({ length }, () => BigInt(integer(most)))
          : Float32Array.from({ length }, uniform);
      return [name, new ort.Tensor(type.dtype as 'float32', values as Float32Array, dims)];
    }),
  );
}

describe('partitions of the example models, chained', () => {
  it.each(fewOf(Object.entries(MODELS), 1))(
    'extractPartition() cuts %s at 20 places without changing its answer',
    async (name, build) => {
      const model = readModel(build(), { name });
      const feeds = feedsOf(model);
      const outputs = model.graph.outputs.map((output) => output.name);
      const { types, cuts } = await validCuts(model, feeds);
      const positions = spread(cuts, CUTS);
      expect(positions).toHaveLength(CUTS);

      const exact = { level: 'disabled', types, outputs } as const;
      const whole = await run(model.bytes, feeds, exact);
      const chains = [await runChain(model, positions, feeds, exact)];
      for (const position of spread(positions, SINGLE_CUTS))
        chains.push(await runChain(model, [position], feeds, exact));
      for (const chained of chains) {
        for (const output of outputs) expect(chained[output]!.data, output).toEqual(whole[output]!.data);
      }
      const optimized = await run(model.bytes, feeds, { level: 'all', outputs });
      const chained = await runChain(model, positions, feeds, { ...exact, level: 'all' });
      for (const output of outputs) {
        expect(relativeError(chained[output]!, optimized[output]!), output).toBeLessThan(1e-4);
      }
    },
  );
});
