/** Edit is one change of a plan, as a person makes it in an editor. */
export interface Edit {
  /** The JSON pointer of what is changed. */
  readonly path: string;
  /** What is done to it, in words. */
  readonly what: string;
  /** edited gives a copy of the document with the change. */
  edited(document: object): object;
}

type Tree = Record<string, unknown>;

/**
 * editsOf lists the edits of a document: each leaf gets other values of its type and is dropped, each object is dropped, and
 * entries of each list are dropped, repeated and put in another order.
 */
export function editsOf(document: object): Edit[] {
  const others = stringsByKey(document);
  return nodesOf(document).flatMap(({ path, keys, value }) => {
    const key = keys.at(-1) as string;
    const values: (readonly [string, unknown])[] = Array.isArray(value)
      ? otherLists(value)
      : valuesFor(value, others.get(key) ?? new Set());
    return [
      ...values.map(([what, to]) => ({
        path,
        what,
        edited: (of: object) => changed(of, keys, (holder, at) => Object.assign(holder, { [at]: to })),
      })),
      ...(Array.isArray(document) || /^\d+$/.test(key)
        ? []
        : [
            {
              path,
              what: 'dropped',
              edited: (of: object) => changed(of, keys, (holder, at) => delete holder[at]),
            },
          ]),
    ];
  });
}

interface Node {
  readonly path: string;
  readonly keys: readonly string[];
  readonly value: unknown;
}

/** nodesOf lists everything that a document holds, but for itself. */
function nodesOf(value: unknown, keys: readonly string[] = []): Node[] {
  const own = keys.length === 0 ? [] : [{ path: `/${keys.join('/')}`, keys, value }];
  if (typeof value !== 'object' || value === null) return own;
  return [...own, ...Object.entries(value).flatMap(([key, one]) => nodesOf(one, [...keys, key]))];
}

/** stringsByKey gathers which texts stand under a key anywhere, so that one may take the place of another. */
function stringsByKey(document: object): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const { keys, value } of nodesOf(document)) {
    if (typeof value !== 'string') continue;
    const key = keys.at(-1) as string;
    found.set(key, (found.get(key) ?? new Set()).add(value));
  }
  return found;
}

function valuesFor(value: unknown, alike: ReadonlySet<string>): (readonly [string, unknown])[] {
  switch (typeof value) {
    case 'number':
      return numbersFor(value);
    case 'string':
      return [`${value}x`, [...alike].find((one) => one !== value)].flatMap((to) =>
        to === undefined ? [] : [[`made ${JSON.stringify(to)}`, to] as const],
      );
    case 'boolean':
      return [['flipped', !value]];
    default:
      return value === null ? [['made 1', 1]] : [];
  }
}

function numbersFor(value: number): (readonly [string, number])[] {
  const step = Number.isInteger(value) ? value + 1 : value * 1.01;
  const distinct = new Set([step, value * 10, value / 10, 0, -value, 2]);
  distinct.delete(value);
  return [...distinct].filter((to) => !Object.is(to, -0)).map((to) => [`made ${to}`, to] as const);
}

function otherLists(list: readonly unknown[]): (readonly [string, unknown])[] {
  if (list.length === 0) return [];
  return [
    ['without its last entry', list.slice(0, -1)],
    ['with its last entry twice', [...list, list.at(-1)]],
    ...(list.length > 1 ? [['with two entries swapped', [list[1], list[0], ...list.slice(2)]] as const] : []),
  ];
}

function changed(
  document: object,
  keys: readonly string[],
  change: (holder: Tree, key: string) => void,
): object {
  const copy = structuredClone(document) as Tree;
  const holder = keys.slice(0, -1).reduce((at, key) => at[key] as Tree, copy);
  change(holder, keys.at(-1) as string);
  return copy;
}
