import protobuf from 'protobufjs/minimal.js';

/** These functions write ONNX byte by byte with protobufjs's writer, valid or not: a field is its number and value. */
export type Value = string | number | Uint8Array;
export type FieldOf = readonly [number, Value];

export function message(...fields: readonly (FieldOf | undefined)[]): Uint8Array {
  const writer = protobuf.Writer.create();
  for (const field of fields) {
    if (field === undefined) continue;
    const [number, value] = field;
    if (typeof value === 'number') writer.uint32(number * 8).int64(value);
    else if (typeof value === 'string') writer.uint32(number * 8 + 2).string(value);
    else writer.uint32(number * 8 + 2).bytes(value);
  }
  // The result is a copy, because on Node the writer gives a view into its pool.
  return Uint8Array.from(writer.finish());
}

/** Around is a message that ends with a field which holds another message. */
export interface Around {
  readonly before: readonly FieldOf[];
  readonly field: number;
}

/**
 * nested puts a message into `around[0]`, that into `around[1]` and so on, `times` over. It joins the bytes once, since
 * ten thousand messages copied into one another take half a minute.
 */
export function nested(innermost: Uint8Array, times: number, around: readonly Around[]): Uint8Array {
  const pieces = [innermost];
  let bytes = innermost.length;
  for (let i = 0; i < times; i++) {
    for (const { before, field } of around) {
      const head = protobuf.Writer.create()
        .uint32(field * 8 + 2)
        .uint32(bytes)
        .finish();
      const piece = Buffer.concat([message(...before), head]);
      pieces.push(piece);
      bytes += piece.length;
    }
  }
  return Uint8Array.from(Buffer.concat(pieces.reverse()));
}

export const FLOAT = 1;
export const INT64 = 7;
export const STRING = 8;
export const BOOL = 9;

export interface NodeParts {
  readonly name?: string;
  readonly domain?: string;
  readonly attributes?: readonly Uint8Array[];
  readonly extra?: readonly FieldOf[];
}

export function node(
  op: string,
  inputs: readonly string[],
  outputs: readonly string[],
  parts: NodeParts = {},
) {
  return message(
    ...inputs.map((name): FieldOf => [1, name]),
    ...outputs.map((name): FieldOf => [2, name]),
    parts.name === undefined ? undefined : [3, parts.name],
    [4, op],
    ...(parts.attributes ?? []).map((attribute): FieldOf => [5, attribute]),
    parts.domain === undefined ? undefined : [7, parts.domain],
    ...(parts.extra ?? []),
  );
}

export const attribute = {
  int: (name: string, value: number) => message([1, name], [3, value], [20, 2]),
  ints: (name: string, values: readonly number[]) =>
    message([1, name], ...values.map((value): FieldOf => [8, value]), [20, 7]),
  text: (name: string, value: string) => message([1, name], [4, value], [20, 3]),
  strings: (name: string, values: readonly string[]) =>
    message([1, name], ...values.map((value): FieldOf => [9, value]), [20, 8]),
  tensor: (name: string, tensor: Uint8Array) => message([1, name], [5, tensor], [20, 4]),
  graph: (name: string, graph: Uint8Array) => message([1, name], [6, graph], [20, 5]),
};

export function floats(name: string, dims: readonly number[], values: readonly number[]): Uint8Array {
  const raw = new Uint8Array(Float32Array.from(values).buffer);
  return message(...dims.map((dim): FieldOf => [1, dim]), [2, FLOAT], [8, name], [9, raw]);
}

export function int64s(name: string, dims: readonly number[], values: readonly number[]): Uint8Array {
  const raw = new Uint8Array(BigInt64Array.from(values.map(BigInt)).buffer);
  return message(...dims.map((dim): FieldOf => [1, dim]), [2, INT64], [8, name], [9, raw]);
}

export function externalFloats(
  name: string,
  dims: readonly number[],
  entries: Record<string, string>,
): Uint8Array {
  return message(
    ...dims.map((dim): FieldOf => [1, dim]),
    [2, FLOAT],
    [8, name],
    ...Object.entries(entries).map(([key, value]): FieldOf => [13, message([1, key], [2, value])]),
    [14, 1],
  );
}

export function value(name: string, code: number, dims?: readonly (number | string)[]): Uint8Array {
  const shape = dims?.map((dim): FieldOf => [1, message([typeof dim === 'number' ? 1 : 2, dim])]);
  const tensor = message([1, code], shape === undefined ? undefined : [2, message(...shape)]);
  return message([1, name], [2, message([1, tensor])]);
}

/** maps describes a value that is a sequence of maps from strings to floats, as ZipMap gives it. */
export function maps(name: string): Uint8Array {
  const float = message([1, message([1, FLOAT])]);
  const map = message([5, message([1, STRING], [2, float])]);
  return message([1, name], [2, message([4, message([1, map])])]);
}

export interface GraphParts {
  readonly nodes?: readonly Uint8Array[];
  readonly inputs?: readonly Uint8Array[];
  readonly outputs?: readonly Uint8Array[];
  readonly initializers?: readonly Uint8Array[];
  readonly sparse?: readonly Uint8Array[];
  readonly values?: readonly Uint8Array[];
  readonly extra?: readonly FieldOf[];
}

export function graph(parts: GraphParts): Uint8Array {
  const all = (number: number, items: readonly Uint8Array[] = []) =>
    items.map((item): FieldOf => [number, item]);
  return message(
    ...all(1, parts.nodes),
    [2, 'g'],
    ...all(5, parts.initializers),
    ...all(11, parts.inputs),
    ...all(12, parts.outputs),
    ...all(13, parts.values),
    ...all(15, parts.sparse),
    ...(parts.extra ?? []),
  );
}

export interface ModelParts {
  readonly opsets?: Record<string, number>;
  readonly irVersion?: number;
  readonly functions?: readonly Uint8Array[];
  readonly extra?: readonly FieldOf[];
}

export function model(graphBytes: Uint8Array, parts: ModelParts = {}): Uint8Array {
  const opsets = Object.entries(parts.opsets ?? { '': 17 });
  return message(
    [1, parts.irVersion ?? 8],
    [7, graphBytes],
    ...opsets.map(
      ([domain, version]): FieldOf => [8, message(domain === '' ? undefined : [1, domain], [2, version])],
    ),
    ...(parts.functions ?? []).map((f): FieldOf => [25, f]),
    ...(parts.extra ?? []),
  );
}
