import { readWhole } from '../artifacts/index.js';

/** Larger files are taken for a mistake: all samples are held at once. Texts take several times as much in memory. */
const MOST_BYTES = 2 ** 30;
const MOST_TEXT_BYTES = 2 ** 26;

/** endingOf gives the ending of a path in small letters, such as `.npz`; empty where it has none. */
export function endingOf(path: string): string {
  return /\.[^./\\]*$/.exec(path.toLowerCase())?.[0] ?? '';
}

/** sampleBytes reads a file of samples, of a size that is known by its ending. @throws as `readWhole` does */
export function sampleBytes(path: string): Promise<Uint8Array> {
  const isArrays = ['.npy', '.npz'].includes(endingOf(path));
  return readWhole(path, isArrays ? MOST_BYTES : MOST_TEXT_BYTES);
}
