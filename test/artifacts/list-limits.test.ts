import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { validateFiles } from '../../src/api/index.js';
import { parseArtifact } from '../../src/artifacts/index.js';
import { LIST_LIMITS } from '../../src/artifacts/list-limits.js';
import { schemaPath } from '../../src/artifacts/schema-text.js';
import type { ArtifactKind } from '../../src/formats/artifact-kinds.js';
import type { InputError } from '../../src/formats/index.js';
import { solveSpec } from '../../src/specs/index.js';

const LIMITS = Object.entries(LIST_LIMITS).flatMap(([kind, lists]) =>
  Object.entries(lists).map(([key, most]) => [kind as ArtifactKind, key, most] as const),
);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-lists-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** told gives what is said of a text that cannot be parsed. */
function told(text: string, kind: ArtifactKind): string[] {
  try {
    parseArtifact(text, 'file.json', [kind]);
    return [];
  } catch (error) {
    return (error as InputError).faults.map(({ path, message }) => `${path}: ${message}`);
  }
}

describe('the limit of a list', () => {
  it('is that of the schemas, in which no other list of more than two entries has one', () => {
    const kinds = [...new Set(LIMITS.map(([kind]) => kind))];
    for (const kind of kinds) {
      const { properties } = JSON.parse(readFileSync(schemaPath(kind), 'utf8')) as {
        properties: Record<string, { maxItems?: number }>;
      };
      const own = Object.entries(properties).filter(([, { maxItems }]) => maxItems !== undefined);
      expect([kind, Object.fromEntries(own.map(([key, { maxItems }]) => [key, maxItems]))]).toEqual([
        kind,
        LIST_LIMITS[kind],
      ]);
    }
  });

  it.each(LIMITS)('is told alone: of a %s with too many %s', (kind, key, most) => {
    const withEntries = (count: number) =>
      JSON.stringify({ kind, [key]: Array.from({ length: count }, () => 1), unknown: 1 });
    expect(told(withEntries(most + 1), kind)).toEqual([
      `/${key}: has ${most + 1} ${key}; at most ${most} are taken (docs/limits.md)`,
    ]);
    expect(told(withEntries(most), kind).join('\n')).not.toContain('at most');
  });

  it('is reported with that of each other list', () => {
    const many = Array.from({ length: 100 }, () => ({}));
    const text = JSON.stringify({ kind: 'pipeline', stages: many, applications: many, sloMs: -1 });
    expect(told(text, 'pipeline')).toEqual([
      '/stages: has 100 stages; at most 64 are taken (docs/limits.md)',
      '/applications: has 100 applications; at most 16 are taken (docs/limits.md)',
    ]);
  });

  it('is reported before any file is looked for that a spec or plan names', async () => {
    const models = Array.from({ length: 1025 }, (_, i) => ({
      name: `m${i}`,
      profile: 'none.json',
      sloMs: 1,
    }));
    for (const kind of ['pooled', 'cascade', 'pipeline']) {
      const path = join(folder, `${kind}.json`);
      const key = kind === 'pipeline' ? 'stages' : 'models';
      await writeFile(
        path,
        JSON.stringify({ kind, cluster: 'none.yaml', records: 'none.csv', [key]: models }),
      );
      const error = await solveSpec(path, {}).catch((error: InputError) => error);
      expect((error as InputError).faults.map((one) => one.path)).toEqual([`/${key}`]);
    }
    const plan = JSON.parse(readFileSync('examples/pooled/expected-plan.json', 'utf8'));
    const path = join(folder, 'plan.json');
    await writeFile(path, JSON.stringify({ ...plan, inputs: models.map(() => plan.inputs[0]) }));
    const [file] = await validateFiles([path]);
    expect(file).toMatchObject({ faults: [{ path: '/inputs' }] });
  });
});
