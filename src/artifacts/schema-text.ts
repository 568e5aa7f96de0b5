import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { MOST_WHOLE } from '../formats/index.js';

/** Schemas name one another by their files, which an editor resolves that was given the path of one. */
const REFERENCE = /^(?:([a-z-]+)\.schema\.json)?(?:#\/definitions\/(.+))?$/;

interface SchemaFile {
  readonly definitions?: Readonly<Record<string, object>>;
}

/** schemaSource gives the JSON Schema (draft-07) of a kind as it lies in the package's `schemas` folder. */
export function schemaSource(kind: string): string {
  return readFileSync(schemaPath(kind), 'utf8');
}

/** schemaPath gives the file of a kind's schema in the package. */
export function schemaPath(kind: string): string {
  const project = dirname(createRequire(import.meta.url).resolve('#package'));
  return join(project, 'schemas', `${kind}.schema.json`);
}

/**
 * completeSchema gives the schema of a kind with all that it refers to in other schemas, so that it can be used alone:
 * a definition of another schema is called `<kind>.<name>`, and another schema as a whole `<kind>`. Integers that have no
 * bound of their own are bounded by the whole numbers that a double distinguishes.
 */
export function completeSchema(kind: string): object {
  const files = new Map<string, SchemaFile>();
  const fileOf = (of: string): SchemaFile => {
    const file = files.get(of) ?? (JSON.parse(schemaSource(of)) as SchemaFile);
    files.set(of, file);
    return file;
  };
  const { definitions: own = {}, ...root } = fileOf(kind);
  const definitions: Record<string, unknown> = {};
  const wanted = Object.keys(own).map((name) => ({ of: kind, name: name as string | undefined, as: name }));
  const rewritten = (part: unknown, of: string): unknown => {
    if (Array.isArray(part)) return part.map((one) => rewritten(one, of));
    if (typeof part !== 'object' || part === null) return part;
    const { $ref } = part as { $ref?: unknown };
    if (typeof $ref === 'string') return { ...part, $ref: `#/definitions/${reached($ref, of)}` };
    return withinWhole(
      Object.fromEntries(Object.entries(part).map(([key, value]) => [key, rewritten(value, of)])),
    );
  };
  const reached = (ref: string, from: string): string => {
    const [, of = from, name] = REFERENCE.exec(ref) ?? [];
    const as = of === kind && name !== undefined ? name : name === undefined ? of : `${of}.${name}`;
    if (!wanted.some((one) => one.as === as)) wanted.push({ of, name, as });
    return as;
  };
  const whole = rewritten(root, kind) as object;
  for (const { of, name, as } of wanted) definitions[as] = rewritten(partOf(fileOf(of), name), of);
  return Object.keys(definitions).length === 0 ? whole : { ...whole, definitions };
}

/** withinWhole bounds an integer on both sides where its schema does not. */
function withinWhole(part: Record<string, unknown>): Record<string, unknown> {
  const { type } = part;
  if (type !== 'integer') return part;
  const least = 'exclusiveMinimum' in part ? {} : { minimum: -MOST_WHOLE };
  return { ...least, maximum: MOST_WHOLE, ...part };
}

/** partOf gives a definition of a schema, or without a name the schema itself, whose definitions are taken by name. */
function partOf(file: SchemaFile, name: string | undefined): unknown {
  if (name !== undefined) return file.definitions?.[name];
  const { definitions: _, $schema: __, $id: ___, ...root } = file as SchemaFile & Record<string, unknown>;
  return root;
}
