import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { bertExported, gptExported } from '../../examples/models/exported-text.js';
import { vitExported } from '../../examples/models/exported-vit.js';
import { type Executor, stackBatch, startExecutor, type Tensors } from '../../src/execution/index.js';
import { type Cut, extractPartition } from '../../src/onnx/index.js';
import { type PreparedModel, prepareModel } from '../../src/profiler/index.js';
import { cases, fewOf, inWholeRunOnly, LONG, WHOLE } from '../cases.js';
import { spread } from '../onnx/runtime.js';
import { hasShared, sharedFile } from '../onnx/shared.js';

const folder = mkdtempSync(join(tmpdir(), 'inferplan-exported-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const CPU = { provider: 'cpu', threads: 1 } as const;
const DIMS = { sequence: 12 };
const BUILT = {
  bertExported: () => bertExported({ vocab: 500 }),
  gptExported: () => gptExported({ vocab: 500 }),
  vitExported: () => vitExported({ image: 32 }),
};
const CASES = Object.entries(BUILT);

const known = new Map<string, Promise<PreparedModel>>();

/** prepared prepares each model once for all tests. */
function prepared(name: string, build: () => Uint8Array): Promise<PreparedModel> {
  const path = join(folder, `${name}.onnx`);
  const before = known.get(name);
  if (before !== undefined) return before;
  writeFileSync(path, build());
  const now = prepareModel(path, { device: CPU, dims: name === 'vitExported' ? {} : DIMS });
  known.set(name, now);
  return now;
}

function validCuts({ cuts, layers }: PreparedModel): Cut[] {
  return cuts.filter((_, index) => layers[index]!.noCut === undefined);
}

/** placesBetween says how many places to cut lie between nodes that compute neither constants nor sizes. */
function placesBetween({ layers }: PreparedModel): { all: number; valid: number } {
  const same = /^the node before it is (constant|repeated)|^nothing is left/;
  const places = layers.slice(0, -1).filter(({ noCut }) => !same.test(noCut ?? ''));
  return { all: places.length, valid: places.filter(({ noCut }) => noCut === undefined).length };
}

/** chained runs the partitions between some cuts in turn, and gives the tensors by name. */
async function chained(
  executor: Executor,
  { model, types, cuts }: PreparedModel,
  { at, feeds }: { at: readonly Cut[]; feeds: Tensors },
): Promise<Tensors> {
  const tensors = { ...feeds };
  const ends = [0, ...at.map(({ position }) => position), model.graph.nodes.length];
  for (const [k, to] of ends.slice(1).entries()) {
    const part = extractPartition(model, { from: ends[k]!, to, types, cuts });
    const path = join(folder, 'part.onnx');
    writeFileSync(path, part.bytes);
    const loaded = await executor.load(path, { optimization: 'disabled' });
    const given = Object.fromEntries(part.inputs.map((name) => [name, tensors[name]!]));
    Object.assign(tensors, (await executor.run(loaded.model, given, part.outputs)).outputs);
    await executor.release(loaded.model);
  }
  return tensors;
}

describe('models as exporters write transformers', () => {
  it.each(fewOf(CASES, 1))(
    'can be cut at every place of %s that is not the same as another',
    async (name, build) => {
      const { all, valid } = placesBetween(await prepared(name, build));
      expect(all).toBeGreaterThan(75);
      expect(valid).toBe(all);
    },
  );

  it.each(inWholeRunOnly(CASES))(
    'give %s’s own answers from chains at many cuts, for one request and for three',
    async (name, build) => {
      const model = await prepared(name, build);
      const some = spread(validCuts(model), cases(8, 20));
      const executor = await startExecutor(CPU);
      const stacked = Object.fromEntries(
        model.inputs.map((spec) => [spec.name, stackBatch(new Array(3).fill(model.request[spec.name]!), 0)]),
      );
      try {
        for (const feeds of [model.request, stacked]) {
          const whole = await chained(executor, model, { at: [], feeds });
          for (const at of [some, ...spread(some, cases(2, 20)).map((cut) => [cut])]) {
            const answer = await chained(executor, model, { at, feeds });
            for (const { name: output } of model.outputs)
              expect(answer[output]!.data).toEqual(whole[output]!.data);
          }
        }
      } finally {
        await executor.close();
      }
    },
  );

  it('sends token lists instead of the mask that is made of them', async () => {
    const { cuts, layers, tensors } = await prepared('bertExported', BUILT.bertExported);
    const at = layers.findIndex(({ name }) => name === 'layer0.feed.norm');
    expect(cuts[at]?.tensors).toEqual(['input_ids', 'padding.unsqueeze_out', 'layer0.feed.norm_out']);
    expect(layers[at]?.cutBytes).toBe((12 + 12) * 8 + 12 * 64 * 4);
    const mask = tensors.get('padding.mask_out');
    expect(mask?.kind === 'tensor' && mask.spec.shape).toEqual([1, 1, 12, 12]);
  });
});

const published = WHOLE ? describe.skipIf(!hasShared) : undefined;
published?.('published models', () => {
  const SIZES: Record<string, { dims: Record<string, number>; fill?: Record<string, number> }> = {
    bert_toy: { dims: { max_seq_len_in_batch: 12 } },
    yunet_n_dynamic: { dims: { height: 64, width: 96 } },
    tinyvit_demo: { dims: {} },
    ...(LONG ? { gpt2_past: { dims: { seq_len: 3 }, fill: { input_ids: 1 } } } : {}),
  };
  it.each(Object.entries(SIZES))(
    'can be cut at every place of %s that is not the same as another',
    async (name, how) => {
      const model = await prepareModel(sharedFile(`${name}.onnx`), { device: CPU, ...how });
      const { all, valid } = placesBetween(model);
      expect(all).toBeGreaterThan(100);
      expect(valid).toBe(all);
    },
  );
});
