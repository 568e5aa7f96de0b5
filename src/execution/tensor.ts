import { setFloat16 } from '@petamoriken/float16';
import { itemAt } from '../collections/index.js';
import { InputError } from '../formats/index.js';
import { DTYPES, type DtypeInfo, dtypeInfo, STRING_DTYPE } from './dtype.js';
import type { Tensors } from './protocol.js';
import { elementCount, isStrings, type TensorData } from './tensor-data.js';

/** numericDtype gives a numeric dtype's storage. @throws InputError naming the known dtypes where there is none */
export function numericDtype(dtype: string): DtypeInfo {
  const info = dtypeInfo(dtype);
  if (info !== undefined) return info;
  const known = [...Object.keys(DTYPES), STRING_DTYPE].join(', ');
  throw new InputError('make a tensor', [
    { path: '', message: `dtype is "${dtype}"; known types are ${known}` },
  ]);
}

/**
 * checkFeeds checks that tensors arrive as they are: numbers in arrays of their dtypes, because who receives them would
 * misread others, and strings that ONNX Runtime for Node takes whole.
 * @throws InputError naming the first tensor that does not, or a dtype that is unknown
 */
export function checkFeeds(tensors: Tensors): void {
  for (const [path, tensor] of Object.entries(tensors)) {
    const message = feedFault(tensor);
    if (message !== undefined) throw new InputError('send a tensor', [{ path, message }]);
  }
}

function feedFault(tensor: TensorData): string | undefined {
  const { dtype, data } = tensor;
  if (isStrings(data)) return textFault(tensor);
  const { array } = numericDtype(dtype);
  return data instanceof array
    ? undefined
    : `is ${dtype} and held in ${data.constructor.name}, not ${array.name}`;
}

/** Without its other half, a half of a surrogate pair is no character, and UTF-8 has no bytes for it. */
const HALF_A_PAIR = /\p{Surrogate}/u;

/**
 * textFault says which string of a tensor ONNX Runtime for Node would change, and why: it ends strings at NUL, and takes
 * the replacement character for what is no Unicode text. It is undefined for numbers, and where all strings are kept.
 */
export function textFault({ data }: TensorData): string | undefined {
  if (!isStrings(data)) return undefined;
  const odd = data.findIndex((text) => text.includes('\0') || HALF_A_PAIR.test(text));
  if (odd < 0) return undefined;
  return itemAt(data, odd).includes('\0')
    ? `string ${odd} holds a NUL, at which ONNX Runtime for Node would end it`
    : `string ${odd} holds half a surrogate pair, which is no Unicode text`;
}

/** emptyTensor makes a tensor of zeros (or of empty strings, or false). @throws InputError for an unknown dtype */
export function emptyTensor(dtype: string, dims: readonly number[]): TensorData {
  const length = elementCount(dims);
  if (dtype === STRING_DTYPE) return { dtype, dims, data: new Array<string>(length).fill('') };
  return { dtype, dims, data: new (numericDtype(dtype).array)(length) };
}

/**
 * filledTensor makes a tensor whose every element is `value`: rounded down for integers, and as its digits for strings.
 * @throws InputError for an unknown dtype
 */
export function filledTensor(dtype: string, dims: readonly number[], value: number): TensorData {
  return randomTensor({ dtype, dims }, () => 0, { low: value, high: value });
}

/** ValueRange is the bounds [low, high) of random values. */
export interface ValueRange {
  readonly low: number;
  readonly high: number;
}

/**
 * randomTensor draws values uniformly from `range`: by default [0, 1) for floating types and {0, 1} for the others,
 * which is valid for masks and for indices into anything of two rows or more. Values of the other types are rounded
 * down, and strings are the integers' digits.
 * @param nextUnit a stream of numbers in [0, 1)
 * @throws InputError for an unknown dtype
 */
export function randomTensor(
  { dtype, dims }: Pick<TensorData, 'dtype' | 'dims'>,
  nextUnit: () => number,
  range?: ValueRange,
): TensorData {
  const tensor = emptyTensor(dtype, dims);
  const real = dtype.startsWith('float');
  const { low, high } = range ?? { low: 0, high: real ? 1 : 2 };
  const next = () => low + nextUnit() * (high - low);
  const data = tensor.data as (number | bigint | string)[];
  const draw = drawer(dtype, next);
  for (let i = 0; i < data.length; i++) data[i] = draw();
  return tensor;
}

function drawer(dtype: string, next: () => number): () => number | bigint | string {
  switch (dtype) {
    case 'float32':
    case 'float64':
      return next;
    case 'float16':
      return () => float16Bits(next());
    case 'int64':
    case 'uint64':
      return () => BigInt(Math.floor(next()));
    case STRING_DTYPE:
      return () => String(Math.floor(next()));
    default:
      return () => Math.floor(next());
  }
}

/** float16Bits gives the 16 bits of the half-precision float nearest to a value. */
function float16Bits(value: number): number {
  setFloat16(FLOAT16_VIEW, 0, value);
  return FLOAT16_VIEW.getUint16(0);
}
const FLOAT16_VIEW = new DataView(new ArrayBuffer(2));
