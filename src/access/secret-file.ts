import { stat } from 'node:fs/promises';
import { readWhole } from '../artifacts/index.js';
import { type FaultPlace, fault, InputError, type ToldFaults } from '../formats/index.js';

/** No token file, certificate or key is as large. */
const MOST_BYTES = 1024 * 1024;
const READABLE_BY_OTHERS = 0o044;

/** TextFile is the text of a file. */
export interface TextFile {
  readonly text: string;
  /** Says that others than its owner may read it, as far as the system says so. */
  readonly warning?: string;
}

/** readText reads a file of at most 1 MiB. It adds to `told` why it cannot, and gives undefined then. */
export async function readText(
  path: string,
  place: FaultPlace,
  told: ToldFaults,
): Promise<string | undefined> {
  try {
    return (await readWhole(path, MOST_BYTES)).toString('utf8').replace(/^\uFEFF/, '');
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    told.addAll(error.faults.map(({ message }) => fault(message, place)));
    return undefined;
  }
}

/** readSecret does the same with a file that its owner alone should be able to read. */
export async function readSecret(
  path: string,
  place: FaultPlace,
  told: ToldFaults,
): Promise<TextFile | undefined> {
  const text = await readText(path, place, told);
  if (text === undefined) return undefined;
  const { mode } = await stat(path);
  if (process.platform === 'win32' || (mode & READABLE_BY_OTHERS) === 0) return { text };
  const others = `others than its owner may read ${path} (mode ${(mode & 0o777).toString(8)})`;
  return { text, warning: `${others}; take that right from them with chmod 600` };
}
