import { type Boundary, type Fault, fault, InputError } from '../artifacts/index.js';
import { typeOf, usedBy } from './cuts.js';
import { codeOf } from './dtypes.js';
import { type ExternalCopy, ExternalPlan } from './external.js';
import { GRAPH, MODEL, OPSET } from './fields.js';
import { castFromHalf, castToHalf, halfName } from './half.js';
import { annotatedTensor, callKey } from './node.js';
import { quoted } from './problems.js';
import type { OnnxModel, OnnxNode, TensorType } from './types.js';
import { valueInfoBytes } from './value-info.js';
import {
  concat,
  delimited,
  delimitedParts,
  fieldsOf,
  numberField,
  payloadOf,
  rawField,
  textField,
} from './wire.js';

export interface ExtractOptions {
  /** Nodes [from, to) in topological order. */
  readonly from: number;
  readonly to: number;
  /** Types of the tensors that cross, as measured; the file's own declarations fill in. */
  readonly types: ReadonlyMap<string, TensorType>;
  readonly boundary?: Boundary;
  /** The extracted graph's name; the model's own by default. */
  readonly graphName?: string;
  /** The file that the partition's external tensors shall name; by default they go on naming the model's. */
  readonly dataFile?: string;
}

export interface Extracted {
  readonly bytes: Uint8Array;
  /** Graph-level names in order; where float32 crosses as float16, `<tensor>/float16` on both sides. */
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** What to copy from the model's external files, and to where in `dataFile`. */
  readonly external: readonly ExternalCopy[];
}

/** A partition's nodes and the tensors at its ends, by the model's names. */
interface Part {
  readonly whole: boolean;
  readonly nodes: readonly OnnxNode[];
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** Every tensor its nodes name. */
  readonly names: ReadonlySet<string>;
}

/**
 * Nodes [from, to) as a valid model of their own, with the constant nodes, initializers and local functions they use;
 * nodes, tensors and functions are the file's own bytes, and fields we do not know come along.
 *
 * Its inputs are the tensors it uses and does not make; it never passes one through. Its outputs are what it makes that
 * is used after it or is a graph output; a graph output that is constant comes from the last partition, and one that is
 * a graph input from the request itself. [0, n) is the whole model: everything in it stays, in topological order.
 *
 * With boundary `float16`, float32 tensors made in one partition and used in another cross as float16, cast at both
 * ends, under the name `<tensor>/float16`. Graph inputs and graph outputs keep their type wherever they cross, since the
 * caller gives and gets them so. Values beyond ±65504 become infinite.
 *
 * Ends are declared with the type given, but inputs of a partition with subgraphs or local functions without a shape.
 *
 * @throws InputError where the range is none, holds nothing to compute, or the type of a crossing tensor is not known
 */
export function extractPartition(model: OnnxModel, options: ExtractOptions): Extracted {
  const { from, to } = options;
  const part = partOf(model, from, to);
  const faults = partFaults(model, part, options);
  if (faults.length > 0) throw new InputError(`extract nodes [${from}, ${to}) of ${model.name}`, faults);
  const external = new ExternalPlan(options.dataFile);
  const ends = endsOf(model, part, options);
  const graph = part.whole
    ? wholeGraph(model, external, options.graphName)
    : partGraph(model, part, ends, external, options);
  const casts = ends.castsIn.length + ends.castsOut.length > 0;
  const bytes = modelBytes(model, graph, part, casts);
  return { bytes, inputs: ends.inputs, outputs: ends.outputs, external: external.copies };
}

function partOf(model: OnnxModel, from: number, to: number): Part {
  const { nodes, inputs, outputs } = model.graph;
  const last = to === nodes.length;
  if (from === 0 && last) {
    const names = new Set<string>();
    return { whole: true, nodes, inputs: namesOf(inputs), outputs: namesOf(outputs), names };
  }
  const ours = (node: OnnxNode, index: number) => !node.constant && index >= from && index < to;
  const working = nodes.filter(ours);
  const chosen = withConstants(model, working, last ? namesOf(outputs) : []);
  const made = new Set(working.flatMap((node) => node.outputs));
  const usedLater = new Set(
    nodes
      .slice(to)
      .filter((node) => !node.constant)
      .flatMap(usedBy),
  );
  for (const name of namesOf(outputs)) usedLater.add(name);
  const used = new Set(working.flatMap(usedBy));
  const given = namesOf(inputs).filter((name) => used.has(name));
  const before = nodes
    .filter((node, index) => !node.constant && index < from)
    .flatMap((node) => node.outputs);
  const constantOutputs = last ? namesOf(outputs).filter((name) => isConstant(model, name)) : [];
  return {
    whole: false,
    nodes: chosen,
    inputs: [...given, ...before.filter((name) => used.has(name))],
    outputs: [...[...made].filter((name) => usedLater.has(name)), ...constantOutputs],
    names: new Set([...chosen.flatMap((node) => [...usedBy(node), ...node.outputs]), ...constantOutputs]),
  };
}

function namesOf(values: readonly { readonly name: string }[]): string[] {
  return values.map((value) => value.name);
}

function isConstant(model: OnnxModel, name: string): boolean {
  if (model.graph.initializers.has(name)) return true;
  return model.graph.nodes.some((node) => node.constant && node.outputs.includes(name));
}

/** The working nodes and every constant node that they or `outputs` need, in topological order. */
function withConstants(
  model: OnnxModel,
  working: readonly OnnxNode[],
  outputs: readonly string[],
): OnnxNode[] {
  const chosen = new Set(working);
  const wanted = new Set([...working.flatMap(usedBy), ...outputs]);
  for (const node of model.graph.nodes.toReversed()) {
    if (!node.constant || !node.outputs.some((name) => wanted.has(name))) continue;
    chosen.add(node);
    for (const name of usedBy(node)) wanted.add(name);
  }
  return model.graph.nodes.filter((node) => chosen.has(node));
}

function partFaults(model: OnnxModel, part: Part, options: ExtractOptions): Fault[] {
  const { from, to, types } = options;
  const count = model.graph.nodes.length;
  if (
    !(
      Number.isInteger(from) &&
      Number.isInteger(to) &&
      from >= 0 &&
      to <= count &&
      (from < to || count === 0)
    )
  )
    return [fault(`there is no such range; the model has nodes 0 to ${count - 1}`)];
  if (part.whole) return [];
  if (part.outputs.length === 0) return [fault('what these nodes compute is used nowhere else')];
  // A graph output may go without a type, which ONNX Runtime infers; what crosses may not.
  const ends = new Set(namesOf(model.graph.outputs));
  const crossing = part.outputs.filter((name) => !ends.has(name));
  return [...part.inputs, ...crossing].flatMap((name) => {
    const type = typeOf(model, name, types);
    if (type === undefined) return [fault(`the type of ${quoted(name)} is not known`)];
    if (type.kind === 'tensor' && codeOf(type.dtype) === undefined)
      return [fault(`${quoted(name)} has an unknown type ${quoted(type.dtype)}`)];
    return [];
  });
}

/** A partition's graph-level ends: the names there, ValueInfo for each, and the casts in between. */
interface Ends {
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly inputInfo: readonly Uint8Array[];
  readonly outputInfo: readonly Uint8Array[];
  readonly castsIn: readonly Uint8Array[];
  readonly castsOut: readonly Uint8Array[];
}

function endsOf(model: OnnxModel, part: Part, options: ExtractOptions): Ends {
  const { inputs, outputs, nodes } = model.graph;
  const fixed = new Set([...namesOf(inputs), ...namesOf(outputs)]);
  const taken = new Set([...fixed, ...nodes.flatMap((node) => [...node.outputs, ...usedBy(node)])]);
  const halved = (name: string) => {
    const type = typeOf(model, name, options.types);
    const crosses = options.boundary === 'float16' && !part.whole && !fixed.has(name);
    return crosses && type?.kind === 'tensor' && type.dtype === 'float32' ? halfName(name, taken) : undefined;
  };
  const info = (name: string) => {
    const half = halved(name);
    const type = typeOf(model, name, options.types);
    if (half !== undefined && type?.kind === 'tensor')
      return valueInfoBytes(half, { ...type, dtype: 'float16' });
    return declared(model, name, options.types);
  };
  const given = new Set(namesOf(inputs));
  const loose = !part.whole && mayBranch(model, part.nodes);
  const inputInfo = (name: string) => {
    const type = typeOf(model, name, options.types);
    if (!loose || given.has(name) || type?.kind !== 'tensor') return info(name);
    const half = halved(name);
    return valueInfoBytes(half ?? name, { dtype: half === undefined ? type.dtype : 'float16' });
  };
  const casts = (names: readonly string[], cast: typeof castToHalf) =>
    names.flatMap((name) => {
      const half = halved(name);
      return half === undefined ? [] : [cast(model, name, half)];
    });
  return {
    inputs: part.inputs.map((name) => halved(name) ?? name),
    outputs: part.outputs.map((name) => halved(name) ?? name),
    inputInfo: part.inputs.map(inputInfo),
    outputInfo: part.outputs.map(info),
    castsIn: casts(part.inputs, castFromHalf),
    castsOut: casts(part.outputs, castToHalf),
  };
}

const BRANCHING = new Set(['If', 'Loop', 'Scan', 'SequenceMap']);

/**
 * Whether there are branches that may not be taken, in nodes or local functions. ONNX Runtime infers shapes in those
 * too, and refuses a model where a measured shape contradicts them; the whole model never told so much, so a partition
 * must not either.
 */
function mayBranch(model: OnnxModel, nodes: readonly OnnxNode[]): boolean {
  if (nodes.some((node) => node.domain === '' && BRANCHING.has(node.op))) return true;
  return model.functions.length > 0 && usedFunctions(model, nodes).size > 0;
}

/** The file's own ValueInfo of a graph input or output, else one with the type that is known. */
function declared(model: OnnxModel, name: string, types: ReadonlyMap<string, TensorType>): Uint8Array {
  const { inputs, outputs, valueInfo } = model.graph;
  const ends = [...inputs, ...outputs].find((value) => value.name === name && value.type !== undefined);
  if (ends !== undefined) return ends.encoded;
  const type = typeOf(model, name, types);
  if (type?.kind === 'tensor') return valueInfoBytes(name, type);
  return valueInfo.get(name)?.encoded ?? valueInfoBytes(name);
}

/** Fields of a graph that a partition selects from; all others are copied. */
const SELECTED: ReadonlySet<number> = new Set([
  GRAPH.node,
  GRAPH.initializer,
  GRAPH.sparseInitializer,
  GRAPH.input,
  GRAPH.output,
  GRAPH.valueInfo,
  GRAPH.quantizationAnnotation,
]);

function partGraph(
  model: OnnxModel,
  part: Part,
  ends: Ends,
  external: ExternalPlan,
  options: ExtractOptions,
): Uint8Array[] {
  const { graph } = model;
  const named = <T extends { readonly name: string }>(values: Iterable<T>) =>
    [...values].filter((value) => part.names.has(value.name));
  const atEnds = new Set([...part.inputs, ...part.outputs]);
  const encodedNodes = part.nodes.map((node) => external.moved(node.encoded, 'node'));
  return [
    ...[...ends.castsIn, ...encodedNodes, ...ends.castsOut].flatMap((node) => delimited(GRAPH.node, node)),
    ...otherFields(graph.encoded, options.graphName),
    ...named(graph.initializers.values()).flatMap(({ sparse, encoded }) =>
      sparse
        ? delimited(GRAPH.sparseInitializer, external.moved(encoded, 'sparse'))
        : delimited(GRAPH.initializer, external.moved(encoded, 'tensor')),
    ),
    ...ends.inputInfo.flatMap((value) => delimited(GRAPH.input, value)),
    ...named(graph.overridable.values()).flatMap((value) => delimited(GRAPH.input, value.encoded)),
    ...ends.outputInfo.flatMap((value) => delimited(GRAPH.output, value)),
    ...named(graph.valueInfo.values())
      .filter((value) => !atEnds.has(value.name))
      .flatMap((value) => delimited(GRAPH.valueInfo, value.encoded)),
    ...annotations(graph.encoded, part.names),
  ];
}

function otherFields(graph: Uint8Array, graphName: string | undefined): Uint8Array[] {
  const fields = [...fieldsOf(graph)].filter(
    (field) => !SELECTED.has(field.number) && !(field.number === GRAPH.name && graphName !== undefined),
  );
  const named = graphName === undefined ? [] : [textField(GRAPH.name, graphName)];
  return [...named, ...fields.map((field) => rawField(graph, field))];
}

/** Quantization annotations of tensors the partition holds. */
function annotations(graph: Uint8Array, names: ReadonlySet<string>): Uint8Array[] {
  return [...fieldsOf(graph)].flatMap((field) => {
    if (field.number !== GRAPH.quantizationAnnotation) return [];
    return names.has(annotatedTensor(payloadOf(graph, field))) ? [rawField(graph, field)] : [];
  });
}

/** The graph with its nodes in topological order and every other field as it was. */
function wholeGraph(model: OnnxModel, external: ExternalPlan, graphName: string | undefined): Uint8Array[] {
  const { encoded, nodes } = model.graph;
  const others = [...fieldsOf(encoded)].filter(
    (field) => field.number !== GRAPH.node && !(field.number === GRAPH.name && graphName !== undefined),
  );
  return [
    ...nodes.flatMap((node) => delimited(GRAPH.node, external.moved(node.encoded, 'node'))),
    ...(graphName === undefined ? [] : [textField(GRAPH.name, graphName)]),
    ...others.flatMap((field) => external.movedField(encoded, field, 'graph')),
  ];
}

/** The operator set imported for Cast where a model imports no default one: the first with today's casts. */
const CAST_OPSET = 13;

function modelBytes(model: OnnxModel, graph: readonly Uint8Array[], part: Part, casts: boolean): Uint8Array {
  const functions = part.whole ? undefined : usedFunctions(model, part.nodes);
  const lacksCast = casts && !model.opsets.has('');
  const imported = lacksCast ? delimited(MODEL.opsetImport, numberField(OPSET.version, CAST_OPSET)) : [];
  return concat([
    ...withGraph(model, graph, (number, encoded) => {
      if (number === MODEL.trainingInfo) return part.whole;
      return number !== MODEL.functions || functions === undefined || functions.has(encoded.byteOffset);
    }),
    ...imported,
  ]);
}

/** The model's fields with another graph in place of its own; those `keep` refuses are left out. */
export function withGraph(
  model: OnnxModel,
  graph: readonly Uint8Array[],
  keep: (number: number, payload: Uint8Array) => boolean = () => true,
): Uint8Array[] {
  const before: Uint8Array[] = [];
  for (const field of fieldsOf(model.bytes)) {
    if (field.number === MODEL.graph) continue;
    if (keep(field.number, model.bytes.subarray(field.from, field.end)))
      before.push(rawField(model.bytes, field));
  }
  return [...before, ...delimitedParts(MODEL.graph, graph)];
}

/** Where in the file the local functions lie that nodes call, directly or through one another. */
function usedFunctions(model: OnnxModel, nodes: readonly OnnxNode[]): Set<number> {
  const calls = new Set(nodes.flatMap((node) => node.calls));
  const local = new Map(model.functions.map((f) => [callKey(f.domain, f.name, f.overload), f]));
  for (const call of calls) for (const inner of local.get(call)?.calls ?? []) calls.add(inner);
  return new Set([...calls].flatMap((call) => local.get(call)?.encoded.byteOffset ?? []));
}
