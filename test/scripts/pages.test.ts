import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
const isThere = (path: string): boolean => existsSync(join(PROJECT, path));

/** namedIn lists the files and folders that a text names between backticks, with a slash or an ending. */
function namedIn(text: string): string[] {
  return [...text.matchAll(/`([\w./-]+(?:\.(?:ts|json)|\/))`/g)].map(([, path]) => path as string);
}

/** The row of a room, or of a folder of the room or the folder before it, with the files to begin at. */
const ROOM_ROW = /^\| ((?:– )*)`([a-z-]+)` \|.*\| ([^|]*) \|$/;

/** isInFolder says whether a path begins with a folder of the project or of its sources, and not with one of another room. */
function isInFolder(path: string): boolean {
  const [first = '', ...rest] = path.split('/');
  return rest.length > 0 && (isThere(first) || isThere(join('src', first)));
}

/** linesOf gives the lines of a page with their numbers. */
function linesOf(page: string): { readonly line: string; readonly at: string }[] {
  const text = readFileSync(join(PROJECT, page), 'utf8');
  return text.split('\n').map((line, i) => ({ line, at: `${page}:${i + 1}` }));
}

describe('ARCHITECTURE.md', () => {
  it('names, for each room and folder, files that are there', () => {
    const missing: string[] = [];
    const above: string[] = [];
    const rows: string[] = [];
    for (const { line, at } of linesOf('ARCHITECTURE.md')) {
      const [, dashes = '', name = '', last = ''] = ROOM_ROW.exec(line) ?? [];
      if (name === '') continue;
      above.length = dashes.length / 2;
      above.push(name);
      const folder = join('src', ...above);
      rows.push(folder);
      const opened = namedIn(last.replaceAll(/\(.*?\)/g, ''));
      missing.push(
        ...[folder, ...opened.map((file) => `${folder}/${file}`)]
          .filter((path) => !isThere(path))
          .map((path) => `${at} ${path}`),
      );
    }
    expect(missing).toEqual([]);
    // A target's folder is described by its entry.
    const folders = readdirSync(join(PROJECT, 'src'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => relative(PROJECT, join(entry.parentPath, entry.name)))
      .filter((folder) => !folder.startsWith('src/deploy/targets/'));
    expect(folders.length).toBeGreaterThan(60);
    expect([...rows].sort()).toEqual(folders.sort());
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
    const missing = linesOf(page)
      .filter(({ line }) => !ROOM_ROW.test(line))
      .flatMap(({ line, at }) => namedIn(line).map((path) => ({ path, at })))
      .filter(({ path }) => isInFolder(path) && !isThere(path) && !isThere(join('src', path)))
      .map(({ path, at }) => `${at} ${path}`);
    expect(missing).toEqual([]);
  });
});

/** anchorsOf gives the anchors of a page's headings, as GitHub makes them. */
function anchorsOf(page: string): string[] {
  return linesOf(page)
    .filter(({ line }) => /^#+ /.test(line))
    .map(({ line }) => line.replace(/^#+ /, '').toLowerCase())
    .map((heading) => heading.replaceAll(/[^\p{L}\p{N}\p{M}_ -]/gu, '').replaceAll(' ', '-'));
}

const PAGES = [
  ...['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md'],
  ...readdirSync(join(PROJECT, 'docs')).map((name) => `docs/${name}`),
];

describe('links', () => {
  it('lead to files and headings that are there', () => {
    const broken: string[] = [];
    let count = 0;
    for (const page of PAGES)
      for (const { line, at } of linesOf(page))
        for (const [, link = ''] of line.matchAll(/\]\(([^)\s]+)\)/g)) {
          const [path = '', anchor] = link.split('#');
          if (path.includes(':')) continue;
          count++;
          const target = path === '' ? page : normalize(join(dirname(page), path));
          if (!isThere(target) || (anchor !== undefined && !anchorsOf(target).includes(anchor)))
            broken.push(`${at} ${link}`);
        }
    expect(count).toBeGreaterThan(150);
    expect(broken).toEqual([]);
  });

  it('lead from README.md to every page of docs/', () => {
    const text = readFileSync(join(PROJECT, 'README.md'), 'utf8');
    expect(PAGES.filter((page) => page.startsWith('docs/') && !text.includes(`(${page}`))).toEqual([]);
  });
});
