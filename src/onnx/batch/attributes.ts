import {
  ATTRIBUTE,
  fieldsOf,
  merged,
  NODE,
  numberOf,
  numbersOf,
  type OnnxNode,
  payloadOf,
  textOf,
  unlessUnreadable,
} from '../wire/index.js';

/**
 * Attribute holds the values of one attribute. As in protobuf, a value that is not there is 0 or empty, so that an
 * attribute of another type than a rule expects reads as nothing.
 */
export interface Attribute {
  readonly i: number;
  readonly ints: readonly number[];
  /** The bytes of a text. */
  readonly s: Uint8Array;
  /** An encoded TensorProto. */
  readonly t?: Uint8Array;
}

/** Attributes holds a node's attributes by name, in file order. Of several under one name the first counts. */
export type Attributes = ReadonlyMap<string, Attribute>;

/**
 * attributesOf decodes a node's attributes. They are undefined where they cannot be decoded, since reading a file
 * checks only tensors and graphs.
 */
export function attributesOf({ encoded }: Pick<OnnxNode, 'encoded'>): Attributes | undefined {
  return unlessUnreadable(() => {
    const attributes = new Map<string, Attribute>();
    for (const field of fieldsOf(encoded)) {
      if (field.number !== NODE.attribute) continue;
      const { name, ...attribute } = attributeOf(payloadOf(encoded, field));
      if (!attributes.has(name)) attributes.set(name, attribute);
    }
    return attributes;
  });
}

function attributeOf(encoded: Uint8Array): Attribute & { readonly name: string } {
  let name = '';
  let i = 0;
  let s: Uint8Array = new Uint8Array();
  const ints: number[] = [];
  const tensor: Uint8Array[] = [];
  for (const field of fieldsOf(encoded)) {
    if (field.number === ATTRIBUTE.name) name = textOf(encoded, field);
    else if (field.number === ATTRIBUTE.i) i = numberOf(encoded, field);
    else if (field.number === ATTRIBUTE.s) s = payloadOf(encoded, field);
    else if (field.number === ATTRIBUTE.t) tensor.push(payloadOf(encoded, field));
    else if (field.number === ATTRIBUTE.ints) for (const value of numbersOf(encoded, field)) ints.push(value);
  }
  const t = merged(tensor);
  return { name, i, s, ints, ...(t === undefined ? {} : { t }) };
}
