import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadServer } from '../../src/api/index.js';
import type { LoadDocument } from '../../src/formats/index.js';
import { serveBundle, twoPartitions } from '../runtime/tiny-bundle.js';

describe('a load whose report cannot be written', () => {
  let served: Awaited<ReturnType<typeof serveBundle>>;
  let folder: string;
  beforeAll(async () => {
    served = await serveBundle(twoPartitions(2, 60_000));
    folder = await mkdtemp(join(tmpdir(), 'inferplan-unwritten-'));
  });
  afterAll(async () => {
    await served.close();
    await chmod(folder, 0o700);
    await rm(folder, { recursive: true, force: true });
  });

  it('gives its figures before it is written', async () => {
    const told: LoadDocument[] = [];
    const load = loadServer(served.server.url, {
      rps: 40,
      durationS: 0.3,
      output: join(folder, 'load.json'),
      onReport: async (report) => {
        told.push(report);
        await rm(folder, { recursive: true });
      },
    });
    await expect(load).rejects.toThrow('load.json');
    expect(told).toHaveLength(1);
    expect(told[0]!.sent).toBeGreaterThan(0);
    folder = await mkdtemp(join(tmpdir(), 'inferplan-unwritten-'));
  });
});
