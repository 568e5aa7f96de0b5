import type { Device } from './device.js';

/**
 * emulatedNs gives how long a run lasts on an emulated slower device, in ns: the time that it took, and slowdown − 1
 * times what it computed. A CPU computes for as long as it is given a core, so that a wait for a core counts once; the
 * wait would otherwise be slowed down too, and a device that shares its cores would be slower than was asked for.
 * @param ranNs the run's time by the clock
 * @param cpuNs the CPU time of the process during the run, all threads together
 */
export function emulatedNs({ provider, slowdown = 1 }: Device, ranNs: number, cpuNs: number): number {
  const computedNs = provider === 'cpu' ? Math.min(ranNs, cpuNs) : ranNs;
  return ranNs + (slowdown - 1) * computedNs;
}
