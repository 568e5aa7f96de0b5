import { itemAt } from '../../collections/index.js';
import {
  commonTensor,
  dtypeInfo,
  isStrings,
  splitBatch,
  stackBatch,
  type TensorData,
  tensorForAll,
} from '../../execution/index.js';
import type { TensorSpec } from '../../formats/index.js';

/**
 * StackMemory is a device's memory for its batches, by tensor name. It is used again for each batch, because
 * a device runs one at a time.
 */
export class StackMemory {
  private readonly kept = new Map<string, ArrayBuffer>();

  /**
   * take gives memory of at least this many bytes for a tensor. It still holds what was there, which is to be
   * overwritten.
   */
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
 * stackRows joins a tensor of each row into a batch. A tensor without a batch axis is sent once, and
 * must be the same for all rows.
 * @param memory where a batch of several rows along axis 0 is put; the caller must not use it again before the batch is
 *   done. Other batches, and those of strings, take new memory; a single row's tensor is given as it is.
 * @throws Error where the tensors do not fit together
 */
export function stackRows(parts: readonly TensorData[], spec: TensorSpec, memory?: StackMemory): TensorData {
  if (spec.batchAxis === undefined) return commonTensor(parts, spec.name);
  const stacked = memory === undefined ? undefined : stackedInto(memory, parts, spec);
  return stacked ?? stackBatch(parts, spec.batchAxis);
}

/**
 * stackedInto puts tensors of single rows one after another along axis 0.
 * @returns undefined for other tensors, and for a single one
 */
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
  const length = itemAt(parts, 0).data.length;
  const data = new info.array(
    memory.take(name, parts.length * length * info.bytes),
    0,
    parts.length * length,
  );
  parts.forEach((part, i) => {
    (data as Float32Array).set(part.data as Float32Array, i * length);
  });
  return { dtype, dims: shape.with(0, parts.length * itemAt(shape, 0)), data };
}

/**
 * splitRows splits a batch's tensor into one for each of its `count` rows. A tensor without a batch axis belongs whole
 * to every row.
 * @throws Error for a tensor of several rows that has no batch axis and whose size depends on the data: it may hold what
 *   others asked for
 */
export function splitRows(tensor: TensorData, spec: TensorSpec, count: number): TensorData[] {
  if (spec.batchAxis === undefined) return tensorForAll(tensor, spec, count);
  if (count === 1) return [tensor];
  return splitBatch(
    tensor,
    spec.batchAxis,
    new Array<number>(count).fill(itemAt(spec.shape, spec.batchAxis)),
  );
}
