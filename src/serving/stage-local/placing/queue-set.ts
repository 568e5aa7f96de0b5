import { NONE as SHARED_NONE } from '../../../collections/index.js';

const NONE = SHARED_NONE;

const BITS = 32;

/**
 * QueueSet is a set of queues, held as bits, so that the members are found in order without looking at every queue.
 * Adding, removing and asking take constant time.
 */
export class QueueSet {
  private readonly words: Int32Array;

  /** @param queues how many queues there are; the set is empty at first */
  constructor(private readonly queues: number) {
    this.words = new Int32Array(Math.ceil(queues / BITS));
  }

  has(queue: number): boolean {
    return (((this.words[queue >> 5] as number) >>> (queue & 31)) & 1) === 1;
  }

  add(queue: number): void {
    this.words[queue >> 5]! |= 1 << (queue & 31);
  }

  remove(queue: number): void {
    this.words[queue >> 5]! &= ~(1 << (queue & 31));
  }

  addAll(): void {
    for (let queue = 0; queue < this.queues; queue++) this.add(queue);
  }

  clear(): void {
    this.words.fill(0);
  }

  /** next is the first member from `from` on, NONE where there is none. */
  next(from: number): number {
    const { words } = this;
    let word = from >> 5;
    if (word >= words.length) return NONE;
    let bits = (words[word] as number) & (-1 << (from & 31));
    while (bits === 0) {
      if (++word === words.length) return NONE;
      bits = words[word] as number;
    }
    return word * BITS + 31 - Math.clz32(bits & -bits);
  }
}
