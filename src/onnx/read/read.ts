import { itemAt } from '../../collections/index.js';
import { InputError, shellText } from '../../formats/index.js';
import type { Initializer, OnnxFunction, OnnxGraph, OnnxModel, OnnxNode } from '../wire/index.js';
import {
  FUNCTION,
  fieldsOf,
  MODEL,
  merged,
  numberOf,
  OPSET,
  Problems,
  payloadOf,
  quoted,
  textOf,
} from '../wire/index.js';
import { checkDomains, checkNames, MAIN } from './check.js';
import { constantNodes } from './constants.js';
import { domainOf, type RawGraph, type RawNode, readGraph, readNode } from './node.js';
import { orderOf } from './order.js';

/**
 * readModel reads an ONNX file's ModelProto, without the bytes of external tensors. It is linear in the file. Weights
 * are skipped, not decoded, and everything returned is a view of `bytes`, which must not change.
 *
 * @param options.name what messages call the model; usually a file name
 * @throws InputError with up to 20 faults: bytes that are not protobuf or are cut off, no graph, no operator set, a
 *   cycle, a tensor made twice or by nobody, dimensions that do not fit the values
 */
export function readModel(bytes: Uint8Array, options: { name?: string } = {}): OnnxModel {
  const name = options.name ?? 'the model';
  const problems = new Problems();
  const model = problems.reading('', () => readWhole(bytes, name, problems));
  if (problems.faults.length > 0 || model === undefined) {
    const advice = problems.isDoubled ? keepLast(options.name) : 'Give a complete ONNX file.';
    throw new InputError(`read ${name}`, adviceFirst(bytes, problems), advice);
  }
  return model;
}

/** This leaves external data where it is, which the new file names from the same folder. */
const KEEP_LAST =
  'import onnx, sys; m = onnx.load(sys.argv[1], load_external_data=False); w = {t.name: t for t in m.graph.initializer}; m.graph.ClearField("initializer"); m.graph.initializer.extend(w.values()); onnx.save(m, sys.argv[2])';

/** keepLast gives the command that writes a model beside another, of which each initializer is there once. */
function keepLast(path = 'model.onnx'): string {
  const mended = `${path.replace(/\.onnx$/i, '')}.mended.onnx`;
  const command = shellText(['python3', '-c', KEEP_LAST, path, mended]);
  return `Of initializers of one name keep the last, as ONNX Runtime does; with Python's package onnx:\n  ${command}`;
}

/**
 * adviceFirst reduces the faults to one where the file is something else altogether, since that fault explains the
 * others.
 */
function adviceFirst(bytes: Uint8Array, problems: Problems) {
  const other = otherKind(bytes);
  return other === undefined ? problems.faults : [{ path: '', message: other }];
}

function otherKind(bytes: Uint8Array): string | undefined {
  if (bytes.length === 0) return 'the file is empty';
  const head = [...bytes.subarray(0, 64)];
  const printable = head.every(
    (byte) => byte === 9 || byte === 10 || byte === 13 || (byte >= 32 && byte < 127),
  );
  if (printable)
    return `the file is text, not ONNX: ${quoted(head.map((byte) => String.fromCharCode(byte)).join(''))}`;
  if (head[0] === 0x50 && head[1] === 0x4b) return 'the file is a ZIP archive, not ONNX';
  if (head[0] === 0x1f && head[1] === 0x8b) return 'the file is gzip-compressed, not ONNX';
  return undefined;
}

interface ModelParts {
  irVersion: number;
  graph: Uint8Array | undefined;
  opsets: Map<string, number>;
  functions: Uint8Array[];
}

function readWhole(bytes: Uint8Array, name: string, problems: Problems): OnnxModel | undefined {
  const parts = modelParts(bytes, problems);
  if (!(parts.irVersion >= 1)) problems.add('', `has no valid IR version (ir_version is ${parts.irVersion})`);
  if (parts.opsets.size === 0) problems.add('', 'imports no operator set (opset_import is missing)');
  if (parts.graph === undefined) {
    problems.add('', 'has no graph');
    return undefined;
  }
  const functions = parts.functions.flatMap(
    (encoded, index) =>
      problems.reading(`functions[${index}]`, () => readFunction(encoded, index, problems)) ?? [],
  );
  const raw = readGraph(parts.graph, { path: MAIN, problems });
  checkNames(raw, { path: MAIN, problems });
  checkDomains(raw.nodes, parts.opsets, problems);
  if (raw.outputs.length === 0) problems.add('graph', 'has no outputs');
  const graph = problems.faults.length === 0 ? graphOf(raw, functions) : undefined;
  return graph && { name, bytes, irVersion: parts.irVersion, opsets: parts.opsets, graph, functions };
}

function modelParts(bytes: Uint8Array, problems: Problems): ModelParts {
  const parts: ModelParts = { irVersion: 0, graph: undefined, opsets: new Map(), functions: [] };
  const graphs: Uint8Array[] = [];
  for (const field of fieldsOf(bytes)) {
    if (field.number === MODEL.irVersion) parts.irVersion = numberOf(bytes, field);
    else if (field.number === MODEL.graph) graphs.push(payloadOf(bytes, field));
    else if (field.number === MODEL.functions) parts.functions.push(payloadOf(bytes, field));
    else if (field.number === MODEL.opsetImport)
      problems.reading('opset_import', () => readOpset(payloadOf(bytes, field), parts.opsets, problems));
  }
  parts.graph = merged(graphs);
  return parts;
}

function readOpset(encoded: Uint8Array, opsets: Map<string, number>, problems: Problems): void {
  const opset = { domain: '', version: 0 };
  for (const field of fieldsOf(encoded)) {
    if (field.number === OPSET.domain) opset.domain = domainOf(textOf(encoded, field));
    if (field.number === OPSET.version) opset.version = numberOf(encoded, field);
  }
  if (!(opset.version >= 1 && Number.isSafeInteger(opset.version)))
    problems.add('opset_import', `${quoted(opset.domain)} has version ${opset.version}`);
  opsets.set(opset.domain, opset.version);
}

function readFunction(encoded: Uint8Array, index: number, problems: Problems): OnnxFunction {
  const texts = { name: '', domain: '', overload: '' };
  const nodes: RawNode[] = [];
  const opsets = new Map<string, number>();
  for (const field of fieldsOf(encoded)) {
    if (field.number === FUNCTION.name) texts.name = textOf(encoded, field);
    else if (field.number === FUNCTION.domain) texts.domain = domainOf(textOf(encoded, field));
    else if (field.number === FUNCTION.overload) texts.overload = textOf(encoded, field);
    else if (field.number === FUNCTION.opsetImport) readOpset(payloadOf(encoded, field), opsets, problems);
    else if (field.number === FUNCTION.node)
      nodes.push(
        readNode(payloadOf(encoded, field), { path: `functions[${index}].node[${nodes.length}]`, problems }),
      );
  }
  if (texts.name === '') problems.add(`functions[${index}]`, 'has no name');
  return { ...texts, calls: [...new Set(nodes.flatMap((node) => node.calls))], encoded };
}

function graphOf(raw: RawGraph, functions: readonly OnnxFunction[]): OnnxGraph {
  const initializers = new Map(raw.initializers.map((tensor) => [tensor.name, tensor]));
  const order = orderOf(raw.nodes);
  const indices = order.kind === 'ordered' ? order.indices : [];
  const names = uniqueNames(raw.nodes);
  const ordered = indices.map((index) => itemAt(raw.nodes, index));
  const constant = constantNodes(ordered, initializers.keys(), functions);
  const weightBytes = firstUses(ordered, initializers);
  const nodes = ordered.map((node, at): OnnxNode => {
    const { op, domain, overload, inputs, outputs, captures, calls, encoded } = node;
    const own = { constant: constant[at] === true, weightBytes: itemAt(weightBytes, at), encoded };
    return {
      name: itemAt(names, itemAt(indices, at)),
      op,
      domain,
      overload,
      inputs,
      outputs,
      captures,
      calls,
      ...own,
    };
  });
  return {
    encoded: raw.encoded,
    nodes,
    inputs: raw.inputs.filter((input) => !initializers.has(input.name)),
    outputs: raw.outputs,
    initializers,
    valueInfo: new Map(raw.valueInfo.map((value) => [value.name, value])),
    overridable: new Map(
      raw.inputs.filter((input) => initializers.has(input.name)).map((input) => [input.name, input]),
    ),
  };
}

/** uniqueNames keeps the file's name for the first node that has it. Others get the operator and the file position. */
function uniqueNames(nodes: readonly RawNode[]): string[] {
  const inFile = new Set(nodes.map((node) => node.name));
  const taken = new Set<string>(['']);
  return nodes.map((node, index) => {
    let name = node.name;
    if (taken.has(name)) {
      name = node.name === '' ? `${node.op}_${index}` : `${node.name}_${index}`;
      while (taken.has(name) || inFile.has(name)) name += '_';
    }
    taken.add(name);
    return name;
  });
}

function firstUses(nodes: readonly RawNode[], initializers: ReadonlyMap<string, Initializer>): number[] {
  const seen = new Set<string>();
  return nodes.map((node) => {
    let bytes = node.heldBytes;
    for (const name of [...node.inputs, ...node.captures]) {
      if (seen.has(name)) continue;
      seen.add(name);
      bytes += initializers.get(name)?.byteLength ?? 0;
    }
    return bytes;
  });
}
