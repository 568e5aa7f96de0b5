/** Item is a column at a throughput at which the GPUs of at least one partition are all busy. */
export interface Item {
  readonly column: number;
  readonly rps: number;
  readonly loss: number;
  readonly units: readonly number[];
  readonly offset: number;
}

/** SortedItems holds items by rising loss, in flat arrays. */
export class SortedItems {
  count = 0;
  losses = new Float64Array(256);
  rps = new Float64Array(256);
  offsets = new Int32Array(256);
  ids = new Int32Array(256);
  units: Int32Array;

  constructor(private readonly classes: number) {
    this.units = new Int32Array(256 * classes);
  }

  add({ loss, rps, offset, units }: Item, id: number): void {
    if (this.count === this.losses.length) this.grow();
    let at = this.count;
    while (at > 0 && (this.losses[at - 1] as number) > loss) at--;
    const { count, classes } = this;
    this.losses.copyWithin(at + 1, at, count);
    this.rps.copyWithin(at + 1, at, count);
    this.offsets.copyWithin(at + 1, at, count);
    this.ids.copyWithin(at + 1, at, count);
    this.units.copyWithin((at + 1) * classes, at * classes, count * classes);
    this.losses[at] = loss;
    this.rps[at] = rps;
    this.offsets[at] = offset;
    this.ids[at] = id;
    this.units.set(units, at * classes);
    this.count++;
  }

  private grow(): void {
    const size = this.losses.length * 2;
    const { losses, rps, offsets, ids, units } = this;
    this.losses = new Float64Array(size);
    this.losses.set(losses);
    this.rps = new Float64Array(size);
    this.rps.set(rps);
    this.offsets = new Int32Array(size);
    this.offsets.set(offsets);
    this.ids = new Int32Array(size);
    this.ids.set(ids);
    this.units = new Int32Array(size * this.classes);
    this.units.set(units);
  }
}
