/** IndexRefusal is what ONNX Runtime says where a node was given an index that its table does not have. */
export interface IndexRefusal {
  readonly node: string;
  /** The index, where it is named. */
  readonly value?: bigint;
  /** What the node takes, where it is named. */
  readonly range?: { readonly low: string; readonly high: string };
}

/**
 * REFUSALS are ONNX Runtime's words for it: of Gather and ScatterElements, of GatherND and ScatterND, and of
 * GatherElements, which names no value.
 */
const REFUSALS: readonly RegExp[] = [
  /Name:'(?<node>[^']*)'.*indices element out of data bounds, idx=(?<value>-?\d+) must be within the inclusive range \[(?<low>-?\d+),(?<high>-?\d+)\]/,
  /Name:'(?<node>[^']*)'.*invalid (?:index|indice) found, (?:index|indice) = (?<value>-?\d+)/,
  /Name:'(?<node>[^']*)'.*Out of range value in index tensor/,
];

/** indexRefusal reads from why a run failed that it was for an index, or gives undefined where it was not. */
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
