import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadArtifact } from '../../src/artifacts/index.js';
import { InputError } from '../../src/formats/index.js';
import { compareSpec, refuseForSeveral, type SolveOptions, solveSpec } from '../../src/specs/index.js';
import { SPEC_KINDS } from '../../src/specs/spec-kind.js';
import { specOf } from '../../src/specs/specs.js';
import type { KindOption } from '../../src/specs/taken-options.js';
import { writeFamily } from '../cascade-specs.js';

const EXAMPLES = new URL('../../examples/', import.meta.url).pathname;

/** Each option as it is given. */
const GIVEN: Readonly<Record<KindOption, SolveOptions>> = {
  gap: { gap: 0.1 },
  work: { work: 10 },
  timeLimit: { timeLimit: 5 },
  explain: { explain: true },
  baseline: { baseline: 'dart-r' },
  measure: { measure: true },
  hold: { hold: 0.9 },
  frontier: { frontier: true },
  literal: { formulation: 'literal' },
};
const OPTIONS = Object.keys(GIVEN) as KindOption[];

const FOR_POOLED = 'is for specs of kind pooled';
const FOR_SEARCHED = 'is for plans that are searched, and this spec fixes its own';
const FOR_CASCADES = 'is for specs of kind cascade';
const NOT_FOR_CASCADES = 'is not for specs of kind cascade';
const OF_PIPELINES = {
  baseline: FOR_POOLED,
  measure: FOR_POOLED,
  hold: FOR_POOLED,
  frontier: FOR_CASCADES,
  literal: FOR_POOLED,
};

/** What is refused of each spec, and in which words; all other options are taken. */
const REFUSED: Readonly<
  Record<string, { readonly named: string; readonly refused: Partial<Record<KindOption, string>> }>
> = {
  pooled: { named: '', refused: { frontier: FOR_CASCADES } },
  pipeline: { named: ', a pipeline', refused: OF_PIPELINES },
  given: {
    named: ', a pipeline',
    refused: {
      gap: FOR_SEARCHED,
      ...OF_PIPELINES,
      work: FOR_SEARCHED,
      timeLimit: FOR_SEARCHED,
      explain: FOR_SEARCHED,
    },
  },
  cascade: {
    named: ', a cascade',
    refused: {
      baseline: NOT_FOR_CASCADES,
      measure: NOT_FOR_CASCADES,
      hold: NOT_FOR_CASCADES,
      literal: FOR_POOLED,
    },
  },
};

let folder: string;
let paths: Readonly<Record<string, string>>;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-options-'));
  paths = {
    pooled: join(EXAMPLES, 'pooled/spec.yaml'),
    pipeline: join(EXAMPLES, 'pipelines/social-media.yaml'),
    given: join(EXAMPLES, 'pipeline/spec.yaml'),
    cascade: await writeFamily(folder),
  };
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** placeOf is where a fault of an option is. */
const placeOf = (name: KindOption): { path: string; option: string } =>
  name === 'literal'
    ? { path: '`formulation` literal', option: 'formulation' }
    : { path: `\`${name}\``, option: name };

describe.each(Object.entries(REFUSED))('solveSpec() of a spec, %s,', (which, { named, refused }) => {
  it.each(OPTIONS)('takes %s or says why not', async (name) => {
    const path = paths[which] as string;
    const told = refused[name];
    if (told === undefined) {
      const spec = await loadArtifact(path, SPEC_KINDS);
      const solving = await (await specOf(spec.kind)).solving();
      expect(solving.options(spec)[name]).toBe('taken');
    } else
      await expect(solveSpec(path, GIVEN[name])).rejects.toThrow(
        new InputError(`solve ${path}${named}`, [{ ...placeOf(name), message: told }]),
      );
  });

  it('reports all that it does not take at once', async () => {
    const given = OPTIONS.filter((name) => refused[name] !== undefined);
    // A baseline and the literal formulation are refused together, whatever is solved.
    const asked = given.filter((name) => name !== 'literal' || !given.includes('baseline'));
    const options = Object.assign(
      {},
      ...asked.filter((name) => name !== 'explain').map((name) => GIVEN[name]),
    );
    const error = await solveSpec(paths[which] as string, options).catch((thrown: unknown) => thrown);
    expect((error as InputError).faults).toEqual(
      asked
        .filter((name) => name !== 'explain')
        .map((name) => ({ ...placeOf(name), message: refused[name] })),
    );
  });
});

describe('compareSpec()', () => {
  it.each([
    ['pipeline', 'is for pooled specs'],
    ['cascade', NOT_FOR_CASCADES],
  ])('refuses a share to hold of a spec, %s', async (which, message) => {
    const path = paths[which] as string;
    const asked = compareSpec(path, { gap: 0.1, hold: 0.9, sweeps: ['slo=5x'] });
    await expect(asked).rejects.toThrow(new InputError(`compare ${path}`, [{ ...placeOf('hold'), message }]));
  });
});

describe('refuseForSeveral()', () => {
  it('reports all options that are for one spec', () => {
    const given = Object.assign({}, ...Object.values(GIVEN)) as SolveOptions;
    const faults = ['gap', 'baseline', 'explain', 'measure', 'hold', 'literal'].map((name) => ({
      ...placeOf(name as KindOption),
      message: 'is for one spec',
    }));
    expect(() => refuseForSeveral({ ...given })).toThrow(
      new InputError('solve several pipelines together', faults),
    );
    expect(() => refuseForSeveral({ work: 1, timeLimit: 1, frontier: true, explain: false })).not.toThrow();
  });
});
