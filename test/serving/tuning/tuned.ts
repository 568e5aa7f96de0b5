import type { LoadMeter } from '../../../src/serving/tuning/load-meter.js';
import type { TunedSet, Tuner } from '../../../src/serving/tuning/tuner.js';

export const S = 1e9;

/** A set of devices whose one stage every request visits once. */
export const setOf = (more: Partial<TunedSet & { provisioning: number }> = {}) => ({
  pools: [0],
  deviceClass: 'gpu',
  virtual: 1,
  replicas: 2,
  most: 100,
  workS: 0.01,
  visits: 1,
  batch: 4,
  provisioning: 0.5,
  ...more,
});

/**
 * drive lets a tuner hear arrivals at the given times, and decide when it asks for it, until `untilNs`.
 * @returns what it wants after each change: the second and the devices of each set
 */
export function drive(
  tuner: Tuner,
  {
    meter,
    arrivals,
    untilNs,
    before,
  }: {
    readonly meter: LoadMeter;
    readonly arrivals: readonly number[];
    readonly untilNs: number;
    /** What happens between decisions: told the instant of each before it. */
    readonly before?: (at: number) => void;
  },
): [number, ...number[]][] {
  const changes: [number, ...number[]][] = [];
  let last = tuner.wanted.slice();
  const decide = (at: number) => {
    before?.(at);
    tuner.decide(at, meter);
    if (!tuner.nextAt || tuner.nextAt <= at) throw new Error(`asks at ${at} to be called at ${tuner.nextAt}`);
    if (tuner.wanted.every((devices, i) => devices === last[i])) return;
    last = tuner.wanted.slice();
    changes.push([at / S, ...last]);
  };
  let next = 0;
  for (;;) {
    const at = Math.min(arrivals[next] ?? Number.POSITIVE_INFINITY, tuner.nextAt);
    if (at > untilNs) return changes;
    let isDue = tuner.nextAt === at;
    for (; arrivals[next] === at; next++) isDue = tuner.arrived(at) || isDue;
    if (isDue) decide(at);
  }
}

/** evenly gives the times of arrivals at a rate, from one second to another. */
export function evenly(rps: number, fromS: number, toS: number): number[] {
  const count = Math.round(rps * (toS - fromS));
  return Array.from({ length: count }, (_, i) => Math.round(fromS * S + (i * S) / rps));
}
