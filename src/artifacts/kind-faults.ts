import type { ErrorObject } from 'ajv';
import type { Fault } from './errors.js';
import { didYouMean } from './similar.js';

/** Arm is one alternative of a `oneOf` whose alternatives are words, and objects told apart by their `kind`. */
interface Arm {
  readonly enum?: readonly unknown[];
  readonly required?: readonly string[];
  readonly properties?: { readonly kind?: { readonly const?: unknown } };
}

/**
 * chosenArm finds the alternative that was meant where ajv complains of a `oneOf` of words and of objects told apart by
 * their `kind`. Only what ajv says of that one helps a person; where none was meant, `fault` lists the valid ones.
 * @returns undefined where the alternatives are told apart in another way
 */
export function chosenArm({
  keyword,
  schema,
  data,
  instancePath: path,
}: ErrorObject): { readonly arm: number } | { readonly fault: Fault } | undefined {
  if (keyword !== 'oneOf') return undefined;
  const arms = schema as readonly Arm[];
  const words = arms.flatMap((arm) => arm.enum ?? []);
  const kinds = arms.map((arm) => arm.properties?.kind?.const);
  if (arms.some((arm, i) => arm.enum === undefined && kinds[i] === undefined)) return undefined;
  const isObject = typeof data === 'object' && data !== null && !Array.isArray(data);
  const kind = isObject ? (data as { kind?: unknown }).kind : data;
  const arm = kind === undefined ? -1 : kinds.indexOf(kind);
  if (isObject && arm !== -1) return { arm };
  if (isObject && kind === undefined) return { fault: { path, message: 'lacks "kind"' } };
  if (isObject && words.includes(kind))
    return { fault: { path, message: `${kind} takes nothing more: give the word ${kind} alone` } };
  if (arm !== -1) {
    const parts = (arms[arm]?.required ?? []).filter((name) => name !== 'kind');
    const whole = [`kind: ${kind}`, ...parts.map((part) => `${part}: …`)].join(', ');
    return { fault: { path, message: `${kind} needs ${parts.join(' and ')}: give { ${whole} }` } };
  }
  return {
    fault: { path: isObject ? `${path}/kind` : path, message: unknownKind(kind, [...words, ...kinds]) },
  };
}

function unknownKind(kind: unknown, valid: readonly unknown[]): string {
  const known = valid.filter((one) => typeof one === 'string');
  const said = JSON.stringify(kind) ?? String(kind);
  const shown = said.length > 60 ? `${said.slice(0, 57)}…` : said;
  return `is ${shown}; valid values are ${known.join(', ')}${didYouMean(String(kind), known)}`;
}
