/** Up to this many replicas, a sorted list is faster than a heap. */
const MOST_LISTED = 24;
/** The ring of the list has a power of two of places. */
const RING = 31;

/** FreeTimes keeps the moment when each of a stage's replicas falls free, with the first of them at hand. */
export class FreeTimes {
  private times = new Float64Array(RING + 1);
  private count = 0;
  /** The place of the replica that falls free first. */
  private place = 0;

  /** reset begins with a given number of replicas, all free from time 0. */
  reset(replicas: number): void {
    if (this.times.length < replicas) this.times = new Float64Array(2 * replicas);
    else this.times.fill(0);
    this.count = replicas;
    this.place = 0;
  }

  get first(): number {
    return this.times[this.place] as number;
  }

  /** occupy keeps the replica that falls free first until a later time. */
  occupy(until: number): void {
    if (this.count <= MOST_LISTED) this.insert(until);
    else this.sink(until);
  }

  /** insert takes the first of the sorted ring, and puts it behind those that fall free no later, which most do. */
  private insert(until: number): void {
    const { times, place, count } = this;
    let at = place + count;
    while (at > place + 1 && (times[(at - 1) & RING] as number) > until) {
      times[at & RING] = times[(at - 1) & RING] as number;
      at--;
    }
    times[at & RING] = until;
    this.place = (place + 1) & RING;
  }

  /** sink replaces the root of the binary heap that `times` is. */
  private sink(until: number): void {
    const { times, count } = this;
    let hole = 0;
    for (;;) {
      let child = 2 * hole + 1;
      if (child >= count) break;
      if (child + 1 < count && (times[child + 1] as number) < (times[child] as number)) child++;
      if ((times[child] as number) >= until) break;
      times[hole] = times[child] as number;
      hole = child;
    }
    times[hole] = until;
  }
}
