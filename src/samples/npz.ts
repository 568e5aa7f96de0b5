import { promisify } from 'node:util';
import { constants, crc32, inflateRaw, inflateRawSync } from 'node:zlib';
import { type Entry, fromBufferPromise, type ZipFile } from 'yauzl';
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
const PACKED_HEAD_BYTES = 1024;
/** So much is kept of what they unpack to. */
const HEAD_BYTES = 64 * 1024;

const inflate = promisify(inflateRaw);
/** Between two checksums of this many bytes, signals are heard. */
const STEP_BYTES = 64 * 1024 * 1024;

const STORED = 0;
const DEFLATED = 8;
/** More unpacked bytes than this are taken for a mistake, or for an attack by a small file that unpacks to a huge one. */
const MOST_BYTES = 2 ** 30;
/** A model has fewer inputs than this. The beginning of each array is held, and a small file may list many. */
const MOST_ARRAYS = 1000;

/**
 * readNpz finds the files of an archive as NumPy's `np.savez` and `np.savez_compressed` write it: a ZIP file. Of each it
 * unpacks the beginning alone, so that what it says of itself is known before it takes memory.
 * @throws SampleFault where it is not such a file, is damaged, has more than 1,000 arrays, or says that it unpacks to more
 * than 1 GiB
 */
export async function readNpz(bytes: Uint8Array): Promise<ArchivedArray[]> {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const archive = await opened(file);
  if (archive.entryCount > MOST_ARRAYS)
    throw new SampleFault(`has ${archive.entryCount} arrays; at most ${MOST_ARRAYS} are taken`);
  let unpacked = 0;
  const found: ArchivedArray[] = [];
  for (const entry of await entriesOf(archive)) {
    unpacked += entry.uncompressedSize;
    if (unpacked > MOST_BYTES) throw new SampleFault(`unpacks to more than ${MOST_BYTES} bytes`);
    found.push(archivedArray(entry, await contentOf(entry, { archive, file })));
  }
  return found;
}

/** opened finds the record with which an archive ends. Names stay bytes: nothing is written to a path that they say. */
function opened(file: Buffer): Promise<ZipFile> {
  return fromBufferPromise(file, { lazyEntries: true, decodeStrings: false }).catch((error: Error) => {
    if (/record signature not found/.test(error.message))
      throw new SampleFault('is not an archive of NumPy (.npz)');
    throw damaged();
  });
}

async function entriesOf(archive: ZipFile): Promise<Entry[]> {
  const entries: Entry[] = [];
  try {
    for await (const entry of archive.eachEntry()) entries.push(entry);
  } catch {
    throw damaged();
  }
  return entries;
}

/** nameOf gives what an array was called when it was saved. */
function nameOf(entry: Entry): string {
  return entry.fileNameRaw.toString('utf8').replace(/\.npy$/, '');
}

/** contentOf gives the packed bytes of an entry, which stay where they are in the file. */
async function contentOf(
  entry: Entry,
  { archive, file }: { readonly archive: ZipFile; readonly file: Buffer },
): Promise<Buffer> {
  if (entry.isEncrypted()) throw new SampleFault(`${nameOf(entry)} is encrypted`);
  const header = await archive.readLocalFileHeaderPromise(entry, { minimal: true }).catch(() => undefined);
  const end = header === undefined ? Number.POSITIVE_INFINITY : header.fileDataStart + entry.compressedSize;
  if (end > file.length) throw damaged();
  return file.subarray(end - entry.compressedSize, end);
}

function archivedArray(entry: Entry, content: Buffer): ArchivedArray {
  const name = nameOf(entry);
  const { compressionMethod: method, uncompressedSize: size } = entry;
  return {
    name,
    size,
    head: headOf(content, { method, name }),
    unpacked: async () => {
      const bytes = await unpack(content, { method, size, name });
      if (bytes.length !== size || (await checksum(bytes)) !== entry.crc32) throw damaged();
      return bytes;
    },
  };
}

function headOf(
  packed: Buffer,
  { method, name }: { readonly method: number; readonly name: string },
): Uint8Array {
  if (method === STORED) return packed.subarray(0, HEAD_BYTES);
  if (method !== DEFLATED) throw unknownMethod(name, method);
  try {
    const packedHead = packed.subarray(0, PACKED_HEAD_BYTES);
    const head = inflateRawSync(packedHead, { finishFlush: constants.Z_SYNC_FLUSH });
    return Uint8Array.from(head.subarray(0, HEAD_BYTES));
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
