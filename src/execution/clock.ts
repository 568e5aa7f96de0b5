/** CLOCK_MONOTONIC in nanoseconds: comparable between the processes of one host, exact for 104 days of uptime. */
export function monotonicNs(): number {
  return Number(process.hrtime.bigint());
}

const WAIT_CELL = new Int32Array(new SharedArrayBuffer(4));
/** How late a wait of the kernel may end; the rest is spun. */
const SPIN_NS = 100_000;

/** Waits until a moment, leaving the core free but for the last tenth of a millisecond. Not on a main thread. */
export function waitUntil(atNs: number): void {
  const waitNs = atNs - monotonicNs() - SPIN_NS;
  if (waitNs > 0) Atomics.wait(WAIT_CELL, 0, 0, waitNs / 1e6);
  while (monotonicNs() < atNs);
}
