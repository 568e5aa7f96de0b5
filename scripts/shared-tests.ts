/**
 * This script prints the test files that read `../shared`, themselves or through a file that they import. CI runs these
 * once more in a clone with nothing beside it.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, normalize } from 'node:path';

const IMPORT = /from '(\.[^']*)\.js'/g;
const READS = /\.\.\/shared\//;
const known = new Map<string, boolean>();

function readsShared(file: string): boolean {
  const before = known.get(file);
  if (before !== undefined) return before;
  known.set(file, false);
  const text = readFileSync(file, 'utf8');
  const reads = READS.test(text) || importsOf(file, text).some(readsShared);
  known.set(file, reads);
  return reads;
}

function importsOf(file: string, text: string): string[] {
  return [...text.matchAll(IMPORT)]
    .map(([, path]) => normalize(join(file, '..', `${path}.ts`)))
    .filter((path) => existsSync(path));
}

const files = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.ts'))
  .map((file) => join('test', file))
  .filter(readsShared)
  .sort();
process.stdout.write(`${files.join('\n')}\n`);
