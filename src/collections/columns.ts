/**
 * grownCapacity gives the next capacity that holds `needed` items. Capacities double, so that growth is rare.
 */
export function grownCapacity(capacity: number, needed: number): number {
  let grown = Math.max(capacity, 16);
  while (grown < needed) grown *= 2;
  return grown;
}

/** grownColumn copies a typed array into a longer one, with room for `capacity` items. */
export function grownColumn<C extends Int32Array | Float64Array | Uint8Array>(
  column: C,
  capacity: number,
): C {
  const longer = new (column.constructor as new (length: number) => C)(capacity);
  longer.set(column);
  return longer;
}

/**
 * Columns with `get` and `set` are for state that has an owner. Loops that touch many columns keep bare typed
 * arrays: with these classes in every loop of the schedulers, simulations took 1.2 to 1.35 times as long,
 * since V8 inlines only so much into one function. There are three classes of the same text, because one
 * generic class would make every `get` see three kinds of arrays.
 */

/** Int32Column holds 32-bit integers by index. An index is read only after room was made for it. */
export class Int32Column {
  private values: Int32Array;

  constructor(
    length = 0,
    private readonly initial = 0,
  ) {
    this.values = new Int32Array(length).fill(initial);
  }

  get length(): number {
    return this.values.length;
  }

  get(index: number): number {
    return this.values[index] as number;
  }

  set(index: number, value: number): void {
    this.values[index] = value;
  }

  add(index: number, amount: number): void {
    this.values[index]! += amount;
  }

  fill(value: number): void {
    this.values.fill(value);
  }

  /**
   * reach makes room for index `length − 1` by doubling, and keeps the values. The amortized cost per item is
   * constant.
   */
  reach(length: number): void {
    if (length <= this.values.length) return;
    const longer = new Int32Array(grownCapacity(this.values.length, length)).fill(this.initial);
    longer.set(this.values);
    this.values = longer;
  }
}

/** Float64Column holds doubles by index; see Int32Column. */
export class Float64Column {
  private values: Float64Array;

  constructor(
    length = 0,
    private readonly initial = 0,
  ) {
    this.values = new Float64Array(length).fill(initial);
  }

  get length(): number {
    return this.values.length;
  }

  get(index: number): number {
    return this.values[index] as number;
  }

  set(index: number, value: number): void {
    this.values[index] = value;
  }

  add(index: number, amount: number): void {
    this.values[index]! += amount;
  }

  fill(value: number): void {
    this.values.fill(value);
  }

  reach(length: number): void {
    if (length <= this.values.length) return;
    const longer = new Float64Array(grownCapacity(this.values.length, length)).fill(this.initial);
    longer.set(this.values);
    this.values = longer;
  }
}

/** FlagColumn holds yes or no by index; see Int32Column. */
export class FlagColumn {
  private values: Uint8Array;

  constructor(length = 0) {
    this.values = new Uint8Array(length);
  }

  get length(): number {
    return this.values.length;
  }

  has(index: number): boolean {
    return this.values[index] === 1;
  }

  set(index: number, value: boolean): void {
    this.values[index] = value ? 1 : 0;
  }

  fill(value: boolean): void {
    this.values.fill(value ? 1 : 0);
  }

  reach(length: number): void {
    if (length <= this.values.length) return;
    const longer = new Uint8Array(grownCapacity(this.values.length, length));
    longer.set(this.values);
    this.values = longer;
  }
}
