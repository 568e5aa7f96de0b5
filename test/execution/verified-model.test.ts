import { mkdtemp, open, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ChangedModelError, type Executor, startExecutor } from '../../src/execution/index.js';
import { sha256Of } from '../../src/formats/index.js';
import * as w from '../onnx/writer.js';

let executor: Executor;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-verified-'));
  executor = await startExecutor({ provider: 'cpu', threads: 1 });
});
afterAll(async () => {
  await executor.close();
  await rm(folder, { recursive: true });
});

/** ONNX Runtime maps data of this size, and copies what is smaller. */
const COUNT = 1 << 16;
const weights = (value: number): Buffer => Buffer.from(new Float32Array(COUNT).fill(value).buffer);

async function made(name: string) {
  const tensor = w.externalFloats('v', [COUNT], {
    location: `${name}.data`,
    offset: '0',
    length: String(4 * COUNT),
  });
  const graph = w.graph({
    nodes: [w.node('Mul', ['x', 'v'], ['y'])],
    initializers: [tensor],
    inputs: [w.value('x', w.FLOAT, [COUNT])],
    outputs: [w.value('y', w.FLOAT, [COUNT])],
  });
  const bytes = w.model(graph);
  const path = join(folder, `${name}.onnx`);
  const data = { path: join(folder, `${name}.data`), sha256: sha256Of(weights(2)) };
  await writeFile(path, bytes);
  await writeFile(data.path, weights(2));
  return { path, digests: { sha256: sha256Of(bytes), data: [data] }, data: data.path };
}

async function answer(model: number): Promise<number> {
  const x = { dtype: 'float32', dims: [COUNT], data: new Float32Array(COUNT).fill(1) } as const;
  const { outputs } = await executor.run(model, { x });
  return (outputs.y!.data as Float32Array)[COUNT - 1]!;
}

describe('An executor that loads a model by its digests', () => {
  it('loads it with its external data', async () => {
    const { path, digests } = await made('right');
    expect(await answer((await executor.load(path, { digests })).model)).toBe(2);
  });

  it('computes the same when the external data is written to in place afterwards, which would change a mapped file', async () => {
    const { path, digests, data } = await made('written');
    const [verified, mapped] = [await executor.load(path, { digests }), await executor.load(path)];
    const file = await open(data, 'r+');
    await file.write(weights(7), 0, 4 * COUNT, 0);
    await file.close();
    expect(await answer(verified.model)).toBe(2);
    expect(await answer(mapped.model)).toBe(7);
  });

  it.each([
    ['external data', 'changed-data', (one: Awaited<ReturnType<typeof made>>) => one.data],
    ['ONNX file', 'changed-model', (one: Awaited<ReturnType<typeof made>>) => one.path],
  ])('refuses it where its %s is another one, with file and digests', async (_, name, fileOf) => {
    const one = await made(name);
    const [file, other] = [fileOf(one), weights(3)];
    await writeFile(`${file}.new`, other);
    await rename(`${file}.new`, file);
    const { data, sha256 } = one.digests;
    const wanted = file === one.path ? sha256 : data[0]!.sha256;
    const loading = executor.load(one.path, { digests: one.digests });
    await expect(loading).rejects.toThrow(ChangedModelError);
    await expect(loading).rejects.toThrow(
      `${file} is not the file that was deployed: its sha256 is ${sha256Of(other)}, the manifest says ${wanted}`,
    );
  });

  it('reports every file that is missing or changed at once', async () => {
    const { path, digests, data } = await made('both');
    await writeFile(path, 'no model');
    await rm(data);
    const loading = executor.load(path, { digests });
    await expect(loading).rejects.toThrow(`${path} is not the file`);
    await expect(loading).rejects.toThrow(`${data} is missing`);
  });

  it('refuses external data that the digests do not name, or that lies elsewhere', async () => {
    const { path, digests } = await made('unnamed');
    await expect(executor.load(path, { digests: { ...digests, data: [] } })).rejects.toThrow('External data');
    const outside = [{ path: join(tmpdir(), 'elsewhere.data'), sha256: digests.data[0]!.sha256 }];
    await expect(executor.load(path, { digests: { ...digests, data: outside } })).rejects.toThrow(
      'lies outside the folder of its model',
    );
  });
});
