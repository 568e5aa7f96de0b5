import { mkdtemp, readdir, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { ToldFaults } from '../../src/formats/index.js';
import { readTraceFile } from '../../src/simulation/index.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-trace-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('readTraceFile()', () => {
  it('reads a trace up to a number of bytes, and refuses a longer one', async () => {
    const path = join(folder, 'trace.csv');
    const text = 'arrival_s\n0.5\n1\n';
    await writeFile(path, text);
    const told = new ToldFaults();
    expect((await readTraceFile(path, { mostBytes: text.length }, told))?.file.path).toBe(path);
    expect(told.count).toBe(0);
    expect(await readTraceFile(path, { mostBytes: text.length - 1 }, told)).toBeUndefined();
    expect(told.error('read').message).toContain('it holds more than 15 bytes; cut the trace');
  });

  it.each<[what: string, bytes: Buffer]>([
    ['UTF-16', Buffer.from('arrival_s\n0.5\n', 'utf16le')],
    ['zip', Buffer.from('PK\u0003\u0004 and more')],
    [
      'gzip that is damaged',
      Buffer.concat([gzipSync('arrival_s\n0.5\n').subarray(0, 12), Buffer.alloc(200_000, 7)]),
    ],
    ['a line that is no time', Buffer.from(`arrival_s\n0.5\nx\n${'1\n'.repeat(100_000)}`)],
  ])('closes a file of %s that it refuses', async (_what, bytes) => {
    const path = join(folder, 'refused');
    await writeFile(path, bytes);
    const told = new ToldFaults();
    expect(await readTraceFile(path, {}, told)).toBeUndefined();
    expect(told.count).toBeGreaterThan(0);
    await vi.waitFor(async () => expect(await openFiles()).not.toContain(path), { timeout: 10_000 });
  });
});

/** openFiles gives the paths of the files that this process has open, where the system tells. */
async function openFiles(): Promise<string[]> {
  const links = await readdir('/proc/self/fd').catch(() => []);
  return Promise.all(links.map((link) => readlink(join('/proc/self/fd', link)).catch(() => '')));
}
