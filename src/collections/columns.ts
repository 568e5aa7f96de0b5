/**
 * grownCapacity is a capacity that holds `needed` items: the given one, or 16 if that is larger, doubled until it is
 * enough, so that growth is rare.
 */
export function grownCapacity(capacity: number, needed: number): number {
  let grown = Math.max(capacity, 16);
  while (grown < needed) grown *= 2;
  return grown;
}

/**
 * grownColumn gives a copy of a typed array with room for `capacity` items; the new items are 0.
 * @throws RangeError if the array has more items than that
 */
export function grownColumn<C extends Int32Array | Float64Array | Uint8Array>(
  column: C,
  capacity: number,
): C {
  const longer = new (column.constructor as new (length: number) => C)(capacity);
  longer.set(column);
  return longer;
}
