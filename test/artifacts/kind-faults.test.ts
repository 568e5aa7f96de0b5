import { describe, expect, it } from 'vitest';
import { parseArtifact } from '../../src/artifacts/load.js';
import { completeSchema } from '../../src/artifacts/schema-text.js';
import { ARTIFACT_KINDS, type ArtifactKind } from '../../src/formats/artifact-kinds.js';
import type { InputError } from '../../src/formats/index.js';
import { inWholeRun } from '../cases.js';

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly minItems?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly minLength?: number;
  readonly definitions?: Readonly<Record<string, Schema>>;
}

/** What a person writes. */
const WRITTEN = ['pooled', 'pipeline', 'cascade', 'cluster', 'profile', 'policy'] as const;

/** Values that match the patterns of strings. */
const MATCHING = [
  '60s',
  '1.0',
  'urn:inferplan:schema:pooled:1',
  '0'.repeat(64),
  'a',
  'a.json',
  '1',
  '2',
  '24 GiB',
];

/** Choices names the arm to take for each oneOf, by the place of its value; others take their first. */
type Choices = ReadonlyMap<string, number>;

/** Doc makes a document that a schema takes, with every property that it may have. */
class Doc {
  /** The arms of every oneOf on the way, by the place of its value. */
  readonly arms = new Map<string, readonly Schema[]>();
  /** What the schema says of each place, the alternative that was taken in place of a oneOf. */
  readonly schemas = new Map<string, Schema>();
  readonly value: unknown;

  constructor(
    private readonly root: Schema,
    private readonly choices: Choices = new Map(),
  ) {
    this.value = this.made(root.anyOf?.[choices.get('family') ?? 0] ?? root, '');
  }

  private resolved(schema: Schema): Schema {
    const [all] = schema.allOf ?? [];
    if (all !== undefined) return this.resolved(all);
    if (schema.$ref === undefined) return schema;
    return this.resolved(this.root.definitions?.[schema.$ref.slice('#/definitions/'.length)] as Schema);
  }

  private made(given: Schema, at: string): unknown {
    const schema = this.resolved(given);
    if (schema.oneOf !== undefined) {
      this.arms.set(
        at,
        schema.oneOf.map((arm) => this.resolved(arm)),
      );
      return this.made(schema.oneOf[this.choices.get(at) ?? 0] as Schema, at);
    }
    this.schemas.set(at, schema);
    if (schema.const !== undefined) return schema.const;
    if (schema.enum !== undefined) return schema.enum[0];
    switch (typeOf(schema)) {
      case 'object':
        return this.object(schema, at);
      case 'array':
        return Array.from({ length: schema.minItems ?? 1 }, (_, i) =>
          this.made(schema.items as Schema, `${at}/${i}`),
        );
      case 'string':
        return MATCHING.find((text) => schema.pattern === undefined || new RegExp(schema.pattern).test(text));
      case 'boolean':
        return true;
      case 'integer':
        return Math.max(schema.minimum ?? 1, 1);
      default:
        return Math.max(schema.minimum ?? 0, 0.5);
    }
  }

  private object({ properties = {}, additionalProperties: others }: Schema, at: string): object {
    const own = Object.entries(properties).filter(([key]) => key !== '$schema');
    const more = typeof others === 'object' ? [['1', others] as const] : [];
    return Object.fromEntries([...own, ...more].map(([key, part]) => [key, this.made(part, `${at}/${key}`)]));
  }

  /** under lists the places at or below one. */
  under(at: string): string[] {
    return [...this.schemas.keys()].filter((place) => place === at || place.startsWith(`${at}/`));
  }
}

function typeOf({ type, properties }: Schema): string {
  return typeof type === 'string' ? type : (type?.[0] ?? (properties === undefined ? 'number' : 'object'));
}

/** badFor gives values that a place never takes, of the right type where there are some. */
function badFor(schema: Schema): unknown[] {
  if (schema.const !== undefined || schema.enum !== undefined) return ['zzzz'];
  switch (typeOf(schema)) {
    case 'string':
      return schema.minLength === undefined && schema.pattern === undefined ? [] : [''];
    case 'integer':
    case 'number':
      return schema.minimum === undefined && schema.exclusiveMinimum === undefined ? [] : [-1];
    default:
      return [];
  }
}

/** strangerFor gives a value of another type than a place may have, whatever alternatives it has. */
function strangerFor(types: ReadonlySet<string>): unknown {
  const values: [string, unknown][] = [
    ['boolean', false],
    ['array', []],
    ['number', 7.5],
    ['string', 'zzzz'],
    ['object', { zzzz: 1 }],
  ];
  return values.find(([type]) => !types.has(type))?.[1];
}

/** changedAt gives a copy of a document in which the value at a place is another, or is gone. */
function changedAt(value: unknown, place: string, to: unknown): unknown {
  const copy = structuredClone(value) as Record<string, unknown>;
  const keys = place.split('/').slice(1);
  let parent: Record<string, unknown> = copy;
  for (const key of keys.slice(0, -1)) parent = parent[key] as Record<string, unknown>;
  const last = keys.at(-1) as string;
  if (to === undefined) delete parent[last];
  else parent[last] = to;
  return copy;
}

function faultsOf(kind: ArtifactKind, value: unknown): string[] {
  try {
    parseArtifact(JSON.stringify(value), 'x.json', [kind]);
    return [];
  } catch (error) {
    return (error as InputError).faults.map(({ path, message }) => `${path} ${message}`);
  }
}

/** docsOf makes a document for every arm of every oneOf that a kind of file may have, nested ones among them. */
function docsOf(kind: ArtifactKind): { readonly doc: Doc; readonly at: string; readonly arm: number }[] {
  const root = completeSchema(kind) as Schema;
  const families = root.anyOf?.map((_, i) => i) ?? [0];
  const found: { doc: Doc; at: string; arm: number }[] = [];
  const seen = new Set<string>();
  const open: Choices[] = families.map((family) => new Map([['family', family]]));
  for (let choices = open.pop(); choices !== undefined; choices = open.pop())
    for (const [at, arms] of new Doc(root, choices).arms)
      for (const arm of arms.keys()) {
        const key = `${choices.get('family')} ${at} ${arm}`;
        if (seen.has(key)) continue;
        seen.add(key);
        const chosen = new Map([...choices, [at, arm] as const]);
        found.push({ doc: new Doc(root, chosen), at, arm });
        open.push(chosen);
      }
  return found;
}

const cases = WRITTEN.flatMap((kind) => docsOf(kind).map((one) => ({ kind, ...one })));

describe('chosenArm()', () => {
  it('has cases of every alternative that a person may write', () => {
    expect(cases.length).toBeGreaterThan(35);
    for (const { kind, doc, at, arm } of cases)
      expect([kind, at, arm, faultsOf(kind, doc.value)]).toEqual([kind, at, arm, []]);
  });

  inWholeRun('brings only the fault of the one bad value of any alternative', () => {
    let tried = 0;
    for (const { kind, doc, at } of cases)
      for (const place of doc.under(at)) {
        const { schemas, arms } = doc;
        const types = new Set((arms.get(place) ?? [schemas.get(place) as Schema]).map(jsonType));
        for (const bad of [strangerFor(types), ...badFor(schemas.get(place) as Schema)]) {
          if (bad === undefined) continue;
          const told = faultsOf(kind, changedAt(doc.value, place, bad));
          expect([place, bad, told.length, told]).toEqual([place, bad, 1, told]);
          expect(told[0]).toMatch(new RegExp(`^${place}(/kind)? `));
          tried++;
        }
      }
    expect(tried).toBeGreaterThan(200);
  });

  inWholeRun('brings only the fault of a key that is unknown or lacking in any alternative', () => {
    for (const { kind, doc, at } of cases)
      for (const place of doc.under(at)) {
        const { properties, required = [], additionalProperties } = doc.schemas.get(place) as Schema;
        if (properties === undefined) continue;
        if (additionalProperties === false) {
          const told = faultsOf(kind, changedAt(doc.value, `${place}/zzzz`, 1));
          expect([place, told]).toEqual([
            place,
            [expect.stringMatching(new RegExp(`^${place} has an unknown key "zzzz"`))],
          ]);
        }
        for (const key of required) {
          const told = faultsOf(kind, changedAt(doc.value, `${place}/${key}`, undefined));
          const message = new RegExp(`^${place} lacks .*"${key}"`);
          expect([place, key, told]).toEqual([place, key, [expect.stringMatching(message)]]);
        }
      }
  });

  it('finds the alternative that was meant by the keys that are there, and by slips of the pen for them', () => {
    const withLoad = (load: unknown) => {
      const doc = new Doc(completeSchema('pipeline') as Schema);
      return faultsOf('pipeline', changedAt(doc.value, '/load', load));
    };
    expect(withLoad({ arrivals: 'poison', rps: 100 })).toEqual([
      '/load/arrivals is "poison"; valid values are "poisson", "uniform", "gamma"; did you mean poisson?',
    ]);
    expect(withLoad({ arrivals: 'poisson', rps: -1, duration: '60' })).toHaveLength(2);
    expect(withLoad({ arrival: 'poisson' })).toEqual([
      '/load lacks "arrivals"',
      '/load lacks "rps"',
      '/load has an unknown key "arrival"; known keys are arrivals, rps, cv, duration; did you mean arrivals?',
    ]);
    expect(withLoad({ trace: 'a.csv', arrivals: 'poisson', rps: 1 })).toEqual([
      '/load has an unknown key "trace"; known keys are arrivals, rps, cv, duration',
    ]);
    expect(withLoad({ cv: 2, trace: 'a.csv' })).toEqual([
      '/load has an unknown key "cv"; known keys are trace, from, to',
    ]);
    const tuner = new Doc(completeSchema('pipeline') as Schema);
    expect(faultsOf('pipeline', changedAt(tuner.value, '/serving/tuner', 'hpa'))).toEqual([
      '/serving/tuner hpa is no word here: give { kind: hpa }',
    ]);
    expect(withLoad({})).toEqual(['/load lacks "trace", or "arrivals" and "rps"']);
    expect(withLoad(5)).toEqual(['/load is 5; it must be an object']);
  });
});

it('No schema has other keywords beside a oneOf, so that all that ajv says there is of its alternatives', () => {
  const beside = new Set<string>();
  const visit = (part: unknown): void => {
    if (typeof part !== 'object' || part === null) return;
    if ('oneOf' in part) for (const key of Object.keys(part)) beside.add(key);
    for (const one of Object.values(part)) visit(one);
  };
  for (const kind of ARTIFACT_KINDS) visit(completeSchema(kind));
  expect([...beside].filter((key) => !['oneOf', 'title', 'description'].includes(key))).toEqual([]);
});

/** jsonType gives the JSON type of what a schema takes, whether or not it is whole where it is a number. */
function jsonType(schema: Schema): string {
  const words = schema.const === undefined ? schema.enum : [schema.const];
  if (words !== undefined) return typeof words[0];
  const type = typeOf(schema);
  return type === 'integer' ? 'number' : type;
}
