import type { Changed, FieldChange } from './plan-diff.js';

const ROUNDING = 1e-9;
/** Longer values are shortened where they are shown. */
const MOST_SHOWN = 60;

/** changeOf is a figure in both plans; a plan without it has 0. */
export function changeOf(before = 0, after = 0): Changed {
  return { before, after };
}

/** differs says whether a figure changes by more than rounding. Infinite figures are only like themselves. */
export function differs({ before, after }: Partial<Changed>): boolean {
  if (before === after) return false;
  if (before === undefined || after === undefined) return true;
  return !(Math.abs(after - before) <= ROUNDING * Math.max(1, Math.min(Math.abs(before), Math.abs(after))));
}

/** sidesOf is a figure or description in both plans; a plan without it has none. */
export function sidesOf<T>(before: T | undefined, after: T | undefined): { before?: T; after?: T } {
  return { ...(before === undefined ? {} : { before }), ...(after === undefined ? {} : { after }) };
}

/** classChanges lists the classes of which another number of GPUs is used. */
export function classChanges(
  a: Readonly<Record<string, { readonly used: number }>>,
  b: Readonly<Record<string, { readonly used: number }>>,
): { name: string; used: Changed }[] {
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])];
  return names
    .map((name) => ({ name, used: changeOf(a[name]?.used, b[name]?.used) }))
    .filter(({ used }) => differs(used));
}

/**
 * fieldChanges lists the fields in which two JSON values differ, by their JSON pointers. Numbers may differ by a part in
 * 10⁹.
 * @param path the pointer of the values themselves
 */
export function fieldChanges(before: unknown, after: unknown, path = ''): FieldChange[] {
  if (typeof before === 'number' && typeof after === 'number' && !differs({ before, after })) return [];
  if (!isTree(before) || !isTree(after) || Array.isArray(before) !== Array.isArray(after))
    return before === after ? [] : [{ path, ...sidesOf(jsonOf(before), jsonOf(after)) }];
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return keys.flatMap((key) => fieldChanges(before[key], after[key], `${path}/${escaped(key)}`));
}

/**
 * The fields of two plans that are not compared: where they came from, and remarks on it. The placement is
 * compared by the GPUs that serve something else.
 */
const NOT_COMPARED: readonly string[] = [
  '$schema',
  'kind',
  'version',
  'tool',
  'inputs',
  'notes',
  'placement',
];

/**
 * planChanges lists every field in which two plans of one kind differ, except for those that are told elsewhere, so that a field
 * which is new is told without a word here.
 * @param own what stands for fields of the plans whose parts are to be found again by other than their places
 * @param told the pointers of differences that are told elsewhere
 */
export function planChanges<P extends object>(
  [before, after]: readonly [P, P],
  own: (plan: P) => object,
  told: readonly RegExp[],
): FieldChange[] {
  const [a, b] = [before, after].map((plan) => ({ ...compared(plan), ...own(plan) }));
  return fieldChanges(a, b).filter(({ path }) => !told.some((one) => one.test(path)));
}

function compared(plan: object): object {
  return Object.fromEntries(Object.entries(plan).filter(([field]) => !NOT_COMPARED.includes(field)));
}

/** byName lists parts of a plan by their names, so that their order does not matter. */
export function byName<T extends { readonly name: string }>(parts: readonly T[]): Record<string, T> {
  return Object.fromEntries(parts.map((part) => [part.name, part]));
}

/** A key is escaped in a JSON pointer (RFC 6901). */
function escaped(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}

function isTree(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** jsonOf writes a value, shortened where it is long. */
function jsonOf(value: unknown): string | undefined {
  const json = JSON.stringify(value) as string | undefined;
  return json !== undefined && json.length > MOST_SHOWN ? `${json.slice(0, MOST_SHOWN - 1)}…` : json;
}
