import { fatesOf, type UncertainPipeline } from '../plans/index.js';
import { uniformAt } from '../random/index.js';
import type { VerdictOf } from '../simulator/index.js';

/** drawnFates draws what the models of a pipeline's stages say (see `fatesOf`) under a seed. */
export function drawnFates(pipeline: UncertainPipeline, seed: number): VerdictOf {
  return fatesOf(pipeline, (purpose) => uniformAt(seed, purpose));
}
