import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const PAGE = new URL('../../docs/library.md', import.meta.url);
const EXAMPLE = new URL('../../examples/pooled/', import.meta.url);
const LIBRARY = createRequire(import.meta.url).resolve('#dist/bundle/api/index.js');

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-library-'));
  await cp(EXAMPLE, folder, { recursive: true });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('docs/library.md', () => {
  it('has an example that plans and simulates with the published library', async () => {
    const [, code] = /```js\n([\s\S]*?)```/.exec(await readFile(PAGE, 'utf8')) as unknown as [string, string];
    expect(code).toContain("from 'inferplan'");
    await writeFile(join(folder, 'example.mjs'), code.replace("'inferplan'", JSON.stringify(LIBRARY)));
    const { stdout } = await promisify(execFile)(process.execPath, ['example.mjs'], { cwd: folder });
    const { objective } = JSON.parse(await readFile(join(folder, 'expected-plan.json'), 'utf8'));
    expect(JSON.parse(stdout)).toEqual({
      value: objective.value,
      bound: objective.bound,
      attainment: expect.closeTo(0.98, 1),
    });
  });
});
