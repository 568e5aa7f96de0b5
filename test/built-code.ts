import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Plugin } from 'vitest/config';

const root = fileURLToPath(new URL('..', import.meta.url));
const BUILT = /^(src|examples|bench|scripts)\/.*\.js$/;

/** setup builds the code before any test runs. It takes a second where nothing has changed. */
export function setup(): void {
  const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
  for (const step of [
    [tsc, '-p', 'tsconfig.build.json'],
    ['dist/scripts/build-validators.js'],
    ['dist/scripts/build-bundle.js'],
  ])
    execFileSync(process.execPath, step, { cwd: root, stdio: 'inherit' });
}

/**
 * builtCode makes tests import the built code. It is what people run, and Node loads it by itself, which saves a tenth
 * of the time: the sources would be translated again for every run.
 */
export function builtCode(): Plugin {
  return {
    name: 'built-code',
    enforce: 'pre',
    resolveId(source, importer) {
      if (importer === undefined || !source.startsWith('.')) return null;
      const path = relative(root, resolve(importer, '..', source)).replaceAll('\\', '/');
      return BUILT.test(path) ? { id: resolve(root, 'dist', path), external: true } : null;
    },
  };
}
