import type { TensorSpec } from '../formats/index.js';
import { sameTensor, type TensorData } from './tensor-data.js';

/** RowTensor is what the rules for rows of a batch ask of a tensor: its axis for rows, and how many of it a row has. */
export type RowTensor = Pick<TensorSpec, 'name' | 'shape' | 'batchAxis' | 'variableAxes'>;

/**
 * commonTensor gives a tensor without a batch axis, which must be the same for all parts of a batch.
 * @throws Error where it differs
 */
export function commonTensor(parts: readonly TensorData[], name: string): TensorData {
  const first = parts[0]!;
  if (parts.some((part) => part !== first && !sameTensor(part, first)))
    throw new Error(`${name} has no batch axis and differs between the requests of a batch`);
  return first;
}

/**
 * tensorForAll gives each of `count` parts of a batch the whole of an output without a batch axis.
 * @throws Error where there are several parts and its size depends on the data: it may hold what others asked for
 */
export function tensorForAll(
  tensor: TensorData,
  { name, variableAxes }: RowTensor,
  count: number,
): TensorData[] {
  if (count > 1 && variableAxes !== undefined)
    throw new Error(
      `${name} has no batch axis and a size that depends on the data: it is split among no rows`,
    );
  return new Array<TensorData>(count).fill(tensor);
}
