import type { Changed, FieldChange } from './plan-diff.js';

const ROUNDING = 1e-9;
/** Longer values are shortened where they are shown. */
const MOST_SHOWN = 60;

/** changeOf is a figure in both plans; a plan without it has 0. */
export function changeOf(before = 0, after = 0): Changed {
  return { before, after };
}

/** differs says whether a figure changes by more than rounding. Infinite figures are only like themselves. */
export function differs({ before, after }: Changed): boolean {
  if (before === after) return false;
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
  return keys.flatMap((key) => fieldChanges(before[key], after[key], `${path}/${key}`));
}

/** picked gives the fields of an object that are named and there. */
export function picked<T extends object, K extends keyof T>(
  from: T,
  keys: readonly K[],
): Partial<Pick<T, K>> {
  return Object.fromEntries(
    keys.flatMap((key) => (from[key] === undefined ? [] : [[key, from[key]]])),
  ) as Partial<Pick<T, K>>;
}

/** Staged is what plans of stages have in common. */
interface Staged {
  readonly stages: readonly { readonly name: string; readonly latencyUsByBatch: unknown }[];
}

/**
 * stagedChanges lists the differences of the fields that are given of two plans, and of the latencies of stages that both
 * have.
 */
export function stagedChanges(
  before: Staged & { readonly fields: object },
  after: Staged & { readonly fields: object },
): FieldChange[] {
  const latencies = ({ stages }: Staged) =>
    Object.fromEntries(stages.map(({ name, latencyUsByBatch }) => [name, { latencyUsByBatch }]));
  return fieldChanges(
    { ...before.fields, stages: latencies(before) },
    { ...after.fields, stages: latencies(after) },
  ).filter((change) => !isWholeStage(change));
}

/** isWholeStage says whether a change is a stage that only one plan has. */
function isWholeStage({ path, before, after }: FieldChange): boolean {
  return /^\/stages\/[^/]*$/.test(path) && (before === undefined || after === undefined);
}

function isTree(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** jsonOf writes a value, shortened where it is long. */
function jsonOf(value: unknown): string | undefined {
  const json = JSON.stringify(value) as string | undefined;
  return json !== undefined && json.length > MOST_SHOWN ? `${json.slice(0, MOST_SHOWN - 1)}…` : json;
}
