import type { FamilyModel, LoadRange } from '../../src/gearplan/index.js';
import { devicesHolding } from './dynamic-batching.js';

/**
 * switchingDevices finds the fewest devices on which MS+ has an accuracy within a latency, with the batching of the paper's
 * MS+, which is Clipper's: what waits goes at once. Every device holds all models; each range of loads has the most
 * accurate model that holds its highest rate. Undefined where no number of devices is enough.
 */
export function switchingDevices(
  family: readonly FamilyModel[],
  {
    ranges,
    latencyNs,
    quantile,
    accuracy,
  }: {
    readonly ranges: readonly LoadRange[];
    readonly latencyNs: number;
    readonly quantile: number;
    readonly accuracy: number;
  },
): number | undefined {
  const accuracies = family.map(
    ({ correct }) => correct.reduce((sum, right) => sum + right, 0) / correct.length,
  );
  const needs = ranges.map(({ toRps }) =>
    family.map(
      (model) => devicesHolding(model, { rps: toRps, latencyNs, quantile }) ?? Number.POSITIVE_INFINITY,
    ),
  );
  const reached = (devices: number): number =>
    ranges.reduce((sum, { share }, k) => {
      const held = accuracies.filter((_, m) => (needs[k]?.[m] as number) <= devices);
      // Where no model holds the rate, the plan is none.
      return sum + share * (held.length === 0 ? Number.NEGATIVE_INFINITY : Math.max(...held));
    }, 0);
  const counts = [...new Set(needs.flat())].filter(Number.isFinite).sort((a, b) => a - b);
  return counts.find((devices) => reached(devices) >= accuracy);
}
