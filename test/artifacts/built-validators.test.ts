import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Dice } from '../../bench/seeded/dice.js';
import { compiledKind } from '../../src/artifacts/compile-schema.js';
import { completeSchema } from '../../src/artifacts/schema-text.js';
import { validatorOf, validatorOfDefinition } from '../../src/artifacts/schemas.js';
import { ARTIFACT_KINDS } from '../../src/formats/artifact-kinds.js';
import { fewOf } from '../cases.js';

interface Schema {
  readonly $ref?: string;
  readonly definitions?: Readonly<Record<string, Schema>>;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
}

const STRANGERS = [null, true, -1, 0.5, 3, '', 'constructor', 'poisson', [], [[]], {}, { kind: 'x', a: 1 }];

/** drawn draws a value that a schema mostly takes, with a fault here and there. */
function drawn(part: Schema, root: Schema, { dice, depth = 0 }: { dice: Dice; depth?: number }): unknown {
  if (depth > 8 || dice.chance(0.06)) return dice.pick(STRANGERS);
  const within = (schema: Schema): unknown => drawn(schema, root, { dice, depth: depth + 1 });
  if (part.$ref !== undefined)
    return within(root.definitions?.[part.$ref.slice('#/definitions/'.length)] as Schema);
  const { const: only, enum: words, oneOf, anyOf, properties, additionalProperties, items } = part;
  const arms = oneOf ?? anyOf;
  if (only !== undefined) return only;
  if (words !== undefined) return dice.pick(words);
  if (arms !== undefined && properties === undefined) return within(dice.pick(arms));
  // Of a longer list, a validator counts the errors of its later entries.
  if (items !== undefined) return Array.from({ length: dice.pick([0, 1, 2, 25]) }, () => within(items));
  if (properties === undefined && typeof additionalProperties !== 'object') return dice.pick([1, 2.5, 'a']);
  const known = Object.entries(properties ?? {}).filter(() => !dice.chance(0.1));
  const more = typeof additionalProperties === 'object' ? additionalProperties : { enum: [1] };
  const others = dice.chance(0.3) ? [['other', more] as const] : [];
  return Object.fromEntries([...known, ...others].map(([key, schema]) => [key, within(schema)]));
}

it('The build compiles a validator of each kind', () => {
  const { resolve } = createRequire(import.meta.url);
  for (const kind of ARTIFACT_KINDS)
    expect([kind, existsSync(resolve(`#dist/validators/${kind}.cjs`))]).toEqual([kind, true]);
});

describe.each(fewOf(ARTIFACT_KINDS, 5))('The validator of %s that the build compiles', (kind) => {
  it('finds the same errors with the same values as the schema compiled at once', () => {
    const compiled = compiledKind(kind);
    const root = completeSchema(kind) as Schema;
    const dice = new Dice(1, kind);
    const keywords = new Set<string>();
    for (let i = 0; i < 40; i++) {
      const value = drawn(root, root, { dice });
      for (const [name, validate] of Object.entries(compiled)) {
        const built = name === 'whole' ? validatorOf(kind) : validatorOfDefinition(kind, name);
        expect(built(value)).toBe(validate(value));
        expect(built.errors).toEqual(validate.errors);
        for (const { keyword } of built.errors ?? []) keywords.add(keyword);
      }
    }
    expect(keywords.size).toBeGreaterThan(1);
  });
});

it('A file that is right is validated without ajv, which a oneOf that fits nothing needs', () => {
  const script = `const { createRequire } = await import('node:module');
    const { parseArtifact } = await import('#dist/src/artifacts/index.js');
    const loaded = () => Object.keys(createRequire(process.cwd() + '/x').cache).some((file) => /ajv.dist.core/.test(file));
    parseArtifact('{"kind":"cluster","devices":{"a":{"count":1}}}', 'c.json', ['cluster']);
    const before = loaded();
    try { parseArtifact('{"kind":"pipeline","load":{"arrivals":"poisson"}}', 'p.json', ['pipeline']) } catch {}
    console.log(JSON.stringify([before, loaded()]));`;
  const cwd = dirname(createRequire(import.meta.url).resolve('#package'));
  const printed = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
    cwd,
    encoding: 'utf8',
  });
  expect(JSON.parse(printed)).toEqual([false, true]);
});
