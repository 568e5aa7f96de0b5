import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseArtifact, SchemaError } from '../../src/artifacts/index.js';
import { validatorOf } from '../../src/artifacts/schemas.js';
import type { Rests } from '../../src/artifacts/stand-ins.js';
import { InputError } from '../../src/formats/index.js';
import { WHOLE } from '../cases.js';

const KINDS = ['pooled', 'pipeline', 'cascade'] as const;

/** A spec of the examples, as a value. */
function example(kind: (typeof KINDS)[number]): object {
  const text = readFileSync(new URL(`../../examples/${kind}/spec.yaml`, import.meta.url), 'utf8');
  return parseArtifact(text, 'spec.yaml', [kind]).value;
}

function restsOf(value: object): Rests | undefined {
  try {
    parseArtifact(JSON.stringify(value), 'spec.json', KINDS);
  } catch (error) {
    if (error instanceof SchemaError) return error.rests();
    expect(error).toBeInstanceOf(InputError);
  }
  return undefined;
}

/** placesIn gives the paths of keys to all values within a value. */
function placesIn(value: unknown, path: readonly string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, part]) => [[...path, key], ...placesIn(part, [...path, key])]);
}

/** changed gives a copy in which a place has another value, or none. */
function changed(value: object, path: readonly string[], to: unknown): object {
  const copy = structuredClone(value) as Record<string, unknown>;
  const holder = path.slice(0, -1).reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], copy);
  if (to === undefined && !Array.isArray(holder))
    delete (holder as Record<string, unknown>)[path.at(-1) as string];
  else (holder as Record<string, unknown>)[path.at(-1) as string] = to ?? null;
  return copy;
}

describe.each(KINDS)('SchemaError.rests() of a %s spec', (kind) => {
  const whole = example(kind);

  it('gives whole specs in which nothing else differs, whichever value is wrong or lacking', () => {
    let count = 0;
    for (const path of placesIn(whole).filter((_, i) => WHOLE || i % 3 === 0))
      for (const wrong of [{}, [], -1, 'many words', true, null, undefined]) {
        const rests = path[0] === 'kind' ? undefined : restsOf(changed(whole, path, wrong));
        if (rests === undefined) continue;
        count += 1;
        for (const value of rests.values) {
          expect(validatorOf(kind)(value), `${path.join('/')} ${JSON.stringify(wrong)}`).toBe(true);
          const [first] = path;
          for (const [key, part] of Object.entries(whole))
            if (key !== first) expect((value as Record<string, unknown>)[key]).toEqual(part);
        }
      }
    expect(count).toBeGreaterThan(WHOLE ? 40 : 12);
  });

  it('gives two that differ wherever something stands in', () => {
    const wrong = changed(whole, ['load'], { rps: 'many', duration: '10s', maxRps: 'many' });
    const rests = restsOf(wrong);
    if (kind === 'pooled') expect(rests).toEqual({ values: [whole], wrong: [], lacksName: false });
    else {
      expect(rests?.values).toHaveLength(2);
      expect(rests?.values[0]).not.toEqual(rests?.values[1]);
    }
  });
});
