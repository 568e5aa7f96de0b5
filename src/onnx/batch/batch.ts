import type { OnnxModel, OnnxNode, TensorType } from '../wire/index.js';
import { quoted } from '../wire/index.js';
import { type Attributes, attributesOf } from './attributes.js';
import { batchDim } from './batch-dim.js';
import { relaxed } from './batch-edit.js';
import {
  about,
  type BatchFlow,
  constantFlow,
  constantNodeFlow,
  type Dims,
  type Followed,
  followed,
  type NodeEdit,
  type RuleResult,
  ruleNode,
} from './batch-flow.js';
import { follow, mixesSlightly } from './batch-rules.js';

/**
 * SymbolicBatch is a model that takes any batch, with what was changed for that in words; or it is the reason why the
 * batch could not be made symbolic.
 */
export type SymbolicBatch =
  | {
      readonly ok: true;
      readonly bytes: Uint8Array;
      readonly changes: readonly string[];
      /** The measured shapes that were needed: the same ones give the same model again. */
      readonly shapes: MeasuredShapes;
    }
  | {
      readonly ok: false;
      readonly missing: string;
      /** lacksShapes says whether measured shapes of inner tensors might help. */
      readonly lacksShapes?: true;
      /**
       * mixesSlightly says whether it ended at a node that takes its scale from all rows, so that `mixing`
       * might help.
       */
      readonly mixesSlightly?: true;
    };

/** MeasuredShapes are shapes of inner tensors at the fixed batch. */
export type MeasuredShapes = Readonly<Record<string, readonly number[]>>;

export interface SymbolicBatchOptions {
  /**
   * Shapes of inner tensors as measured at the fixed batch. They decide cases that the file leaves open: how many rows
   * a −1 stands for, what broadcasts against the batch.
   */
  readonly shapes?: MeasuredShapes;
  /**
   * mixing says whether rows may influence one another slightly, through scales that are taken from all of
   * them.
   */
  readonly mixing?: boolean;
}

/**
 * makeBatchSymbolic turns a model with a fixed batch (usually 1) into one that takes any batch. It does so where it can
 * show that every row goes its own way from input to output, and otherwise names the tensor, node and axis where it
 * cannot. It follows the batch's axis through the graph, node by node. It opens the declared shapes, changes the
 * constants that have the batch in them (targets of Reshape, sizes of Resize), and leaves out initial states of zeros.
 * A model whose batch is symbolic already is returned as it is. `batchDim` says which dimension is the batch.
 */
export function makeBatchSymbolic(model: OnnxModel, options: SymbolicBatchOptions = {}): SymbolicBatch {
  const batch = batchDim(model);
  if (batch.kind === 'symbolic') return { ok: true, bytes: model.bytes, changes: [], shapes: {} };
  if (batch.kind === 'none') return { ok: false, missing: batch.why };
  const walk = new BatchWalk(model, batch.size, options);
  const fault = walk.follow();
  if (fault !== undefined) return { ok: false, ...fault };
  const lost = model.graph.outputs.flatMap(({ name }) => lostOutput(name, walk.flows.get(name)) ?? []);
  if (lost.length > 0) return { ok: false, missing: lost.join('; ') };
  const { flows, edits, shapesUsed } = walk;
  return { ok: true, ...relaxed(model, flows, edits), shapes: Object.fromEntries(shapesUsed) };
}

function lostOutput(name: string, flow: BatchFlow | undefined): string | undefined {
  if (flow?.batch === undefined) return `output ${quoted(name)} has no batch axis`;
  if (flow.batch.factor === 1) return undefined;
  const { axis, factor } = flow.batch;
  return `output ${quoted(name)} has ${factor} entries on axis ${axis} for each request`;
}

type WalkFault = Omit<Extract<SymbolicBatch, { ok: false }>, 'ok'>;

/** BatchWalk follows the batch through a graph, node by node. */
class BatchWalk {
  readonly flows: Map<string, BatchFlow>;
  readonly edits: NodeEdit[] = [];
  readonly shapesUsed = new Map<string, readonly number[]>();
  private readonly declared = new Map<string, TensorType>();

  constructor(
    private readonly model: OnnxModel,
    private readonly size: number,
    private readonly options: SymbolicBatchOptions,
  ) {
    const { inputs, outputs, valueInfo, initializers } = model.graph;
    this.flows = new Map([...initializers.values()].map((tensor) => [tensor.name, constantFlow(tensor)]));
    for (const { name, type } of [...inputs, ...outputs, ...valueInfo.values()])
      if (type?.kind === 'tensor' && !this.declared.has(name)) this.declared.set(name, type);
    for (const { name } of inputs) {
      const dims = knownDims(this.declared.get(name));
      const scalar = dims?.length === 0;
      this.flows.set(name, { ...(scalar ? {} : { batch: { axis: 0, factor: 1 } }), ...(dims && { dims }) });
    }
  }

  /** Follows all nodes, or gives the fault of the first that cannot be followed. */
  follow(): WalkFault | undefined {
    for (const node of this.model.graph.nodes) {
      const fault = this.followNode(node);
      if (fault !== undefined)
        return {
          ...fault,
          missing: `${node.op} ${quoted(node.name)}${about(node, this.flows)}: ${fault.missing}`,
        };
    }
    return undefined;
  }

  private followNode(node: OnnxNode): WalkFault | undefined {
    const captured = node.captures.some((name) => {
      const flow = this.flows.get(name);
      return flow?.batch !== undefined || flow?.sized;
    });
    if (captured) return { missing: 'its subgraphs use batched tensors' };
    const attributes = attributesOf(node);
    if (attributes === undefined) return { missing: 'its attributes cannot be read' };
    if (node.op === 'Constant' && node.domain === '') {
      this.flows.set(node.outputs[0] ?? '', constantNodeFlow(attributes));
      return undefined;
    }
    if (node.op === 'Shape') this.measuredInputs(node);
    let outcome = this.outcome(node, attributes);
    let found = followed(outcome);
    if (found === undefined && this.measuredInputs(node)) {
      outcome = this.outcome(node, attributes);
      found = followed(outcome);
    }
    if (found === undefined) return this.faultOf(node, attributes, reasonOf(outcome));
    this.take(node, found);
    return undefined;
  }

  private ruleNode(node: OnnxNode, attributes: Attributes) {
    return ruleNode(node, attributes, {
      flows: this.flows,
      opset: this.model.opsets.get('') ?? 1,
      size: this.size,
    });
  }

  private outcome(node: OnnxNode, attributes: Attributes): RuleResult {
    return follow(this.ruleNode(node, attributes), node.domain, this.options.mixing === true);
  }

  private faultOf(node: OnnxNode, attributes: Attributes, missing: string): WalkFault {
    const unknown = [...this.flows.values()].some(
      ({ dims }) => dims === undefined || dims.includes(undefined),
    );
    const mixes = !this.options.mixing && mixesSlightly(this.ruleNode(node, attributes));
    return {
      missing,
      ...(unknown ? { lacksShapes: true } : {}),
      ...(mixes ? { mixesSlightly: true } : {}),
    };
  }

  /** Completes the shapes of a node's inputs by measured ones, and says whether there were any. */
  private measuredInputs(node: OnnxNode): boolean {
    let found = false;
    for (const name of node.inputs) {
      const flow = this.flows.get(name);
      const { shapes = {} } = this.options;
      const measured = Object.hasOwn(shapes, name) ? shapes[name] : undefined;
      if (flow === undefined || measured === undefined || isKnown(flow.dims)) continue;
      this.flows.set(name, { ...flow, dims: measured });
      this.shapesUsed.set(name, measured);
      found = true;
    }
    return found;
  }

  private take(node: OnnxNode, { flows, edits = [] }: Followed): void {
    for (const edit of edits) {
      const before = this.flows.get(node.inputs[edit.input] ?? '')?.values?.map(Number);
      this.edits.push({ node, edit, before });
    }
    node.outputs.forEach((name, index) => {
      if (name === '') return;
      const flow = flows[index] ?? {};
      const dims = joinedDims(knownDims(this.declared.get(name)), flow.dims);
      this.flows.set(name, dims === undefined ? flow : { ...flow, dims });
    });
  }
}

/** reasonOf gives the text of an answer that is no flow. */
function reasonOf(result: RuleResult): string {
  return typeof result === 'string' ? result : 'mixes' in result ? result.mixes : '';
}

/** joinedDims gives the declared sizes, and the followed ones where the declaration leaves an axis open. */
function joinedDims(declared: Dims | undefined, followed: Dims | undefined): Dims | undefined {
  if (declared === undefined || declared.length !== followed?.length) return declared ?? followed;
  return declared.map((dim, axis) => dim ?? followed[axis]);
}

function isKnown(dims: Dims | undefined): boolean {
  return dims !== undefined && !dims.includes(undefined);
}

function knownDims(type: TensorType | undefined): (number | undefined)[] | undefined {
  return type?.dims?.map((dim) => (typeof dim === 'number' ? dim : undefined));
}
