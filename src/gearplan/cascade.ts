import { type FamilyModel, leastWorkNs, shortestNs } from './problem.js';

/**
 * Cascade is a sequence of models, from cheaper to dearer ones. A sample goes on to the next model where the certainty
 * of the one before is below its threshold.
 */
export interface Cascade {
  /** Indices of models. */
  readonly models: readonly number[];
  /** The threshold of each model but the last. */
  readonly thresholds: readonly number[];
  /** The share of samples that are answered rightly. */
  readonly accuracy: number;
  /** The share of samples that come to each model. */
  readonly visits: readonly number[];
  /** The mean time of devices for a sample, where every model has its best batch. */
  readonly workNs: number;
  /** The time within which the quantile of samples is answered that never wait, in the shortest batches. */
  readonly floorNs: number;
}

/** cascadeOf gives the figures of a cascade by sending every sample through it (CascadeServe §C.2). */
export function cascadeOf(
  family: readonly FamilyModel[],
  { models, thresholds }: Pick<Cascade, 'models' | 'thresholds'>,
  quantile: number,
): Cascade {
  const samples = family[0]?.correct.length ?? 0;
  let right = 0;
  const comes = models.map(() => 0);
  for (let sample = 0; sample < samples; sample++) {
    for (let step = 0; step < models.length; step++) {
      const model = family[models[step] as number] as FamilyModel;
      comes[step]! += 1;
      const isUnsure =
        step < thresholds.length && (model.certainty[sample] as number) < (thresholds[step] as number);
      if (isUnsure) continue;
      right += model.correct[sample] as number;
      break;
    }
  }
  const visits = comes.map((count) => count / samples);
  return {
    models,
    thresholds,
    visits,
    accuracy: right / samples,
    workNs: workOf(family, models, visits),
    floorNs: floorOf(family, { models, visits }, quantile),
  };
}

/** workOf is the mean time of devices for a sample, where every model has its best batch. */
export function workOf(
  family: readonly FamilyModel[],
  models: readonly number[],
  visits: readonly number[],
): number {
  return models.reduce(
    (sum, model, step) => sum + (visits[step] as number) * leastWorkNs(family[model] as FamilyModel),
    0,
  );
}

/** floorOf is the time after which the quantile of samples has its answer that never wait. */
export function floorOf(
  family: readonly FamilyModel[],
  { models, visits }: Pick<Cascade, 'models' | 'visits'>,
  quantile: number,
): number {
  let floorNs = 0;
  for (const [step, model] of models.entries()) {
    floorNs += shortestNs(family[model] as FamilyModel);
    // A rest that comes of adding shares is no request.
    if (1 - (visits[step + 1] ?? 0) >= quantile - 1e-12) return floorNs;
  }
  return floorNs;
}
