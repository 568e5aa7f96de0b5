import { describe, expect, it } from 'vitest';
import { readNpy } from '../../src/samples/npy.js';
import { npy } from './numpy-files.js';

const four = Float32Array.of(1.5, -2, 3, 4);

describe('readNpy()', () => {
  it.each([
    ['<f4', 'float32', Float32Array.of(1.5, -2)],
    ['<f8', 'float64', Float64Array.of(1.5, -2)],
    ['<f2', 'float16', Uint16Array.of(0x3e00, 0xc000)],
    ['<i8', 'int64', BigInt64Array.of(2n ** 60n, -3n)],
    ['<u2', 'uint16', Uint16Array.of(65535, 0)],
    ['|u1', 'uint8', Uint8Array.of(255, 1)],
    ['|b1', 'bool', Uint8Array.of(1, 0)],
  ])('reads elements of the type %s as %s', (descr, dtype, data) => {
    expect(readNpy(npy(descr, [2], { data }))).toEqual({ dtype, dims: [2], data });
  });

  it('reads shapes of any number of axes', () => {
    expect(readNpy(npy('<f4', [2, 1, 2], { data: four })).dims).toEqual([2, 1, 2]);
    expect(readNpy(npy('<f4', [], { data: four.subarray(0, 1) })).dims).toEqual([]);
  });

  it('reads an array that does not lie at a multiple of its element size', () => {
    const bytes = npy('<f4', [4], { data: four });
    const shifted = Buffer.concat([Buffer.of(0), bytes]).subarray(1);
    expect([...(readNpy(shifted).data as Float32Array)]).toEqual([...four]);
  });

  it.each([
    ['is not an array of NumPy (.npy)', Buffer.from('PK\x03\x04 and more')],
    ['ends within its header', npy('<f4', [4], { data: four }).subarray(0, 60)],
    ['has 12 bytes; its shape [4] needs 16', npy('<f4', [4], { data: four.subarray(1) })],
    ['big-endian', npy('>f4', [4], { data: four })],
    ['which are texts', npy('<U1', [4], { data: four })],
    ['read are |b1', npy('|O', [4], { data: four })],
    ['holds records', npy('', [], { data: four, header: "{'descr': [('a', '<f4')], }" })],
    ['header that is not of NumPy', npy('', [], { data: four, header: '{}' })],
    [
      'np.ascontiguousarray',
      npy('', [], { data: four, header: "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }" }),
    ],
  ])('says of a file that it %s', (said, bytes) => {
    expect(() => readNpy(bytes)).toThrow(said);
  });

  it('takes an array in the order of Fortran that has one axis only', () => {
    const header = "{'descr': '<f4', 'fortran_order': True, 'shape': (1, 4), }";
    expect(readNpy(npy('', [], { data: four, header })).data).toEqual(four);
  });
});
