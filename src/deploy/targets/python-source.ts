import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** VERDICTS is the module that says what a model's outputs mean for a row, which bundles of several engines hold. */
export const VERDICTS = 'verdicts.py';

/** pythonSource reads a module of Python of a target as the package has it. */
export function pythonSource(target: string, file: string): string {
  const folder = dirname(createRequire(import.meta.url).resolve('#package'));
  return readFileSync(join(folder, 'src/deploy/targets', target, file), 'utf8');
}

/** verdictsSource reads VERDICTS. */
export function verdictsSource(): string {
  return pythonSource('python', VERDICTS);
}
