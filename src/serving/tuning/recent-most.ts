/** RecentMost is the largest of the values of the last `lengthNs` nanoseconds. */
export class RecentMost {
  /** Values that may still become the largest: times rise and values fall. */
  private readonly kept: { readonly at: number; readonly value: number }[] = [];

  constructor(private readonly lengthNs: number) {}

  /**
   * add adds a value at a time that is no earlier than those before.
   * @returns the largest value of the last `lengthNs`
   */
  add(at: number, value: number): number {
    const { kept } = this;
    while (kept.length > 0 && (kept.at(-1) as { value: number }).value <= value) kept.pop();
    kept.push({ at, value });
    while ((kept[0] as { at: number }).at < at - this.lengthNs) kept.shift();
    return (kept[0] as { value: number }).value;
  }
}
