import type { TurnsClock } from '../../src/runtime/live/core-turns.js';

/** What the clock shows when a run begins. A driver counts from when it was made. */
const BEGINNING_NS = 86_400e9 + 7;

/** Rank orders what happens at one instant, as drivers in virtual time have it. */
export const Rank = { end: 0, up: 1, wakeUp: 2, outside: 3 } as const;
export type Rank = (typeof Rank)[keyof typeof Rank];

interface Happening {
  readonly atNs: number;
  readonly rank: Rank;
  readonly act: () => void;
}

/**
 * VirtualTime lets things happen at their instants, which are counted from the beginning. All of one instant happen in
 * one turn of the event loop, by their ranks and then in the order in which they were planned, once all that followed
 * from what was before has happened.
 */
export class VirtualTime implements TurnsClock {
  private readonly events: Happening[] = [];
  now = 0;

  nowNs(): number {
    return BEGINNING_NS + this.now;
  }

  at(atNs: number, act: () => void, rank: Rank = Rank.outside): void {
    let place = this.events.length;
    while (place > 0 && isBefore({ atNs, rank }, this.events[place - 1]!)) place -= 1;
    this.events.splice(place, 0, { atNs, rank, act });
  }

  after(ns: number, act: () => void): () => void {
    let isWanted = true;
    this.at(this.now + ns, () => isWanted && act(), Rank.wakeUp);
    return () => {
      isWanted = false;
    };
  }

  /**
   * pass lets time pass until nothing is to come.
   * @param isOver says from when on nothing happens any more but ends of what has begun
   */
  async pass(isOver: () => boolean = () => false): Promise<void> {
    await settled();
    for (let next = this.events[0]; next !== undefined; next = this.events[0]) {
      this.now = next.atNs;
      const ofInstant = this.events.findIndex(({ atNs }) => atNs > this.now);
      const together = this.events.splice(0, ofInstant === -1 ? this.events.length : ofInstant);
      const ends = together.filter(({ rank }) => rank === Rank.end);
      for (const { act } of ends) act();
      if (ends.length > 0) await promised();
      for (const { rank, act } of together) if (rank !== Rank.end && !isOver()) act();
      await settled();
    }
  }
}

function isBefore(one: Pick<Happening, 'atNs' | 'rank'>, other: Happening): boolean {
  return one.atNs < other.atNs || (one.atNs === other.atNs && one.rank < other.rank);
}

/** settled waits until all has happened that follows: a batch that failed is told a turn later, and decided upon in the next. */
async function settled(): Promise<void> {
  for (let i = 0; i < 4; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** promised waits until all is done that waited for a promise, within this turn of the event loop. */
async function promised(): Promise<void> {
  await new Promise<void>((resolve) => process.nextTick(resolve));
}
