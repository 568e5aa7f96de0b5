import type { Arrivals } from '../../src/workload/index.js';

/** told makes arrivals of a list, in its order. */
export function told(list: readonly { atNs: number; model: number }[]): Arrivals {
  let i = -1;
  return {
    get atNs() {
      return list[i]!.atNs;
    },
    get model() {
      return list[i]!.model;
    },
    next: () => ++i < list.length,
  };
}
