/** StateSet is a set of states of a grid, one bit for each, that is walked through in rising order. */
export class StateSet {
  private readonly words: Int32Array;

  /** @param states the number of states, which are 0 to `states` − 1 */
  constructor(private readonly states: number) {
    this.words = new Int32Array(Math.ceil(states / 32));
  }

  add(state: number): void {
    const word = state >> 5;
    this.words[word] = (this.words[word] as number) | (1 << (state & 31));
  }

  /**
   * next gives the smallest member that is not below `from`, or the number of states if there is none. Members may be
   * added during a walk; those above the present one are still visited.
   */
  next(from: number): number {
    const { words, states } = this;
    if (from >= states) return states;
    let at = from >> 5;
    let word = (words[at] as number) & (-1 << (from & 31));
    while (word === 0) {
      if (++at === words.length) return states;
      word = words[at] as number;
    }
    return (at << 5) + 31 - Math.clz32(word & -word);
  }
}
