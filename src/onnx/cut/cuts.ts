import type { OnnxModel, OnnxNode, TensorType, ValueType } from '../wire/index.js';
import { quoted, travellingTypes, travels } from '../wire/index.js';
import { crossingsOf, type SentBytes } from './crossing.js';
import { remembered } from './remembered.js';
import { usedBy } from './spans.js';

/** Cut is the place after the `position`-th node, with the tensors that must be handed on there. */
export interface Cut {
  readonly position: number;
  /** What crosses, in the order it is made, graph inputs first. */
  readonly tensors: readonly string[];
  /** Those of them that cross only because the node before the cut made them: later partitions can repeat it. */
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
    const node = model.graph.nodes[index] as OnnxNode;
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
  readonly whyNot?: (tensor: string) => string | undefined;
}

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
): string | undefined {
  const works = workingNodes(model);
  if (!(Number.isInteger(cut.position) && cut.position >= 1 && cut.position < works.length))
    return `there is no cut ${cut.position}; cuts are 1 to ${works.length - 1}`;
  if (works[cut.position - 1] !== true)
    return `the node before it is constant or its result is not used, ${SAME}`;
  if (!works.includes(true, cut.position)) return 'nothing is left to compute after it';
  if (cut.tensors.length === 0) return 'nothing crosses it';
  const faults = cut.tensors.flatMap((name) => {
    const why = crossingFault(model, name, types) ?? whyNot(name);
    return why === undefined ? [] : [{ name, why }];
  });
  if (faults.length === 0) return undefined;
  if (faults.every(({ name }) => cut.repeated?.includes(name)))
    return `the node before it is repeated where its result is needed, ${SAME}`;
  return faults.map(({ name, why }) => `${quoted(name)}, ${wayOf(model, name)}, ${why}`).join('; ');
}

/**
 * tensorFaults gives the reasons of `cutFault` one by one, each about a tensor that cannot cross. It gives none for a
 * reason that means that no place to cut is missing: the cut is the same as another, or nothing is left to compute.
 */
export function tensorFaults(reason: string): string[] {
  return reason.startsWith('"') ? reason.split(/; (?=")/) : [];
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
): string | undefined {
  const type = typeOf(model, name, types);
  if (type === undefined) return 'is of a type that is not known';
  if (type.kind !== 'tensor') return `is ${article(type.kind)}, which cannot be sent`;
  if (!travels(type.dtype)) return `is ${type.dtype}, which cannot be sent; ${travellingTypes()} can`;
  return undefined;
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
