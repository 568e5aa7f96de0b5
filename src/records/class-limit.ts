import type { TensorSpec } from '../formats/index.js';

/** ClassLimit is how many classes a family has: as many as the model that tells the fewest. */
export interface ClassLimit {
  readonly model: string;
  readonly classes: number;
}

/** ScoringModel is a model of a family with its outputs, as far as these are known. */
export interface ScoringModel {
  readonly name: string;
  readonly outputs?: readonly TensorSpec[] | undefined;
  /** The output that holds the scores of the classes. Where it is absent, a model's only output does. */
  readonly output?: string | undefined;
}

/** classLimitOf finds the model that tells the fewest classes; undefined where no model says how many it tells. */
export function classLimitOf(models: readonly ScoringModel[]): ClassLimit | undefined {
  const limits = models.flatMap(({ name, outputs = [], output }): ClassLimit[] => {
    const scores =
      output === undefined && outputs.length === 1 ? outputs[0] : outputs.find((one) => one.name === output);
    const classes = scores?.shape.at(-1);
    return classes === undefined || classes < 2 ? [] : [{ model: name, classes }];
  });
  return limits.reduce<ClassLimit | undefined>(
    (fewest, one) => (fewest === undefined || one.classes < fewest.classes ? one : fewest),
    undefined,
  );
}
