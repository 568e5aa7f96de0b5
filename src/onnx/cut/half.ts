import type { OnnxModel } from '../wire/index.js';
import { ATTRIBUTE, codeOf, concat, messageField, NODE, numberField, textField } from '../wire/index.js';

/** From this operator set on, Cast takes its target as an element type's number; before, as its name. */
const CAST_BY_NUMBER_SINCE = 6;
const NAMES = { float32: 'FLOAT', float16: 'FLOAT16' } as const;
/** AttributeProto.AttributeType. */
const ATTRIBUTE_INT = 2;
const ATTRIBUTE_STRING = 3;

/**
 * halfName names a float32 tensor where it crosses a cut as float16, the same at the producer's and the consumer's end:
 * `<tensor>/float16`, with underscores added while the model itself uses that name.
 */
export function halfName(tensor: string, taken: ReadonlySet<string>): string {
  let name = `${tensor}/float16`;
  while (taken.has(name)) name += '_';
  return name;
}

/** castToHalf makes a Cast node for the producer's end: float32 `tensor` → float16 `half`. */
export function castToHalf(model: OnnxModel, tensor: string, half: string): Uint8Array {
  return castNode(model, { from: tensor, to: half, type: 'float16' });
}

/** castFromHalf makes a Cast node for the consumer's end: float16 `half` → float32 `tensor`, the name its nodes use. */
export function castFromHalf(model: OnnxModel, tensor: string, half: string): Uint8Array {
  return castNode(model, { from: half, to: tensor, type: 'float32' });
}

function castNode(
  model: OnnxModel,
  cast: { from: string; to: string; type: keyof typeof NAMES },
): Uint8Array {
  const opset = model.opsets.get('') ?? CAST_BY_NUMBER_SINCE;
  const target =
    opset >= CAST_BY_NUMBER_SINCE
      ? [numberField(ATTRIBUTE.i, codeOf(cast.type)), numberField(ATTRIBUTE.type, ATTRIBUTE_INT)]
      : [textField(ATTRIBUTE.s, NAMES[cast.type]), numberField(ATTRIBUTE.type, ATTRIBUTE_STRING)];
  return concat([
    textField(NODE.input, cast.from),
    textField(NODE.output, cast.to),
    textField(NODE.name, `${cast.from}/cast`),
    textField(NODE.opType, 'Cast'),
    messageField(NODE.attribute, concat([textField(ATTRIBUTE.name, 'to'), ...target])),
  ]);
}
