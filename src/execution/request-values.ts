import { streamOf } from '../random/index.js';
import { randomTensor } from './tensor.js';
import type { TensorData } from './tensor-data.js';

const SEED = 1;

/** TensorMaker makes a tensor's values from a stream of numbers in [0, 1). */
export type TensorMaker = (tensor: Pick<TensorData, 'dtype' | 'dims'>, nextUnit: () => number) => TensorData;

/**
 * requestTensor makes the values of a model's input that nobody gave: the same whenever the model is run, so that a model
 * which was profiled is known to run on them.
 * @param of the input's name, and the number of the request
 */
export function requestTensor(
  of: { readonly name: string; readonly which: number },
  tensor: Pick<TensorData, 'dtype' | 'dims'>,
  make: TensorMaker = randomTensor,
): TensorData {
  const stream = streamOf(SEED, `request ${of.which} input ${of.name}`);
  return make(tensor, () => stream.uniform());
}
