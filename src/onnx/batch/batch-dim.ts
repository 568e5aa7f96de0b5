import type { OnnxModel, ValueInfo } from '../wire/index.js';

/** BatchAxis says on which axis a graph input or output has the batch; the axis is undefined where it has none. */
export interface BatchAxis {
  readonly name: string;
  readonly axis: number | undefined;
}

/**
 * BatchDim says which dimension is the batch.
 * - `symbolic`: the model takes any batch, under that name (as `freeDims` gives it).
 * - `fixed`: the model takes `size` only.
 * - `none`: the model has no batch, or the rules cannot say which dimension it is.
 */
export type BatchDim =
  | {
      readonly kind: 'symbolic';
      readonly name: string;
      readonly inputs: readonly BatchAxis[];
      readonly outputs: readonly BatchAxis[];
    }
  | {
      readonly kind: 'fixed';
      readonly size: number;
      readonly inputs: readonly BatchAxis[];
      readonly outputs: readonly BatchAxis[];
    }
  | { readonly kind: 'none'; readonly why: string };

type Dims = readonly (number | string | undefined)[];

/**
 * batchDim finds the batch by these rules and never guesses:
 *
 * - A symbol that is declared the batch is the batch, on whatever axis of the inputs.
 * - Else the first input that has axes says what the batch is called: its axis 0 decides.
 * - If that axis is a symbol, the symbol is the batch. Every other input must have it on exactly one axis (which
 *   need not be the first: the past of an attention model has it elsewhere), or have fixed dimensions only and so be
 *   common to the whole batch.
 * - If that axis is open and unnamed, it is the batch where there is one input only. Of two inputs, nothing says that
 *   they grow together.
 * - If that axis is a number, it is the fixed batch where all inputs with axes have that number at axis 0.
 * - Anything else is `none`, with the reason.
 *
 * @param declared the symbol that was declared the batch, if any
 */
export function batchDim(model: OnnxModel, declared?: string): BatchDim {
  const shapes = new Map<string, Dims>();
  for (const input of model.graph.inputs) {
    if (input.type?.kind !== 'tensor') return { kind: 'none', why: `input ${input.name} is not a tensor` };
    if (input.type.dims === undefined) return { kind: 'none', why: `input ${input.name} declares no shape` };
    shapes.set(input.name, input.type.dims);
  }
  if (declared !== undefined) return symbolicBatch(model, shapes, declared);
  const first = [...shapes].find(([, dims]) => dims.length > 0);
  if (first === undefined) return { kind: 'none', why: 'no input has any axis' };
  const [name, dims] = first;
  const lead = dims[0];
  if (typeof lead === 'string') return symbolicBatch(model, shapes, lead);
  if (typeof lead === 'number') return fixedBatch(model, shapes, lead);
  return unnamedBatch(model, shapes, `${name}.0`);
}

function symbolicBatch(model: OnnxModel, shapes: ReadonlyMap<string, Dims>, symbol: string): BatchDim {
  for (const [name, dims] of shapes) {
    const axes = dims.filter((dim) => dim === symbol).length;
    if (axes > 1) return { kind: 'none', why: `input ${name} has ${symbol} on ${axes} axes` };
    if (axes === 0 && dims.some((dim) => typeof dim !== 'number'))
      return { kind: 'none', why: `input ${name} has open axes, none of them ${symbol}` };
  }
  const inputs = [...shapes].map(([name, dims]) => ({ name, axis: axisOf(dims, symbol) }));
  const outputs = model.graph.outputs.map(({ name, type }) => ({ name, axis: axisOf(dimsOf(type), symbol) }));
  return { kind: 'symbolic', name: symbol, inputs, outputs };
}

function unnamedBatch(model: OnnxModel, shapes: ReadonlyMap<string, Dims>, name: string): BatchDim {
  const open = [...shapes].filter(([, dims]) => dims.some((dim) => typeof dim !== 'number'));
  if (open.length > 1) {
    const inputs = open.map(([input]) => input).join(', ');
    return {
      kind: 'none',
      why: `inputs ${inputs} have open axes without names, so nothing says which grow together`,
    };
  }
  const inputs = [...shapes].map(([input, dims]) => ({
    name: input,
    axis: dims[0] === undefined && dims.length > 0 ? 0 : undefined,
  }));
  const outputs = model.graph.outputs.map((output) => ({ name: output.name, axis: openLead(output.type) }));
  return { kind: 'symbolic', name, inputs, outputs };
}

function fixedBatch(model: OnnxModel, shapes: ReadonlyMap<string, Dims>, size: number): BatchDim {
  for (const [name, dims] of shapes) {
    if (dims.length > 0 && dims[0] !== size)
      return { kind: 'none', why: `inputs differ at axis 0: ${size} and, in ${name}, ${dims[0] ?? 'open'}` };
  }
  const inputs = [...shapes].map(([name, dims]) => ({ name, axis: dims.length > 0 ? 0 : undefined }));
  const outputs = model.graph.outputs.map(({ name, type }) => ({
    name,
    axis: dimsOf(type)?.[0] === size ? 0 : undefined,
  }));
  return { kind: 'fixed', size, inputs, outputs };
}

function dimsOf(type: ValueInfo['type']): Dims | undefined {
  return type?.kind === 'tensor' ? type.dims : undefined;
}

function axisOf(dims: Dims | undefined, symbol: string): number | undefined {
  const axis = dims?.indexOf(symbol) ?? -1;
  return axis === -1 ? undefined : axis;
}

/** openLead gives axis 0 of an output where the file leaves that axis open: it grows with an unnamed batch. */
function openLead(type: ValueInfo['type']): number | undefined {
  const dims = dimsOf(type);
  return dims !== undefined && dims.length > 0 && typeof dims[0] !== 'number' ? 0 : undefined;
}
