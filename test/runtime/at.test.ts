import { afterEach, describe, expect, it } from 'vitest';
import { startServer } from '../../src/runtime/index.js';
import { inputOf, twoPartitions, writeBundle } from './tiny-bundle.js';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** served starts a server with the devices at a place alone, of a plan each of whose devices is a server: s0, s1 and so on. */
async function served(at: string, pipelines: 'chain' | 'chains') {
  const shape = twoPartitions();
  if (pipelines === 'chains') shape.pipelines.push(...twoPartitions().pipelines.slice(0, 1));
  if (pipelines === 'chains')
    for (const one of shape.pipelines) {
      one.blocks = [2];
      one.shape = { ...one.shape, parts: one.shape.parts.slice(0, 1) };
    }
  const { folder, remove } = await writeBundle(shape);
  closers.push(remove);
  const server = await startServer(folder, { port: 0, at });
  closers.push(() => server.close());
  return server;
}

describe('a server at a place of the plan', () => {
  it('runs the devices there alone, is ready by them, and answers', async () => {
    const server = await served('s1/gpu0', 'chains');
    expect(server.executorPids()).toHaveLength(1);
    expect((await fetch(`${server.url}/v2/health/ready`)).status).toBe(200);
    const { data } = inputOf(1);
    const body = JSON.stringify({
      inputs: [{ name: 'x', shape: [1, data.length], datatype: 'FP32', data: [...data] }],
    });
    expect((await fetch(`${server.url}/v2/models/tiny/infer`, { method: 'POST', body })).status).toBe(200);
  });

  it('is refused where no device is, and where no pipeline is whole', async () => {
    await expect(served('s9', 'chain')).rejects.toThrow(
      'is "s9", where the plan has no device; its servers are s0, s1',
    );
    await expect(served('s0', 'chain')).rejects.toThrow(
      'is "s0", whose devices serve no model from its first stage to its last',
    );
  });
});
