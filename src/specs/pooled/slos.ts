import { itemAt, smallestOf } from '../../collections/index.js';
import { type Cluster, type Fault, fault, type Profile, wholeLatencyUs } from '../../formats/index.js';
import { multipleMs, type Range, sloPoints } from '../sweeps.js';
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
    const model = itemAt(spec.value.models, m);
    const classes = Object.entries(cluster.devices).filter(([name]) => allowsClass(model, name));
    const ms = fastestLatencyMs(profile, Object.fromEntries(classes));
    if (ms === undefined)
      told.push(fault('has no latency at batch 1 on a class of the cluster, which multiples need', path));
    return ms ?? Number.NaN;
  });
  return points.map(({ text, n }) => ({ text, sloMs: fastestMs.map((ms) => multipleMs(n, ms)) }));
}

/**
 * fastestLatencyMs gives the latency of the whole model at batch 1 where it is least, on the classes that are given, at the
 * virtual sizes that they offer. It is undefined where none has batch 1.
 */
function fastestLatencyMs({ devices }: Profile, classes: Readonly<Cluster['devices']>): number | undefined {
  const latencies = Object.entries(classes).flatMap(([name, { virtual = [1] }]) =>
    virtual.flatMap((v) => wholeLatencyUs(devices[name], { virtual: v, batch: 1 }) ?? []),
  );
  return latencies.length === 0 ? undefined : smallestOf(latencies) / 1000;
}
