import { type Fault, fault, type TensorSpec } from '../../formats/index.js';
import { faultOf } from '../figures.js';

const BYTES_OF_ELEMENTS: readonly (readonly [number, readonly string[]])[] = [
  [1, ['bool', 'int8', 'uint8']],
  [2, ['float16', 'bfloat16', 'int16', 'uint16']],
  [4, ['float32', 'int32', 'uint32']],
  [8, ['float64', 'int64', 'uint64']],
];

/** rowBytes counts the bytes of a tensor at batch 1; undefined where its elements have no fixed size. */
export function rowBytes({ dtype, shape }: TensorSpec): number | undefined {
  const each = BYTES_OF_ELEMENTS.find(([, dtypes]) => dtypes.includes(dtype))?.[0];
  return each === undefined ? undefined : shape.reduce((bytes, size) => bytes * size, each);
}

/** tensorFaults finds tensors of one name in a list, and axes that a tensor does not have. */
export function tensorFaults(tensors: readonly TensorSpec[] | undefined, at: string): Fault[] {
  const first = new Map((tensors ?? []).map(({ name }, i) => [name, i] as const).reverse());
  return (tensors ?? []).flatMap(({ name, shape, batchAxis, variableAxes = [] }, i) => [
    ...faultOf(first.get(name) === i, `is ${name}, as another is`, `${at}/${i}/name`),
    ...faultOf(
      batchAxis === undefined || batchAxis < shape.length,
      `is ${batchAxis}; the tensor has ${shape.length} axes`,
      `${at}/${i}/batchAxis`,
    ),
    ...faultOf(
      variableAxes.every((axis) => axis < shape.length),
      `are ${variableAxes.join(', ')}; the tensor has ${shape.length} axes`,
      `${at}/${i}/variableAxes`,
    ),
  ]);
}

/** misfitFaults finds an input that cannot be fed with a tensor. */
export function misfitFaults(input: TensorSpec, given: TensorSpec, at: string): Fault[] {
  const free = [given.batchAxis, ...(given.variableAxes ?? []), ...(input.variableAxes ?? [])];
  const fits =
    input.dtype === given.dtype &&
    input.batchAxis === given.batchAxis &&
    input.shape.length === given.shape.length &&
    input.shape.every((size, axis) => free.includes(axis) || size === given.shape[axis]);
  if (fits) return [];
  return [fault(`is ${tensorText(input)}; what it is fed with is ${tensorText(given)}`, at)];
}

function tensorText({ dtype, shape, batchAxis }: TensorSpec): string {
  return `${dtype}[${shape.map((size, axis) => (axis === batchAxis ? '*' : size)).join(', ')}]`;
}
