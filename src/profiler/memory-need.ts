import {
  dtypeInfo,
  ExecutionError,
  elementCount,
  firstLine,
  type MemoryGuard,
  memoryText,
  OutOfMemoryError,
  type TensorInfo,
} from '../execution/index.js';
import { fault, InputError, option } from '../formats/index.js';
import { largestCut, type OnnxModel } from '../onnx/index.js';
import type { TensorFinding } from './types.js';

/** BytesOf gives the bytes of a tensor; 0 where they are not known. */
export type BytesOf = (tensor: string) => number;

/** measuredBytes gives the bytes of tensors as measured, for this number of requests at once. */
export function measuredBytes(tensors: ReadonlyMap<string, TensorFinding>, requests: number): BytesOf {
  return (name) => {
    const finding = tensors.get(name);
    if (finding?.kind !== 'tensor') return 0;
    const { dtype, shape } = finding.spec;
    const times = finding.batching.kind === 'common' ? 1 : requests;
    return elementCount(shape) * times * (dtypeInfo(dtype)?.bytes ?? 0);
  };
}

/**
 * inferredBytes gives a lower bound on the bytes of tensors, as ONNX Runtime infers it before it runs anything. Of the
 * sizes it does not know, one counts as the number of requests, and the others count as 1.
 */
export function inferredBytes(inferred: ReadonlyMap<string, TensorInfo>, requests: number): BytesOf {
  return (name) => {
    const { dtype, shape } = inferred.get(name) ?? {};
    if (dtype === undefined || shape === undefined) return 0;
    const known = shape.filter((dim) => typeof dim === 'number');
    const times = known.length < shape.length ? requests : 1;
    return elementCount(known.map((size) => Math.max(0, size))) * times * (dtypeInfo(dtype)?.bytes ?? 0);
  };
}

/**
 * memoryShortage says why a model cannot run within a guard's limit, on this number of requests at once and in this
 * number of copies side by side. It gives undefined where the model may fit. It counts only tensors that must be held
 * at once, before anything is run: a run may need more.
 */
export function memoryShortage(
  model: OnnxModel,
  bytesOf: BytesOf,
  {
    requests,
    copies = 1,
    memory,
  }: { readonly requests: number; readonly copies?: number; readonly memory: MemoryGuard },
): string | undefined {
  const cut = largestCut(model, bytesOf);
  if (cut === undefined || cut.bytes * copies <= memory.limitBytes) return undefined;
  const [largest = '', ...others] = cut.tensors;
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  const held = `the tensors that are needed after node ${cut.node} (${largest}, ${memoryText(bytesOf(largest))}${more})`;
  const whose = requests === 1 ? 'one request' : `${requests} requests at once`;
  const times = copies === 1 ? '' : ` in each of ${copies} copies`;
  return `${held} take ${memoryText(cut.bytes)} for ${whose}${times}, and ${memory.limitText}`;
}

/** A person can do this where memory does not suffice. */
export const MEMORY_ADVICE = `Give smaller sizes (${option('dim')}) or fewer requests at once (${option('batch')}, ${option('virtual')}), free memory or allow more of it (${option('memoryLimit')}), or use a machine that has more.`;

/** memoryError makes the InputError that reports that memory ran out, with advice: it is no fault of the model. */
export function memoryError(task: string, { why }: OutOfMemoryError): InputError {
  return new InputError(task, [fault(why)], MEMORY_ADVICE);
}

/**
 * tellingFailures does something with executors, and reports errors of memory or of ONNX Runtime as an InputError.
 * @param task what could not be done then: completes "Cannot …"
 */
export async function tellingFailures<T>(task: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof OutOfMemoryError) throw memoryError(task, error);
    if (error instanceof ExecutionError) throw new InputError(task, [fault(firstLine(error.message))]);
    throw error;
  }
}
