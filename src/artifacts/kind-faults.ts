import { itemAt } from '../collections/index.js';
import { didYouMean, type Fault, shown } from '../formats/index.js';
import { typeWords, wrongText } from './bound-words.js';

/** Arm is one alternative of a `oneOf`, with what distinguishes it from the others. */
export interface Arm {
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, { readonly const?: unknown }>>;
}

/**
 * chosenArm finds the alternative of a `oneOf` that was meant by a value that fits none, so that only what is wrong
 * with that one is reported. Objects with a `kind` are distinguished by it, and others by their keys. Where none was meant,
 * `fault` lists the valid ones.
 */
export function chosenArm(
  arms: readonly Arm[],
  { data, path }: { readonly data: unknown; readonly path: string },
): { readonly arm: number } | { readonly fault: Fault } {
  const kinds = arms.map(kindOf);
  if (arms.every((arm, i) => arm.enum !== undefined || kinds[i] !== undefined))
    return armOfKind(arms, { data, path });
  const taking = [...arms.keys()].filter((i) =>
    typesOf(itemAt(arms, i)).some((type) => isOfType(data, type)),
  );
  const [first] = taking;
  if (first === undefined) return { fault: { path, message: wrongText(data, typesText(arms)) } };
  if (!isObject(data) || taking.length === 1) return { arm: first };
  const keys = Object.keys(data);
  if (keys.length === 0)
    return { fault: { path, message: `lacks ${keysText(taking.map((i) => itemAt(arms, i)))}` } };
  return {
    arm: taking.reduce((best, i) => (fitsBetter(itemAt(arms, i), itemAt(arms, best), keys) ? i : best)),
  };
}

const kindOf = ({ properties }: Arm): unknown => properties?.kind?.const;

function armOfKind(
  arms: readonly Arm[],
  { data, path }: { readonly data: unknown; readonly path: string },
): { readonly arm: number } | { readonly fault: Fault } {
  const words = arms.flatMap((arm) => arm.enum ?? []);
  const kinds = arms.map(kindOf);
  const kind = isObject(data) ? data.kind : data;
  const arm = kind === undefined ? -1 : kinds.indexOf(kind);
  if (isObject(data) && arm !== -1) return { arm };
  if (isObject(data) && kind === undefined) return { fault: { path, message: 'lacks "kind"' } };
  if (isObject(data) && words.includes(kind))
    return { fault: { path, message: `${kind} takes nothing more: give the word ${kind} alone` } };
  if (arm !== -1) return { fault: { path, message: bareKind(String(kind), itemAt(arms, arm)) } };
  const at = isObject(data) ? `${path}/kind` : path;
  return { fault: { path: at, message: unknownKind(kind, [...words, ...kinds]) } };
}

/** bareKind says how a kind is given that stands there as a word. */
function bareKind(kind: string, { required = [] }: Arm): string {
  const parts = required.filter((name) => name !== 'kind');
  if (parts.length === 0) return `${kind} is no word here: give { kind: ${kind} }`;
  const whole = [`kind: ${kind}`, ...parts.map((part) => `${part}: …`)].join(', ');
  return `${kind} needs ${parts.join(' and ')}: give { ${whole} }`;
}

function unknownKind(kind: unknown, valid: readonly unknown[]): string {
  const known = valid.filter((one) => typeof one === 'string');
  return `is ${shown(kind)}; valid values are ${known.join(', ')}${didYouMean(String(kind), known)}`;
}

/** fitsBetter compares by how many of an object's keys an arm knows, and then by how few that it requires are lacking. */
function fitsBetter(one: Arm, other: Arm, keys: readonly string[]): boolean {
  const [known, knownOther] = [knownOf(one, keys), knownOf(other, keys)];
  return known === knownOther ? lacking(one, keys) < lacking(other, keys) : known > knownOther;
}

/** knownOf counts the keys that an arm knows, and half of each that is a slip of the pen for one. */
function knownOf({ properties = {} }: Arm, keys: readonly string[]): number {
  const known = Object.keys(properties);
  return keys.reduce((sum, key) => {
    if (Object.hasOwn(properties, key)) return sum + 1;
    return didYouMean(key, known) === '' ? sum : sum + 0.5;
  }, 0);
}

function lacking({ required = [] }: Arm, keys: readonly string[]): number {
  return required.filter((name) => !keys.includes(name)).length;
}

function keysText(arms: readonly Arm[]): string {
  return arms.map(({ required = [] }) => required.map((name) => `"${name}"`).join(' and ')).join(', or ');
}

/** typesOf gives the JSON types that an arm takes. */
function typesOf({ type, const: one, enum: words, properties }: Arm): readonly string[] {
  if (type !== undefined) return typeof type === 'string' ? [type] : type;
  if (words !== undefined) return words.map((word) => typeof word);
  return [one === undefined && properties !== undefined ? 'object' : typeof one];
}

function typesText(arms: readonly Arm[]): string {
  const texts = arms.map((arm) => (arm.const === undefined ? typeWords(typesOf(arm)) : shown(arm.const)));
  return [...new Set(texts)].join(' or ');
}

function isOfType(value: unknown, type: string): boolean {
  if (type === 'object') return isObject(value);
  if (type === 'array') return Array.isArray(value);
  if (type === 'null') return value === null;
  // A number that is no integer is still meant as one.
  return typeof value === (type === 'integer' ? 'number' : type);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
