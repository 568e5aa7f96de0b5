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
    const read = readNpz(npz(files, packed)).map(async ({ name, unpacked }) => [
      name,
      Buffer.from(await unpacked()).toString(),
    ]);
    expect(await Promise.all(read)).toEqual([
      ['image', 'pixels'.repeat(50)],
      ['mask', 'm'],
    ]);
  });

  it('reads an archive with a comment at its end', () => {
    expect(readNpz(Buffer.concat([npz(files), Buffer.from('made here')]))).toHaveLength(2);
  });

  it('refuses what is no archive', () => {
    expect(() => readNpz(Buffer.from('no archive'))).toThrow('is not an archive of NumPy');
    expect(() => readNpz(Buffer.alloc(100))).toThrow('is not an archive of NumPy');
  });

  it('refuses damaged archives', async () => {
    const archive = npz(files, true);
    const directory = archive.indexOf('PK\x01\x02');
    const unpacked = (bytes: Buffer) => Promise.all(readNpz(bytes).map((array) => array.unpacked()));
    await expect(unpacked(changed(archive, directory + 16, 7)), 'another checksum').rejects.toThrow(
      'damaged',
    );
    await expect(unpacked(changed(archive, directory + 24, 20)), 'too small a size').rejects.toThrow(
      'damaged',
    );
    expect(() => readNpz(changed(archive, directory + 20, 1e6)), 'too large a part').toThrow('damaged');
    expect(() => readNpz(changed(archive, directory + 42, 1e6)), 'a part elsewhere').toThrow('damaged');
    expect(() => readNpz(changed(archive, archive.length - 6, 3)), 'a directory elsewhere').toThrow(
      'damaged',
    );
  });

  it('refuses an archive that says it unpacks to more than can be held', () => {
    const archive = npz(files, true);
    const [first, second] = [archive.indexOf('PK\x01\x02'), archive.lastIndexOf('PK\x01\x02')];
    expect(() => readNpz(changed(archive, first + 24, 2 ** 31))).toThrow('unpacks to more than');
    expect(() => readNpz(changed(archive, second + 24, 2 ** 31 - 2))).toThrow('unpacks to more than');
  });
});
