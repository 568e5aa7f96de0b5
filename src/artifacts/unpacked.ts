import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { errorFields, fault, InputError } from '../formats/index.js';

/** The bytes that files of packing programs begin with. Files of gzip are unpacked. */
const PACKED: readonly [name: string, bytes: readonly number[]][] = [
  ['gzip', [0x1f, 0x8b]],
  ['zip', [0x50, 0x4b, 3, 4]],
  ['zstd', [0x28, 0xb5, 0x2f, 0xfd]],
  ['xz', [0xfd, 0x37, 0x7a, 0x58]],
  ['bzip2', [0x42, 0x5a, 0x68]],
  ['Parquet', [0x50, 0x41, 0x52, 0x31]],
];
const LONGEST = 4;

/**
 * unpacked gives the bytes of a file as they are, or unpacked where they are gzip's.
 * @param path names the file in errors
 * @throws InputError where another program packed them, or what gzip packed is damaged or cut
 */
export async function* unpacked(pieces: AsyncIterable<Buffer>, path: string): AsyncGenerator<Buffer> {
  const all = withLongFirst(pieces);
  const first = await all.next();
  if (first.done === true) return;
  const rest = followedBy(first.value, all);
  const format = PACKED.find(([, mark]) => mark.every((byte, i) => first.value[i] === byte))?.[0];
  if (format === undefined) yield* rest;
  else if (format === 'gzip') yield* gunzipped(rest, path);
  else {
    await all.return(undefined);
    throw refusal(path, `it is packed as ${format}; unpack it, or pack it with gzip`);
  }
}

async function* gunzipped(pieces: AsyncIterable<Buffer>, path: string): AsyncGenerator<Buffer> {
  const packed = Readable.from(pieces);
  const gunzip = createGunzip();
  packed.on('error', (error) => gunzip.destroy(error));
  try {
    for await (const piece of packed.pipe(gunzip)) yield piece as Buffer;
  } catch (error) {
    const { code } = errorFields(error);
    if (code === 'Z_BUF_ERROR') throw refusal(path, 'it is packed with gzip, and its end is missing');
    if (code?.startsWith('Z_')) throw refusal(path, 'it is packed with gzip, and damaged');
    throw error;
  } finally {
    packed.destroy();
  }
}

/** withLongFirst joins pieces until the first has as many bytes as the longest mark, or there are no more. */
async function* withLongFirst(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let first = Buffer.alloc(0);
  let isWhole = false;
  for await (const piece of pieces) {
    if (isWhole) {
      yield piece;
      continue;
    }
    first = Buffer.concat([first, piece]);
    if (first.length < LONGEST) continue;
    isWhole = true;
    yield first;
  }
  if (!isWhole && first.length > 0) yield first;
}

async function* followedBy(first: Buffer, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield first;
    yield* rest;
  } finally {
    // A file whose first bytes were refused is closed too.
    await rest.return(undefined);
  }
}

function refusal(path: string, why: string): InputError {
  return new InputError(`read ${path}`, [fault(why)]);
}
