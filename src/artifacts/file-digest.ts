import { createHash, type Hash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { fault, InputError } from '../formats/index.js';
import { whileOpen } from './open-files.js';
import { checkPlainFile, PLAIN } from './read-file.js';

/**
 * sha256OfFile gives the SHA-256 of a plain file of any size, in hex. It reads it in pieces.
 * @throws MissingError where there is no such file; InputError where it is a folder, a pipe or a device, or has more bytes
 *   than the system says; an AbortError
 *   when the signal aborts; the system's own error where reading fails
 */
export async function sha256OfFile(path: string, signal?: AbortSignal): Promise<string> {
  const { size } = await checkPlainFile(path);
  const hash = createHash('sha256');
  await whileOpen(async () => {
    const source = (await open(path, PLAIN)).createReadStream();
    await pipeline(source, (bytes) => upTo(bytes, size, path), hash, signal === undefined ? {} : { signal });
  });
  return hash.digest('hex');
}

/** hashed gives bytes on, and adds them to a hash. */
export async function* hashed(pieces: AsyncIterable<Buffer>, hash: Hash): AsyncGenerator<Buffer> {
  for await (const piece of pieces) {
    hash.update(piece);
    yield piece;
  }
}

/** upTo gives bytes on, of which a file may have no more than the system says: those of `/proc` may have no end. */
async function* upTo(pieces: AsyncIterable<Buffer>, size: number, path: string): AsyncGenerator<Buffer> {
  let read = 0;
  for await (const piece of pieces) {
    read += piece.length;
    if (read > size)
      throw new InputError(`read ${path}`, [
        fault(`it has more than the ${size} bytes that the system tells`),
      ]);
    yield piece;
  }
}
