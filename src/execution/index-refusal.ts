/** IndexRefusal describes ONNX Runtime's refusal of an index that a node's table does not have. */
export interface IndexRefusal {
  readonly node: string;
  /** The index, where the message names it. */
  readonly value?: bigint;
  /** The indices that the node takes, where the message names them. */
  readonly range?: { readonly low: string; readonly high: string };
}

/**
 * REFUSALS match ONNX Runtime's messages: of Gather and ScatterElements, of GatherND and ScatterND, and of
 * GatherElements, which names no value.
 */
const REFUSALS: readonly RegExp[] = [
  /Name:'(?<node>[^']*)'.*indices element out of data bounds, idx=(?<value>-?\d+) must be within the inclusive range \[(?<low>-?\d+),(?<high>-?\d+)\]/,
  /Name:'(?<node>[^']*)'.*invalid (?:index|indice) found, (?:index|indice) = (?<value>-?\d+)/,
  /Name:'(?<node>[^']*)'.*Out of range value in index tensor/,
];

/**
 * indexRefusal reads a refused index from the message of a failed run, or gives undefined where the message is about
 * something else.
 */
export function indexRefusal(why: string): IndexRefusal | undefined {
  const found = REFUSALS.map((words) => words.exec(why)?.groups).find((groups) => groups !== undefined);
  if (found === undefined) return undefined;
  const { node = '', value, low, high } = found;
  return {
    node,
    ...(value !== undefined && { value: BigInt(value) }),
    ...(low !== undefined && high !== undefined && { range: { low, high } }),
  };
}
