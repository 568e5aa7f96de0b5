import type { RawGraph } from '../read/index.js';
import type { OnnxModel } from '../wire/index.js';
import { quoted } from '../wire/index.js';
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
  mixes,
  type RuleNode,
  type RuleResult,
  ruleNode,
} from './batch-flow.js';
import { follow, hasRule, mixesSlightly } from './batch-rules.js';
import type { RowFault, RowsFollowed, SeenTensors, UnknownNode } from './row-findings.js';
import { branching, type InnerWalk, type WalkedNode } from './row-subgraphs.js';

export interface FollowOptions {
  readonly seen?: SeenTensors;
  /** Whether rows may influence one another slightly, through scales that are taken from all of them. */
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
  const walk = new RowWalk(model, batch, { seen, mixing });
  walk.nodes(model.graph.nodes, walk.flows);
  // What follows from the size of a batch alone tells no request of another.
  const unsettled = new Set([...walk.flows].flatMap(([name, { open }]) => (open ? [name] : [])));
  const makers = new Map(model.graph.nodes.flatMap((node) => node.outputs.map((name) => [name, node])));
  const lost = model.graph.outputs.flatMap(({ name }) => {
    const maker = makers.get(name);
    if (!unsettled.has(name)) return [];
    const by = maker === undefined ? '' : ` (${maker.op} ${quoted(maker.name)})`;
    return [
      { name, told: `output ${quoted(name)}${by} is made of the rows of a batch and has no batch axis` },
    ];
  });
  return { mixing: walk.mixing, lost, unknown: walk.unknown, unsettled };
}

/** RowWalk follows the batch node by node. Where a node cannot be followed it goes on with what was seen of it. */
class RowWalk implements InnerWalk {
  readonly flows: Map<string, BatchFlow>;
  mixing: RowFault[] = [];
  unknown: UnknownNode[] = [];
  readonly #declared = new Map<string, Dims>();

  constructor(
    private readonly model: OnnxModel,
    private readonly batch: Extract<BatchDim, { kind: 'symbolic' }>,
    private readonly options: Required<FollowOptions>,
  ) {
    const { inputs, outputs, valueInfo, initializers } = model.graph;
    this.flows = new Map([...initializers.values()].map((tensor) => [tensor.name, constantFlow(tensor)]));
    for (const { name, type } of [...inputs, ...outputs, ...valueInfo.values()])
      if (type?.kind === 'tensor' && type.dims !== undefined && !this.#declared.has(name))
        this.#declared.set(
          name,
          type.dims.map((dim) => this.#size(dim)),
        );
    const axes = new Map(batch.inputs.map(({ name, axis }) => [name, axis]));
    for (const { name } of inputs) {
      const axis = axes.get(name);
      this.#keep(this.flows, name, axis === undefined ? {} : { batch: { axis, factor: 1 } });
    }
  }

  #size(dim: number | string | undefined): number | undefined {
    return typeof dim === 'number' ? dim : dim === this.batch.name ? THOUGHT_BATCH : undefined;
  }

  nodes(nodes: readonly WalkedNode[], scope: Map<string, BatchFlow>): void {
    for (const node of nodes) this.#node(node, scope);
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

  #node(node: WalkedNode, scope: Map<string, BatchFlow>): void {
    const attributes = attributesOf(node);
    if (attributes === undefined) {
      this.#doubt(node, scope, 'its attributes cannot be read');
    } else if (node.op === 'Constant' && node.domain === '') {
      this.#keep(scope, node.outputs[0] ?? '', constantNodeFlow(attributes));
    } else {
      const opset = this.model.opsets.get('') ?? 1;
      this.#operator(node, scope, ruleNode(node, attributes, { flows: scope, opset, size: THOUGHT_BATCH }));
    }
  }

  #operator(node: WalkedNode, scope: Map<string, BatchFlow>, seenBy: RuleNode): void {
    const inner = branching(node, seenBy, { scope, walk: this });
    for (const { told, ...fault } of inner?.mixing ?? [])
      this.mixing.push({ ...fault, told: `${named(node)}: inside it, ${told}` });
    const result =
      this.#called(node, seenBy) ?? inner?.result ?? follow(seenBy, node.domain, this.options.mixing);
    const used = [...seenBy.flows, ...node.captures.map((name) => scope.get(name))];
    const open = used.some((flow) => flow?.open);
    const found = followed(result);
    if (found !== undefined && !found.edits?.length && !open) {
      node.outputs.forEach((name, at) => {
        this.#keep(scope, name, found.flows[at] ?? {});
      });
    } else if (!used.some(holdsRows)) {
      // What is computed of the size of the batch, and of no row, is the same for all requests of a batch.
      const flow = used.some(isTouched) ? { sized: true } : {};
      for (const name of node.outputs) this.#keep(scope, name, flow);
    } else if (typeof result !== 'string' && 'mixes' in result) {
      const slightly = !this.options.mixing && mixesSlightly(seenBy);
      this.mixing.push({ told: `${named(node)}${about(node, scope)}: ${result.mixes}`, slightly });
      for (const name of node.outputs) this.#keep(scope, name, { open: true });
    } else {
      const why = open ? UNORDERED : HOLDS_BATCH;
      this.#doubt(node, scope, typeof result === 'string' ? result : why);
    }
  }

  /** Names a local function that lists what it finds in all rows, because no rule looks into functions. */
  #called(node: WalkedNode, { flows }: RuleNode): RuleResult | undefined {
    const called = this.model.functions.find(
      ({ name, domain }) => name === node.op && domain === node.domain,
    );
    const ops = called?.calls.map((call) => call.split('\0')[1] ?? '') ?? [];
    const lists = ops.find((op) => LISTS.has(op));
    return lists === undefined || !flows.some(holdsRows) ? undefined : mixes(`it calls ${lists}`);
  }

  /** Goes on with what was seen of the outputs of a node that no rule follows. */
  #doubt(node: WalkedNode, scope: Map<string, BatchFlow>, why: string): void {
    const outputs = node.outputs.filter((name) => name !== '');
    const rows = outputs.map((name) => ({ name, ...this.options.seen.get(name) }));
    for (const { name, rows: axis, one } of rows) {
      const factor = axis === undefined || axis === null ? undefined : one?.[axis];
      this.#keep(scope, name, factor === undefined ? { open: true } : { batch: { axis: axis!, factor } });
    }
    this.unknown.push({
      told: `${named(node)}${about(node, scope)}: ${why}`,
      outputs,
      apart: rows.every(({ rows: axis }) => axis !== undefined && axis !== null),
      carriesSizes: CARRIES_SIZES.has(node.op),
      doubted: !hasRule(node) || ROWS_PICK.has(node.op),
    });
  }

  /** Keeps a flow with its sizes: as followed, else as seen, else as declared. */
  #keep(scope: Map<string, BatchFlow>, name: string, flow: BatchFlow): void {
    if (name === '') return;
    const known = [flow.dims, this.#seenDims(name), this.#declared.get(name)];
    const [first] = known.filter((dims) => dims !== undefined);
    const dims = first?.map((_, axis) => {
      if (axis === flow.batch?.axis) return flow.batch.factor * THOUGHT_BATCH;
      return known.find((dims) => dims?.length === first.length && dims[axis] !== undefined)?.[axis];
    });
    scope.set(name, dims === undefined ? flow : { ...flow, dims });
  }

  #seenDims(name: string): Dims | undefined {
    const { one, two } = this.options.seen.get(name) ?? {};
    if (one === undefined || two?.length !== one.length) return undefined;
    return one.map((size, axis) => size + (two[axis]! - size) * (THOUGHT_BATCH - 1));
  }
}

const UNORDERED = 'its input may hold the rows of a batch in no order that is known';
const HOLDS_BATCH = 'a constant of it has the size of the batch in it';
/** These list what they find in all rows, whatever axis the rows are on. */
const LISTS = new Set(['NonZero', 'NonMaxSuppression', 'Unique']);
/** These have rules, and yet may pick by the values of rows what no rule can foresee. */
const ROWS_PICK = new Set(['Gather', 'GatherND', 'GatherElements', 'ScatterElements', 'Compress']);

function named({ op, name }: WalkedNode): string {
  return `${op} ${quoted(name)}`;
}
