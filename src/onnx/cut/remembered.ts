import type { OnnxModel } from '../wire/index.js';

/** remembered gives a function of a model that computes once for each model, and keeps the answer as long as the model. */
export function remembered<T>(compute: (model: OnnxModel) => T): (model: OnnxModel) => T {
  const answers = new WeakMap<OnnxModel, { readonly answer: T }>();
  return (model) => {
    const known = answers.get(model) ?? { answer: compute(model) };
    answers.set(model, known);
    return known.answer;
  };
}
