/** The same column with room for `capacity` items. */
export function grownColumn<C extends Int32Array | Float64Array | Uint8Array>(
  column: C,
  capacity: number,
): C {
  const longer = new (column.constructor as new (length: number) => C)(capacity);
  longer.set(column);
  return longer;
}

/** Capacity for an item at `index`, doubling so that growth is rare. */
export function capacityFor(index: number, capacity: number): number {
  let grown = Math.max(capacity, 16);
  while (grown <= index) grown *= 2;
  return grown;
}

export const NONE = -1;

/** What the core must not do: a fault of ours, never of the input. */
export function brokenPromise(what: string): Error {
  return new Error(`Broken promise of the serving core: ${what}`);
}
