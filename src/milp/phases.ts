/**
 * Phases sums the milliseconds spent in each phase, by a clock that is handed in. Without a clock all times are 0.
 */
export class Phases {
  readonly ms: Record<string, number> = {};
  private readonly start: number;

  /** @param clock milliseconds from any origin */
  constructor(readonly clock: () => number = () => 0) {
    this.start = clock();
  }

  /** time runs a piece of work, adds its time to a phase, even if it throws, and returns its result. */
  time<T>(phase: string, work: () => T): T {
    const from = this.clock();
    try {
      return work();
    } finally {
      this.ms[phase] = (this.ms[phase] ?? 0) + this.clock() - from;
    }
  }

  /** elapsed is the number of milliseconds since this object was made. */
  elapsed(): number {
    return this.clock() - this.start;
  }
}
