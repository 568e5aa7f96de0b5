/**
 * This script is a step of the build: it makes what is published, in `dist/bundle`. A command loads some 20 files there, where
 * it loads hundreds of modules in `dist/src`. What a program, a library, a worker thread or a child process begins with keeps its
 * path, and what several of them need is in `chunks`. Packages stay outside, with their licences. Source maps lead to `src`.
 */
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { build, type Plugin } from 'esbuild';

const project = resolve(import.meta.dirname, '../..');
const sources = join(project, 'src');
const folder = join(project, 'dist/bundle');

/** Files that start a thread or a child process name them like this. */
const STARTED = /#dist\/src\/([\w/-]+)\.js/g;

/** These begin too, besides what is started by its name. */
const BEGUN = ['cli/main', 'api/index', 'execution/session-thread'];

async function main(): Promise<void> {
  const { outputFiles } = await build({
    absWorkingDir: project,
    outdir: folder,
    entryPoints: entries(),
    chunkNames: 'chunks/[name]-[hash]',
    bundle: true,
    splitting: true,
    packages: 'external',
    plugins: [startedFromBundle],
    platform: 'node',
    format: 'esm',
    target: 'node20.19',
    sourcemap: true,
    sourcesContent: false,
    write: false,
    logLevel: 'warning',
  });
  const old = new Set(filesBelow(folder));
  for (const { path, contents } of outputFiles) {
    if (old.delete(path) && readFileSync(path).equals(contents)) continue;
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, contents);
  }
  for (const path of old) rmSync(path);
  // npx starts it as a program, and makes it one only the first time that it meets this folder.
  chmodSync(join(folder, 'cli/main.js'), 0o755);
}

/** entries gives what begins by its path in `dist/bundle`, without `.js`. */
function entries(): Record<string, string> {
  const started = filesBelow(sources).flatMap((path) =>
    [...readFileSync(path, 'utf8').matchAll(STARTED)].map(([, name]) => name as string),
  );
  return Object.fromEntries([...BEGUN, ...started].map((name) => [name, `src/${name}.ts`]));
}

/** startedFromBundle lets what is bundled start threads and processes from `dist/bundle`. */
const startedFromBundle: Plugin = {
  name: 'started-from-bundle',
  setup(building) {
    building.onLoad({ filter: /\.ts$/ }, ({ path }) => {
      if (relative(sources, path).startsWith('..')) return undefined;
      return { loader: 'ts', contents: readFileSync(path, 'utf8').replaceAll(STARTED, '#dist/bundle/$1.js') };
    });
  },
};

function filesBelow(path: string): string[] {
  mkdirSync(path, { recursive: true });
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

await main();
