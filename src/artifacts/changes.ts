import type { Changed } from './plan-diff.js';

const ROUNDING = 1e-9;

/** changeOf is a figure in both plans; a plan without it has 0. */
export function changeOf(before = 0, after = 0): Changed {
  return { before, after };
}

/** differs says whether a figure changes by more than rounding. */
export function differs({ before, after }: Changed): boolean {
  return Math.abs(after - before) > ROUNDING * Math.max(1, Math.abs(before));
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
