import { monotonicNs } from '../../execution/index.js';
import type { Decisions, ServingCore } from '../../serving/index.js';

/** Node fires timers longer than this at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** TurnsClock tells the time, and calls later. */
export interface TurnsClock {
  /** The nanoseconds since some instant, as `monotonicNs` gives them. */
  nowNs(): number;
  /** after calls `act` when about a given number of nanoseconds have passed, and gives what takes that back. */
  after(ns: number, act: () => void): () => void;
}

const MACHINE_CLOCK: TurnsClock = {
  nowNs: monotonicNs,
  after: (ns, act) => {
    const timer = setTimeout(act, Math.min(Math.ceil(ns / 1e6), LONGEST_TIMER_MS));
    return () => clearTimeout(timer);
  },
};

/** CoreTurnsOptions holds the core whose turns these are, and what is done about its decisions. */
export interface CoreTurnsOptions {
  readonly core: Pick<ServingCore, 'decide' | 'due'>;
  readonly decisions: Decisions;
  /** The time; by default that of the machine. */
  readonly clock?: TurnsClock | undefined;
  /** carryOut carries out a decision, by its place in the buffer. It tells the core nothing. */
  readonly carryOut: (i: number) => void;
  /** tellWhatFollowed tells the core what came of its decisions at once. It says whether the core is to decide again. */
  readonly tellWhatFollowed: () => boolean;
  /** decided is called when the core has nothing more to decide for now. */
  readonly decided: () => void;
}

/**
 * CoreTurns is the clock of a core that is driven in real time: it lets the core decide once per turn of the event
 * loop, after all events of the turn, and wakes it when it asks to be woken.
 */
export class CoreTurns {
  private readonly clock: TurnsClock;
  private readonly startedNs: number;
  private deciding: NodeJS.Immediate | undefined;
  private wakeNoMore: (() => void) | undefined;
  private isStopped = false;
  /** The time that the core has taken to decide, and how often it was asked to. */
  decideUs = 0;
  decideCalls = 0;

  constructor(private readonly options: CoreTurnsOptions) {
    this.clock = options.clock ?? MACHINE_CLOCK;
    this.startedNs = this.clock.nowNs();
  }

  /** now gives the nanoseconds since these turns began. */
  now(): number {
    return this.clock.nowNs() - this.startedNs;
  }

  /** at gives a time of `monotonicNs` by this clock. */
  at(monotonic: number): number {
    return monotonic - this.startedNs;
  }

  /** decideNow decides at once, without waiting for the other events of this turn of the event loop. */
  decideNow(): void {
    if (this.deciding !== undefined) clearImmediate(this.deciding);
    this.deciding = undefined;
    this.decide();
  }

  /** decideSoon decides once per turn of the event loop, after all events of the turn. */
  decideSoon(): void {
    this.deciding ??= setImmediate(() => {
      this.deciding = undefined;
      this.decide();
    });
  }

  private decide(): void {
    const { core, decisions, carryOut, tellWhatFollowed, decided } = this.options;
    for (let again = true; again; ) {
      const before = performance.now();
      core.decide(this.now());
      this.decideUs += 1e3 * (performance.now() - before);
      this.decideCalls += 1;
      for (let i = 0; i < decisions.count; i++) carryOut(i);
      decisions.clear();
      again = tellWhatFollowed();
    }
    decided();
  }

  /**
   * wakeAt wakes the core at a time. Node's timers may fire early, so it checks the time and waits again if
   * necessary.
   */
  wakeAt(time: number): void {
    this.wakeNoMore?.();
    if (this.isStopped) return;
    const wait = () => {
      this.wakeNoMore = this.clock.after(Math.max(0, time - this.now()), check);
    };
    const check = () => {
      const at = this.now();
      if (at < time) {
        wait();
        return;
      }
      this.options.core.due(at);
      this.decideSoon();
    };
    wait();
  }

  /** stop wakes the core no more, so that these turns no longer keep the process alive. */
  stop(): void {
    this.isStopped = true;
    this.wakeNoMore?.();
  }
}
