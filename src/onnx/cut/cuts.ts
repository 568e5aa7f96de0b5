import { itemAt } from '../../collections/index.js';
import type { OnnxModel, TensorType, ValueType } from '../wire/index.js';
import { quoted, travellingTypes, travels } from '../wire/index.js';
import { crossingsOf, type SentBytes } from './crossing.js';
import { remembered } from './remembered.js';
import { usedBy } from './spans.js';

/** Cut is the place after the `position`-th node, with the tensors that must be handed on there. */
export interface Cut {
  readonly position: number;
  /** The tensors that cross, in the order in which they are made, graph inputs first. */
  readonly tensors: readonly string[];
  /**
   * The tensors among them that cross only because the node before the cut made them: later partitions can
   * repeat it.
   */
  readonly repeated?: readonly string[];
}

/**
 * cutsOf lists every cut, one after each node but the last, with what must be handed on there (`crossingsOf`). The
 * runtime carries a graph output to the end; no later partition passes it through. What only constants feed does not
 * cross: constant nodes are repeated in every partition that uses them, and so are nodes that depend on sizes alone or
 * cheaply on graph inputs, where that takes fewer bytes.
 *
 * @param sentBytes the bytes of tensors as measured. Partitions are to be extracted with the cuts that were found with
 *   the same bytes.
 */
export function cutsOf(model: OnnxModel, sentBytes?: SentBytes): Cut[] {
  return crossingsOf(model, sentBytes).map(({ tensors, repeated }, index) => {
    const cut = { position: index + 1, tensors };
    return repeated.length === 0 ? cut : { ...cut, repeated };
  });
}

const cutsWithoutBytes = remembered((model): readonly Cut[] => cutsOf(model));

/**
 * crossingAt gives what crosses at a position: what `cuts` says of it, and where they say nothing (imported profiles may
 * not know), what `cutsOf` chooses without bytes. Nothing crosses at a position that the model does not have.
 */
export function crossingAt(
  model: OnnxModel,
  position: number,
  cuts: readonly Cut[] | undefined,
): readonly string[] {
  const isHere = (cut: Cut) => cut.position === position;
  const cut = cuts?.find(isHere) ?? cutsWithoutBytes(model).find(isHere);
  return cut?.tensors ?? [];
}

/** workingNodes says for each node whether the answer depends on it: constant nodes and unused ones do not count. */
const workingNodes = remembered((model): readonly boolean[] => {
  const wanted = new Set(model.graph.outputs.map((output) => output.name));
  const working = model.graph.nodes.map(() => false);
  for (let index = working.length - 1; index >= 0; index--) {
    const node = itemAt(model.graph.nodes, index);
    if (!node.outputs.some((name) => wanted.has(name))) continue;
    working[index] = !node.constant;
    for (const name of usedBy(node)) wanted.add(name);
  }
  return working;
});

/** CrossingRules say which tensors can cross a cut. */
interface CrossingRules {
  /** Types of crossing tensors as measured; where one is missing, the file's own declaration counts. */
  readonly types: ReadonlyMap<string, TensorType>;
  /** Says why a tensor of a type that can be sent still cannot cross. */
  readonly whyNot?: (tensor: string) => CrossingFault | undefined;
}

/** CrossingFault says why a tensor cannot cross a cut. */
interface CrossingFault {
  readonly why: string;
  /**
   * The property in the way: its type, its size, which depends on the data, or how it joins with others of a
   * batch.
   */
  readonly code: 'type' | 'size' | 'batch';
}

/** TensorFault says which tensor cannot cross a cut, and why. */
export interface TensorFault extends CrossingFault {
  readonly name: string;
  /** Where it comes from and where it is last needed. */
  readonly way: string;
}

/**
 * CutFault says why a cut is not valid: no place to cut is there (the cut is the same as another, or nothing is left to
 * compute), or tensors cannot cross it.
 */
export type CutFault =
  | { readonly kind: 'no-place'; readonly why: string }
  | { readonly kind: 'tensors'; readonly tensors: readonly TensorFault[] };

/** The reason why a cut after a node that is not work of its own is not listed twice. */
const SAME = 'so the cut is the same as an earlier one';

/**
 * cutFault says why a cut is not valid; it gives undefined where the cut is valid. Between any two valid cuts, before
 * the first and after the last lies at least one node whose result is used beyond it. So every partition that they make
 * has work and outputs.
 */
export function cutFault(
  model: OnnxModel,
  cut: Cut,
  { types, whyNot = () => undefined }: CrossingRules,
): CutFault | undefined {
  const works = workingNodes(model);
  if (!(Number.isInteger(cut.position) && cut.position >= 1 && cut.position < works.length))
    return noPlace(`there is no cut ${cut.position}; cuts are 1 to ${works.length - 1}`);
  if (works[cut.position - 1] !== true)
    return noPlace(`the node before it is constant or its result is not used, ${SAME}`);
  if (!works.includes(true, cut.position)) return noPlace('nothing is left to compute after it');
  if (cut.tensors.length === 0) return noPlace('nothing crosses it');
  const tensors = cut.tensors.flatMap((name) => {
    const fault = crossingFault(model, name, types) ?? whyNot(name);
    return fault === undefined ? [] : [{ name, way: wayOf(model, name), ...fault }];
  });
  if (tensors.length === 0) return undefined;
  if (tensors.every(({ name }) => cut.repeated?.includes(name)))
    return noPlace(`the node before it is repeated where its result is needed, ${SAME}`);
  return { kind: 'tensors', tensors };
}

function noPlace(why: string): CutFault {
  return { kind: 'no-place', why };
}

/** cutFaultText says a cut's fault to a person. */
export function cutFaultText(fault: CutFault): string {
  switch (fault.kind) {
    case 'no-place':
      return fault.why;
    case 'tensors':
      return fault.tensors.map(tensorFaultText).join('; ');
  }
}

/** tensorFaultText says a tensor's fault to a person. */
export function tensorFaultText({ name, way, why }: TensorFault): string {
  return `${quoted(name)}, ${way}, ${why}`;
}

/** usersOf names the nodes that make tensors and those that use them last. */
const usersOf = remembered(({ graph: { nodes } }) => ({
  makers: new Map(nodes.flatMap(({ name, outputs }) => outputs.map((output) => [output, name]))),
  lastUsers: new Map(nodes.flatMap((node) => usedBy(node).map((used) => [used, node.name]))),
}));

/** wayOf says where a tensor comes from and where it is last needed. */
function wayOf(model: OnnxModel, name: string): string {
  const { makers, lastUsers } = usersOf(model);
  const maker = makers.get(name);
  const made = maker === undefined ? 'an input' : `made by ${maker}`;
  if (model.graph.outputs.some((output) => output.name === name)) return `${made} and an output`;
  const user = lastUsers.get(name);
  return user === undefined ? made : `${made} and last used by ${user}`;
}

/** crossingFault says why a tensor's type does not let it cross. */
function crossingFault(
  model: OnnxModel,
  name: string,
  types: ReadonlyMap<string, TensorType>,
): CrossingFault | undefined {
  const type = typeOf(model, name, types);
  const code = 'type';
  if (type === undefined) return { why: 'is of a type that is not known', code };
  if (type.kind !== 'tensor') return { why: `is ${article(type.kind)}, which cannot be sent`, code };
  if (travels(type.dtype)) return undefined;
  return { why: `is ${type.dtype}, which cannot be sent; ${travellingTypes()} can`, code };
}

function article(kind: string): string {
  return /^[aeiou]/.test(kind) ? `an ${kind}` : `a ${kind}`;
}

/** typeOf gives a tensor's type as measured, else as the file declares it. */
export function typeOf(
  model: OnnxModel,
  name: string,
  types: ReadonlyMap<string, TensorType>,
): ValueType | undefined {
  const given = types.get(name);
  if (given !== undefined) return { kind: 'tensor', ...given };
  const { inputs, outputs, valueInfo } = model.graph;
  const declared = [...inputs, ...outputs].find((value) => value.name === name) ?? valueInfo.get(name);
  return declared?.type;
}
