import type { OnnxModel, OnnxNode } from '../wire/index.js';

/** The sizes of what these give follow from the elements of their input. */
const SIZED_BY_ELEMENTS = new Set(
  'NonZero NonMaxSuppression Unique Compress StringSplit EfficientNMS_TRT RangedNonMaxSuppression'.split(' '),
);

/** These operators take sizes or places as elements of the inputs listed. */
const SIZE_INPUTS: ReadonlyMap<string, readonly number[]> = new Map(
  Object.entries({
    Reshape: [1],
    Expand: [1],
    Tile: [1],
    TopK: [1],
    OneHot: [1],
    Split: [1],
    SplitToSequence: [1],
    ConstantOfShape: [0],
    Range: [0, 1, 2],
    Slice: [1, 2, 4],
    Pad: [1],
    Resize: [2, 3],
    Upsample: [1],
    CenterCropPad: [1],
    Col2Im: [1],
    MaxUnpool: [2],
    SequenceAt: [1],
    SequenceErase: [1],
    // A branch is taken, or a body is repeated, by these.
    If: [0],
    Loop: [0, 1],
  }),
);

/**
 * dataSizedTensors finds the tensors whose size may follow from the elements of the graph's inputs, and not from their
 * shapes alone: what NonZero or NonMaxSuppression gives, or Slice up to a computed place, and all that is made of it.
 * @param settled inputs that always hold the same elements
 */
export function dataSizedTensors(model: OnnxModel, settled: ReadonlySet<string> = new Set()): Set<string> {
  const sized = new Set<string>();
  const valued = new Set(model.graph.inputs.map(({ name }) => name).filter((name) => !settled.has(name)));
  for (const node of model.graph.nodes) {
    const read = [...node.inputs, ...node.captures];
    const isSized = read.some((name) => sized.has(name)) || givesSizes(node, valued);
    const tellsShapeOnly = node.op === 'Shape' || node.op === 'Size';
    const isValued = isSized || (!tellsShapeOnly && read.some((name) => valued.has(name)));
    for (const name of node.outputs) {
      if (isSized) sized.add(name);
      if (isValued) valued.add(name);
    }
  }
  return sized;
}

function givesSizes({ op, inputs, captures, calls }: OnnxNode, valued: ReadonlySet<string>): boolean {
  const byElements = calls.some((call) => SIZED_BY_ELEMENTS.has(call.split('\0')[1] ?? ''));
  const all = [...inputs, ...captures];
  if (byElements && all.some((name) => valued.has(name))) return true;
  // A loop may compute its end in its body, of anything that the body reads.
  if (op === 'Loop') return all.some((name) => valued.has(name));
  return (SIZE_INPUTS.get(op) ?? []).some((at) => valued.has(inputs[at] ?? ''));
}
