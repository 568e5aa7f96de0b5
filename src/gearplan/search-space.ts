import { type Cascade, cascadeOf } from './cascade.js';
import { type CascadeSpace, cascadeSpace, singleModels } from './frontier.js';
import type { GearProblem } from './problem.js';
import { type GearMethod, isOfSingles } from './scope.js';

/** SpaceOptions says which cascades a method chooses from. */
export interface SpaceOptions {
  readonly method?: GearMethod;
  readonly interrupted?: () => boolean;
  /** surpassed says whether single models are among them that others surpass. */
  readonly surpassed?: boolean;
}

/**
 * spaceOf gives the cascades of a method: those of one model for baselines that have no cascades. With `surpassed`, single models
 * that others surpass are among them.
 */
export function spaceOf(problem: GearProblem, options: SpaceOptions): CascadeSpace {
  const { method = 'gears', interrupted, surpassed = false } = options;
  const space = isOfSingles(method) ? singleModels(problem) : cascadeSpace(problem, interrupted);
  if (!surpassed) return space;
  const cascades = [...space.cascades, ...surpassedModels(problem, space)];
  return { ...space, cascades: cascades.sort((a, b) => b.accuracy - a.accuracy || a.workNs - b.workNs) };
}

/**
 * surpassedModels lists the single models that a space lacks as others surpass them. Work is that of the best batch, so
 * that such a model may serve better all the same, in the batches that form.
 */
export function surpassedModels({ models, quantile }: GearProblem, { cascades }: CascadeSpace): Cascade[] {
  return models.flatMap((_, model) =>
    cascades.some((one) => one.models.length === 1 && one.models[0] === model)
      ? []
      : [cascadeOf(models, { models: [model], thresholds: [] }, quantile)],
  );
}
