import { Float16Array } from '@petamoriken/float16';
import { isStrings, type TensorData } from './tensor-data.js';

/** elementNumbers gives the elements of a tensor as numbers; undefined where it holds text. */
export function elementNumbers({ dtype, data }: TensorData): ArrayLike<number> | undefined {
  if (isStrings(data)) return undefined;
  if (dtype === 'float16') return halves(data);
  return Float64Array.from(data as ArrayLike<number | bigint>, Number);
}

/** elementAt gives one element of a tensor as a number; undefined where there is none, or it is text. */
export function elementAt({ dtype, data }: TensorData, index: number): number | undefined {
  if (isStrings(data)) return undefined;
  if (dtype === 'float16') return halves(data)[index];
  return data[index] === undefined ? undefined : Number(data[index]);
}

/** halves reads the bits of float16 numbers, which tensors hold as whole numbers of 16 bits. */
function halves(data: Exclude<TensorData['data'], readonly string[]>): ArrayLike<number> {
  return new Float16Array(data.buffer as ArrayBuffer, data.byteOffset, data.length) as ArrayLike<number>;
}
