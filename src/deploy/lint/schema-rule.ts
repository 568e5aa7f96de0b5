import type { LintRule, RuleFinding } from './lint.js';
import type { Place } from './yaml-file.js';

/** A single error of syntax brings many others after it. */
const MOST_ERRORS = 3;

/** FieldsOf says which fields a map may have, what each must be, and which it must have. */
export interface FieldsOf {
  readonly fields: Readonly<Record<string, FieldKind>>;
  readonly required?: readonly string[];
}

/**
 * FieldKind is what a field must be.
 * - any: anything, such as a map of a user's own.
 * - list: a list whose entries are each of a kind.
 * - values: any map whose values are each of a kind.
 */
export type FieldKind =
  | 'text'
  | 'whole'
  | 'number'
  | 'flag'
  | 'any'
  | { readonly oneOf: readonly string[] }
  | { readonly list: FieldKind }
  | { readonly values: FieldKind }
  | FieldsOf;

/**
 * fieldsRule makes the rule that a YAML file has the fields that the engine knows, and no others: engines accept unknown
 * fields silently, so that one that is misspelt has no effect.
 */
export function fieldsRule(file: string, kind: FieldKind, name = 'engine-schema'): LintRule {
  return {
    name,
    breaks: 'fault',
    *check({ files }) {
      if (!files.has(file)) {
        yield { file, message: 'is missing' };
        return;
      }
      const { errors, values } = files.yaml(file);
      for (const { line, message } of errors.slice(0, MOST_ERRORS))
        yield { file, line, message: `is no YAML: ${message}` };
      if (errors.length > 0) return;
      if (values.length !== 1) yield { file, message: `holds ${values.length} documents, and one is wanted` };
      for (const { at, message } of kindFaults(values[0], kind, [])) yield { file, at, message };
    },
  };
}

/** kindFaults finds where a value is not of a kind. */
export function* kindFaults(
  value: unknown,
  kind: FieldKind,
  at: Place,
): Generator<Required<Pick<RuleFinding, 'at' | 'message'>>> {
  if (typeof kind === 'string') {
    if (!SIMPLE[kind].is(value))
      yield { at, message: `is ${shortly(value)}, and must be ${SIMPLE[kind].said}` };
    return;
  }
  if ('oneOf' in kind) {
    if (!kind.oneOf.includes(value as string))
      yield { at, message: `is ${shortly(value)}, and must be one of ${kind.oneOf.join(', ')}` };
    return;
  }
  if ('list' in kind) {
    if (!Array.isArray(value)) yield { at, message: `is ${shortly(value)}, and must be a list` };
    else for (const [i, entry] of value.entries()) yield* kindFaults(entry, kind.list, [...at, i]);
    return;
  }
  if (!isMap(value)) {
    yield { at, message: `is ${shortly(value)}, and must be a map` };
    return;
  }
  if ('values' in kind) {
    for (const [key, entry] of Object.entries(value)) yield* kindFaults(entry, kind.values, [...at, key]);
    return;
  }
  for (const key of kind.required ?? []) if (value[key] === undefined) yield { at, message: `lacks ${key}` };
  for (const [key, entry] of Object.entries(value)) {
    const known = Object.hasOwn(kind.fields, key) ? kind.fields[key] : undefined;
    if (known === undefined) yield { at: [...at, key], message: `the engine has no field ${key} here` };
    else yield* kindFaults(entry, known, [...at, key]);
  }
}

const SIMPLE: Readonly<
  Record<Extract<FieldKind, string>, { readonly is: (value: unknown) => boolean; readonly said: string }>
> = {
  text: { is: (value) => typeof value === 'string', said: 'text' },
  whole: { is: (value) => Number.isSafeInteger(value), said: 'a whole number' },
  number: { is: (value) => typeof value === 'number' && Number.isFinite(value), said: 'a number' },
  flag: { is: (value) => typeof value === 'boolean', said: 'true or false' },
  any: { is: () => true, said: 'anything' },
};

/** isMap returns whether a value of YAML is a map. */
export function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function shortly(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
