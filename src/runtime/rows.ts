import type { TensorSpec } from '../artifacts/index.js';
import {
  dtypeInfo,
  isStrings,
  splitBatch,
  stackBatch,
  type TensorData,
  type Tensors,
} from '../execution/index.js';
import { sameTensor } from './live-device.js';

/** A device's memory for the batches it is sent, used again for each: it runs one at a time. By tensor name. */
export class StackMemory {
  private readonly kept = new Map<string, ArrayBuffer>();

  /** What it held before is lost. */
  take(name: string, bytes: number): ArrayBuffer {
    let memory = this.kept.get(name);
    if (memory === undefined || memory.byteLength < bytes) {
      memory = new ArrayBuffer(bytes);
      this.kept.set(name, memory);
    }
    return memory;
  }
}

/**
 * The rows' tensors of one name as a batch. What has no batch axis is sent once, and must be the same for all.
 * @param memory where it is put, if anywhere in particular; leave it alone while the batch is used
 * @throws Error where a row lacks it or they do not fit together
 */
export function stackRows(rows: readonly Tensors[], spec: TensorSpec, memory?: StackMemory): TensorData {
  const parts = rows.map((row) => {
    const part = row[spec.name];
    if (part === undefined) throw new Error(`a row carries no ${spec.name}`);
    return part;
  });
  const first = parts[0] as TensorData;
  if (spec.batchAxis !== undefined) {
    const stacked = memory === undefined ? undefined : stackedInto(memory, parts, spec);
    return stacked ?? stackBatch(parts, spec.batchAxis);
  }
  if (parts.some((part) => part !== first && !sameTensor(part, first))) {
    throw new Error(`${spec.name} has no batch axis and differs between the requests of a batch`);
  }
  return first;
}

/** Single rows along axis 0 one after the other; undefined where they are not that, or alone. */
function stackedInto(
  memory: StackMemory,
  parts: readonly TensorData[],
  { name, batchAxis, dtype, shape }: TensorSpec,
): TensorData | undefined {
  const info = dtypeInfo(dtype);
  if (info === undefined || batchAxis !== 0 || parts.length === 1) return undefined;
  const alike = (part: TensorData) =>
    part.dtype === dtype && !isStrings(part.data) && shape.every((size, axis) => part.dims[axis] === size);
  if (!parts.every(alike)) return undefined;
  const length = (parts[0] as TensorData).data.length;
  const data = new info.array(
    memory.take(name, parts.length * length * info.bytes),
    0,
    parts.length * length,
  );
  parts.forEach((part, i) => {
    (data as Float32Array).set(part.data as Float32Array, i * length);
  });
  return { dtype, dims: shape.with(0, parts.length * (shape[0] as number)), data };
}

/** A batch's tensor as one per row; what has no batch axis is every row's. */
export function splitRows(tensor: TensorData, spec: TensorSpec, count: number): TensorData[] {
  if (spec.batchAxis === undefined || count === 1) return new Array<TensorData>(count).fill(tensor);
  return splitBatch(tensor, spec.batchAxis, new Array<number>(count).fill(spec.shape[spec.batchAxis]!));
}
