import { isStrings, type Tensors } from '../execution/index.js';

/**
 * REFUSALS are ONNX Runtime's words where a node was given an index that its table does not have: of Gather and
 * ScatterElements, of GatherND and ScatterND, and of GatherElements, which names no value.
 */
const REFUSALS: readonly RegExp[] = [
  /Name:'(?<node>[^']*)'.*indices element out of data bounds, idx=(?<value>-?\d+) must be within the inclusive range \[(?<low>-?\d+),(?<high>-?\d+)\]/,
  /Name:'(?<node>[^']*)'.*invalid (?:index|indice) found, (?:index|indice) = (?<value>-?\d+)/,
  /Name:'(?<node>[^']*)'.*Out of range value in index tensor/,
];

/**
 * refusedIndex says what is wrong with a request whose execution failed because an index in its data was out of range.
 * It names the inputs that hold the index, as far as any does.
 * @param why what ONNX Runtime said
 * @returns undefined where the execution failed for another reason
 */
export function refusedIndex(why: string, rows: readonly Tensors[]): string | undefined {
  const parts = REFUSALS.map((words) => words.exec(why)?.groups).find((groups) => groups !== undefined);
  if (parts === undefined) return undefined;
  const { node = '', value, low, high } = parts;
  const taken = low === undefined ? '' : `; it takes ${low} to ${high}`;
  if (value === undefined) return `an index in its data is out of range at node ${JSON.stringify(node)}`;
  const holders = holdersOf(BigInt(value), rows);
  const holder = holders.length === 0 ? 'an index made of its data' : `input ${holders.join(' or ')}`;
  const is = holders.length === 0 ? 'is' : 'holds';
  return `${holder} ${is} ${value}, which is out of range at node ${JSON.stringify(node)}${taken}`;
}

/** holdersOf names the inputs with whole numbers, one of which is `value`. */
function holdersOf(value: bigint, rows: readonly Tensors[]): string[] {
  const holds = ({ dtype, data }: Tensors[string]): boolean => {
    if (isStrings(data) || !/^u?int\d+$/.test(dtype)) return false;
    for (const one of data) if (BigInt(one) === value) return true;
    return false;
  };
  const names = Object.keys(rows[0] ?? {});
  return names.filter((name) => rows.some((row) => row[name] !== undefined && holds(row[name])));
}
