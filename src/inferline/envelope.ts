import { largestOf } from '../collections/index.js';
import type { PipelinePlanBody } from '../plans/index.js';
import { envelopeOf } from '../serving/index.js';

/** withEnvelopeOf adds the traffic envelope of the draws that a plan was made for. */
export function withEnvelopeOf(body: PipelinePlanBody, draws: readonly Float64Array[]): PipelinePlanBody {
  const envelopes = draws.map((atNs) => envelopeOf(atNs, 1e3 * body.longestPath.latencyUs));
  const envelope = (envelopes[0] ?? []).map(({ windowUs }, k) => ({
    windowUs,
    requests: largestOf(envelopes.map((one) => one[k]?.requests as number)),
  }));
  return { ...body, envelope };
}
