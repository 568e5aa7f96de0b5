import type { Boundary } from '../../formats/index.js';
import type { OnnxModel, TensorType } from '../wire/index.js';
import { valueInfoBytes } from '../wire/index.js';
import { typeOf } from './cuts.js';
import { castFromHalf, castToHalf, halfName } from './half.js';
import { namesOf, type PartitionParts } from './part.js';
import { mayBranch, reachingBranches, uncertainRanks } from './ranks.js';
import { usedBy } from './spans.js';

/** EndOptions decide how a partition's ends look. */
interface EndOptions {
  readonly types: ReadonlyMap<string, TensorType>;
  readonly boundary?: Boundary;
}

/** Ends are the graph-level ends of a partition: the names there, a ValueInfo for each, and the casts in between. */
export interface Ends {
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly inputInfo: readonly Uint8Array[];
  readonly outputInfo: readonly Uint8Array[];
  readonly castsIn: readonly Uint8Array[];
  readonly castsOut: readonly Uint8Array[];
}

/**
 * endsOf gives a partition's ends. A tensor that crosses as float16 is named `<tensor>/float16` and gets a cast. Where
 * the partition may branch (`mayBranch`), an input that is not the model's own is declared with its number of axes and
 * no sizes. It is declared without a shape where ONNX Runtime may not know the number of axes in the whole model, and
 * a branch that is not taken may contradict it.
 */
export function endsOf(model: OnnxModel, part: PartitionParts, options: EndOptions): Ends {
  const halves = halvesOf(model, part, options);
  const name = (tensor: string) => halves.get(tensor) ?? tensor;
  const muchOf = declaredOf(model, part);
  const declare = (tensor: string, much: Declared) => {
    const type = typeOf(model, tensor, options.types);
    const half = halves.get(tensor);
    if (type?.kind !== 'tensor' || (half === undefined && much === 'all'))
      return declared(model, tensor, options.types);
    const dtype = half === undefined ? type.dtype : 'float16';
    return valueInfoBytes(name(tensor), withDeclared({ ...type, dtype }, much));
  };
  const casts = (tensors: readonly string[], cast: typeof castToHalf) =>
    tensors.flatMap((tensor) => (halves.has(tensor) ? [cast(model, tensor, name(tensor))] : []));
  return {
    inputs: part.inputs.map(name),
    outputs: part.outputs.map(name),
    inputInfo: part.inputs.map((tensor) => declare(tensor, muchOf(tensor))),
    outputInfo: part.outputs.map((tensor) => declare(tensor, 'all')),
    castsIn: casts(part.inputs, castFromHalf),
    castsOut: casts(part.outputs, castToHalf),
  };
}

/** halvesOf gives names to the tensors at a partition's ends that cross as float16. */
function halvesOf(model: OnnxModel, part: PartitionParts, options: EndOptions): Map<string, string> {
  if (options.boundary !== 'float16' || part.whole) return new Map();
  const { inputs, outputs, nodes } = model.graph;
  const fixed = new Set([...namesOf(inputs), ...namesOf(outputs)]);
  const taken = new Set([...fixed, ...nodes.flatMap((node) => [...node.outputs, ...usedBy(node)])]);
  const halved = [...part.inputs, ...part.outputs].filter((tensor) => {
    const type = typeOf(model, tensor, options.types);
    return !fixed.has(tensor) && type?.kind === 'tensor' && type.dtype === 'float32';
  });
  return new Map(halved.map((tensor) => [tensor, halfName(tensor, taken)]));
}

/** How much of its measured shape an input is declared with: all of it, the number of axes alone, or nothing. */
type Declared = 'all' | 'rank' | 'nothing';

/** declaredOf says how much of its measured shape each input is declared with, where the partition may branch. */
function declaredOf(model: OnnxModel, part: PartitionParts): (tensor: string) => Declared {
  if (part.whole || !mayBranch(model, part.nodes)) return () => 'all';
  const given = new Set(namesOf(model.graph.inputs));
  const isOpen = new Set(part.inputs.filter((tensor) => !given.has(tensor)));
  const reaching = reachingBranches(model, part.nodes);
  const uncertain = uncertainRanks(model);
  return (tensor) => {
    if (!isOpen.has(tensor)) return 'all';
    return reaching.has(tensor) && uncertain.has(tensor) ? 'nothing' : 'rank';
  };
}

function withDeclared({ dtype, dims }: TensorType, much: Declared): TensorType {
  if (dims === undefined || much === 'nothing') return { dtype };
  return { dtype, dims: much === 'all' ? dims : dims.map(() => undefined) };
}

/** declared gives the file's own ValueInfo of a graph input or output, else one with the type that is known. */
function declared(model: OnnxModel, name: string, types: ReadonlyMap<string, TensorType>): Uint8Array {
  const { inputs, outputs, valueInfo } = model.graph;
  const ends = [...inputs, ...outputs].find((value) => value.name === name && value.type !== undefined);
  if (ends !== undefined) return ends.encoded;
  const type = typeOf(model, name, types);
  if (type?.kind === 'tensor') return valueInfoBytes(name, type);
  return valueInfo.get(name)?.encoded ?? valueInfoBytes(name);
}
