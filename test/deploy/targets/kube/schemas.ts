import { existsSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { Ajv } from 'ajv';
import { parseAllDocuments } from 'yaml';

const SCHEMAS = new URL('../../../../../shared/targets/', import.meta.url);

/** HAS_SCHEMAS tells whether the schemas of the engines are beside the checkout, in `../shared/targets`. */
export const HAS_SCHEMAS = existsSync(SCHEMAS);

type Schema = Record<string, unknown>;
interface Definition {
  readonly kind: string;
  readonly spec: {
    readonly versions: readonly {
      readonly name: string;
      readonly schema: { readonly openAPIV3Schema: Schema };
    }[];
  };
}

/** strict refuses fields that a schema does not name; Kubernetes drops them silently. */
function strict(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(strict);
  if (typeof schema !== 'object' || schema === null) return schema;
  const inner = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, strict(value)]),
  ) as Schema;
  const isAny = inner['x-kubernetes-preserve-unknown-fields'] === true;
  const closed = typeof inner.properties === 'object' && inner.type === 'object' && !isAny;
  return closed && inner.additionalProperties === undefined
    ? { ...inner, additionalProperties: false }
    : inner;
}

/** customResourceCheck gives what finds the faults of an object by the definition of its kind in a file of schemas. */
export function customResourceCheck(file: string, version: string): (value: unknown) => unknown[] {
  const bytes = readFileSync(new URL(file, SCHEMAS));
  const text = file.endsWith('.gz') ? gunzipSync(bytes).toString('utf8') : bytes.toString('utf8');
  const definitions = parseAllDocuments(text).map((one) => one.toJS() as Definition);
  const found = definitions.find(({ kind }) => kind === 'CustomResourceDefinition');
  const schema = found?.spec.versions.find(({ name }) => name === version)?.schema.openAPIV3Schema as Schema;
  const { metadata: _, ...properties } = schema.properties as Schema;
  const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
  const validate = ajv.compile(strict({ ...schema, properties: { ...properties, metadata: {} } }) as Schema);
  return (value) => (validate(value) ? [] : (validate.errors ?? []));
}
