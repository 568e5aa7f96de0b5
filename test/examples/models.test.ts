import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import onnxProto from 'onnx-proto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bert } from '../../examples/models/bert.js';
import { mobilenetv2 } from '../../examples/models/mobilenetv2.js';
import { resnet18 } from '../../examples/models/resnet18.js';
import { unet } from '../../examples/models/unet.js';
import {
  type Executor,
  type LoadedModel,
  randomTensor,
  splitBatch,
  stackBatch,
  startExecutor,
  type Tensors,
} from '../../src/execution/index.js';
import { streamOf } from '../../src/random/index.js';
import { cases, describeInWholeRun, fewOf, LONG, WHOLE } from '../cases.js';

const folder = mkdtempSync(join(tmpdir(), 'inferplan-models-'));
let executor: Executor;
beforeAll(async () => {
  executor = await startExecutor({ provider: 'cpu', threads: 1 });
});
afterAll(async () => {
  await executor.close();
  rmSync(folder, { recursive: true, force: true });
});

const SMALL = {
  resnet18: () => resnet18({ image: 64, widthMultiplier: 0.5, classes: 100 }),
  mobilenetv2: () => mobilenetv2({ image: 64, widthMultiplier: 0.5, classes: 100 }),
  bert: () => bert({ vocab: 500, seq: 24 }),
  unet: () => unet({ image: 32, widthMultiplier: 0.25 }),
};
const BATCHES = cases([2, 5], [2, 4, 8]);
const CASES = Object.entries(SMALL);

async function load(name: string, bytes: Uint8Array): Promise<LoadedModel> {
  const path = join(folder, `${name}.onnx`);
  writeFileSync(path, bytes);
  return await executor.load(path);
}

/** request makes one request's inputs: an image, or tokens of which the last third is masked. */
function request({ inputInfo }: LoadedModel, seed: number): Tensors {
  const { uniform } = streamOf(seed, 'inputs');
  return Object.fromEntries(
    inputInfo.map(({ name, dtype, shape }) => {
      const dims = [1, ...(shape!.slice(1) as number[])];
      const tensor = randomTensor({ dtype: dtype!, dims }, uniform, {
        low: 0,
        high: dtype === 'int64' ? 500 : 1,
      });
      if (name !== 'attention_mask') return [name, tensor];
      const mask = BigInt64Array.from({ length: dims[1]! }, (_, i) => (i < (dims[1]! * 2) / 3 ? 1n : 0n));
      return [name, { ...tensor, data: mask }];
    }),
  );
}

function stackRequests(requests: readonly Tensors[]): Tensors {
  return Object.fromEntries(
    Object.keys(requests[0]!).map((name) => [
      name,
      stackBatch(
        requests.map((one) => one[name]!),
        0,
      ),
    ]),
  );
}

function spread(values: Float32Array): { deviation: number; most: number } {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
  return { deviation: Math.sqrt(variance), most: values.reduce((most, v) => Math.max(most, Math.abs(v)), 0) };
}

function furthest(a: Float32Array, b: Float32Array): number {
  return a.reduce((most, value, i) => Math.max(most, Math.abs(value - b[i]!)), 0);
}

describe.each(fewOf(CASES, 2))('%s()', (name, build) => {
  it('runs at several batch sizes, with the same result for every row as alone', async () => {
    const loaded = await load(name, build());
    const requests = Array.from({ length: Math.max(...BATCHES) }, (_, i) => request(loaded, i));
    const alone: Tensors[] = [];
    for (const one of requests) alone.push((await executor.run(loaded.model, one)).outputs);
    for (const batch of BATCHES) {
      const { outputs } = await executor.run(loaded.model, stackRequests(requests.slice(0, batch)));
      for (const output of loaded.outputs) {
        const rows = splitBatch(outputs[output]!, 0, new Array<number>(batch).fill(1));
        rows.forEach((row, i) => {
          const expected = alone[i]![output]!.data as Float32Array;
          const tolerance = 1e-4 * spread(expected).most;
          expect(furthest(row.data as Float32Array, expected), `batch ${batch} row ${i}`).toBeLessThan(
            tolerance,
          );
        });
      }
    }
    await executor.release(loaded.model);
  });

  it('gives finite outputs that vary and depend on the input', async () => {
    const loaded = await load(name, build());
    const [one, other] = [
      (await executor.run(loaded.model, request(loaded, 1))).outputs,
      (await executor.run(loaded.model, request(loaded, 2))).outputs,
    ];
    for (const output of loaded.outputs) {
      const values = one[output]!.data as Float32Array;
      const { deviation, most } = spread(values);
      expect(most).toBeLessThan(100);
      expect(deviation).toBeGreaterThan(0.05);
      expect(furthest(values, other[output]!.data as Float32Array)).toBeGreaterThan(0.05 * deviation);
    }
    await executor.release(loaded.model);
  });

  it('writes the same bytes for the same seed, and other bytes for another seed', () => {
    const builders = { resnet18, mobilenetv2, bert, unet };
    const small = { vocab: 50, image: 32, widthMultiplier: 0.25 };
    const seeded = (seed: number) => Buffer.from(builders[name as keyof typeof builders]({ ...small, seed }));
    expect(seeded(7).equals(seeded(7))).toBe(true);
    expect(seeded(7).equals(seeded(8))).toBe(false);
  });

  it('has a symbolic batch first on every input and output', () => {
    const { graph } = onnxProto.onnx.ModelProto.decode(build());
    for (const value of [...graph!.input!, ...graph!.output!]) {
      expect(value.type!.tensorType!.shape!.dim![0]!.dimParam).toBe('batch');
    }
  });
});

/**
 * parameters counts trainable values: those that are neither running statistics nor constants of the
 * arithmetic.
 */
function parameters(model: Uint8Array): number {
  const { graph } = onnxProto.onnx.ModelProto.decode(model);
  const trained = graph!.initializer!.filter(
    ({ name, dataType, dims }) => dataType === 1 && dims!.length > 0 && !name!.includes('running_'),
  );
  return trained.reduce((sum, { dims }) => sum + dims!.reduce<number>((n, dim) => n * Number(dim), 1), 0);
}

if (WHOLE)
  describe('parameter counts', () => {
    it('are those of the published architectures', () => {
      expect(parameters(resnet18())).toBe(11_689_512);
      expect(parameters(mobilenetv2())).toBe(3_504_872);
      // The weights of this model are half a gigabyte.
      if (LONG) expect(parameters(bert({ size: 'base' }))).toBe(109_482_240);
      expect(parameters(bert({ size: 'tiny' }))).toBe(4_385_920);
    });
  });

describe('bert()', () => {
  it('keeps masked tokens from changing the others', async () => {
    const loaded = await load('bert', SMALL.bert());
    const feeds = request(loaded, 3);
    const ids = Array.from(feeds.input_ids!.data as BigInt64Array);
    const changed = BigInt64Array.from(ids, (id, i) => (i >= 16 ? (id + 1n) % 500n : id));
    const other = { ...feeds, input_ids: { ...feeds.input_ids!, data: changed } };
    const pooled = async (one: Tensors) =>
      (await executor.run(loaded.model, one)).outputs.pooler_output!.data as Float32Array;
    expect(furthest(await pooled(feeds), await pooled(other))).toBeLessThan(1e-6);
    await executor.release(loaded.model);
  });
});

describeInWholeRun('build.js', () => {
  const build = (...args: string[]) =>
    spawnSync(
      process.execPath,
      [createRequire(import.meta.url).resolve('#dist/examples/models/build.js'), ...args],
      { encoding: 'utf8' },
    );

  it('writes the file of the function of the same name', () => {
    const out = join(folder, 'built');
    const { status, stdout } = build(
      'resnet18',
      '--image',
      '32',
      '--width-multiplier',
      '0.25',
      '--seed',
      '5',
      '--out',
      out,
    );
    const file = join(out, 'resnet18.onnx');
    expect({ status, stdout }).toEqual({ status: 0, stdout: `${file}\n` });
    expect(readFileSync(file).equals(resnet18({ image: 32, widthMultiplier: 0.25, seed: 5 }))).toBe(true);
  });

  it('reports all wrong options, exits with 2 and writes nothing', () => {
    const out = join(folder, 'never');
    const { status, stderr } = build('bert', '--hidden', '10', '--heads', '3', '--layers', 'x', '--out', out);
    expect(status).toBe(2);
    expect(stderr).toMatch(/--layers: is "x".*--heads: is 3, which does not divide 10/s);
    expect(stderr).not.toContain('at ');
    expect(existsSync(out)).toBe(false);
    if (!WHOLE) return;
    expect(build('resnet', '--out', out)).toMatchObject({ status: 2 });
    expect(build('unet', '--image', '40', '--out', out).stderr).toContain('a multiple of 16');
    expect(build('bert', '--image', '64', '--out', out).stderr).toContain('is not an option of bert');
    expect(existsSync(out)).toBe(false);
  });
});
