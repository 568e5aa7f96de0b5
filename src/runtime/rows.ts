import type { TensorSpec } from '../artifacts/index.js';
import { splitBatch, stackBatch, type TensorData, type Tensors } from '../execution/index.js';
import { sameTensor } from './live-device.js';

/**
 * The rows' tensors of one name as a batch. What has no batch axis is sent once, and must be the same for all.
 * @throws Error where a row lacks it or they do not fit together
 */
export function stackRows(rows: readonly Tensors[], spec: TensorSpec): TensorData {
  const parts = rows.map((row) => {
    const part = row[spec.name];
    if (part === undefined) throw new Error(`a row carries no ${spec.name}`);
    return part;
  });
  const first = parts[0] as TensorData;
  if (spec.batchAxis !== undefined) return stackBatch(parts, spec.batchAxis);
  if (parts.some((part) => part !== first && !sameTensor(part, first))) {
    throw new Error(`${spec.name} has no batch axis and differs between the requests of a batch`);
  }
  return first;
}

/** A batch's tensor as one per row; what has no batch axis is every row's. */
export function splitRows(tensor: TensorData, spec: TensorSpec, count: number): TensorData[] {
  if (spec.batchAxis === undefined || count === 1) return new Array<TensorData>(count).fill(tensor);
  return splitBatch(tensor, spec.batchAxis, new Array<number>(count).fill(spec.shape[spec.batchAxis]!));
}
