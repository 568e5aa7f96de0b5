import { Buffer } from 'node:buffer';
import { constants, createReadStream, type Stats } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { fault, InputError } from '../formats/index.js';
import { missingFile } from './missing-file.js';
import { whileOpen } from './open-files.js';
import { noteRead, pause } from './run-files.js';

/**
 * PLAIN opens a plain file to be read. Some of `/proc` wait for what the kernel has to say: these then answer that they have
 * nothing, where a thread that waits could not be ended.
 */
export const PLAIN = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** The most bytes that Node reads into one buffer. */
const MOST_BYTES = 2 ** 31 - 1;

/** A file whose size is not what `stat` says is read in pieces of this many bytes. */
const PIECE_BYTES = 64 * 1024;
/** Between two reads of this many bytes, signals are heard. */
const STEP_BYTES = 32 * 1024 * 1024;

/**
 * readWhole reads a file that a person named. Its kind and size are looked at before any byte of it; of files whose
 * size the system does not report, such as those of `/proc`, or that grow meanwhile, no more than `mostBytes` are read.
 * Few files are open at once, however many are asked for side by side.
 * @param mostBytes by default 2 GiB less one byte, the most that Node reads into one buffer
 * @throws MissingError where there is no such file; InputError where it is no plain file, is larger than
 *   `mostBytes`, or cannot be read
 */
export async function readWhole(path: string, mostBytes = MOST_BYTES): Promise<Buffer> {
  const { size } = await checkPlainFile(path);
  if (size > mostBytes)
    throw new InputError(`read ${path}`, [fault(`it has ${size} bytes; at most ${mostBytes} are read`)]);
  const bytes = await whileOpen(() => allBytes(path, size, mostBytes));
  if (bytes !== undefined) return bytes;
  throw new InputError(`read ${path}`, [
    fault(`it has more than ${mostBytes} bytes, which the system does not tell; at most so many are read`),
  ]);
}

async function allBytes(path: string, size: number, mostBytes: number): Promise<Buffer | undefined> {
  const file = await open(path, PLAIN).catch((error: unknown) => {
    throw unreadable(path, error);
  });
  try {
    return await bytesOf(file, size, mostBytes);
  } catch (error) {
    throw unreadable(path, error);
  } finally {
    await file.close();
  }
}

/** bytesOf reads a file of `size` bytes, as `stat` says, to its end; undefined where it has more than `mostBytes`. */
async function bytesOf(file: FileHandle, size: number, mostBytes: number): Promise<Buffer | undefined> {
  const told = Buffer.allocUnsafeSlow(size);
  const more: Buffer[] = [];
  let held = 0;
  while (held <= mostBytes) {
    const isTold = held < size;
    const into = isTold ? told : Buffer.allocUnsafeSlow(PIECE_BYTES);
    const at = isTold ? held : 0;
    const { bytesRead } = await file.read(into, at, Math.min(into.length - at, STEP_BYTES), null);
    if (bytesRead === 0) {
      const whole = held < size ? told.subarray(0, held) : told;
      return more.length === 0 ? whole : Buffer.concat([whole, ...more]);
    }
    if (!isTold) more.push(Buffer.from(into.subarray(0, bytesRead)));
    held += bytesRead;
    if (bytesRead === STEP_BYTES) await pause();
  }
  return undefined;
}

/**
 * checkPlainFile checks that a path leads to a plain file, before any of it is read, and gives what `stat` says of it. The
 * file is an input of the run from then on, which nothing may replace (`asOneRun`).
 * @throws MissingError where there is no such file; InputError where it is a folder, a pipe or a device, or its path
 *   cannot be followed
 */
export async function checkPlainFile(path: string): Promise<Stats> {
  const found = await statOf(path);
  if (!found.isFile()) throw notPlain(path, found);
  noteRead(path, found);
  return found;
}

/**
 * readInPieces gives the bytes of a plain file or a pipe, piece by piece.
 * @param signal ends the reading, also while a pipe waits for its writer
 * @throws MissingError where there is no such file; InputError where it is a folder or a device, or cannot be read; the
 *   signal's reason on abort
 */
export async function* readInPieces(path: string, signal?: AbortSignal): AsyncGenerator<Buffer> {
  const found = await statOf(path);
  if (!found.isFile() && !found.isFIFO()) throw notPlain(path, found);
  if (found.isFile()) noteRead(path, found);
  const wake = () => void endWaiting(path);
  if (found.isFIFO()) signal?.addEventListener('abort', wake);
  try {
    const stream = found.isFile() ? (await open(path, PLAIN)).createReadStream() : createReadStream(path);
    for await (const piece of stream) {
      signal?.throwIfAborted();
      yield piece as Buffer;
    }
    signal?.throwIfAborted();
  } catch (error) {
    throw unreadable(path, error);
  } finally {
    signal?.removeEventListener('abort', wake);
  }
}

/** endWaiting opens and closes the writing end of a pipe, so that whoever waits for a writer waits no more. */
async function endWaiting(path: string): Promise<void> {
  const writer = await open(path, constants.O_WRONLY | constants.O_NONBLOCK).catch(() => undefined);
  await writer?.close();
}

async function statOf(path: string): Promise<Stats> {
  try {
    return await stat(path);
  } catch (error) {
    throw unreadable(path, error);
  }
}

function notPlain(path: string, found: Stats): InputError {
  return new InputError(`read ${path}`, [fault(`it is ${kindOf(found)}, not a file`)]);
}

/** kindOf names the kind of an entry that is no plain file. */
export function kindOf(found: Stats): string {
  if (found.isDirectory()) return 'a folder';
  if (found.isFIFO()) return 'a pipe';
  return found.isSocket() ? 'a socket' : 'a device';
}

/**
 * unreadable turns the error of a file system call on a path that a person named into one for that person: a
 * MissingError where there is no such file, else an InputError. It returns other errors as they are, and throws none.
 */
export function unreadable(path: string, error: unknown): unknown {
  const { code, syscall, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return missingFile(path);
  const said = wordsOf(code) ?? (syscall === undefined ? undefined : message.split(',')[0]);
  return said === undefined ? error : new InputError(`read ${path}`, [fault(said)]);
}

/**
 * wordsOf explains an error code of the file system, such as EISDIR, to a person. It is undefined for codes that it
 * does not know.
 */
export function wordsOf(code: string | undefined): string | undefined {
  switch (code) {
    case 'EISDIR':
      return 'it is a folder, not a file';
    case 'ENOTDIR':
      return 'a part of its path is a file, not a folder';
    case 'ELOOP':
      return 'it is a symbolic link that leads back to itself';
    case 'ENAMETOOLONG':
      return 'its name is longer than the file system takes';
    case 'ERR_INVALID_ARG_VALUE':
      return 'its path holds a NUL character';
    case 'EACCES':
    case 'EPERM':
      return 'permission denied';
    case 'EAGAIN':
      return 'it waits for what is yet to come; copy what it has to a file';
    case 'ERR_FS_FILE_TOO_LARGE':
      return 'the file is larger than 2 GiB';
    default:
      return undefined;
  }
}
