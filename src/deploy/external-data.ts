import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { fault, InputError } from '../artifacts/index.js';

/** A piece of a model's external data that a partition needs, and where it goes in the partition's own data file. */
export interface DataPiece {
  readonly location: string;
  readonly offset: number;
  readonly length: number;
  readonly toOffset: number;
}

const CHUNK_BYTES = 4 * 1024 * 1024;

/**
 * Copies the pieces a partition needs into its own data file, a chunk at a time: no external data is held whole.
 * @throws InputError where a data file is missing or too short
 */
export async function copyPieces(
  pieces: readonly DataPiece[],
  fromFolder: string,
  toFile: string,
): Promise<void> {
  const target = await open(toFile, 'w');
  try {
    for (const piece of pieces) await copyPiece(piece, fromFolder, target);
    await target.sync();
  } finally {
    await target.close();
  }
}

async function copyPiece(piece: DataPiece, fromFolder: string, target: FileHandle): Promise<void> {
  const source = await openSource(piece.location, fromFolder);
  const buffer = new Uint8Array(Math.min(CHUNK_BYTES, Math.max(1, piece.length)));
  try {
    for (let done = 0; done < piece.length; ) {
      const wanted = Math.min(buffer.length, piece.length - done);
      const { bytesRead } = await source.read(buffer, 0, wanted, piece.offset + done);
      if (bytesRead === 0) throw tooShort(piece);
      await target.write(buffer, 0, bytesRead, piece.toOffset + done);
      done += bytesRead;
    }
  } finally {
    await source.close();
  }
}

async function openSource(location: string, folder: string): Promise<FileHandle> {
  try {
    return await open(join(folder, location), 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new InputError('read the external data of the model', [
      fault(`there is no file ${location} beside it`),
    ]);
  }
}

function tooShort({ location, offset, length }: DataPiece): InputError {
  return new InputError('read the external data of the model', [
    fault(`${location} ends before byte ${offset + length}, which the model refers to`),
  ]);
}
