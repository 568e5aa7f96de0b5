import type { ErrorObject } from 'ajv';
import type { Fault } from './errors.js';

const MOST_FAULTS = 50;

/**
 * schemaFaults turns ajv's errors into faults for a person: the place, the fault of the value, and the valid values. It
 * leaves out repetitions and the complaints of a `oneOf`'s other arms, and gives at most 50, as `firstFaults` does.
 */
export function schemaFaults(errors: readonly ErrorObject[]): Fault[] {
  const told = errors
    .filter(
      ({ keyword, propertyName }) => !(keyword === 'if' || keyword === 'oneOf' || propertyName !== undefined),
    )
    .filter((error) => !hasDeeper(error, errors))
    .map(toFault);
  const faults = told.length > 0 ? told : errors.map(toFault);
  return firstFaults([...new Map(faults.map((fault) => [`${fault.path} ${fault.message}`, fault])).values()]);
}

/** firstFaults gives the first 50 faults, as many as a person reads, then one that says how many more there are. */
export function firstFaults(faults: readonly Fault[], path = ''): Fault[] {
  if (faults.length <= MOST_FAULTS) return [...faults];
  const left = faults.length - MOST_FAULTS;
  return [...faults.slice(0, MOST_FAULTS), { path, message: `… and ${left} more faults` }];
}

/** In a oneOf, the arm that went deepest is the one that was meant; the other arms' complaints are noise. */
function hasDeeper(error: ErrorObject, errors: readonly ErrorObject[]): boolean {
  if (error.keyword !== 'type' && error.keyword !== 'const') return false;
  if (!error.schemaPath.includes('/oneOf/')) return false;
  const below = `${error.instancePath}/`;
  return errors.some(
    (other) =>
      other.instancePath.startsWith(below) ||
      (other.instancePath === error.instancePath &&
        ['required', 'additionalProperties'].includes(other.keyword)),
  );
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
      return {
        path,
        message: `has an unknown key ${quote(error.params.additionalProperty as string)}; known keys are ${known.join(', ')}`,
      };
    }
    case 'enum':
      return {
        path,
        message: `is ${show(error.data)}; valid values are ${(error.params.allowedValues as unknown[]).map(show).join(', ')}`,
      };
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
