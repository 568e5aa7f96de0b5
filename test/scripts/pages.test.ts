import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
const isThere = (path: string): boolean => existsSync(join(PROJECT, path));

/** namedIn lists the files and folders that a text names between backticks, with a slash or an ending. */
function namedIn(text: string): string[] {
  return [...text.matchAll(/`([\w./-]+(?:\.(?:ts|json)|\/))`/g)].map(([, path]) => path as string);
}

/** linesOf gives the lines of a page with their numbers. */
function linesOf(page: string): { readonly line: string; readonly at: string }[] {
  const text = readFileSync(join(PROJECT, page), 'utf8');
  return text.split('\n').map((line, i) => ({ line, at: `${page}:${i + 1}` }));
}

describe('ARCHITECTURE.md', () => {
  it('names, for each room and folder, files that are there', () => {
    const missing: string[] = [];
    let [room, rows] = ['', 0];
    for (const { line, at } of linesOf('ARCHITECTURE.md')) {
      const [, dash, name = '', last = ''] = /^\| (– )?`([a-z-]+)` \|.*\| ([^|]*) \|$/.exec(line) ?? [];
      if (name === '') continue;
      rows++;
      if (dash === undefined) room = name;
      const folder = dash === undefined ? `src/${room}` : `src/${room}/${name}`;
      const opened = namedIn(last.replaceAll(/\(.*?\)/g, ''));
      missing.push(
        ...[folder, ...opened.map((file) => `${folder}/${file}`)]
          .filter((path) => !isThere(path))
          .map((path) => `${at} ${path}`),
      );
    }
    expect(rows).toBeGreaterThan(40);
    expect(missing).toEqual([]);
  });
});

describe.each([
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'docs/design.md',
  'docs/references.md',
  'docs/formats.md',
])('%s', (page) => {
  it('names paths that are there', () => {
    const missing = linesOf(page).flatMap(({ line, at }) =>
      namedIn(line)
        .filter(
          (path) =>
            path.includes('/') && /^(src|test|bench|scripts|examples|docs|schemas|[a-z]+)\//.test(path),
        )
        .filter((path) => !/^\| (– )?`[a-z-]+` \|/.test(line))
        .filter((path) => !isThere(path) && !isThere(join('src', path)))
        .map((path) => `${at} ${path}`),
    );
    expect(missing).toEqual([]);
  });
});
