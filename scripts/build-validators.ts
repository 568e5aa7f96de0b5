/**
 * This script is a step of the build: it compiles the JSON Schemas of all kinds of files, so that no command has to. It
 * writes one module per kind, `dist/validators/<kind>.cjs`, and does nothing where these are newer than all that they are
 * made of.
 */
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { validatorsCode } from '../src/artifacts/index.js';
import { ARTIFACT_KINDS } from '../src/formats/index.js';

const project = resolve(import.meta.dirname, '../..');
const folder = join(project, 'dist/validators');

function main(): void {
  const schemas = readdirSync(join(project, 'schemas')).map((file) => join(project, 'schemas', file));
  const sources = ['compile-schema', 'counted-errors', 'huge-numbers', 'schema-text'].map((name) =>
    join(project, 'dist/src/artifacts', `${name}.js`),
  );
  const files = ARTIFACT_KINDS.map((kind) => join(folder, `${kind}.cjs`));
  const newest = Math.max(
    ...[...schemas, ...sources, join(project, 'node_modules/ajv/package.json')].map(changedAt),
  );
  if (Math.min(...files.map(changedAt)) > newest) return;
  mkdirSync(folder, { recursive: true });
  for (const [i, kind] of ARTIFACT_KINDS.entries()) writeFileSync(files[i] as string, validatorsCode(kind));
}

/** changedAt says when a file was changed last, in milliseconds; of none, that it was before all others. */
function changedAt(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Number.NEGATIVE_INFINITY;
}

main();
