import { itemAt } from '../../collections/index.js';
import { type RawGraph, type RawNode, readNode } from '../read/index.js';
import { ATTRIBUTE, fieldsOf, NODE, Problems, payloadOf, unlessUnreadable } from '../wire/index.js';
import { type BatchFlow, isTouched, mixes, type RuleNode, type RuleResult, withBatch } from './batch-flow.js';
import type { RowFault, UnknownNode } from './row-findings.js';
import { textIn } from './row-functions.js';

/** WalkedNode is a node of the graph or of a subgraph. */
export type WalkedNode = Pick<
  RawNode,
  'name' | 'op' | 'domain' | 'overload' | 'inputs' | 'outputs' | 'captures' | 'encoded'
>;

type Scope = Map<string, BatchFlow>;

/** InnerWalk follows the nodes of a subgraph, in the scope of the tensors around it. */
export interface InnerWalk {
  nodes(nodes: readonly WalkedNode[], scope: Scope): void;
  constants(graph: RawGraph, scope: Scope): void;
  /** Collects what is found while `use` runs, apart from all else. */
  attempt(use: () => void): { mixing: RowFault[]; unknown: UnknownNode[] };
}

/** Inner is what was found inside a node, and its answer. */
export interface Inner {
  readonly mixing: readonly RowFault[];
  readonly result: RuleResult;
  /** hidden says whether runs of the model cannot show what the rules could not follow. */
  readonly hidden?: boolean;
}

/** branching follows If, Loop and Scan; undefined for other nodes. Subgraphs of other operators are not looked into. */
export function branching(
  node: WalkedNode,
  seenBy: RuleNode,
  { scope, walk }: { scope: ReadonlyMap<string, BatchFlow>; walk: InnerWalk },
): Inner | undefined {
  if (node.domain !== '' || !['If', 'Loop', 'Scan'].includes(node.op)) return undefined;
  const graphs = unlessUnreadable(
    () => readNode(node.encoded, { path: '', problems: new Problems() }).subgraphs,
  );
  if (graphs === undefined) return { mixing: [], result: 'its subgraphs cannot be read' };
  const body = new Body(walk, scope);
  if (node.op === 'If') return chosen(seenBy, takenBranches(node, seenBy, graphs), body);
  const [graph] = graphs;
  if (graph === undefined) return { mixing: [], result: 'it has no subgraph' };
  return node.op === 'Loop' ? looped(seenBy, graph, body) : scanned(seenBy, graph, body);
}

/** Body walks subgraphs in a scope of their own. */
class Body {
  constructor(
    private readonly walk: InnerWalk,
    private readonly scope: ReadonlyMap<string, BatchFlow>,
  ) {}

  /** Gives the flows of a subgraph's outputs from those of its inputs. */
  of(graph: RawGraph, given: readonly (BatchFlow | undefined)[]) {
    const inside: Scope = new Map(this.scope);
    for (const [at, { name }] of graph.inputs.entries()) inside.set(name, given[at] ?? {});
    const found = this.walk.attempt(() => {
      this.walk.constants(graph, inside);
      this.walk.nodes(graph.nodes, inside);
    });
    return { ...found, flows: graph.outputs.map(({ name }) => inside.get(name) ?? {}) };
  }
}

/** unknownInside tells of the first node inside another one that no rule follows. */
export function unknownInside(unknown: readonly UnknownNode[]): string | undefined {
  return unknown[0] && `inside it, ${unknown[0].told}`;
}

/** fromRows says whether a number that is one for a whole batch is computed from its rows. */
function fromRows(flow: BatchFlow | undefined): boolean {
  return flow?.batch !== undefined && !flow.alike;
}

/** takenBranches leaves out the branch that a known condition does not take. */
function takenBranches(
  { encoded }: WalkedNode,
  { flows: [condition] }: RuleNode,
  graphs: readonly RawGraph[],
): readonly RawGraph[] {
  const truth = condition?.values?.[0];
  if (truth !== 0 && truth !== 1) return graphs;
  const names = [...fieldsOf(encoded)]
    .filter(({ number }) => number === NODE.attribute)
    .map((field) => textIn(payloadOf(encoded, field), ATTRIBUTE.name));
  return graphs.filter((_, at) => names[at] === (truth === 0 ? 'else_branch' : 'then_branch'));
}

function chosen({ flows: [condition] }: RuleNode, graphs: readonly RawGraph[], body: Body): Inner {
  if (fromRows(condition))
    return { mixing: [], result: mixes('its condition is computed from the rows of a batch') };
  const [one, ...others] = graphs.map((graph) => body.of(graph, []));
  if (one === undefined) return { mixing: [], result: 'it has no branches' };
  const all = [one, ...others];
  const mixing = all.flatMap((branch) => branch.mixing);
  const unknown = unknownInside(all.flatMap((branch) => branch.unknown));
  const flows = one.flows.map((flow, at) => joined([flow, ...others.map((other) => other.flows[at] ?? {})]));
  const unlike = flows.includes(undefined) ? 'its branches hold rows in different ways' : undefined;
  const sized = isTouched(condition) ? 'nothing shows what its condition is computed from' : undefined;
  const result = unknown ?? unlike ?? sized ?? { flows: flows as BatchFlow[] };
  return { mixing, result, hidden: (unknown ?? unlike) !== undefined };
}

/** joined gives the flow that all of several have, with the sizes that agree; undefined where rows differ. */
function joined(flows: readonly BatchFlow[]): BatchFlow | undefined {
  const [first, ...others] = flows.filter(({ never }) => !never);
  if (first === undefined) return flows[0];
  const place = ({ batch, sized, open }: BatchFlow) => `${batch?.axis} ${batch?.factor} ${sized} ${open}`;
  if (others.some((flow) => place(flow) !== place(first))) return undefined;
  const dims = first.dims?.map((dim, axis) =>
    others.every((flow) => flow.dims?.length === first.dims?.length && flow.dims?.[axis] === dim)
      ? dim
      : undefined,
  );
  const sameRank = others.every((flow) => flow.dims?.length === first.dims?.length);
  const marks = { ...(first.sized && { sized: true }), ...(first.open && { open: true }) };
  return { ...withBatch(first.batch, sameRank ? dims : undefined), ...marks };
}

interface Repeated {
  readonly mixing: readonly RowFault[];
  readonly unknown: string | undefined;
  /** The values carried from turn to turn, then all else that the body gives. */
  readonly flows: readonly BatchFlow[];
}

/**
 * repeated follows a body whose first outputs are carried into the next turn, until what is carried stays the same: an
 * initial state that is common to all requests takes up rows in the first turn.
 */
function repeated(
  carried: readonly BatchFlow[],
  run: (carried: readonly BatchFlow[]) => ReturnType<Body['of']>,
  skip: number,
): Repeated {
  let states: readonly BatchFlow[] = carried;
  for (let turn = 0; turn < MOST_TURNS; turn++) {
    const { mixing, unknown, flows } = run(states);
    const next = flows.slice(skip, skip + carried.length);
    const after = states.map((state, at) => joined([state, next[at] ?? {}]));
    const same = after.every(
      (flow, at) => flow !== undefined && flow.dims?.join() === states[at]?.dims?.join(),
    );
    if (same) return { mixing, unknown: unknownInside(unknown), flows };
    states = states.map((state, at) => after[at] ?? (isTouched(state) ? { open: true } : itemAt(next, at)));
  }
  return { mixing: [], unknown: 'what it carries from turn to turn holds rows in different ways', flows: [] };
}
const MOST_TURNS = 4;

function looped({ flows: [times, condition, ...carried] }: RuleNode, graph: RawGraph, body: Body): Inner {
  if (fromRows(times) || fromRows(condition))
    return { mixing: [], result: mixes('how often it repeats is computed from the rows of a batch') };
  const states = carried.map((flow) => flow ?? {});
  const { mixing, unknown, flows } = repeated(
    states,
    (given) => body.of(graph, [{ dims: [] }, {}, ...given]),
    1,
  );
  if (fromRows(flows[0]))
    return { mixing, result: mixes('when it ends is computed from the rows of a batch') };
  if (unknown !== undefined) return { mixing, result: unknown, hidden: true };
  if (isTouched(times) || isTouched(condition) || isTouched(flows[0]))
    return { mixing, result: 'nothing shows how often it repeats' };
  const collected = flows.slice(1 + states.length).map(stackedOnTop);
  return { mixing, result: { flows: [...flows.slice(1, 1 + states.length), ...collected] } };
}

/** stackedOnTop gives the flow of tensors of many turns, joined along a new first axis. */
function stackedOnTop({ batch, dims, ...marks }: BatchFlow): BatchFlow {
  const moved = batch && { ...batch, axis: batch.axis + 1 };
  return {
    ...(marks.open && { open: true }),
    ...(marks.sized && { sized: true }),
    ...withBatch(moved, dims && [undefined, ...dims]),
  };
}

function scanned(node: RuleNode, graph: RawGraph, body: Body): Inner {
  const scans = node.int('num_scan_inputs', 1);
  const states = node.flows.slice(0, node.flows.length - scans).map((flow) => flow ?? {});
  const axes = node.ints('scan_input_axes');
  const parts = node.flows
    .slice(states.length)
    .map((flow, at) => ({ flow: flow ?? {}, axis: axes?.[at] ?? 0 }));
  const overRows = parts.some(({ flow, axis }) => flow.batch !== undefined && flow.batch.axis === axis);
  const given = parts.map(({ flow, axis }) => (axis < 0 ? { open: true } : sliced(flow, axis)));
  const { mixing, unknown, flows } = repeated(states, (carried) => body.of(graph, [...carried, ...given]), 0);
  if (overRows && states.length > 0)
    return {
      mixing,
      result: mixes('it goes through the rows of a batch and carries a state from one to the next'),
    };
  if (unknown !== undefined) return { mixing, result: unknown, hidden: true };
  if (node.has('scan_output_axes') || overRows || flows.some((flow) => flow.open))
    return { mixing, result: 'the axes of its outputs are not followed' };
  return {
    mixing,
    result: { flows: [...flows.slice(0, states.length), ...flows.slice(states.length).map(stackedOnTop)] },
  };
}

/** sliced gives the flow of one place along an axis. */
function sliced({ batch, dims, ...marks }: BatchFlow, axis: number): BatchFlow {
  if (batch?.axis === axis || marks.open) return { open: true };
  const moved = batch && { ...batch, axis: batch.axis > axis ? batch.axis - 1 : batch.axis };
  return {
    ...(marks.sized && { sized: true }),
    ...withBatch(
      moved,
      dims?.filter((_, at) => at !== axis),
    ),
  };
}
