import type { TensorData } from '../execution/index.js';
import { shown } from '../formats/index.js';
import { tensorFromBytes, WireFault } from '../protocol/index.js';
import { SampleFault } from './sample-fault.js';

const MAGIC = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59];
/** Further axes than this are taken for a mistake; NumPy itself has at most 64. */
const MOST_AXES = 64;

/** The names in NumPy of the types that models take; types of one byte have no order of bytes. */
const DTYPES: Readonly<Record<string, string>> = {
  '|b1': 'bool',
  '|i1': 'int8',
  '|u1': 'uint8',
  '<i2': 'int16',
  '<i4': 'int32',
  '<i8': 'int64',
  '<u2': 'uint16',
  '<u4': 'uint32',
  '<u8': 'uint64',
  '<f2': 'float16',
  '<f4': 'float32',
  '<f8': 'float64',
};

/**
 * readNpy reads an array as NumPy's `np.save` writes it (format versions 1 to 3). Its elements may be a view of the bytes.
 * @throws SampleFault where it is not such a file, or holds what no model takes
 */
export function readNpy(bytes: Uint8Array): TensorData {
  const { dtype, dims, from } = npyHeader(bytes);
  try {
    return tensorFromBytes(dtype, dims, bytes.subarray(from));
  } catch (error) {
    if (error instanceof WireFault) throw new SampleFault(error.message);
    throw error;
  }
}

/** NpyHeader is what an array says of itself: its elements' type, its shape, and where they begin. */
export interface NpyHeader {
  readonly dtype: string;
  readonly dims: number[];
  readonly from: number;
}

/**
 * npyHeader reads the header of an array, of which only the first bytes need be there.
 * @throws SampleFault where it is not such a file, ends within its header, or holds what no model takes
 */
export function npyHeader(bytes: Uint8Array): NpyHeader {
  if (!MAGIC.every((byte, i) => bytes[i] === byte)) throw new SampleFault('is not an array of NumPy (.npy)');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const [version, lengthBytes] = [bytes[6] ?? 0, bytes[6] === 1 ? 2 : 4];
  if (version < 1 || version > 3) throw new SampleFault(`has format version ${version}; 1 to 3 are read`);
  const from = 8 + lengthBytes;
  if (bytes.length < from) throw cut();
  const to = from + (version === 1 ? view.getUint16(8, true) : view.getUint32(8, true));
  if (bytes.length < to) throw cut();
  const text = Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString();
  return { ...readHeader(text), from: to };
}

function cut(): SampleFault {
  return new SampleFault('ends within its header');
}

/** readHeader reads `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`. */
function readHeader(header: string): { dtype: string; dims: number[] } {
  const descr = /'descr'\s*:\s*'([^']*)'/.exec(header)?.[1];
  const order = /'fortran_order'\s*:\s*(True|False)/.exec(header)?.[1];
  const shape = /'shape'\s*:\s*\(([\d,\s]*)\)/.exec(header)?.[1];
  const isRecord = descr === undefined && header.includes("'descr'");
  if (isRecord) throw new SampleFault('holds records; save an array of numbers for each input');
  if (descr === undefined || order === undefined || shape === undefined)
    throw new SampleFault('has a header that is not of NumPy');
  const dtype = Object.hasOwn(DTYPES, descr) ? DTYPES[descr] : undefined;
  if (dtype === undefined) throw new SampleFault(unknownType(descr));
  const dims = shape.split(',').flatMap((size) => (size.trim() === '' ? [] : [Number(size)]));
  if (dims.length > MOST_AXES || dims.some((size) => !Number.isSafeInteger(size)))
    throw new SampleFault(`has the shape (${shape.slice(0, 80)}), which is no array's`);
  if (order === 'True' && dims.filter((size) => size > 1).length > 1)
    throw new SampleFault('is in the order of Fortran; save np.ascontiguousarray(array)');
  return { dtype, dims };
}

function unknownType(descr: string): string {
  const said = `holds elements of the type ${shown(descr.slice(0, 40))}`;
  if (descr.startsWith('>')) return `${said}, which are big-endian; save them little-endian`;
  if (/^.?[US]/.test(descr)) return `${said}, which are texts; give these as JSON requests`;
  return `${said}; read are ${Object.keys(DTYPES).join(', ')}`;
}
