import type { CheckedBundle } from '../bundle/opened-bundle.js';

/** CalledModel names a model as clients call it. */
export interface CalledModel {
  readonly model: string;
  /** There is version 1 only, which is meant where none is named. */
  readonly version?: string;
}

/** UnknownModel says why there is nothing to call. */
export interface UnknownModel {
  readonly kind: 'unknown';
  readonly why: string;
}

/** findModel gives the index of the model that is called, in the bundle. */
export function findModel(
  { models }: Pick<CheckedBundle, 'models'>,
  { model, version }: CalledModel,
): number | UnknownModel {
  const index = models.findIndex(({ name }) => name === model);
  if (index < 0) {
    const known = models.map(({ name }) => name).join(', ');
    return unknown(`There is no model ${JSON.stringify(model)}; the served models are ${known}`);
  }
  if (version !== undefined && version !== '1')
    return unknown(`Model ${model} has no version ${JSON.stringify(version)}; it has 1`);
  return index;
}

function unknown(why: string): UnknownModel {
  return { kind: 'unknown', why };
}
