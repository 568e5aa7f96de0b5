import { indexRefusal, isStrings, type Tensors } from '../../execution/index.js';

/**
 * refusedIndex explains a failed execution to the client where an index in its data was out of range. It names the
 * inputs that hold the index, as far as any does.
 * @param why the message of ONNX Runtime
 * @param rows the inputs of each row of the client's request
 * @returns undefined where the execution failed for another reason
 */
export function refusedIndex(why: string, rows: readonly Tensors[]): string | undefined {
  const refusal = indexRefusal(why);
  if (refusal === undefined) return undefined;
  const { value, range } = refusal;
  const node = JSON.stringify(refusal.node);
  if (value === undefined) return `an index in its data is out of range at node ${node}`;
  const taken = range === undefined ? '' : `; it takes ${range.low} to ${range.high}`;
  const holders = holdersOf(value, rows);
  const is = holders.length === 0 ? 'an index made of its data is' : `input ${holders.join(' or ')} holds`;
  return `${is} ${value}, which is out of range at node ${node}${taken}`;
}

/** holdersOf names the inputs with whole numbers, one of which is `value`. */
function holdersOf(value: bigint, rows: readonly Tensors[]): string[] {
  const holds = ({ dtype, data }: Tensors[string]): boolean => {
    if (isStrings(data) || !/^u?int\d+$/.test(dtype)) return false;
    const isOfBigInts = data instanceof BigInt64Array || data instanceof BigUint64Array;
    return isOfBigInts ? data.includes(value) : data.includes(Number(value));
  };
  const names = Object.keys(rows[0] ?? {});
  return names.filter((name) => rows.some((row) => row[name] !== undefined && holds(row[name])));
}
