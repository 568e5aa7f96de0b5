/** Leaf is one value of a JSON document that is neither a list nor an object, by its JSON pointer. */
export interface Leaf {
  readonly path: string;
  readonly value: unknown;
}

/** leavesOf lists the leaves of a JSON document, in order. Empty lists and objects are leaves too. */
export function leavesOf(value: unknown, path = ''): Leaf[] {
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  if (entries.length === 0) return [{ path, value }];
  return entries.flatMap(([key, one]) => (one === undefined ? [] : leavesOf(one, `${path}/${escaped(key)}`)));
}

/** withLeaf gives a copy of a document in which the value at a JSON pointer is another one. */
export function withLeaf<T>(document: T, path: string, value: unknown): T {
  const copy = structuredClone(document);
  const keys = path.split('/').slice(1).map(unescaped);
  const last = keys.pop() as string;
  const holder = keys.reduce((at, key) => (at as Record<string, unknown>)[key], copy as unknown);
  (holder as Record<string, unknown>)[last] = value;
  return copy;
}

/** otherThan gives a value of the same type that is not the given one. */
export function otherThan(value: unknown): unknown {
  switch (typeof value) {
    case 'number':
      return Number.isInteger(value) ? value + 1 : value * 1.01;
    case 'string':
      return `${value}x`;
    case 'boolean':
      return !value;
    default:
      return value === null ? 1 : { other: 1 };
  }
}

const escaped = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1');
const unescaped = (key: string): string => key.replaceAll('~1', '/').replaceAll('~0', '~');
