/** monotonicNs reads CLOCK_MONOTONIC in ns: comparable between processes of a host, exact for 104 days of uptime. */
export function monotonicNs(): number {
  return Number(process.hrtime.bigint());
}

const WAIT_CELL = new Int32Array(new SharedArrayBuffer(4));
/** The kernel may end a wait this much late; the last part is therefore spun. */
const SPIN_NS = 100_000;

/**
 * waitUntil blocks the thread until a moment (`monotonicNs`): it sleeps, and spins for the last tenth of a millisecond.
 * Do not call it on a main thread.
 */
export function waitUntil(atNs: number): void {
  const waitNs = atNs - monotonicNs() - SPIN_NS;
  if (waitNs > 0) Atomics.wait(WAIT_CELL, 0, 0, waitNs / 1e6);
  while (monotonicNs() < atNs);
}
