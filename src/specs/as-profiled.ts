import type { DimValues, ProfiledModel } from '../formats/index.js';

/** AsProfiled holds the options of `prepareModel` that a profile says its model was prepared with. */
export interface AsProfiled {
  readonly dims?: DimValues;
  readonly fill?: Readonly<Record<string, number>>;
  readonly batchTolerance?: number;
  readonly trustBatch?: boolean;
}

/** asProfiled gives the options with which a model is prepared as it was profiled. */
export function asProfiled({ dims, batchTolerance, trustBatch, inputs = [] }: ProfiledModel): AsProfiled {
  const fill = inputs.flatMap((input) => (input.fill === undefined ? [] : [[input.name, input.fill]]));
  return {
    ...(dims === undefined ? {} : { dims }),
    ...(fill.length === 0 ? {} : { fill: Object.fromEntries(fill) }),
    ...(batchTolerance === undefined ? {} : { batchTolerance }),
    ...(trustBatch === undefined ? {} : { trustBatch: true }),
  };
}
