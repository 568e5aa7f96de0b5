import type { ErrorObject, ValidateFunction } from 'ajv';
import { itemAt } from '../collections/index.js';
import {
  didYouMean,
  type Fault,
  firstFaults,
  HUGE,
  MOST_WHOLE,
  moreFaults,
  shown,
} from '../formats/index.js';
import { boundText } from './bound-words.js';
import { type CountedErrors, MORE_ERRORS, toldErrors } from './counted-errors.js';
import { type Arm, chosenArm } from './kind-faults.js';
import { elsewhere } from './misplaced.js';
import { referredTo, type SchemaPart, validatorOfPart } from './schemas.js';

/**
 * schemaFaults turns what a validator found wrong with the last value into faults for a person: the place, the fault of
 * the value, and the valid values. Of a `oneOf` it tells what is wrong with the alternative that was meant, and nothing
 * of the others. It leaves out repetitions, and gives at most 20, as `firstFaults` does. Of a long list, the validator has
 * kept the first few errors and counted the others, each alternative of a `oneOf` as one.
 */
export function schemaFaults(validate: ValidateFunction): Fault[] {
  return bareFaults(pointedFaults(validate));
}

/**
 * PointedFault is a fault with the JSON pointer of what is wrong, where that is more exact than its path: of an unknown
 * key, or one that is lacking.
 */
export interface PointedFault extends Fault {
  readonly pointer?: string;
}

/** bareFaults gives faults without their pointers. */
export function bareFaults(faults: readonly PointedFault[]): Fault[] {
  return faults.map(({ pointer: _, ...fault }) => fault);
}

/** pointedFaults gives the faults of `schemaFaults` with their pointers. */
export function pointedFaults(validate: ValidateFunction): PointedFault[] {
  const faults = faultsOf(validate);
  const distinct = new Map(faults.map((fault) => [`${fault.path} ${fault.message}`, fault]));
  return firstFaults(
    faults.filter(
      (fault) => fault.more !== undefined || distinct.get(`${fault.path} ${fault.message}`) === fault,
    ),
  );
}

function faultsOf(validate: ValidateFunction): PointedFault[] {
  const errors = validate.errors ?? [];
  const told = [...toldErrors(errors)].reverse();
  const found = told.flatMap((error) =>
    error.keyword === 'oneOf' ? armFaults(error, validate) : [toFault(error)],
  );
  return found.length > 0 ? found : errors.map(toFault);
}

/** armFaults validates the value again by the alternative alone that was meant. */
function armFaults(error: ErrorObject, validate: ValidateFunction): PointedFault[] {
  const { data, instancePath: path } = error;
  const schemas = error.schema as readonly SchemaPart[];
  const chosen = chosenArm(schemas.map((schema) => referredTo(schema, validate)) as Arm[], { data, path });
  if ('fault' in chosen) return [chosen.fault];
  const part = validatorOfPart(itemAt(schemas, chosen.arm), validate);
  if (part(data)) return [toFault(error)];
  return faultsOf(part).map((fault) => ({
    ...fault,
    path: fault.path === '/' ? path : `${path}${fault.path}`,
    ...(fault.pointer === undefined ? {} : { pointer: `${path}${fault.pointer}` }),
  }));
}

/** step writes a key as a JSON pointer has it. */
function step(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** keyText says why a key is refused by its name alone. */
function keyText(key: string): string {
  const why = key in {} ? 'which every object of JavaScript has; take another' : 'which is not valid here';
  return `has a key ${shown(key)}, ${why}`;
}

/** PATTERNS says in words what each pattern of the schemas asks for. */
const PATTERNS: Readonly<Record<string, string>> = {
  '^[0-9]+(\\.[0-9]+)?(ms|s|m|min|h)$':
    'a time with its unit (ms, s, m or min, h), such as 500ms, 60s, 90min or 1h',
  '^[0-9]+\\.[0-9]+$': 'a version of two numbers, such as "1.0"',
  '^[0-9a-f]{64}$': 'a SHA-256 digest of 64 digits from 0 to 9 and a to f',
  '^[1-9][0-9]*$': 'a whole number of 1 or more, such as "8"',
  '^[1-9][0-9]{0,8}$': 'a whole number from 1 to 999999999, such as "8"',
  '^[A-Za-z0-9_-]{1,64}$': 'a name of 1 to 64 letters, digits, _ and -, such as video-search',
  '^\\S{1,8}$': 'a text of 1 to 8 characters without a space, such as EUR',
};

function toFault(error: ErrorObject): PointedFault {
  if (error.keyword === MORE_ERRORS) return moreFaults((error as CountedErrors).params.count);
  const path = error.instancePath === '' ? '/' : error.instancePath;
  switch (error.keyword) {
    case 'required':
      return {
        path,
        pointer: `${error.instancePath}/${step(error.params.missingProperty as string)}`,
        message: `lacks ${shown(error.params.missingProperty as string)}`,
      };
    case 'additionalProperties': {
      const known = Object.keys((error.parentSchema?.properties as object | undefined) ?? {}).filter(
        (k) => k !== '$schema',
      );
      const wrong = error.params.additionalProperty as string;
      return {
        path,
        pointer: `${error.instancePath}/${step(wrong)}`,
        message: `has an unknown key ${shown(wrong)}; known keys are ${known.join(', ')}${didYouMean(wrong, known)}`,
      };
    }
    case 'enum':
      return { path, message: enumText(error) };
    case 'const':
      return { path, message: `is ${shown(error.data)}; must be ${shown(error.params.allowedValue)}` };
    // Schemas leave out the names that every object has, and nothing else by this keyword.
    case 'not':
      return { path, message: `is ${shown(error.data)}, a name that every object has; take another` };
    case 'propertyNames':
      return { path, message: keyText(error.params.propertyName as string) };
    case 'pattern': {
      const words = PATTERNS[error.params.pattern as string];
      if (words !== undefined) return { path, message: `is ${shown(error.data)}, which is not ${words}` };
      return { path, message: `${error.message} (is ${shown(error.data)})` };
    }
    case 'minItems':
    case 'maxItems':
    case 'minProperties':
    case 'maxProperties':
    case 'minLength':
    case 'maxLength':
      return { path, message: sizeText(error) };
    case 'uniqueItems': {
      const { i, j } = error.params as { readonly i: number; readonly j: number };
      return {
        path,
        message: `has ${shown((error.data as unknown[])[i])} twice, at ${Math.min(i, j)} and ${Math.max(i, j)}`,
      };
    }
    default:
      // Whole numbers with an exponent are huge too; those that are written digit by digit are found in the text.
      if (isOfWhole(error)) return { path, message: `is ${shown(error.data)}; ${HUGE}` };
      return {
        path,
        message: boundText(error) ?? `${error.message ?? error.keyword} (is ${shown(error.data)})`,
      };
  }
}

/** enumText names the values that are valid, and the one that was perhaps meant. */
function enumText({ params, data, parentSchema }: ErrorObject): string {
  const valid = params.allowedValues as unknown[];
  const words = valid.filter((value) => typeof value === 'string');
  return `is ${shown(data)}; valid values are ${valid.map(shown).join(', ')}${didYouMean(String(data), words)}${elsewhere(parentSchema?.title, data)}`;
}

/** sizeText says how many parts a value has, and how many it must have. */
function sizeText({ keyword, params, data }: ErrorObject): string {
  const { limit } = params as { readonly limit: number };
  const [has, one, many] = sizeOf(data);
  const found = has === 0 ? `has no ${many}` : `has ${has} ${has === 1 ? one : many}`;
  return `${found}; it must have ${keyword.startsWith('min') ? 'at least' : 'at most'} ${limit}`;
}

/** sizeOf counts the parts of a value, and says what one and several are called. */
function sizeOf(data: unknown): readonly [number, string, string] {
  if (Array.isArray(data)) return [data.length, 'entry', 'entries'];
  if (typeof data !== 'string') return [Object.keys(data as object).length, 'key', 'keys'];
  return [[...data].length, 'character', 'characters'];
}

/** isOfWhole says whether a number is beyond the whole ones that are distinguished, and no other bound. */
function isOfWhole({ keyword, params }: ErrorObject): boolean {
  return (keyword === 'maximum' || keyword === 'minimum') && Math.abs(params.limit) === MOST_WHOLE;
}
