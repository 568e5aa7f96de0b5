import { describe, expect, it } from 'vitest';
import { readNpz } from '../../src/samples/npz.js';
import { npz } from './numpy-files.js';

const files = { 'image.npy': Buffer.from('pixels'.repeat(50)), 'mask.npy': Buffer.from('m') };

/** changed overwrites four bytes of an archive with another number. */
function changed(archive: Buffer, at: number, value: number): Buffer {
  const copy = Buffer.from(archive);
  copy.writeUInt32LE(value, at);
  return copy;
}

describe('readNpz()', () => {
  it.each([false, true])('reads the arrays of an archive by their names (packed: %s)', async (packed) => {
    const read = (await readNpz(npz(files, packed))).map(async ({ name, unpacked }) => [
      name,
      Buffer.from(await unpacked()).toString(),
    ]);
    expect(await Promise.all(read)).toEqual([
      ['image', 'pixels'.repeat(50)],
      ['mask', 'm'],
    ]);
  });

  it('reads an archive with a comment at its end', async () => {
    const archive = npz(files);
    archive.writeUInt16LE(9, archive.length - 2);
    expect(await readNpz(Buffer.concat([archive, Buffer.from('made here')]))).toHaveLength(2);
  });

  it('keeps names as they are written, as nothing is written to a path', async () => {
    const named = { '../a\\b.npy': Buffer.from('m') };
    expect(await readNpz(npz(named))).toMatchObject([{ name: '../a\\b' }]);
  });

  it('refuses what is no archive', async () => {
    await expect(readNpz(Buffer.from('no archive'))).rejects.toThrow('is not an archive of NumPy');
    await expect(readNpz(Buffer.alloc(100))).rejects.toThrow('is not an archive of NumPy');
    await expect(readNpz(npz(files).subarray(0, -30)), 'cut short').rejects.toThrow('is not an archive');
    const followed = Buffer.concat([npz(files), Buffer.from('other bytes')]);
    await expect(readNpz(followed), 'what no comment is').rejects.toThrow('damaged');
  });

  it('refuses damaged archives', async () => {
    const archive = npz(files, true);
    const directory = archive.indexOf('PK\x01\x02');
    const unpacked = async (bytes: Buffer) =>
      Promise.all((await readNpz(bytes)).map((array) => array.unpacked()));
    const ways = [
      ['another checksum', changed(archive, directory + 16, 7)],
      ['too small a size', changed(archive, directory + 24, 20)],
      ['too large a part', changed(archive, directory + 20, 1e6)],
      ['a part elsewhere', changed(archive, directory + 42, 1e6)],
      ['a part that begins within another', changed(archive, directory + 42, 1)],
      ['a directory elsewhere', changed(archive, archive.length - 6, 3)],
    ] as const;
    for (const [way, bytes] of ways) await expect(unpacked(bytes), way).rejects.toThrow('damaged');
  });

  it('refuses arrays that are encrypted, or packed by another method', async () => {
    const archive = npz(files, true);
    const directory = archive.indexOf('PK\x01\x02');
    await expect(readNpz(changed(archive, directory + 8, (8 << 16) | 1))).rejects.toThrow(
      'image is encrypted',
    );
    await expect(readNpz(changed(archive, directory + 10, 12))).rejects.toThrow('packed by method 12');
  });

  it('refuses an archive that says it unpacks to more than can be held', async () => {
    const archive = npz(files, true);
    const [first, second] = [archive.indexOf('PK\x01\x02'), archive.lastIndexOf('PK\x01\x02')];
    await expect(readNpz(changed(archive, first + 24, 2 ** 31))).rejects.toThrow('unpacks to more than');
    await expect(readNpz(changed(archive, second + 24, 2 ** 30 - 1))).rejects.toThrow('unpacks to more than');
  });

  it('refuses an archive of more arrays than a model has inputs', async () => {
    const many = (count: number) => Array.from({ length: count }, (_, i) => [`${i}.npy`, Buffer.from('m')]);
    expect(await readNpz(npz(Object.fromEntries(many(1000))))).toHaveLength(1000);
    await expect(readNpz(npz(Object.fromEntries(many(1001))))).rejects.toThrow(
      'has 1001 arrays; at most 1000',
    );
  });

  it('holds little of what the beginning of an array unpacks to', async () => {
    const [zeros] = await readNpz(npz({ 'zeros.npy': Buffer.alloc(2 ** 20) }, true));
    expect(zeros?.head.buffer.byteLength).toBe(64 * 1024);
  });
});
