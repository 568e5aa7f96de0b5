import { Buffer } from 'node:buffer';
import { fault, InputError } from '../formats/index.js';
import { onceInRun } from './run-files.js';

/** STDIN is the path that stands for a spec on stdin. */
const STDIN = '-';

/** STDIN_SPEC names such a spec in errors. The paths in it are relative to its folder, which is the working folder. */
export const STDIN_SPEC = '<stdin>';

/** isStdin says whether a path stands for a spec on stdin. */
export function isStdin(path: string): boolean {
  return path === STDIN || path === STDIN_SPEC;
}

/** specName is how a spec is named to people: by its path, or as what comes on stdin. */
export function specName(path: string): string {
  return isStdin(path) ? STDIN_SPEC : path;
}

/** isYamlPath says whether the text at a path is read as YAML, as a spec on stdin is: JSON is a part of YAML. */
export function isYamlPath(path: string): boolean {
  return isStdin(path) || /\.ya?ml$/i.test(path);
}

/**
 * stdinBytes gives all that comes on stdin. It is read once in a run, so that a spec can be read again.
 * @throws InputError where more than `mostBytes` come; the reason of the run's signal once that is aborted
 */
export function stdinBytes(mostBytes: number): Promise<Buffer> {
  return onceInRun(async (signal) => {
    const { stdin } = process;
    const end = (): void => void stdin.destroy(signal?.reason as Error);
    signal?.addEventListener('abort', end);
    const pieces: Buffer[] = [];
    let bytes = 0;
    try {
      for await (const piece of stdin) {
        pieces.push(piece as Buffer);
        bytes += (piece as Buffer).length;
        if (bytes > mostBytes)
          throw new InputError(`read ${STDIN_SPEC}`, [
            fault(`more than ${mostBytes} bytes come; at most so many are read`),
          ]);
      }
    } finally {
      signal?.removeEventListener('abort', end);
    }
    signal?.throwIfAborted();
    return Buffer.concat(pieces);
  });
}
