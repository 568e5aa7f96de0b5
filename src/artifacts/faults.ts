import type { ErrorObject, ValidateFunction } from 'ajv';
import type { Fault } from './errors.js';
import { type Arm, chosenArm, shown } from './kind-faults.js';
import { referredTo, type SchemaPart, validatorOfPart } from './schemas.js';
import { didYouMean } from './similar.js';

const MOST_FAULTS = 50;

/**
 * schemaFaults turns what a validator found wrong with the last value into faults for a person: the place, the fault of
 * the value, and the valid values. Of a `oneOf` it tells what is wrong with the alternative that was meant, and nothing
 * of the others. It leaves out repetitions, and gives at most 50, as `firstFaults` does.
 */
export function schemaFaults(validate: ValidateFunction): Fault[] {
  const faults = faultsOf(validate);
  return firstFaults([...new Map(faults.map((fault) => [`${fault.path} ${fault.message}`, fault])).values()]);
}

function faultsOf(validate: ValidateFunction): Fault[] {
  const errors = validate.errors ?? [];
  const told: Fault[][] = [];
  for (let i = errors.length - 1; i >= 0; i--) {
    const error = errors[i] as ErrorObject;
    if (error.keyword === 'oneOf') {
      told.push(armFaults(error, validate));
      while (i > 0 && isWithin(errors[i - 1] as ErrorObject, error)) i--;
    } else if (error.keyword !== 'if' && error.propertyName === undefined) told.push([toFault(error)]);
  }
  const found = told.reverse().flat();
  return found.length > 0 ? found : errors.map(toFault);
}

/**
 * isWithin says whether the error before that of a `oneOf` is of one of its alternatives. Ajv gives these first, and no
 * schema has other keywords beside a `oneOf` (tested).
 */
function isWithin({ instancePath: path }: ErrorObject, { instancePath: at }: ErrorObject): boolean {
  return path === at || path.startsWith(`${at}/`);
}

/** armFaults validates the value again by the alternative alone that was meant. */
function armFaults(error: ErrorObject, validate: ValidateFunction): Fault[] {
  const { data, instancePath: path } = error;
  const schemas = error.schema as readonly SchemaPart[];
  const chosen = chosenArm(schemas.map((schema) => referredTo(schema, validate)) as Arm[], { data, path });
  if ('fault' in chosen) return [chosen.fault];
  const part = validatorOfPart(schemas[chosen.arm] as SchemaPart, validate);
  if (part(data)) return [toFault(error)];
  return faultsOf(part).map((fault) => ({
    ...fault,
    path: fault.path === '/' ? path : `${path}${fault.path}`,
  }));
}

/** firstFaults gives the first 50 faults, as many as a person reads, then one that says how many more there are. */
export function firstFaults(faults: readonly Fault[], path = ''): Fault[] {
  if (faults.length <= MOST_FAULTS) return [...faults];
  const left = faults.length - MOST_FAULTS;
  return [...faults.slice(0, MOST_FAULTS), { path, message: `… and ${left} more faults` }];
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
        message: `is ${shown(error.data)}; valid values are ${valid.map(shown).join(', ')}${didYouMean(String(error.data), words)}`,
      };
    }
    case 'const':
      return { path, message: `is ${shown(error.data)}; must be ${shown(error.params.allowedValue)}` };
    case 'not':
      return { path, message: `is ${shown(error.data)}, which is not valid here` };
    case 'propertyNames':
      return {
        path,
        message: `has a key ${quote(error.params.propertyName as string)} that is not valid here`,
      };
    default:
      return { path, message: `${error.message ?? error.keyword} (is ${shown(error.data)})` };
  }
}

function quote(text: string): string {
  return JSON.stringify(text);
}
