import { InputError } from '../formats/index.js';
import { joinedParts, joinFaults, splitFault, splitParts } from './joining.js';
import { emptyTensor } from './tensor.js';
import type { TensorData } from './tensor-data.js';

/**
 * stackBatch joins one tensor of several requests along the batch axis, in the order given. Along axis 0 this is one
 * copy per part; along a later axis, one copy per part and outer row. A single part is returned as it is.
 * @throws InputError when dtypes or other dimensions differ, the axis is not one of the shape, or there are no parts
 */
export function stackBatch(parts: readonly TensorData[], batchAxis: number): TensorData {
  const faults = joinFaults(parts, batchAxis);
  if (faults.length > 0) throw new InputError('stack tensors', faults);
  return joinedParts(parts, batchAxis, emptyTensor);
}

/**
 * splitBatch gives the parts of a stacked tensor, each with its `rowsPerPart` rows along the batch axis, in order.
 * Where all dimensions before that axis are 1 (as for axis 0), the parts are views of the tensor's memory, not copies;
 * strings are always copied.
 * @throws InputError when the rows are not whole numbers of at least 0 that add up to the axis
 */
export function splitBatch(
  tensor: TensorData,
  batchAxis: number,
  rowsPerPart: readonly number[],
): TensorData[] {
  const message = splitFault(tensor, batchAxis, rowsPerPart);
  if (message !== undefined) throw new InputError('split a tensor', [{ path: '', message }]);
  return splitParts(tensor, { axis: batchAxis, rowsPerPart, make: emptyTensor });
}
