import { dtypeOfOip, oipDatatype, type TensorData } from '../execution/index.js';
import type { TensorSpec } from '../formats/index.js';
import type { CalledFace, Datatype, ProgramTensor, TensorMetadata } from '../programs/index.js';

/** programTensor gives a tensor as programs read it, on the same memory. */
export function programTensor({ dtype, dims, data }: TensorData): ProgramTensor {
  return { datatype: oipDatatype(dtype) as Datatype, shape: dims, data: data as ProgramTensor['data'] };
}

/** tensorOfProgram gives a tensor that a program made as executors have it, on the same memory. */
export function tensorOfProgram({ datatype, shape, data }: ProgramTensor): TensorData {
  return { dtype: dtypeOfOip(datatype) as string, dims: shape, data };
}

/** SpecifiedFace has the tensors that something takes and gives, as models have them. */
export interface SpecifiedFace {
  readonly inputs: readonly TensorSpec[];
  readonly outputs: readonly TensorSpec[];
}

/** calledFace describes a component to programs: −1 stands for the rows of a batch and for sizes that depend on the data. */
export function calledFace({ inputs, outputs }: SpecifiedFace): CalledFace {
  return { inputs: inputs.map(calledTensor), outputs: outputs.map(calledTensor) };
}

function calledTensor({ name, dtype, shape, batchAxis, variableAxes = [] }: TensorSpec): TensorMetadata {
  const sizes = shape.map((size, axis) => (axis === batchAxis || variableAxes.includes(axis) ? -1 : size));
  return { name, datatype: oipDatatype(dtype) as Datatype, shape: sizes };
}

/**
 * sentFace describes what clients send to a program and get, as models have it: the first size is that of the rows
 * where it is free, and others that are free depend on the data.
 */
export function sentFace({ inputs, outputs }: CalledFace): { inputs: TensorSpec[]; outputs: TensorSpec[] } {
  return { inputs: inputs.map(sentTensor), outputs: outputs.map(sentTensor) };
}

function sentTensor({ name, datatype, shape }: TensorMetadata): TensorSpec {
  const variableAxes = shape.flatMap((size, axis) => (size === -1 && axis > 0 ? [axis] : []));
  return {
    name,
    dtype: dtypeOfOip(datatype) as string,
    shape: shape.map((size) => Math.max(size, 1)),
    ...(shape[0] === -1 ? { batchAxis: 0 } : {}),
    ...(variableAxes.length === 0 ? {} : { variableAxes }),
  };
}

/**
 * callFaults says why programs cannot call a component with such tensors: a tensor is of a type that cannot be sent, or
 * its rows are not what its first axis counts.
 */
export function callFaults({ inputs, outputs }: SpecifiedFace): string[] {
  return [...inputs, ...outputs].flatMap(({ name, dtype, shape, batchAxis }) => {
    if (oipDatatype(dtype) === undefined) return [`${name} is ${dtype}, which programs cannot hold`];
    if (batchAxis === undefined || (batchAxis === 0 && shape[0] === 1)) return [];
    return [
      `a row has ${shape[batchAxis]} of axis ${batchAxis} of ${name}; programs count rows by the first axis, one for each`,
    ];
  });
}
