import { performance } from 'node:perf_hooks';

/** ProgramClock is the time by which programs are watched. */
export interface ProgramClock {
  /** In milliseconds since 1970 in UTC; it never goes back. */
  nowMs(): number;
  /** every acts again and again, until what it gives is called. */
  every(periodMs: number, act: () => void): () => void;
}

/** MACHINE_CLOCK is the clock of the machine. Its repeated timers keep no process alive. */
export const MACHINE_CLOCK: ProgramClock = {
  nowMs: () => performance.timeOrigin + performance.now(),
  every: (periodMs, act) => {
    const timer = setInterval(act, periodMs).unref();
    return () => clearInterval(timer);
  },
};
