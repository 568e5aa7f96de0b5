import type { TensorSpec } from '../../artifacts/index.js';
import { dtypeOfOip, oipDatatype, type TensorData } from '../../execution/index.js';
import type { Datatype, ProgramTensor, TensorMetadata } from '../../programs/index.js';
import { shapeOf } from '../request-tensors.js';

/** programTensor gives a tensor as programs read it, on the same memory. */
export function programTensor({ dtype, dims, data }: TensorData): ProgramTensor {
  return { datatype: oipDatatype(dtype) as Datatype, shape: dims, data: data as ProgramTensor['data'] };
}

/** tensorOfProgram gives a tensor that a program made as executors have it, on the same memory. */
export function tensorOfProgram({ datatype, shape, data }: ProgramTensor): TensorData {
  return { dtype: dtypeOfOip(datatype) as string, dims: shape, data };
}

/** calledTensor describes a tensor of a component to programs: −1 for the rows of a batch and for sizes that depend on the data. */
export function calledTensor(spec: TensorSpec): TensorMetadata {
  return { name: spec.name, datatype: oipDatatype(spec.dtype) as Datatype, shape: shapeOf(spec) };
}

/** sentTensor describes a tensor of a program as that of a model: its first size is that of the rows where it is free. */
export function sentTensor({ name, datatype, shape }: TensorMetadata): TensorSpec {
  const variableAxes = shape.flatMap((size, axis) => (size === -1 && axis > 0 ? [axis] : []));
  return {
    name,
    dtype: dtypeOfOip(datatype) as string,
    shape: shape.map((size) => Math.max(size, 1)),
    ...(shape[0] === -1 ? { batchAxis: 0 } : {}),
    ...(variableAxes.length === 0 ? {} : { variableAxes }),
  };
}
