import { type Fault, fault, type PooledSpecModel, type Profile } from '../../artifacts/index.js';
import { type Range, sloPoints } from '../sweeps.js';
import { allowsClass } from './budget-mixes.js';
import type { LoadedPooled } from './pooled.js';

/** SloPoint holds the SLOs of one point of a sweep, by model. */
export interface SloPoint {
  readonly text: string;
  readonly sloMs: readonly number[];
}

/**
 * slosOf lists the SLOs of a sweep in milliseconds, evenly spaced, with both ends: the same for every model, or, with
 * the unit `x`, multiples of each model's fastest latency at batch 1 (PPipe, section 7.6). A model without such a
 * latency adds a fault to `told`, and its SLOs are NaN.
 */
export function slosOf({ spec, cluster, profiles }: LoadedPooled, range: Range, told: Fault[]): SloPoint[] {
  const points = sloPoints(range);
  if (range.unit !== 'x') {
    const msPer = range.unit === 's' ? 1000 : 1;
    return points.map(({ text, n }) => ({ text, sloMs: profiles.map(() => n * msPer) }));
  }
  const fastestMs = profiles.map(({ profile, path }, m) => {
    const model = spec.value.models[m] as PooledSpecModel;
    const classes = Object.keys(cluster.devices).filter((name) => allowsClass(model, name));
    const ms = fastestLatencyMs(profile, classes);
    if (ms === undefined)
      told.push(fault('has no latency at batch 1 on a class of the cluster, which multiples need', path));
    return ms ?? Number.NaN;
  });
  return points.map(({ text, n }) => ({ text, sloMs: fastestMs.map((ms) => n * ms) }));
}

/**
 * fastestLatencyMs gives the sum of the model's block latencies at batch 1 on its fastest class, at the smallest
 * virtual size that was measured there. Blocks that were not measured count as 0. It is undefined where no class has
 * batch 1.
 */
function fastestLatencyMs(profile: Profile, classes: readonly string[]): number | undefined {
  const sums = classes.flatMap((name) => {
    const rows = profile.devices[name]?.blockLatencyUs ?? {};
    const smallest = Object.keys(rows)
      .map(Number)
      .sort((a, b) => a - b)[0];
    const row = smallest === undefined ? undefined : rows[smallest]?.['1'];
    return row === undefined ? [] : [row.reduce<number>((sum, us) => sum + (us ?? 0), 0)];
  });
  return sums.length === 0 ? undefined : Math.min(...sums) / 1000;
}
