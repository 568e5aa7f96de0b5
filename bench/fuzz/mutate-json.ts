import type { Dice } from '../seeded/dice.js';
import { ODD_NUMBERS, ODD_TEXTS, RAW, RAW_NUMBERS } from './odd-values.js';

type Parent = Record<string, unknown> | unknown[];

/** Spot is one place in a document: a key of an object, or an index of a list. */
interface Spot {
  readonly parent: Parent;
  readonly key: string | number;
  readonly path: string;
}

/** Mutated is a changed input with a description of the change. */
export interface Mutated<T> {
  readonly value: T;
  readonly what: string;
}

const MOST_SPOTS = 4000;
const MOST_COPIES = 300;

/** mutateJson changes a copy of a document in one place or a few: values, keys, order, lengths and depths. */
export function mutateJson(dice: Dice, document: unknown): Mutated<unknown> {
  const root = { document: structuredClone(document) };
  const told: string[] = [];
  for (let left = dice.small(); left > 0; left--) {
    const spots = spotsOf(root.document);
    const whole: Spot = { parent: root, key: 'document', path: '' };
    const spot = spots.length === 0 || dice.chance(0.02) ? whole : dice.pick(spots);
    told.push(`${spot.path || '/'}: ${changeAt(dice, spot, spots)}`);
  }
  return { value: root.document, what: told.join('; ') };
}

function spotsOf(document: unknown): Spot[] {
  const spots: Spot[] = [];
  const left: { value: unknown; path: string; depth: number }[] = [{ value: document, path: '', depth: 0 }];
  for (let next = left.pop(); next !== undefined && spots.length < MOST_SPOTS; next = left.pop()) {
    const { value, path, depth } = next;
    if (typeof value !== 'object' || value === null || depth > 40) continue;
    const keys = Array.isArray(value) ? value.map((_, i) => i) : Object.keys(value);
    for (const key of keys) {
      const below = `${path}/${String(key).slice(0, 40)}`;
      spots.push({ parent: value as Parent, key, path: below });
      left.push({ value: (value as Record<string | number, unknown>)[key], path: below, depth: depth + 1 });
    }
  }
  return spots;
}

function changeAt(dice: Dice, spot: Spot, spots: readonly Spot[]): string {
  const value = at(spot);
  const changes: (() => string)[] = [
    () => replace(spot, oddValue(dice), 'another value'),
    () => remove(spot),
    () => replace(spot, structuredClone(at(dice.pick([spot, ...spots]))), 'a value from elsewhere'),
    () => replace(spot, nested(dice, value), 'nested deep'),
    () => addKey(dice, spot),
    () => sameAsSibling(dice, spot, spots),
  ];
  if (typeof value === 'number')
    changes.push(...Array(4).fill(() => replace(spot, number(dice, value), 'another number')));
  if (typeof value === 'string')
    changes.push(...Array(2).fill(() => replace(spot, text(dice, value), 'another text')));
  if (Array.isArray(value)) changes.push(...Array(3).fill(() => changeList(dice, value)));
  if (typeof spot.key === 'string') changes.push(() => rename(dice, spot));
  return dice.pick(changes)();
}

function at({ parent, key }: Spot): unknown {
  return (parent as Record<string | number, unknown>)[key];
}

function replace({ parent, key }: Spot, value: unknown, what: string): string {
  (parent as Record<string | number, unknown>)[key] = value;
  return what;
}

function remove({ parent, key }: Spot): string {
  if (Array.isArray(parent)) parent.splice(Number(key), 1);
  else delete parent[key];
  return 'removed';
}

function rename(dice: Dice, spot: Spot): string {
  const value = at(spot);
  remove(spot);
  define(spot.parent, dice.chance(0.3) ? String(spot.key).toUpperCase() : dice.pick(ODD_TEXTS), value);
  return 'renamed';
}

function addKey(dice: Dice, { parent }: Spot): string {
  if (Array.isArray(parent)) parent.splice(dice.below(parent.length + 1), 0, oddValue(dice));
  else define(parent, dice.pick(ODD_TEXTS), oddValue(dice));
  return 'something added beside it';
}

/** define sets a key that may be `__proto__`. */
function define(parent: Parent, key: string, value: unknown): void {
  Object.defineProperty(parent, key, { value, enumerable: true, configurable: true, writable: true });
}

/** sameAsSibling gives a place the value of another place with the same key, so that names and ids repeat. */
function sameAsSibling(dice: Dice, spot: Spot, spots: readonly Spot[]): string {
  const alike = spots.filter(({ key, parent }) => key === spot.key && parent !== spot.parent);
  if (alike.length === 0) return replace(spot, oddValue(dice), 'another value');
  return replace(spot, structuredClone(at(dice.pick(alike))), 'the value of a place like it');
}

function changeList(dice: Dice, list: unknown[]): string {
  switch (dice.below(6)) {
    case 0:
      list.reverse();
      return 'reversed';
    case 1:
      list.length = dice.below(list.length + 1);
      return 'cut short';
    case 2:
      list.push(...structuredClone(list));
      return 'doubled';
    case 3: {
      const one = list.length === 0 ? oddValue(dice) : dice.pick(list);
      const copies = dice.below(MOST_COPIES);
      for (let i = 0; i < copies; i++) list.push(structuredClone(one));
      return `one repeated ${copies} times`;
    }
    case 4:
      list.splice(dice.below(list.length + 1), 0, oddValue(dice));
      return 'one added';
    default:
      if (list.length > 1) list.push(list.splice(dice.below(list.length), 1)[0]);
      return 'one moved to the end';
  }
}

function number(dice: Dice, value: number): unknown {
  const odd = dice.pick(ODD_NUMBERS);
  return dice.pick([
    odd,
    odd,
    -value,
    value + 1,
    value - 1,
    value * 1e6,
    value / 1e6,
    value + 0.5,
    String(value),
    RAW + dice.pick(RAW_NUMBERS),
  ]);
}

function text(dice: Dice, value: string): unknown {
  const odd = dice.pick(ODD_TEXTS);
  const place = dice.below(value.length + 1);
  return dice.pick([
    odd,
    odd,
    value.slice(0, place) + odd + value.slice(place),
    value.slice(0, place),
    value.toUpperCase(),
    `${value} `,
    [value],
    Number(value),
  ]);
}

function oddValue(dice: Dice): unknown {
  return dice.pick<() => unknown>([
    () => null,
    () => true,
    () => [],
    () => ({}),
    () => dice.pick(ODD_NUMBERS),
    () => dice.pick(ODD_TEXTS),
    () => RAW + dice.pick(RAW_NUMBERS),
    () => [dice.pick(ODD_NUMBERS), dice.pick(ODD_TEXTS)],
    () => ({ [dice.pick(['name', 'a', 'kind'])]: dice.pick(ODD_TEXTS) }),
  ])();
}

function nested(dice: Dice, value: unknown): unknown {
  const levels = dice.pick([1, 2, 62, 65, 700]);
  let deep = value;
  for (let i = 0; i < levels; i++) deep = dice.chance(0.5) ? [deep] : { a: deep };
  return deep;
}

/** jsonOf writes a document as JSON, with RAW texts written as they stand. */
export function jsonOf(document: unknown): string {
  const quoted = JSON.stringify(RAW).slice(1, -1);
  const text = JSON.stringify(document, undefined, 1) ?? 'null';
  return text.includes(quoted) ? text.replace(/"\\u0001raw:((?:[^"\\]|\\.)*)"/g, '$1') : text;
}
