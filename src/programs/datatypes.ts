import type { Datatype, ProgramTensor } from './program.js';

/** The elements of BYTES are text, which a list of strings holds. */
const TEXT = 'BYTES';

/** ARRAYS has the array of each datatype but BYTES, as types of programs have it (`DataOf`). */
const ARRAYS = {
  BOOL: Uint8Array,
  UINT8: Uint8Array,
  UINT16: Uint16Array,
  UINT32: Uint32Array,
  UINT64: BigUint64Array,
  INT8: Int8Array,
  INT16: Int16Array,
  INT32: Int32Array,
  INT64: BigInt64Array,
  FP16: Uint16Array,
  FP32: Float32Array,
  FP64: Float64Array,
} satisfies Record<Exclude<Datatype, typeof TEXT>, unknown>;

/** DATATYPES lists the datatypes that tensors of programs may have. */
export const DATATYPES: readonly string[] = [...Object.keys(ARRAYS), TEXT];

/**
 * tensorCopy gives a tensor with elements of its own, in no more memory than they take; undefined where its array is
 * not that of its datatype.
 */
export function tensorCopy({ datatype, shape, data }: ProgramTensor): ProgramTensor | undefined {
  const copy = copiedData(datatype, data);
  return copy && { datatype, shape: [...shape], data: copy };
}

function copiedData(datatype: Datatype, data: unknown): ProgramTensor['data'] | undefined {
  if (datatype === TEXT) return isText(data) ? [...data] : undefined;
  const array = ARRAYS[datatype];
  return data instanceof array ? new array(data as never) : undefined;
}

function isText(data: unknown): data is readonly string[] {
  return Array.isArray(data) && data.every((element) => typeof element === 'string');
}

/** arrayOf names what holds the elements of a datatype, for a message. */
export function arrayOf(datatype: Datatype): string {
  return datatype === TEXT ? 'a list of strings' : `a ${ARRAYS[datatype].name}`;
}
