import { createRequire } from 'node:module';
import type { ValidateFunction } from 'ajv';
import stringify from 'json-stringify-pretty-compact';
import { type ArtifactKind, errorFields } from '../formats/index.js';
import { compiled, compiledKind, type Validators, WHOLE } from './compile-schema.js';
import { countedOnce } from './counted-errors.js';
import { completeSchema } from './schema-text.js';

/** schemaText gives the JSON Schema (draft-07) of a kind as JSON text. It refers to no other schema. */
export function schemaText(kind: ArtifactKind): string {
  return `${stringify(completeSchema(kind), { maxLength: 110 })}\n`;
}

/** The kinds of the validators, whose schemas are read when something is wrong. */
const kinds = new WeakMap<ValidateFunction, ArtifactKind>();

const validators = new Map<ArtifactKind, Validators>();

/** validatorOf gives a kind's validator. It is loaded, as the build has compiled it, when it is first asked for. */
export function validatorOf(kind: ArtifactKind): ValidateFunction {
  return validatorOfDefinition(kind, WHOLE);
}

/** validatorOfDefinition gives the validator of a definition of a kind's schema that stands alone. */
export function validatorOfDefinition(kind: ArtifactKind, definition: string): ValidateFunction {
  let known = validators.get(kind);
  if (known === undefined) {
    known = builtValidators(kind) ?? compiledKind(kind);
    for (const validate of Object.values(known)) kinds.set(validate, kind);
    validators.set(kind, known);
  }
  return known[definition] as ValidateFunction;
}

/** builtValidators loads what the build has made of a schema. It is undefined where sources run that nobody has built. */
function builtValidators(kind: ArtifactKind): Validators | undefined {
  const require = createRequire(import.meta.url);
  try {
    return (require(`#dist/validators/${kind}.cjs`) as (count: typeof countedOnce) => Validators)(
      countedOnce,
    );
  } catch (error) {
    if (errorFields(error).code !== 'MODULE_NOT_FOUND') throw error;
    return undefined;
  }
}

/** SchemaPart is a part of a schema, which may only name a definition. */
export interface SchemaPart {
  readonly $ref?: string;
}

/** The validators of parts, each compiled when something is first wrong with a value of it. */
const partValidators = new WeakMap<SchemaPart, ValidateFunction>();

/**
 * validatorOfPart gives the compiled validator of a part of a schema, for values of that part alone.
 * @param whole the validator that the part was found in
 */
export function validatorOfPart(part: SchemaPart, whole: ValidateFunction): ValidateFunction {
  const known = partValidators.get(part);
  if (known !== undefined) return known;
  const validate = compiled({ definitions: definitionsOf(whole), ...part });
  partValidators.set(part, validate);
  return validate;
}

/** referredTo gives the definition that a part of a schema names, or the part itself where it names none. */
export function referredTo(part: SchemaPart, whole: ValidateFunction): SchemaPart {
  if (part.$ref === undefined) return part;
  const name = part.$ref.slice('#/definitions/'.length);
  return referredTo(definitionsOf(whole)[name] as SchemaPart, whole);
}

function definitionsOf(whole: ValidateFunction): Definitions {
  const kind = kinds.get(whole);
  const schema = kind === undefined ? whole.schemaEnv.root.schema : completeSchema(kind);
  return (schema as { readonly definitions?: Definitions }).definitions ?? {};
}

type Definitions = Readonly<Record<string, SchemaPart>>;
