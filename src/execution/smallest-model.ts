/**
 * smallestModel gives the bytes of an ONNX model with one node, y = x + x over four floats. Any provider runs it, so it
 * shows whether a provider starts.
 */
export function smallestModel(): Uint8Array {
  return Uint8Array.from([
    ...integer(1, 8), // ir_version
    ...message(8, integer(2, 13)), // opset_import
    ...message(7, [
      ...message(1, [...text(1, 'x'), ...text(1, 'x'), ...text(2, 'y'), ...text(4, 'Add')]),
      ...text(2, 'smallest'),
      ...message(11, fourFloats('x')),
      ...message(12, fourFloats('y')),
    ]),
  ]);
}

function fourFloats(name: string): number[] {
  const shape = message(1, integer(1, 4));
  const tensorType = [...integer(1, 1), ...message(2, shape)];
  return [...text(1, name), ...message(2, message(1, tensorType))];
}

/** Protobuf is written by hand here, for fields below 16 and values below 128. */
function integer(field: number, value: number): number[] {
  return [field << 3, value];
}

function message(field: number, body: readonly number[]): number[] {
  return [(field << 3) | 2, body.length, ...body];
}

function text(field: number, value: string): number[] {
  return message(field, [...Buffer.from(value)]);
}
