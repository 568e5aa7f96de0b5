import { itemAt } from '../../collections/index.js';
import { callKey, type RawGraph } from '../read/index.js';
import type { OnnxFunction, OnnxModel } from '../wire/index.js';
import { quoted, unlessUnreadable } from '../wire/index.js';
import { attributesOf } from './attributes.js';
import type { BatchDim } from './batch-dim.js';
import {
  about,
  type BatchFlow,
  constantFlow,
  constantNodeFlow,
  type Dims,
  followed,
  holdsRows,
  isTouched,
  type RuleNode,
  ruleNode,
} from './batch-flow.js';
import { follow, mixesSlightly } from './batch-rules.js';
import type { RowFault, RowsFollowed, SeenTensors, UnknownNode } from './row-findings.js';
import { calledBody } from './row-functions.js';
import { branching, type Inner, type InnerWalk, unknownInside, type WalkedNode } from './row-subgraphs.js';

export interface FollowOptions {
  readonly seen?: SeenTensors;
  /**
   * mixing says whether rows may influence one another slightly, through scales that are taken from all of
   * them.
   */
  readonly mixing?: boolean;
}

/**
 * The batch at which shapes are thought: a prime that no file has as a size, so that what is no multiple of the batch is
 * never taken for one.
 */
const THOUGHT_BATCH = 1_000_003;

/** Where the rules cannot follow one of these, it is the size of the batch or an unknown shape that stands in the way. */
const CARRIES_SIZES = new Set(
  'Add Sub Mul Div Mod Min Max Equal Greater Less GreaterOrEqual LessOrEqual And Or Not Where Cast Identity Concat Expand Reshape Unsqueeze Squeeze Transpose Shape Range Tile'.split(
    ' ',
  ),
);

/**
 * followRows follows the rows of a batch through a graph that takes any batch. It needs no runs where the rules know
 * every node; `seen` tells it shapes that the file leaves out, and what was seen of nodes that no rule follows.
 */
export function followRows(
  model: OnnxModel,
  batch: Extract<BatchDim, { kind: 'symbolic' }>,
  { seen = new Map(), mixing = false }: FollowOptions = {},
): RowsFollowed {
  const { functions, opsets, graph } = model;
  const declared = declaredSizes(model, batch.name);
  const walk = new RowWalk({ functions, opset: opsets.get('') ?? 1, mixing, seen, declared, calling: [] });
  const flows = walk.scopeOf(graph, new Map(batch.inputs.map(({ name, axis }) => [name, axis])));
  walk.nodes(graph.nodes, flows);
  // A value that follows from the size of a batch alone tells a request nothing of another.
  const unsettled = new Set([...flows].flatMap(([name, { open }]) => (open ? [name] : [])));
  const makers = new Map(graph.nodes.flatMap((node) => node.outputs.map((name) => [name, node])));
  const lost = graph.outputs.flatMap(({ name }) => {
    const maker = makers.get(name);
    if (!unsettled.has(name)) return [];
    const by = maker === undefined ? '' : ` (${maker.op} ${quoted(maker.name)})`;
    return [
      { name, told: `output ${quoted(name)}${by} is made of the rows of a batch and has no batch axis` },
    ];
  });
  return { mixing: walk.mixing, lost, unknown: walk.unknown, unsettled };
}

/** declaredSizes gives the sizes that the file declares, at the thought batch. */
function declaredSizes(
  { graph: { inputs, outputs, valueInfo } }: OnnxModel,
  batch: string,
): Map<string, Dims> {
  const declared = new Map<string, Dims>();
  for (const { name, type } of [...inputs, ...outputs, ...valueInfo.values()])
    if (type?.kind === 'tensor' && type.dims !== undefined && !declared.has(name))
      declared.set(
        name,
        type.dims.map((dim) => (typeof dim === 'number' ? dim : dim === batch ? THOUGHT_BATCH : undefined)),
      );
  return declared;
}

/** Followable is what a walk knows of the nodes that it follows: those of a model's graph, or of a local function. */
interface Followable extends Required<FollowOptions> {
  readonly functions: readonly OnnxFunction[];
  readonly opset: number;
  readonly declared: ReadonlyMap<string, Dims>;
  /** The functions that it is inside of. */
  readonly calling: readonly OnnxFunction[];
}

/** RowWalk follows the batch node by node. Where a node cannot be followed it goes on with what was seen of it. */
class RowWalk implements InnerWalk {
  mixing: RowFault[] = [];
  unknown: UnknownNode[] = [];

  constructor(private readonly known: Followable) {}

  /** scopeOf gives the flows of a graph's constants and of its inputs, whose batch is on the axes given. */
  scopeOf(
    { initializers, inputs }: OnnxModel['graph'],
    axes: ReadonlyMap<string, number | undefined>,
  ): Map<string, BatchFlow> {
    const scope = new Map([...initializers.values()].map((tensor) => [tensor.name, constantFlow(tensor)]));
    for (const { name } of inputs) {
      const axis = axes.get(name);
      this.keep(scope, name, axis === undefined ? {} : { batch: { axis, factor: 1 } });
    }
    return scope;
  }

  nodes(nodes: readonly WalkedNode[], scope: Map<string, BatchFlow>): void {
    for (const node of nodes) this.node(node, scope);
  }

  constants({ initializers }: RawGraph, scope: Map<string, BatchFlow>): void {
    for (const tensor of initializers) scope.set(tensor.name, constantFlow(tensor));
  }

  attempt(use: () => void): { mixing: RowFault[]; unknown: UnknownNode[] } {
    const [mixing, unknown] = [this.mixing, this.unknown];
    this.mixing = [];
    this.unknown = [];
    use();
    const found = { mixing: this.mixing, unknown: this.unknown };
    this.mixing = mixing;
    this.unknown = unknown;
    return found;
  }

  private node(node: WalkedNode, scope: Map<string, BatchFlow>): void {
    const attributes = attributesOf(node);
    if (attributes === undefined) {
      this.doubt(node, scope, { why: 'its attributes cannot be read', hidden: false });
    } else if (node.op === 'Constant' && node.domain === '') {
      this.keep(scope, node.outputs[0] ?? '', constantNodeFlow(attributes));
    } else {
      const { opset } = this.known;
      this.operator(node, scope, ruleNode(node, attributes, { flows: scope, opset, size: THOUGHT_BATCH }));
    }
  }

  private operator(node: WalkedNode, scope: Map<string, BatchFlow>, seenBy: RuleNode): void {
    const inner = this.called(node, seenBy) ?? branching(node, seenBy, { scope, walk: this });
    for (const { told, ...fault } of inner?.mixing ?? [])
      this.mixing.push({ ...fault, told: `${named(node)}: inside it, ${told}` });
    const result = inner?.result ?? follow(seenBy, node.domain, this.known.mixing);
    const used = [...seenBy.flows, ...node.captures.map((name) => scope.get(name))];
    const open = used.some((flow) => flow?.open);
    const found = followed(result);
    if (used.some((flow) => flow?.never)) {
      for (const name of node.outputs) this.keep(scope, name, { never: true });
    } else if (found !== undefined && !found.edits?.length && !open) {
      node.outputs.forEach((name, at) => {
        this.keep(scope, name, found.flows[at] ?? {});
      });
    } else if (!used.some(holdsRows)) {
      // A value that is computed of the size of the batch, and of no row, is the same for all requests of a
      // batch.
      const flow = used.some(isTouched) ? { sized: true } : {};
      for (const name of node.outputs) this.keep(scope, name, flow);
    } else if (typeof result !== 'string' && 'mixes' in result) {
      const slightly = !this.known.mixing && mixesSlightly(seenBy);
      this.mixing.push({ told: `${named(node)}${about(node, scope)}: ${result.mixes}`, slightly });
      for (const name of node.outputs) this.keep(scope, name, { open: true });
    } else {
      const why = open ? UNORDERED : HOLDS_BATCH;
      const hidden = inner?.hidden === true;
      this.doubt(node, scope, { why: typeof result === 'string' ? result : why, hidden });
    }
  }

  /** Follows a call of a local function through its body. */
  private called(node: WalkedNode, { flows }: RuleNode): Inner | undefined {
    const key = callKey(node.domain, node.op, node.overload);
    const called = this.known.functions.find((one) => callKey(one.domain, one.name, one.overload) === key);
    if (called === undefined) return undefined;
    const body = this.known.calling.includes(called)
      ? undefined
      : unlessUnreadable(() => calledBody(called, node));
    if (body === undefined) return { mixing: [], result: 'its function cannot be followed' };
    const calling = [...this.known.calling, called];
    // The names in a function are its own, so that nothing was seen or declared of them.
    const apart = { opset: body.opset, seen: new Map(), declared: new Map(), calling };
    const walk = new RowWalk({ ...this.known, ...apart });
    const scope = new Map(body.inputs.map((name, at) => [name, flows[at] ?? {}]));
    walk.nodes(body.nodes, scope);
    const given = body.outputs.map((name) => scope.get(name) ?? {});
    const unknown = unknownInside(walk.unknown);
    const hidden = unknown !== undefined;
    return { mixing: walk.mixing, result: unknown ?? { flows: given }, hidden };
  }

  /** Goes on with what was seen of the outputs of a node that no rule follows. */
  private doubt(
    node: WalkedNode,
    scope: Map<string, BatchFlow>,
    { why, hidden }: { readonly why: string; readonly hidden: boolean },
  ): void {
    const outputs = node.outputs.filter((name) => name !== '');
    const rows = outputs.map((name) => ({ name, ...this.known.seen.get(name) }));
    for (const { name, rows: axis, one } of rows) {
      const factor = axis === undefined || axis === null ? undefined : one?.[axis];
      this.keep(scope, name, factor === undefined ? { open: true } : { batch: { axis: axis!, factor } });
    }
    const inputs = [...node.inputs, ...node.captures].filter((name) => holdsRows(scope.get(name)));
    const limits = COMPARES.has(node.op) ? node.inputs.filter((name) => scope.get(name)?.sized) : [];
    this.unknown.push({
      told: `${named(node)}${about(node, scope)}: ${why}`,
      inputs,
      limits,
      outputs,
      apart: rows.every(({ rows: axis }) => axis !== undefined && axis !== null),
      hidden,
      carriesSizes: CARRIES_SIZES.has(node.op),
    });
  }

  /** Keeps a flow with its sizes: as followed, else as seen, else as declared. */
  private keep(scope: Map<string, BatchFlow>, name: string, flow: BatchFlow): void {
    if (name === '') return;
    const known = [flow.dims, this.seenDims(name), this.known.declared.get(name)];
    const [first] = known.filter((dims) => dims !== undefined);
    const dims = first?.map((_, axis) => {
      if (axis === flow.batch?.axis) return flow.batch.factor * THOUGHT_BATCH;
      return known.find((dims) => dims?.length === first.length && dims[axis] !== undefined)?.[axis];
    });
    scope.set(name, dims === undefined ? flow : { ...flow, dims });
  }

  private seenDims(name: string): Dims | undefined {
    const { one, two } = this.known.seen.get(name) ?? {};
    if (one === undefined || two?.length !== one.length) return undefined;
    return one.map((size, axis) => size + (itemAt(two, axis) - size) * (THOUGHT_BATCH - 1));
  }
}

const UNORDERED = 'its input may hold the rows of a batch in no order that is known';
const HOLDS_BATCH = 'a constant of it has the size of the batch in it';

/**
 * These operators may use the size of the batch for large values only, or only where another value is large.
 */
const COMPARES = new Set('Where Min Max Clip Equal Greater Less GreaterOrEqual LessOrEqual'.split(' '));

function named({ op, name }: WalkedNode): string {
  return `${op} ${quoted(name)}`;
}
