import { type Stream, streamOf } from '../../src/random/index.js';

/** Dice draws everything that is random in one case. The seed and the case's name give the same draws again. */
export class Dice {
  private readonly stream: Stream;

  constructor(
    private readonly seed: number,
    private readonly name: string,
  ) {
    this.stream = streamOf(seed, name);
  }

  /** again gives dice that draw the same from the beginning. */
  again(): Dice {
    return new Dice(this.seed, this.name);
  }

  /** other gives dice of their own for one purpose, so that one more draw moves nothing else. */
  other(purpose: string): Dice {
    return new Dice(this.seed, `${this.name}/${purpose}`);
  }

  /** below draws a whole number from 0 to `end` − 1. */
  below(end: number): number {
    return this.stream.integer(end);
  }

  chance(share: number): boolean {
    return this.stream.uniform() < share;
  }

  /** pick draws one of a list that is not empty. */
  pick<T>(list: readonly T[]): T {
    return list[this.stream.integer(list.length)] as T;
  }

  /** small draws 1, or more with falling chances. */
  small(most = 6): number {
    let count = 1;
    while (count < most && this.chance(0.4)) count++;
    return count;
  }

  bytes(count: number): Buffer {
    return Buffer.from(Array.from({ length: count }, () => this.below(256)));
  }
}
