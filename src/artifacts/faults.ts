import type { ErrorObject } from 'ajv';
import type { Fault } from './errors.js';
import { chosenArm } from './kind-faults.js';
import { didYouMean } from './similar.js';

const MOST_FAULTS = 50;

/**
 * schemaFaults turns ajv's errors into faults for a person: the place, the fault of the value, and the valid values. It
 * leaves out repetitions and the complaints of a `oneOf`'s other arms, and gives at most 50, as `firstFaults` does.
 */
export function schemaFaults(errors: readonly ErrorObject[]): Fault[] {
  const { left, found } = withChosenArms(errors);
  const told = left
    .filter(
      ({ keyword, propertyName }) => !(keyword === 'if' || keyword === 'oneOf' || propertyName !== undefined),
    )
    .filter((error) => !hasDeeper(error, left))
    .map(toFault);
  const all = [...found, ...told];
  const faults = all.length > 0 ? all : errors.map(toFault);
  return firstFaults([...new Map(faults.map((fault) => [`${fault.path} ${fault.message}`, fault])).values()]);
}

/** withChosenArms leaves out what ajv says of the alternatives by kind that were not meant. */
function withChosenArms(errors: readonly ErrorObject[]): { left: readonly ErrorObject[]; found: Fault[] } {
  let left = errors;
  const found: Fault[] = [];
  for (const error of errors) {
    const chosen = chosenArm(error);
    if (chosen === undefined) continue;
    if ('fault' in chosen) found.push(chosen.fault);
    const meant = 'arm' in chosen ? `${error.schemaPath}/${chosen.arm}/` : undefined;
    left = left.filter(
      ({ schemaPath, instancePath }) =>
        !schemaPath.startsWith(`${error.schemaPath}/`) ||
        !(instancePath === error.instancePath || instancePath.startsWith(`${error.instancePath}/`)) ||
        (meant !== undefined && schemaPath.startsWith(meant)),
    );
  }
  return { left, found };
}

/** firstFaults gives the first 50 faults, as many as a person reads, then one that says how many more there are. */
export function firstFaults(faults: readonly Fault[], path = ''): Fault[] {
  if (faults.length <= MOST_FAULTS) return [...faults];
  const left = faults.length - MOST_FAULTS;
  return [...faults.slice(0, MOST_FAULTS), { path, message: `… and ${left} more faults` }];
}

/** These say that a value is of the right type, and how it is wrong all the same. */
const OF_RIGHT_TYPE = [
  ...['required', 'additionalProperties', 'minItems', 'maxItems', 'minLength', 'maxLength', 'pattern'],
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'],
];

/** In a oneOf, the arm that went deepest is the one that was meant; the other arms' complaints are noise. */
function hasDeeper(error: ErrorObject, errors: readonly ErrorObject[]): boolean {
  if (error.keyword !== 'type' && error.keyword !== 'const') return false;
  if (!error.schemaPath.includes('/oneOf/')) return false;
  const below = `${error.instancePath}/`;
  return errors.some(
    (other) =>
      other.instancePath.startsWith(below) ||
      (other.instancePath === error.instancePath &&
        OF_RIGHT_TYPE.includes(other.keyword) &&
        schemaOf(other) !== schemaOf(error)),
  );
}

/** schemaOf gives the path of the schema that a keyword is in. */
function schemaOf({ schemaPath }: ErrorObject): string {
  return schemaPath.slice(0, schemaPath.lastIndexOf('/'));
}

function toFault(error: ErrorObject): Fault {
  const path = error.instancePath === '' ? '/' : error.instancePath;
  switch (error.keyword) {
    case 'required':
      return { path, message: `lacks ${quote(error.params.missingProperty as string)}` };
    case 'additionalProperties': {
      const known = Object.keys((error.parentSchema?.properties as object | undefined) ?? {}).filter(
        (k) => k !== '$schema',
      );
      const wrong = error.params.additionalProperty as string;
      return {
        path,
        message: `has an unknown key ${quote(wrong)}; known keys are ${known.join(', ')}${didYouMean(wrong, known)}`,
      };
    }
    case 'enum': {
      const valid = error.params.allowedValues as unknown[];
      const words = valid.filter((value) => typeof value === 'string');
      return {
        path,
        message: `is ${show(error.data)}; valid values are ${valid.map(show).join(', ')}${didYouMean(String(error.data), words)}`,
      };
    }
    case 'const':
      return { path, message: `is ${show(error.data)}; must be ${show(error.params.allowedValue)}` };
    case 'not':
      return { path, message: `is ${show(error.data)}, which is not valid here` };
    case 'propertyNames':
      return {
        path,
        message: `has a key ${quote(error.params.propertyName as string)} that is not valid here`,
      };
    default:
      return { path, message: `${error.message ?? error.keyword} (is ${show(error.data)})` };
  }
}

function quote(text: string): string {
  return JSON.stringify(text);
}

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}
