import type { CascadeSpec } from '../../../src/formats/index.js';
import { streamOf } from '../../../src/random/index.js';
import type { RandomModel } from './random-cascade.js';

const REQUESTS = 20_000;
/** A model that holds by so little more than is asked for may hold by chance. */
const CLEARLY = 0.02;
const MOST_BUSY = 0.98;
const SHARES = [0.01, 0.1, 0.3, 0.6, 1];

/** heldByOneModel says whether a model on all devices, whose idle devices take all that wait, clearly serves every load in time. */
export function heldByOneModel(model: RandomModel, { slo, load, cluster }: CascadeSpec): boolean {
  const { latencyMs = Number.POSITIVE_INFINITY, quantile = 0.95 } = slo;
  const devices = typeof cluster === 'string' ? 1 : (Object.values(cluster.devices)[0]?.count ?? 1);
  // Where no latency is asked for, only devices that have the time keep up.
  const leastUs = Math.min(...model.latencyUs.map((us, b) => us / (b + 1)));
  if (load.maxRps * leastUs > 1e6 * MOST_BUSY * devices) return false;
  const wanted = quantile + CLEARLY * (1 - quantile);
  return SHARES.every((share) => inTime(model, { devices, rps: share * load.maxRps, latencyMs }) > wanted);
}

/** inTime serves a load whose queue is empty at first, and counts what ends in its second half. */
function inTime(
  { latencyUs }: RandomModel,
  { devices, rps, latencyMs }: { readonly devices: number; readonly rps: number; readonly latencyMs: number },
): number {
  const { exponential } = streamOf(77, 'one model');
  let atUs = 0;
  const cameUs = Array.from({ length: REQUESTS }, () => {
    atUs += (1e6 * exponential()) / rps;
    return atUs;
  });
  const freeUs = Array.from({ length: devices }, () => 0);
  let good = 0;
  for (let next = 0; next < REQUESTS; ) {
    const device = freeUs.indexOf(Math.min(...freeUs));
    const startUs = Math.max(freeUs[device] as number, cameUs[next] as number);
    let size = 0;
    while (size < latencyUs.length && next + size < REQUESTS && (cameUs[next + size] as number) <= startUs)
      size += 1;
    const endUs = startUs + (latencyUs[size - 1] as number);
    freeUs[device] = endUs;
    for (let i = next; i < next + size; i++)
      if (i >= REQUESTS / 2 && endUs - (cameUs[i] as number) <= 1e3 * latencyMs) good += 1;
    next += size;
  }
  return good / (REQUESTS / 2);
}
