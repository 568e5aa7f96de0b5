/** Time spent by phase, told by a clock that is handed in; all zeros without one. */
export class Phases {
  readonly ms: Record<string, number> = {};
  private readonly start: number;

  /** @param clock milliseconds from any origin */
  constructor(readonly clock: () => number = () => 0) {
    this.start = clock();
  }

  /** Runs a piece of work and books its time under a name. */
  time<T>(phase: string, work: () => T): T {
    const from = this.clock();
    try {
      return work();
    } finally {
      this.ms[phase] = (this.ms[phase] ?? 0) + this.clock() - from;
    }
  }

  elapsed(): number {
    return this.clock() - this.start;
  }
}
