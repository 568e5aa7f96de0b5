import type { GraphBuilder } from './graph.js';
import { linear } from './layers.js';

/** ExportedSize is the size of a transformer whose graph is written as PyTorch's exporter writes it. */
export interface ExportedSize {
  readonly layers: number;
  readonly hidden: number;
  readonly heads: number;
}

/** Size is a size in a shape: a number, or the name of a scalar that holds it. */
export type Size = number | string;

/** ONNX's number of the element types that casts name. */
export const FLOAT = 1;
export const INT64 = 7;
export const BOOL = 9;
/** This stands in a mask where a token is left out, as PyTorch's lowest float32 does. */
export const LOWEST = -3.4028234663852886e38;

/** constant adds a Constant node: a scalar, or a list where `values` is one. */
export function constant(graph: GraphBuilder, name: string, values: number | readonly number[]): string {
  const value =
    typeof values === 'number'
      ? { integers: [values], dims: [] }
      : { integers: values, dims: [values.length] };
  return graph.node('Constant', [], { name, attributes: { value } });
}

/** sizeOf reads one size of a tensor while the model runs: Shape, then Gather. */
export function sizeOf(
  graph: GraphBuilder,
  x: string,
  { name, axis }: { name: string; axis: number },
): string {
  const shape = graph.node('Shape', [x], { name: `${name}.shape` });
  const index = constant(graph, `${name}.axis`, axis);
  return graph.node('Gather', [shape, index], { name: `${name}.size`, attributes: { axis: 0 } });
}

/** shapeOf joins sizes to a shape: each scalar is made a list by Unsqueeze, then all are joined by Concat. */
export function shapeOf(graph: GraphBuilder, name: string, sizes: readonly Size[]): string {
  const parts = sizes.map((size, axis) => {
    if (typeof size === 'number') return constant(graph, `${name}.${axis}`, [size]);
    const axes = constant(graph, `${name}.${axis}.axes`, [0]);
    return graph.node('Unsqueeze', [size, axes], { name: `${name}.${axis}` });
  });
  return graph.node('Concat', parts, { name, attributes: { axis: 0 } });
}

/** unsqueezed adds axes of size 1. */
export function unsqueezed(graph: GraphBuilder, x: string, { name, axes }: { name: string; axes: number[] }) {
  return graph.node('Unsqueeze', [x, constant(graph, `${name}.axes`, axes)], { name });
}

/**
 * attention is scaled dot-product attention as it is exported. The sizes of its Reshapes are those given as scalars, or
 * are read from the hidden states in every layer, and so is the scale from the size of a head.
 */
export function attention(
  graph: GraphBuilder,
  name: string,
  {
    query,
    key,
    value,
    mask,
    size,
    sizes,
  }: Record<'query' | 'key' | 'value', string> & {
    readonly mask?: string | undefined;
    readonly size: ExportedSize;
    readonly sizes?: { readonly batch: string; readonly tokens: string } | undefined;
  },
): string {
  const head = size.hidden / size.heads;
  const byHead = (x: string, part: string) => {
    const at = `${name}.${part}`;
    const { batch, tokens } = sizes ?? tokenSizes(graph, at, x);
    const shape = shapeOf(graph, `${at}.view`, [batch, tokens, size.heads, head]);
    const split = graph.node('Reshape', [x, shape], { name: `${at}.split` });
    return graph.node('Transpose', [split], { name: `${at}.transpose`, attributes: { perm: [0, 2, 1, 3] } });
  };
  const [q, k, v] = [byHead(query, 'query'), byHead(key, 'key'), byHead(value, 'value')];
  const scale = headScale(graph, `${name}.scale`, q);
  const turned = graph.node('Transpose', [k], { name: `${name}.turn`, attributes: { perm: [0, 1, 3, 2] } });
  const scaledQuery = graph.node('Mul', [q, scale], { name: `${name}.scale_query` });
  const scaledKey = graph.node('Mul', [turned, scale], { name: `${name}.scale_key` });
  let scores = graph.node('MatMul', [scaledQuery, scaledKey], { name: `${name}.scores` });
  if (mask !== undefined) scores = graph.node('Add', [scores, mask], { name: `${name}.mask` });
  const shares = graph.node('Softmax', [scores], { name: `${name}.softmax`, attributes: { axis: -1 } });
  const mixed = graph.node('MatMul', [shares, v], { name: `${name}.context` });
  const joined = graph.node('Transpose', [mixed], {
    name: `${name}.join`,
    attributes: { perm: [0, 2, 1, 3] },
  });
  const { batch, tokens } = sizes ?? tokenSizes(graph, `${name}.out`, joined);
  const shape = shapeOf(graph, `${name}.out.view`, [batch, tokens, size.hidden]);
  return graph.node('Reshape', [joined, shape], { name: `${name}.out` });
}

/** tokenSizes reads the numbers of requests and of tokens from states [batch, tokens, …]. */
function tokenSizes(graph: GraphBuilder, name: string, x: string): { batch: string; tokens: string } {
  return {
    batch: sizeOf(graph, x, { name: `${name}.batch`, axis: 0 }),
    tokens: sizeOf(graph, x, { name: `${name}.tokens`, axis: 1 }),
  };
}

/** headScale is the fourth root of 1 / the size of a head, which is read from the query. */
function headScale(graph: GraphBuilder, name: string, query: string): string {
  const shape = graph.node('Shape', [query], { name: `${name}.shape` });
  const last = graph.node(
    'Slice',
    [shape, constant(graph, `${name}.from`, [-1]), constant(graph, `${name}.to`, [2 ** 53 - 1])],
    { name: `${name}.head` },
  );
  const float = graph.node('Cast', [last], { name: `${name}.cast`, attributes: { to: FLOAT } });
  const root = graph.node('Sqrt', [float], { name: `${name}.root` });
  const inverse = graph.node('Div', [graph.floats(`${name}.one`, [1], [1]), root], {
    name: `${name}.inverse`,
  });
  return graph.node('Sqrt', [inverse], { name });
}

/** feedForward widens each token's state four times, applies the error function's GELU, and narrows it again. */
export function feedForward(
  graph: GraphBuilder,
  x: string,
  { name, hidden }: { name: string; hidden: number },
): string {
  const wide = linear(graph, x, { name: `${name}.wide`, from: hidden, to: 4 * hidden });
  const scaled = graph.node('Div', [wide, graph.floats(`${name}.sqrt_two`, [], [Math.SQRT2])], {
    name: `${name}.div`,
  });
  const erf = graph.node('Erf', [scaled], { name: `${name}.erf` });
  const shifted = graph.node('Add', [erf, graph.floats(`${name}.one`, [], [1])], { name: `${name}.add` });
  const product = graph.node('Mul', [wide, shifted], { name: `${name}.mul` });
  const half = graph.node('Mul', [product, graph.floats(`${name}.half`, [], [0.5])], {
    name: `${name}.half_mul`,
  });
  return linear(graph, half, { name: `${name}.narrow`, from: 4 * hidden, to: hidden });
}
