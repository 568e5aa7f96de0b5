import { type Boundary, type Fault, fault, InputError } from '../../formats/index.js';
import { annotatedTensor, type ExternalCopy, ExternalPlan } from '../read/index.js';
import type { OnnxModel, TensorType } from '../wire/index.js';
import {
  codeOf,
  concat,
  delimited,
  fieldsOf,
  GRAPH,
  MODEL,
  numberField,
  OPSET,
  payloadOf,
  quoted,
  rawField,
  textField,
  withGraph,
} from '../wire/index.js';
import { type Cut, typeOf } from './cuts.js';
import { type Ends, endsOf } from './ends.js';
import { namesOf, type PartitionParts, partitionParts, usedFunctions } from './part.js';

export interface ExtractOptions {
  /** The nodes of the partition are [from, to) in topological order. */
  readonly from: number;
  readonly to: number;
  /** The types of the tensors that cross, as measured; the file's own declarations fill in. */
  readonly types: ReadonlyMap<string, TensorType>;
  readonly boundary?: Boundary;
  /**
   * The crossings at the two ends, as `cutsOf` chose them with measured bytes; by default as it chooses
   * without.
   */
  readonly cuts?: readonly Cut[] | undefined;
  /** The extracted graph's name; the model's own by default. */
  readonly graphName?: string;
  /** The file that the partition's external tensors name; by default they name the model's own files. */
  readonly dataFile?: string;
}

/** Extracted is a partition as an ONNX file in memory. */
export interface Extracted extends Omit<ExtractedPieces, 'pieces'> {
  readonly bytes: Uint8Array;
}

/** ExtractedPieces is a partition as an ONNX file, in pieces. */
export interface ExtractedPieces {
  /** The file in pieces. Pieces that hold weights are views of the model's own bytes. */
  readonly pieces: readonly Uint8Array[];
  /** Graph-level names in order; where float32 crosses as float16, the name is `<tensor>/float16` on both sides. */
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** The pieces to copy from the model's external files, with their places in `dataFile`. */
  readonly external: readonly ExternalCopy[];
}

/**
 * extractPartition makes a valid model of nodes [from, to), with the constant nodes, repeated nodes (`crossingsOf`),
 * initializers and local functions that they use. Nodes, tensors and functions are the file's own bytes, and unknown
 * fields are kept.
 *
 * Its inputs are the tensors that it uses and does not make; it never passes one through. Its outputs are the tensors
 * it makes that cross the cut after it or are graph outputs. A graph output that is constant comes from the last partition,
 * and one that is a graph input comes from the request itself. [0, n) is the whole model: everything in it stays, in
 * topological order.
 *
 * With boundary `float16`, float32 tensors that are made in one partition and used in another cross as float16, under
 * the name `<tensor>/float16`, and are cast at both ends. Graph inputs and graph outputs keep their type wherever they
 * cross, because the caller gives and gets them so. Values beyond ±65504 become infinite.
 *
 * Ends are declared with the given type. In a partition with subgraphs or local functions, inputs are declared with
 * their number of axes alone, or without a shape where that number may depend on a branch.
 *
 * @throws InputError where the range does not exist or holds nothing to compute, or the type of a crossing tensor is
 *   not known
 */
export function extractPartition(model: OnnxModel, options: ExtractOptions): Extracted {
  const { pieces, ...rest } = extractPieces(model, options);
  return { bytes: concat(pieces), ...rest };
}

/** extractPieces does the same without a copy of the weights, for a file that is only written. */
export function extractPieces(model: OnnxModel, options: ExtractOptions): ExtractedPieces {
  const { from, to } = options;
  const part = partitionParts(model, options);
  const faults = partFaults(model, part, options);
  if (faults.length > 0) throw new InputError(`extract nodes [${from}, ${to}) of ${model.name}`, faults);
  const external = new ExternalPlan(options.dataFile);
  const ends = endsOf(model, part, options);
  const graph = part.whole
    ? wholeGraph(model, external, options.graphName)
    : partGraph(model, part, ends, external, options);
  const casts = ends.castsIn.length + ends.castsOut.length > 0;
  const pieces = modelPieces(model, graph, part, casts);
  return { pieces, inputs: ends.inputs, outputs: ends.outputs, external: external.copies };
}

function partFaults(model: OnnxModel, part: PartitionParts, options: ExtractOptions): Fault[] {
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
  if (part.outputs.length === 0) return [fault('the results of these nodes are used nowhere else')];
  // A graph output may go without a type, which ONNX Runtime infers; a tensor that crosses a cut may not.
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

/** A partition selects from these fields of a graph; all others are copied. */
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
  part: PartitionParts,
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

/** annotations selects the quantization annotations of tensors that the partition holds. */
function annotations(graph: Uint8Array, names: ReadonlySet<string>): Uint8Array[] {
  return [...fieldsOf(graph)].flatMap((field) => {
    if (field.number !== GRAPH.quantizationAnnotation) return [];
    return names.has(annotatedTensor(payloadOf(graph, field))) ? [rawField(graph, field)] : [];
  });
}

/** wholeGraph gives the graph with its nodes in topological order and every other field as it was. */
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

/** Where a model imports no default operator set, this one is imported for Cast: the first with today's casts. */
const CAST_OPSET = 13;

function modelPieces(
  model: OnnxModel,
  graph: readonly Uint8Array[],
  part: PartitionParts,
  casts: boolean,
): Uint8Array[] {
  const functions = part.whole ? undefined : usedFunctions(model, part.nodes);
  const lacksCast = casts && !model.opsets.has('');
  const imported = lacksCast ? delimited(MODEL.opsetImport, numberField(OPSET.version, CAST_OPSET)) : [];
  return [
    ...withGraph(model, graph, (number, encoded) => {
      if (number === MODEL.trainingInfo) return part.whole;
      return number !== MODEL.functions || functions === undefined || functions.has(encoded.byteOffset);
    }),
    ...imported,
  ];
}
