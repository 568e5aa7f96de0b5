/** Up to this many replicas, looking at each is faster than keeping them in a heap. */
const MOST_SCANNED = 12;

/** FreeTimes keeps the moment when each of a stage's replicas falls free, with the first of them at hand. */
export class FreeTimes {
  private times = new Float64Array(16);
  private count = 0;
  /** The place of the replica that falls free first. */
  private place = 0;

  /** reset begins with so many replicas, all free from time 0. */
  reset(replicas: number): void {
    if (this.times.length < replicas) this.times = new Float64Array(2 * replicas);
    else this.times.fill(0, 0, replicas);
    this.count = replicas;
    this.place = 0;
  }

  get first(): number {
    return this.times[this.place] as number;
  }

  /** occupy keeps the replica that falls free first until a later time. */
  occupy(until: number): void {
    if (this.count <= MOST_SCANNED) this.scan(until);
    else this.sink(until);
  }

  private scan(until: number): void {
    const { times, count } = this;
    times[this.place] = until;
    let first = 0;
    for (let i = 1; i < count; i++) if ((times[i] as number) < (times[first] as number)) first = i;
    this.place = first;
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
