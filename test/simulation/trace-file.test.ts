import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ToldFaults } from '../../src/artifacts/index.js';
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
});
