import { itemAt } from '../collections/index.js';
import { dtypeInfo, elementCount } from '../execution/index.js';
import type { Boundary, TensorSpec } from '../formats/index.js';
import {
  type Cut,
  type CutFault,
  cutFault,
  cutFaultText,
  cutsOf,
  type OnnxModel,
  type TensorType,
} from '../onnx/index.js';
import type { PreparedLayers, PreparedModel, TensorFinding } from './types.js';

interface Known {
  readonly types: ReadonlyMap<string, TensorType>;
  readonly tensors: ReadonlyMap<string, TensorFinding>;
  readonly boundary: Boundary;
  readonly fixedBatch: number | undefined;
}

/**
 * measuredCuts gives the model's cuts with what crosses them, chosen by the bytes that were measured. A tensor whose rows
 * mix at larger batches cannot cross.
 */
export function measuredCuts(
  model: OnnxModel,
  { tensors, ...sent }: Pick<Known, 'tensors' | 'boundary' | 'fixedBatch'>,
): Cut[] {
  const ends = endsOf(model).all;
  return cutsOf(model, (name) => {
    const finding = tensors.get(name);
    if (finding?.kind !== 'tensor' || finding.batching.kind === 'mixed') return undefined;
    if (dtypeInfo(finding.spec.dtype) === undefined) return undefined;
    return sentBytes([finding.spec], { ...sent, ends });
  });
}

/**
 * layersOf lists the model's nodes as layers: the bytes that cross after each for one request, or why the model cannot
 * be cut there. A cut is valid when the graph allows it and every crossing tensor is stacked from its requests' tensors
 * or common to all of them (`batchingOf`). At a fixed batch, a cut is valid when no size depends on the data. The last
 * layer's bytes are those of the outputs.
 */
export function layersOf(model: OnnxModel, cuts: readonly Cut[], known: Known): PreparedLayers {
  const ends = endsOf(model);
  const lastServed = lastServedOf(model, known.tensors);
  const crossing = model.graph.nodes.map(
    (_, index) => cuts[index] ?? { position: index + 1, tensors: [...ends.outputs] },
  );
  const cutFaults = crossing.map((cut, index) => {
    const isLast = index === crossing.length - 1;
    return isLast ? undefined : index >= lastServed ? NOTHING_SERVED : faultOf(model, cut, known);
  });
  const layers = model.graph.nodes.map(({ name, op, weightBytes }, index) => {
    const [cut, fault] = [itemAt(crossing, index), cutFaults[index]];
    const bytes = sentBytes(specsOf(cut.tensors, known.tensors), { ...known, ends: ends.all });
    const sent = fault === undefined ? { cutBytes: bytes } : { noCut: cutFaultText(fault) };
    return { name, op, ...sent, weightBytes };
  });
  return Object.assign(layers, { cutFaults });
}

const NOTHING_SERVED: CutFault = {
  kind: 'no-place',
  why: 'nothing after it gives an output that is a tensor',
};

/** lastServedOf gives the index of the last node that makes an output that is a tensor. */
function lastServedOf({ graph }: OnnxModel, tensors: ReadonlyMap<string, TensorFinding>): number {
  const served = new Set(
    graph.outputs.map(({ name }) => name).filter((name) => tensors.get(name)?.kind === 'tensor'),
  );
  const last = graph.nodes.findLastIndex(({ outputs }) => outputs.some((name) => served.has(name)));
  return last < 0 ? graph.nodes.length : last;
}

/**
 * crossingSpecs gives the tensors that cross after a node (after the last, the outputs), as far as they are tensors.
 */
export function crossingSpecs(
  { model, cuts, tensors }: Pick<PreparedModel, 'model' | 'cuts' | 'tensors'>,
  position: number,
): TensorSpec[] {
  return specsOf(cuts[position - 1]?.tensors ?? model.graph.outputs.map(({ name }) => name), tensors);
}

function faultOf(model: OnnxModel, cut: Cut, { types, tensors }: Known): CutFault | undefined {
  const mixing = (name: string) => {
    const finding = tensors.get(name);
    if (finding?.kind !== 'tensor' || finding.batching.kind !== 'mixed') return undefined;
    const { why, dataSized } = finding.batching;
    return { why: `cannot be sent: ${why}`, code: dataSized ? ('size' as const) : ('batch' as const) };
  };
  return cutFault(model, cut, { types, whyNot: mixing });
}

function specsOf(names: readonly string[], tensors: ReadonlyMap<string, TensorFinding>): TensorSpec[] {
  return names.flatMap((name) => {
    const finding = tensors.get(name);
    return finding?.kind === 'tensor' ? [finding.spec] : [];
  });
}

/**
 * sentBytes gives the bytes of tensors as sent for one request. With boundary `float16`, float32 counts two bytes,
 * except in the model's own inputs and outputs, which keep their type. At a fixed batch of b requests, each request has
 * its share.
 */
function sentBytes(
  specs: readonly TensorSpec[],
  {
    boundary,
    fixedBatch = 1,
    ends,
  }: { boundary: Boundary; fixedBatch: number | undefined; ends: ReadonlySet<string> },
): number {
  const whole = specs.reduce((sum, { name, dtype, shape }) => {
    const halved = boundary === 'float16' && dtype === 'float32' && !ends.has(name);
    return sum + elementCount(shape) * (halved ? 2 : (dtypeInfo(dtype)?.bytes ?? 0));
  }, 0);
  return Math.ceil(whole / fixedBatch);
}

function endsOf(model: OnnxModel): { outputs: string[]; all: ReadonlySet<string> } {
  const outputs = model.graph.outputs.map(({ name }) => name);
  return { outputs, all: new Set([...model.graph.inputs.map(({ name }) => name), ...outputs]) };
}
