import { elementNumbers, type TensorData } from '../execution/index.js';
import { SampleFault } from './sample-fault.js';

/** numbersIn gives the elements of a tensor as numbers. @throws SampleFault where it holds text */
export function numbersIn(tensor: TensorData): ArrayLike<number> {
  const numbers = elementNumbers(tensor);
  if (numbers === undefined) throw new SampleFault('holds text; numbers are needed');
  return numbers;
}
