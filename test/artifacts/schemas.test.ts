import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Ajv, type ValidateFunction } from 'ajv';
import { describe, expect, it } from 'vitest';
import { parseArtifact } from '../../src/artifacts/index.js';
import { schemaModeline } from '../../src/artifacts/schema-modeline.js';
import { schemaSource } from '../../src/artifacts/schema-text.js';
import { schemaText } from '../../src/artifacts/schemas.js';
import { ARTIFACT_KINDS, schemaId } from '../../src/formats/artifact-kinds.js';
import { inWholeRun } from '../cases.js';

const STRICT = { allowUnionTypes: true, strict: true, strictTypes: false, strictRequired: false };

/** referencesIn lists every `$ref` of a schema. */
function referencesIn(text: string): string[] {
  return [...text.matchAll(/"\$ref": ?"([^"]*)"/g)].map((match) => match[1] as string);
}

/** compiled gives what checks a kind by its schema alone. It takes half a second, so that each is made once. */
const compiledByKind = new Map<string, ValidateFunction>();
function compiled(kind: (typeof ARTIFACT_KINDS)[number]): ValidateFunction {
  const made = compiledByKind.get(kind) ?? new Ajv(STRICT).compile(JSON.parse(schemaText(kind)));
  compiledByKind.set(kind, made);
  return made;
}

/** allLinked knows the schemas of all kinds by their files, which name one another. */
let linkedOnce: Ajv | undefined;
function allLinked(): Ajv {
  if (linkedOnce !== undefined) return linkedOnce;
  linkedOnce = new Ajv(STRICT);
  for (const kind of ARTIFACT_KINDS)
    linkedOnce.addSchema({ ...JSON.parse(schemaSource(kind)), $id: `file:///${kind}.schema.json` });
  return linkedOnce;
}

describe.each(ARTIFACT_KINDS)('The schema of %s', (kind) => {
  // validatorOf() does not check the schemas, which would cost every command some milliseconds.
  it('is a valid JSON Schema without unknown keywords, and needs no other schema', () => {
    const schema = JSON.parse(schemaText(kind)) as { $id: string };
    expect(schema.$id).toBe(schemaId(kind));
    expect(new Ajv(STRICT).validateSchema(schema)).toBe(true);
    expect(compiled(kind)).toBeTypeOf('function');
    expect(referencesIn(schemaText(kind)).filter((ref) => !ref.startsWith('#/definitions/'))).toEqual([]);
  });

  it('names others by their files, which an editor finds beside it', () => {
    const others = referencesIn(schemaSource(kind)).filter((ref) => !ref.startsWith('#/'));
    for (const ref of others) {
      const file = new URL(`../../schemas/${ref.split('#')[0]}`, import.meta.url);
      expect(existsSync(file) ? ref : `${ref} is not there`).toBe(ref);
    }
  });

  inWholeRun('says the same as its file with the files that it names', () => {
    const linked = allLinked().getSchema(`file:///${kind}.schema.json`);
    const alone = compiled(kind);
    const paths = (validate: typeof alone | undefined, value: unknown) => {
      validate?.(value);
      return validate?.errors?.map(({ instancePath, message }) => `${instancePath} ${message}`);
    };
    for (const value of [
      {},
      { kind, version: '1.0', tool: { name: 1 }, inputs: [{}], models: [{}], blocks: [{}] },
    ])
      expect(paths(alone, value)).toEqual(paths(linked, value));
  });
});

describe('schemaModeline()', () => {
  const project = resolve(import.meta.dirname, '../..');

  it('leads from a file of the project to the schema', () => {
    const modeline = schemaModeline('pooled', join(project, 'examples/pooled/new.yaml'));
    expect(modeline).toBe('# yaml-language-server: $schema=../../schemas/pooled.schema.json');
    expect(schemaModeline('cluster', join(project, 'c.yaml'))).toMatch(
      /\$schema=schemas\/cluster\.schema\.json$/,
    );
  });

  it('is left out elsewhere, also in a folder whose name begins alike', () => {
    expect(schemaModeline('pooled', join(tmpdir(), 'spec.yaml'))).toBeUndefined();
    expect(schemaModeline('pooled', `${project}-other/spec.yaml`)).toBeUndefined();
  });
});

it.each(Object.getOwnPropertyNames(Object.prototype))('A device class cannot be called %s', (name) => {
  const text = `{ "kind": "cluster", "devices": { "${name}": { "count": 1 }, "fast": { "count": 1 } } }`;
  expect(() => parseArtifact(text, 'cluster.json', ['cluster'])).toThrow(
    `Cannot read cluster.json: /devices: has a key "${name}", which every object of JavaScript has; take another`,
  );
  expect(() => parseArtifact(text.replace(name, 'slow'), 'cluster.json', ['cluster'])).not.toThrow();
});
