import { readFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const BUILT = fileURLToPath(new URL('../../dist/src/', import.meta.url));
const BUNDLE = fileURLToPath(new URL('../../dist/bundle/', import.meta.url));
const SOURCES = fileURLToPath(new URL('../../src/', import.meta.url));
const IMPORTED = /^(?:import|export)\s[^;]*?from ['"](\.[^'"]+)['"]/gms;

/** The built files that a file loads, and those that they load. */
function loaded(path: string, known = new Set<string>()): Set<string> {
  if (known.has(path)) return known;
  known.add(path);
  for (const [, source] of readFileSync(path, 'utf8').matchAll(IMPORTED))
    loaded(resolve(dirname(path), source as string), known);
  return known;
}

it.each(['child', 'session-thread', 'component-child', 'component-thread'])(
  'The %s of an executor loads files of its own room only, because every start waits for them',
  (name) => {
    const files = [...loaded(`${BUILT}execution/${name}.js`)].map((path) => relative(BUILT, path));
    expect(files.filter((file) => !file.startsWith('execution/'))).toEqual([]);
    expect(files).not.toContain('execution/index.js');
    expect(files.length).toBeGreaterThan(3);
  },
);

it.each(['child', 'session-thread', 'component-child', 'component-thread'])(
  'The published %s of an executor holds nothing of other rooms either',
  (name) => {
    const sources = [...loaded(`${BUNDLE}execution/${name}.js`)].flatMap((path) => {
      const map = JSON.parse(readFileSync(`${path}.map`, 'utf8')) as { sources: string[] };
      return map.sources.map((source) => relative(SOURCES, resolve(dirname(path), source)));
    });
    expect(sources.filter((source) => !source.startsWith('execution/'))).toEqual([]);
    expect(sources.length).toBeGreaterThan(3);
  },
);
