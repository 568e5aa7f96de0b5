import { dtypeOf, type OnnxModel, tensorHead, travels } from '../wire/index.js';
import { attributesOf } from './attributes.js';

/** These give a tensor of the type of their first input. */
const KEEP_TYPE = new Set(
  'Identity Reshape Transpose Squeeze Unsqueeze Flatten Slice Gather Concat Expand Split Pad Tile Relu MaxPool'.split(
    ' ',
  ),
);

/**
 * unsentTypes finds tensors of the graph whose element type cannot be handed over (int4, float8, bfloat16), as far as
 * constants and attributes tell it: they can be neither fetched nor sent.
 */
export function unsentTypes(model: OnnxModel): ReadonlyMap<string, string> {
  const types = new Map<string, string>();
  const { initializers, inputs, valueInfo, nodes } = model.graph;
  for (const { name, dtype } of initializers.values()) types.set(name, dtype);
  for (const { name, type } of [...inputs, ...valueInfo.values()])
    if (type?.kind === 'tensor') types.set(name, type.dtype);
  const made = new Set(nodes.flatMap((node) => node.outputs));
  for (const node of nodes) {
    const attributes = attributesOf(node);
    const given = (name: string) => attributes?.get(name);
    const kept = KEEP_TYPE.has(node.op) ? types.get(node.inputs[0] ?? '') : undefined;
    const code = node.op === 'Cast' ? given('to')?.i : given('output_dtype')?.i;
    const value = node.op === 'Constant' ? given('value')?.t : undefined;
    const zero = node.op === 'QuantizeLinear' ? types.get(node.inputs[2] ?? '') : undefined;
    const type = code ? dtypeOf(code) : value === undefined ? (zero ?? kept) : tensorHead(value).dtype;
    if (type === undefined) continue;
    for (const name of node.outputs) if (!types.has(name)) types.set(name, type);
  }
  return new Map([...types].filter(([name, type]) => made.has(name) && type !== 'string' && !travels(type)));
}
