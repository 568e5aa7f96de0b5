import type { TunedSet } from './tuner.js';

/**
 * withinClasses gives the devices that each set gets of those that are wanted, where a class may have too few GPUs for
 * all. Then each set of the class first has one GPU, and the next GPU always goes to the set with the smallest share of
 * what it wants, so that no stage lacks more than another.
 * @param gpus the GPUs that there are, by class; a class without an entry has no limit
 */
export function withinClasses(
  wanted: ArrayLike<number>,
  sets: readonly TunedSet[],
  gpus: Readonly<Record<string, number>>,
): Int32Array<ArrayBuffer> {
  const granted = Int32Array.from(wanted);
  for (const [name, there] of Object.entries(gpus)) {
    const own = sets.flatMap((set, i) => (set.deviceClass === name ? [i] : []));
    const needed = own.reduce((sum, i) => sum + gpusOf(granted, sets, i), 0);
    if (needed > there) share(granted, { wanted, sets, own, there });
  }
  return granted;
}

function gpusOf(devices: ArrayLike<number>, sets: readonly TunedSet[], i: number): number {
  return Math.ceil((devices[i] as number) / (sets[i] as TunedSet).virtual);
}

function share(
  granted: Int32Array,
  {
    wanted,
    sets,
    own,
    there,
  }: {
    readonly wanted: ArrayLike<number>;
    readonly sets: readonly TunedSet[];
    readonly own: readonly number[];
    readonly there: number;
  },
): void {
  const grant = (i: number) => {
    granted[i] = Math.min(wanted[i] as number, (granted[i] as number) + (sets[i] as TunedSet).virtual);
  };
  for (const i of own) {
    granted[i] = 0;
    grant(i);
  }
  for (let left = there - own.length; left > 0; left--) {
    const shareOf = (i: number) => (granted[i] as number) / (wanted[i] as number);
    const poorest = own.reduce((least, i) => (shareOf(i) < shareOf(least) ? i : least));
    grant(poorest);
  }
}
