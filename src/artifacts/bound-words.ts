import type { ErrorObject } from 'ajv';
import { shown } from '../formats/index.js';

/** TYPES says what a value of each JSON type is called. */
const TYPES: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  null: 'null',
};

/** typeWords says what values of these JSON types are called: `a text or a number`. */
export function typeWords(types: readonly string[]): string {
  return types.map((type) => TYPES[type] ?? type).join(' or ');
}

/** LIMITS says, by the keyword of a schema, on which side of a limit a number must be. */
const LIMITS: Readonly<Record<string, string>> = {
  minimum: 'at least',
  exclusiveMinimum: 'above',
  maximum: 'at most',
  exclusiveMaximum: 'below',
};

/**
 * boundText says that a value is beyond a limit or of another type, and what it must be. It is undefined for errors of
 * other keywords.
 */
export function boundText({ keyword, params, data, instancePath }: ErrorObject): string | undefined {
  const side = LIMITS[keyword];
  if (side !== undefined) return wrongText(data, `${side} ${params.limit}`);
  if (keyword !== 'type') return undefined;
  const types = ([] as string[]).concat(params.type as string | string[]);
  return `${wrongText(data, typeWords(types))}${quotesText(data, types)}${unitText(data, instancePath)}`;
}

/** wrongText says what a value is, and what it must be. */
export function wrongText(data: unknown, must: string): string {
  return `is ${data === null ? 'empty (null)' : shown(data)}; it must be ${must}`;
}

/** quotesText ends a sentence about a number that stands as a text, or the other way round, with what to write. */
function quotesText(data: unknown, types: readonly string[]): string {
  if (types.includes('string') && ['number', 'boolean'].includes(typeof data))
    return `: write ${JSON.stringify(String(data))}`;
  const isNumeric = typeof data === 'string' && data.trim() !== '' && Number.isFinite(Number(data));
  return isNumeric && (types.includes('number') || types.includes('integer'))
    ? ': take off its quotation marks'
    : '';
}

/** unitText ends a sentence about a number that stands there with its unit, such as 50ms, where the key has a unit at its end. */
function unitText(data: unknown, path: string): string {
  if (typeof data !== 'string' || !/^\d+(\.\d+)? ?[a-z/%]+$/i.test(data.trim())) return '';
  const unit = /[a-z](Ms|Us|Ns|S|Gbps|GiB|Bytes|Watts)$/.exec(path)?.[1];
  return unit === undefined ? '' : `: write the number alone, in ${UNITS[unit] ?? unit}`;
}

/** UNITS says what the ends of keys stand for. */
const UNITS: Readonly<Record<string, string>> = {
  Ms: 'ms',
  Us: 'µs',
  Ns: 'ns',
  S: 's',
  Bytes: 'bytes',
  Watts: 'W',
};
