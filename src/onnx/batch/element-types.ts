import { dtypeOf, type OnnxModel, type OnnxNode, tensorHead, travels } from '../wire/index.js';
import { attributesOf } from './attributes.js';

/**
 * These operators give no tensor of the type of an input. Others give one, first of all outputs, and mostly
 * of the first input.
 */
const OTHER_TYPES = new Set(
  'Cast Constant QuantizeLinear Shape Size Equal Less Greater LessOrEqual GreaterOrEqual And Or Not Xor IsNaN IsInf ArgMax ArgMin NonZero ConstantOfShape EyeLike RandomNormalLike RandomUniformLike Bernoulli Multinomial BitCast If Loop Scan SequenceMap SequenceAt SequenceConstruct SplitToSequence'.split(
    ' ',
  ),
);
/** Of which input the type is, where that is not the first. */
const TYPE_OF: Readonly<Record<string, number>> = { CastLike: 1, DequantizeLinear: 1, OneHot: 2, Where: 1 };

/**
 * unsentTypes finds tensors of the graph whose element type cannot be handed over (int4, float8, bfloat16), as far as
 * constants and attributes tell it: they can be neither fetched nor sent.
 */
export function unsentTypes(model: OnnxModel): ReadonlyMap<string, string> {
  const types = new Map<string, string>();
  const { initializers, inputs, outputs, valueInfo, nodes } = model.graph;
  for (const { name, dtype } of initializers.values()) types.set(name, dtype);
  for (const { name, type } of [...inputs, ...outputs, ...valueInfo.values()])
    if (type?.kind === 'tensor') types.set(name, type.dtype);
  const made = new Set(nodes.flatMap((node) => node.outputs));
  for (const node of nodes) {
    const attributes = attributesOf(node);
    const given = (name: string) => attributes?.get(name);
    const kept = keptType(node, types);
    const code = node.op === 'Cast' ? given('to')?.i : (given('output_dtype') ?? given('dtype'))?.i;
    const value = node.op === 'Constant' ? given('value')?.t : undefined;
    const zero = node.op === 'QuantizeLinear' ? types.get(node.inputs[2] ?? '') : undefined;
    const type = code ? dtypeOf(code) : value === undefined ? (zero ?? kept) : tensorHead(value).dtype;
    if (type === undefined) continue;
    // The others of several outputs are indices, masks or means, except of a Split.
    const typed = node.op === 'Split' ? node.outputs : node.outputs.slice(0, 1);
    for (const name of typed) if (!types.has(name)) types.set(name, type);
  }
  return new Map([...types].filter(([name, type]) => made.has(name) && type !== 'string' && !travels(type)));
}

/** keptType gives the type that a node of the default domain takes over from an input, where that is known. */
function keptType({ op, domain, inputs }: OnnxNode, types: ReadonlyMap<string, string>): string | undefined {
  if ((domain !== '' && domain !== 'ai.onnx') || OTHER_TYPES.has(op)) return undefined;
  return types.get(inputs[TYPE_OF[op] ?? 0] ?? '');
}
