/** grownCapacity is the next capacity that holds `needed` items. It doubles, so that growth is rare. */
export function grownCapacity(capacity: number, needed: number): number {
  let grown = Math.max(capacity, 16);
  while (grown < needed) grown *= 2;
  return grown;
}

/** grownColumn copies an array into a longer one with room for `capacity` items. */
export function grownColumn<C extends Int32Array | Float64Array | Uint8Array>(
  column: C,
  capacity: number,
): C {
  const longer = new (column.constructor as new (length: number) => C)(capacity);
  longer.set(column);
  return longer;
}
