/**
 * StepSums adds up numbers over time that change by steps: one number for each key. Its time is cut into windows of
 * equal length. A change costs constant time per window since the last change of its key.
 */
export class StepSums {
  private readonly now: Float64Array;
  /** Until when each key is added up. */
  private readonly upTo: Float64Array;
  private readonly sums: Float64Array;

  /** @param start the numbers at time 0 */
  constructor(
    start: ArrayLike<number>,
    private readonly windowNs: number,
    private readonly windows: number,
  ) {
    this.now = Float64Array.from(start);
    this.upTo = new Float64Array(start.length);
    this.sums = new Float64Array(start.length * windows);
  }

  change(atNs: number, key: number, by: number): void {
    this.addUp(atNs, key);
    this.now[key]! += by;
  }

  /** valueOf is the number of a key as it is now. */
  valueOf(key: number): number {
    return this.now[key] as number;
  }

  /** addUpAll adds up all numbers until a time, after which no change is reported. */
  addUpAll(untilNs: number): void {
    for (let key = 0; key < this.now.length; key++) this.addUp(untilNs, key);
  }

  /** sumOf is a number times how long it was so in a window, in nanoseconds. */
  sumOf(window: number, key: number): number {
    return this.sums[window * this.now.length + key] as number;
  }

  private addUp(untilNs: number, key: number): void {
    const { windowNs, windows } = this;
    let from = this.upTo[key] as number;
    for (let window = Math.floor(from / windowNs); from < untilNs && window < windows; window++) {
      const end = Math.min(untilNs, (window + 1) * windowNs);
      this.sums[window * this.now.length + key]! += (this.now[key] as number) * (end - from);
      from = end;
    }
    this.upTo[key] = Math.max(from, untilNs);
  }
}
