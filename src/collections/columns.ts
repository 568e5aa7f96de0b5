/** A kind of typed array that grows by being made anew. */
type Column = Int32Array | Float64Array | Uint8Array;

/** The next capacity that holds `needed` items: doubles, so that growth is rare. */
export function grownCapacity(capacity: number, needed: number): number {
  let grown = Math.max(capacity, 16);
  while (grown < needed) grown *= 2;
  return grown;
}

/** The same column with room for `capacity` items. */
export function grownColumn<C extends Column>(column: C, capacity: number): C {
  const longer = new (column.constructor as new (length: number) => C)(capacity);
  longer.set(column);
  return longer;
}

/** Hands out small integers and takes them back; the last returned is the next handed out. */
export class Slots {
  private free = new Int32Array(16);
  private freeCount = 0;
  private end = 0;

  /** Slots in use. */
  get used(): number {
    return this.end - this.freeCount;
  }

  take(): number {
    if (this.freeCount > 0) return this.free[--this.freeCount] as number;
    return this.end++;
  }

  giveBack(slot: number): void {
    if (this.freeCount === this.free.length) this.free = grownColumn(this.free, 2 * this.freeCount);
    this.free[this.freeCount++] = slot;
  }
}
