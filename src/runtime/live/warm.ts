import { itemAt } from '../../collections/index.js';
import {
  ChangedModelError,
  ExecutionError,
  emptyTensor,
  filledTensor,
  firstLine,
  OutOfMemoryError,
  requestTensor,
  sameTensor,
  stackBatch,
  type TensorData,
  type Tensors,
} from '../../execution/index.js';
import { type Fault, fault, InputError, type TensorSpec } from '../../formats/index.js';
import { DEPLOY_AGAIN } from '../bundle/opened-bundle.js';
import type { PoolWork } from '../bundle/pool-work.js';

/** WarmedWork is the file that is run, and the largest batch that it is to execute. */
export interface WarmedWork {
  readonly work: PoolWork;
  readonly largestBatch: number;
}

/** fetchesOf names the outputs of a file that are asked for. */
export function fetchesOf({ outputs }: PoolWork): string[] {
  return outputs.map(({ spec }) => spec.name);
}

/**
 * warm runs batch 1 and the planned batch on the values that the inputs were profiled with, as a model may run on no
 * others, such as zeros. Outputs without a batch axis must be the same at both sizes. Of an inner tensor no such values
 * are known: where it takes neither zeros nor others, the first batch of clients finds the file cold.
 */
export async function warm(
  run: (feeds: Tensors, rows: number) => Promise<Tensors>,
  { work, largestBatch }: WarmedWork,
): Promise<void> {
  const at = (request: Tensors, batch: number) => run(repeated(work, request, batch), batch);
  const hasInner = work.inputs.some(({ isInner }) => isInner);
  for (const inner of hasInner ? [zeros, profiledValues] : [profiledValues]) {
    const request = requestOf(work, inner);
    const single = await at(request, 1).catch((error: unknown) => {
      if (hasInner && error instanceof ExecutionError && !(error instanceof OutOfMemoryError))
        return undefined;
      throw error;
    });
    if (single === undefined) continue;
    const full = largestBatch > 1 ? await at(request, largestBatch) : single;
    const faults = work.outputs.flatMap(({ spec }) => mismatch(spec, single, full, largestBatch));
    if (faults.length > 0) throw new InputError(`serve ${work.file}`, faults);
    return;
  }
}

/** doesNotRun says that a file cannot be served, as it does not run or has changed. */
export function doesNotRun(file: string, error: ExecutionError): InputError {
  if (error instanceof ChangedModelError)
    return new InputError(`serve ${file}`, [fault(error.why)], DEPLOY_AGAIN);
  const faults = [fault(firstLine(error.message))];
  return new InputError(`serve ${file}`, faults, 'Try it alone with `plan profile`.');
}

/** requestOf makes the inputs of a file for one request. */
function requestOf({ inputs }: PoolWork, inner: (spec: TensorSpec) => TensorData): Tensors {
  return Object.fromEntries(
    inputs.map(({ spec, isInner }) => [spec.name, (isInner ? inner : profiledValues)(spec)]),
  );
}

function zeros({ dtype, shape }: TensorSpec): TensorData {
  return emptyTensor(dtype, shape);
}

function profiledValues({ name, dtype, shape, fill }: TensorSpec): TensorData {
  return fill === undefined
    ? requestTensor({ name, which: 0 }, { dtype, dims: shape })
    : filledTensor(dtype, shape, fill);
}

/** repeated gives the inputs of a batch of equal requests, as profiling runs it. */
function repeated({ inputs }: PoolWork, request: Tensors, batch: number): Tensors {
  return Object.fromEntries(
    inputs.map(({ spec: { name, batchAxis } }): [string, TensorData] => {
      const one = request[name]!;
      return [
        name,
        batchAxis === undefined ? one : stackBatch(new Array<TensorData>(batch).fill(one), batchAxis),
      ];
    }),
  );
}

function mismatch(spec: TensorSpec, single: Tensors, full: Tensors, batch: number): Fault[] {
  const one = single[spec.name];
  const many = full[spec.name];
  if (one === undefined || many === undefined)
    return [fault('is no output of the file, or no tensor', spec.name)];
  if (one.dtype !== spec.dtype) return [fault(`is ${one.dtype}; the manifest says ${spec.dtype}`, spec.name)];
  if (one.dims.length !== spec.shape.length)
    return [fault(`is [${one.dims.join(', ')}]; the manifest says [${spec.shape.join(', ')}]`, spec.name)];
  if (spec.batchAxis === undefined) {
    if (batch > 1 && spec.variableAxes !== undefined)
      return [fault(`has no batch axis and a size that depends on the data: ${PROFILE_AGAIN}`, spec.name)];
    if (batch === 1 || sameTensor(one, many)) return [];
    return [fault(`has no batch axis and yet differs between batches of 1 and ${batch}`, spec.name)];
  }
  const alone = itemAt(spec.shape, spec.batchAxis);
  const grown = alone * batch;
  if (one.dims[spec.batchAxis] === alone && many.dims[spec.batchAxis] === grown) return [];
  return [
    fault(
      `is [${many.dims.join(', ')}] at batch ${batch}; axis ${spec.batchAxis} should be ${grown}`,
      spec.name,
    ),
  ];
}

const PROFILE_AGAIN = 'batches of several requests cannot be split by it; profile the model again';
