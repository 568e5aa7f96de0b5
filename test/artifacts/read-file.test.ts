import { execFileSync } from 'node:child_process';
import { appendFile, mkdir, mkdtemp, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sha256OfFile } from '../../src/artifacts/index.js';
import { readInPieces, readWhole } from '../../src/artifacts/read-file.js';
import { InputError, MissingError } from '../../src/formats/index.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-read-'));
  await writeFile(join(folder, 'file'), 'some text');
  await mkdir(join(folder, 'folder'));
  execFileSync('mkfifo', [join(folder, 'pipe')]);
  await symlink('loop', join(folder, 'loop'));
});
afterAll(() => rm(folder, { recursive: true }));

const at = (name: string): string => join(folder, name);
const refusal = async (path: string, mostBytes?: number): Promise<unknown> =>
  await readWhole(path, mostBytes).then(
    (bytes) => bytes.toString(),
    (error: unknown) => error,
  );

describe('readWhole()', () => {
  it('waits for no file that gives what is yet to come', async () => {
    // The kernel's log is a plain file to `stat`, and a read of it waits for the next line.
    if (process.platform !== 'linux' || process.getuid?.() !== 0)
      return console.log('the kernel lets root alone read its log');
    for (const read of [readWhole, sha256OfFile]) {
      const told = await read('/proc/kmsg').then(
        (found) => `read ${found.length}`,
        (error: Error) => error.message,
      );
      expect(told).toMatch(
        /waits for what is yet to come|permission denied|EAGAIN|more than the 0 bytes|not permitted|read \d/,
      );
    }
  });

  it('reads a file of as many bytes as are allowed, and refuses one byte more by its size alone', async () => {
    expect(await refusal(at('file'), 9)).toBe('some text');
    expect((await refusal(at('file'), 8)) as Error).toMatchObject({
      message: `Cannot read ${at('file')}: it has 9 bytes; at most 8 are read`,
    });
    await writeFile(at('sparse'), '');
    await truncate(at('sparse'), 2 ** 40);
    expect((await refusal(at('sparse'))) as Error).toMatchObject({
      message: expect.stringContaining('it has 1099511627776 bytes'),
    });
  });

  it('reports a path that is no file, without waiting for data', async () => {
    const server = createServer().listen(at('socket'));
    const said = [
      ['folder', 'it is a folder, not a file'],
      ['pipe', 'it is a pipe, not a file'],
      ['socket', 'it is a socket, not a file'],
      ['/dev/zero', 'it is a device, not a file'],
      ['loop', 'it is a symbolic link that leads back to itself'],
      ['file/x', 'a part of its path is a file, not a folder'],
      ['n'.repeat(256), 'its name is longer than the file system takes'],
      ['a\0b', 'its path holds a NUL character'],
    ] as const;
    for (const [name, words] of said) {
      const path = name.startsWith('/') ? name : at(name);
      const error = await refusal(path);
      expect(error).toBeInstanceOf(InputError);
      expect(error).toMatchObject({ faults: [{ message: words }] });
    }
    server.close();
  });

  it.runIf(process.platform === 'linux')(
    'reads a file of /proc, whose size the system does not report',
    async () => {
      expect(await refusal('/proc/self/status')).toMatch(/^Name:[\s\S]*\n$/);
      expect((await readWhole('/proc/self/cmdline')).length).toBeGreaterThan(0);
      expect(await refusal('/proc/self/status', 10)).toMatchObject({
        message:
          'Cannot read /proc/self/status: it has more than 10 bytes, which the system does not tell; at most so many are read',
      });
    },
  );

  it.runIf(process.platform === 'linux')('reads no more than is allowed of a file without end', async () => {
    // The page map of a process has eight bytes for each of its 2^35 pages, and its stat says 0.
    const before = process.memoryUsage().arrayBuffers;
    expect(await refusal('/proc/self/pagemap', 8 * 2 ** 20)).toMatchObject({
      message: expect.stringContaining('it has more than 8388608 bytes'),
    });
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(32 * 2 ** 20);
    await expect(sha256OfFile('/proc/self/pagemap')).rejects.toThrow('it has more than the 0 bytes');
  });

  it('reads a file to its end that grows while it is read', async () => {
    await writeFile(at('grows'), 'a'.repeat(100));
    const [bytes] = await Promise.all([readWhole(at('grows')), appendFile(at('grows'), 'b'.repeat(200_000))]);
    expect([100, 200_100]).toContain(bytes.length);
  });

  it('distinguishes a missing file from one that cannot be used', async () => {
    expect(await refusal(at('nowhere'))).toBeInstanceOf(MissingError);
    expect(await refusal(at('folder'))).not.toBeInstanceOf(MissingError);
  });
});

describe('readInPieces()', () => {
  const all = async (path: string, signal?: AbortSignal): Promise<string> => {
    let text = '';
    for await (const piece of readInPieces(path, signal)) text += piece.toString();
    return text;
  };

  it('reads files and pipes, and no devices', async () => {
    expect(await all(at('file'))).toBe('some text');
    const fed = writeFile(at('pipe'), 'fed');
    expect(await all(at('pipe'))).toBe('fed');
    await fed;
    await expect(all('/dev/zero')).rejects.toThrow('it is a device, not a file');
  });

  it('ends when it is aborted while a pipe has no writer', async () => {
    const leaving = new AbortController();
    setTimeout(() => leaving.abort(new Error('interrupted')), 50);
    await expect(all(at('pipe'), leaving.signal)).rejects.toThrow('interrupted');
  });
});
