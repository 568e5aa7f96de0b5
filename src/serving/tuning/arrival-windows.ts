const FIRST_CAPACITY = 1024;

/**
 * ArrivalWindows counts the arrivals of several windows that all end now: in a window of ΔT, those after now − ΔT. An
 * arrival costs constant time per window on average. Memory follows the arrivals of the longest window.
 */
export class ArrivalWindows {
  /** The times of arrivals, each at its number modulo the capacity, which is a power of two. */
  private times = new Float64Array(FIRST_CAPACITY);
  /** How many arrivals there have been: the number of the next one. */
  private next = 0;
  /** The number of the first arrival in each window. */
  private readonly first: Float64Array;
  private readonly longest: number;

  /** @param lengthsNs the lengths of the windows, above 0, at least one */
  constructor(readonly lengthsNs: ArrayLike<number>) {
    this.first = new Float64Array(lengthsNs.length);
    const most = Array.from(lengthsNs).reduce((max, ns) => Math.max(max, ns), 0);
    this.longest = Array.from(lengthsNs).indexOf(most);
  }

  /** add counts an arrival, which is no earlier than those before. */
  add(at: number): void {
    this.slide(at);
    if (this.next - (this.first[this.longest] as number) === this.times.length) this.grow();
    this.times[this.next & (this.times.length - 1)] = at;
    this.next += 1;
  }

  /** slide moves the windows so that they end at the given time. */
  slide(at: number): void {
    const mask = this.times.length - 1;
    for (let i = 0; i < this.lengthsNs.length; i++) {
      const from = at - (this.lengthsNs[i] as number);
      let first = this.first[i] as number;
      while (first < this.next && (this.times[first & mask] as number) <= from) first += 1;
      this.first[i] = first;
    }
  }

  /** countIn is the number of arrivals in a window, as of the last `add` or `slide`. */
  countIn(window: number): number {
    return this.next - (this.first[window] as number);
  }

  /** countAfter is the number of arrivals after a time, which lies within the longest window. O(log n). */
  countAfter(at: number): number {
    const mask = this.times.length - 1;
    let low = this.first[this.longest] as number;
    let high = this.next;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if ((this.times[middle & mask] as number) <= at) low = middle + 1;
      else high = middle;
    }
    return this.next - low;
  }

  private grow(): void {
    const { times } = this;
    const longer = new Float64Array(2 * times.length);
    for (let i = this.first[this.longest] as number; i < this.next; i++)
      longer[i & (longer.length - 1)] = times[i & (times.length - 1)] as number;
    this.times = longer;
  }
}
