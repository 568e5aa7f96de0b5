import type { WarmUp } from '../artifacts/index.js';
import type { DrawnWarmUp } from './workload.js';

const NS_PER_MS = 1e6;

/** drawnWarmUp gives a warm-up in nanoseconds, by the SLOs of the models that are served. */
export function drawnWarmUp(
  models: readonly { readonly sloMs: number }[],
  { fillSlos, settleSlos }: WarmUp,
): DrawnWarmUp {
  const longestMs = Math.max(...models.map(({ sloMs }) => sloMs));
  return {
    fillNs: models.map(({ sloMs }) => Math.round(fillSlos * sloMs * NS_PER_MS)),
    settleNs: Math.round(settleSlos * longestMs * NS_PER_MS),
  };
}
