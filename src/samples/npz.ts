import { promisify } from 'node:util';
import { constants, crc32, inflateRaw, inflateRawSync } from 'node:zlib';
import { pause } from '../artifacts/index.js';
import { SampleFault } from './sample-fault.js';

/** ArchivedArray is a file of an archive. */
export interface ArchivedArray {
  /** Its name without `.npy`: what the array was called when it was saved. */
  readonly name: string;
  /** How many bytes it says that it unpacks to. */
  readonly size: number;
  /** Its first bytes: all that a header takes, or as many as there are. */
  readonly head: Uint8Array;
  /** unpacked gives all of it. @throws SampleFault where it is damaged */
  unpacked(): Promise<Uint8Array>;
}

/** A header of NumPy is in the first few hundred bytes of the packed ones, which unpack to a megabyte at most. */
const HEAD_BYTES = 1024;

const inflate = promisify(inflateRaw);
/** Between two checksums of so many bytes, signals are heard. */
const STEP_BYTES = 64 * 1024 * 1024;

const END = 0x06054b50;
const END_BYTES = 22;
const MOST_COMMENT_BYTES = 0xffff;
const ENTRY = 0x02014b50;
const ENTRY_BYTES = 46;
const LOCAL = 0x04034b50;
const LOCAL_BYTES = 30;
const IS_ENCRYPTED = 1;
const STORED = 0;
const DEFLATED = 8;
/** A size or an offset of this value stands elsewhere, as it is larger. */
const ZIP64 = 0xffffffff;
/** More unpacked bytes than this are taken for a mistake, or for an attack by a small file that unpacks to a huge one. */
const MOST_BYTES = 2 ** 30;

/**
 * readNpz finds the files of an archive as NumPy's `np.savez` and `np.savez_compressed` write it: a ZIP file. Of each it
 * unpacks the beginning alone, so that what it says of itself is known before it takes memory.
 * @throws SampleFault where it is not such a file, is damaged, or says that it unpacks to more than 1 GiB
 */
export function readNpz(bytes: Uint8Array): ArchivedArray[] {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = endOf(file);
  const count = file.readUInt16LE(end + 10);
  let at = file.readUInt32LE(end + 16);
  let unpacked = 0;
  const found: ArchivedArray[] = [];
  for (let i = 0; i < count; i++) {
    if (at + ENTRY_BYTES > end || file.readUInt32LE(at) !== ENTRY) throw damaged();
    const nameBytes = file.readUInt16LE(at + 28);
    const name = file.toString('utf8', at + ENTRY_BYTES, at + ENTRY_BYTES + nameBytes);
    unpacked += file.readUInt32LE(at + 24);
    if (unpacked > MOST_BYTES) throw new SampleFault(`unpacks to more than ${MOST_BYTES} bytes`);
    found.push(archivedArray(file, at, name));
    at += ENTRY_BYTES + nameBytes + file.readUInt16LE(at + 30) + file.readUInt16LE(at + 32);
  }
  return found;
}

/** endOf finds the record with which an archive ends; only a comment may follow. */
function endOf(file: Buffer): number {
  const least = Math.max(0, file.length - END_BYTES - MOST_COMMENT_BYTES);
  for (let at = file.length - END_BYTES; at >= least; at--) if (file.readUInt32LE(at) === END) return at;
  throw new SampleFault('is not an archive of NumPy (.npz)');
}

function archivedArray(file: Buffer, at: number, name: string): ArchivedArray {
  const flags = file.readUInt16LE(at + 8);
  const method = file.readUInt16LE(at + 10);
  const [crc, packed, size] = [16, 20, 24].map((field) => file.readUInt32LE(at + field)) as [
    number,
    number,
    number,
  ];
  const local = file.readUInt32LE(at + 42);
  if ([packed, size, local].includes(ZIP64)) throw new SampleFault(`${name} is larger than 4 GiB`);
  if ((flags & IS_ENCRYPTED) !== 0) throw new SampleFault(`${name} is encrypted`);
  if (local + LOCAL_BYTES > file.length || file.readUInt32LE(local) !== LOCAL) throw damaged();
  const from = local + LOCAL_BYTES + file.readUInt16LE(local + 26) + file.readUInt16LE(local + 28);
  if (from + packed > file.length) throw damaged();
  const content = file.subarray(from, from + packed);
  return {
    name: name.replace(/\.npy$/, ''),
    size,
    head: headOf(content, { method, name }),
    unpacked: async () => {
      const bytes = await unpack(content, { method, size, name });
      if (bytes.length !== size || (await checksum(bytes)) !== crc) throw damaged();
      return bytes;
    },
  };
}

function headOf(
  packed: Buffer,
  { method, name }: { readonly method: number; readonly name: string },
): Uint8Array {
  if (method === STORED) return packed.subarray(0, 64 * HEAD_BYTES);
  if (method !== DEFLATED) throw unknownMethod(name, method);
  try {
    return inflateRawSync(packed.subarray(0, HEAD_BYTES), { finishFlush: constants.Z_SYNC_FLUSH });
  } catch {
    throw damaged();
  }
}

/** unpack does its work off the thread that hears signals. */
async function unpack(
  packed: Buffer,
  { method, size, name }: { readonly method: number; readonly size: number; readonly name: string },
): Promise<Uint8Array> {
  if (method === STORED) return packed;
  if (method !== DEFLATED) throw unknownMethod(name, method);
  const unpacked = await inflate(packed, { maxOutputLength: Math.max(1, size) }).catch(() => undefined);
  await pause();
  if (unpacked === undefined) throw damaged();
  return unpacked;
}

function unknownMethod(name: string, method: number): SampleFault {
  return new SampleFault(`${name} is packed by method ${method}; save it with np.savez`);
}

async function checksum(bytes: Uint8Array): Promise<number> {
  let sum = 0;
  for (let from = 0; from < bytes.length; from += STEP_BYTES) {
    sum = crc32(bytes.subarray(from, from + STEP_BYTES), sum);
    await pause();
  }
  return sum;
}

function damaged(): SampleFault {
  return new SampleFault('is a damaged archive');
}
