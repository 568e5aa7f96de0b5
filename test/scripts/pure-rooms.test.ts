import { spawnSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const require = createRequire(import.meta.url);
const PROJECT = fileURLToPath(new URL('../..', import.meta.url));

/** The rooms that import no module with I/O, as listed for the check of the arrows. */
const { forbidden } = require('../../.dependency-cruiser.cjs') as { forbidden: { name: string }[] };
const PURE = forbidden.flatMap(({ name }) => /^no-io-in-(.+)$/.exec(name)?.[1] ?? []);

/** Clocks, timers and randomness, which these rooms are handed instead of using their own. */
const IMPURE = [
  'Math.random()',
  'Date.now()',
  'new Date()',
  'performance.now()',
  'setTimeout(() => 1, 1)',
  'queueMicrotask(() => {})',
  'process.pid',
  'globalThis.Date.now()',
  'globalThis.process',
  "Reflect.get(Math, 'random')",
  'Intl.DateTimeFormat().format()',
  'crypto.randomUUID()',
  'AbortSignal.timeout(1)',
];

/** The same where a value is taken out of Math, which statements do. */
const TAKEN = [
  'const { random } = Math;\nexport const value = random();\n',
  'const taken = Math;\nexport const value = taken;\n',
];

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-lint-'));
  const { vcs: _, ...config } = JSON.parse(await readFile(join(PROJECT, 'biome.json'), 'utf8'));
  await writeFile(join(folder, 'biome.json'), JSON.stringify(config));
  await cp(join(PROJECT, 'scripts/lint'), join(folder, 'scripts/lint'), { recursive: true });
  for (const room of [...PURE, 'cli']) {
    await mkdir(join(folder, 'src', room), { recursive: true });
    for (const [i, text] of [...IMPURE.map((one) => `export const value = ${one};\n`), ...TAKEN].entries())
      await writeFile(join(folder, 'src', room, `${i}.ts`), text);
    await writeFile(join(folder, 'src', room, 'pure.ts'), 'export const value = Math.max(1, 2);\n');
  }
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the lint rules of the pure rooms', () => {
  it('refuse clocks, timers and randomness there, and nowhere else', () => {
    const biome = join(PROJECT, 'node_modules/.bin/biome');
    const args = ['lint', '--error-on-warnings', '--max-diagnostics=1000', '--reporter=json', 'src'];
    const { stdout, status } = spawnSync(biome, args, { cwd: folder, encoding: 'utf8' });
    expect(status).toBe(1);
    const { diagnostics } = JSON.parse(stdout) as { diagnostics: { location: { path: unknown } }[] };
    const refused = diagnostics.map(
      ({ location }) => /src\/\w+\/\w+\.ts/.exec(JSON.stringify(location))?.[0],
    );
    const expected = PURE.flatMap((room) => [...IMPURE, ...TAKEN].map((_, i) => `src/${room}/${i}.ts`));
    expect([...new Set(refused)].sort()).toEqual(expected.sort());
  });
});
