import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { driveLoad, type RunningServer, serveBundle } from '../../src/runtime/index.js';
import { inputOf, isRight, twoPartitions, writeBundle } from './tiny-bundle.js';

const inputs = Array.from({ length: 16 }, (_, i) => ({ x: inputOf(i) }));
const check = (response: { inputs: object; outputs: object }) =>
  isRight(response.inputs as never, response.outputs as never);

describe('serveBundle() under driveLoad()', () => {
  let bundle: Awaited<ReturnType<typeof writeBundle>>;
  let server: RunningServer;
  beforeAll(async () => {
    bundle = await writeBundle(twoPartitions());
    server = await serveBundle(bundle.folder, { port: 0 });
  });
  afterAll(async () => {
    await server.close();
    await bundle.remove();
  });

  it("answers everything at a modest rate, every answer the model's own", async () => {
    const report = await driveLoad(server.url, { rps: 200, durationS: 2, seed: 1, inputs, check });
    expect(report.failures).toEqual({});
    expect(report.answered).toBe(report.sent);
  });
});
