import { largestOf } from '../collections/index.js';
import type { WarmUp } from '../formats/index.js';
import { NS_PER_MS } from '../formats/index.js';
import type { DrawnWarmUp } from './workload.js';

/** drawnWarmUp gives a warm-up in nanoseconds, by the SLOs of the models that are served. */
export function drawnWarmUp(
  models: readonly { readonly sloMs?: number | undefined; readonly throughputRps: number }[],
  { fillSlos, settleSlos }: WarmUp,
): DrawnWarmUp {
  const slosMs = models.map(({ sloMs = 0, throughputRps }) => (throughputRps > 0 ? sloMs : 0));
  return {
    fillNs: slosMs.map((sloMs) => Math.round(fillSlos * sloMs * NS_PER_MS)),
    settleNs: Math.round(settleSlos * largestOf(slosMs) * NS_PER_MS),
  };
}
