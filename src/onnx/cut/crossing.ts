import { itemAt } from '../../collections/index.js';
import type { OnnxModel } from '../wire/index.js';
import { minVertexCut } from './min-cut.js';
import { repeatsOf } from './repeat.js';
import { liveAt, usedBy } from './spans.js';

/** SentBytes gives the bytes of a tensor as sent for one request, and undefined for one that cannot be sent. */
export type SentBytes = (tensor: string) => number | undefined;

/** Crossing lists what crosses at one place, and what of it only because the node before made it. */
interface Crossing {
  readonly tensors: string[];
  readonly repeated: string[];
}

/** A tensor that cannot be sent costs more than all others together. */
const CANNOT_BE_SENT = 2 ** 44;

/**
 * The costs of values whose bytes are not known: sources are sent rather than sizes, and graph inputs rather
 * than inner tensors.
 */
const UNKNOWN_COST = { input: 1, inner: 2 ** 10, size: 2 ** 20 } as const;

/**
 * crossingsOf chooses what crosses after each node but the last. The values that the nodes after it need and
 * cannot repeat must cross. For what they can repeat, the cheapest is sent from which it can be made: the
 * value itself, what it is made from, or anything in between. A value that crosses anyway costs nothing, and
 * of two choices of the same bytes the one with fewer nodes to repeat is taken.
 *
 * A cut only sends what can be made from what crosses any valid cut before it and what is computed in between. So the
 * partition between any two valid cuts has all that it needs. Right after a node that may be repeated, its outputs
 * cross too, so that they are what the partition before that cut has made.
 *
 * Without `sentBytes`, only nodes that depend on sizes alone are repeated, and their sources are sent.
 */
export function crossingsOf(model: OnnxModel, sentBytes?: SentBytes): Crossing[] {
  return new Chooser(model, sentBytes).all();
}

class Chooser {
  /** By tensor that can be made again, the tensors that it is made from, constants left out. */
  private readonly madeFrom = new Map<string, readonly string[]>();
  /** By tensor, the last node that uses it and is not repeated; the number of nodes for graph outputs. */
  private readonly mainUse = new Map<string, number>();
  private readonly inputs: ReadonlySet<string>;
  /** The tensors that every later partition can have, apart from those made of them again. */
  private there: Set<string>;

  constructor(
    private readonly model: OnnxModel,
    private readonly sentBytes: SentBytes | undefined,
  ) {
    const { nodes, inputs, outputs, initializers } = model.graph;
    const repeats = repeatsOf(model);
    const constants = new Set(initializers.keys());
    for (const [index, node] of nodes.entries()) {
      if (node.constant) for (const name of node.outputs) constants.add(name);
      else if (repeats.sizes.has(node) || (sentBytes !== undefined && repeats.inputs.has(node))) {
        const from = usedBy(node).filter((name) => !constants.has(name));
        for (const name of node.outputs) this.madeFrom.set(name, from);
      } else for (const name of usedBy(node)) this.mainUse.set(name, index);
    }
    for (const { name } of outputs) this.mainUse.set(name, nodes.length);
    this.inputs = new Set(inputs.map(({ name }) => name));
    this.there = new Set(this.inputs);
  }

  all(): Crossing[] {
    return liveAt(this.model).map((live, index) => {
      const { outputs } = itemAt(this.model.graph.nodes, index);
      for (const name of outputs) if (!this.madeFrom.has(name)) this.there.add(name);
      const chosen = this.chosen(live, index + 1);
      if ([...chosen].every((name) => this.canBeSent(name))) this.there = chosen;
      const repeated = outputs.filter(
        (name) => this.madeFrom.has(name) && live.includes(name) && !chosen.has(name),
      );
      return { tensors: inOrder([...chosen, ...repeated], live), repeated };
    });
  }

  private chosen(live: readonly string[], position: number): Set<string> {
    const isNeeded = (name: string) => !this.madeFrom.has(name) && (this.mainUse.get(name) ?? -1) >= position;
    const needed = new Set(live.filter(isNeeded));
    const isFree = this.reachableFrom(needed);
    const wanted = live.filter((name) => !isFree(name));
    if (wanted.length === 0) return needed;
    const from = this.ancestors(wanted, isFree);
    const costOf = (name: string) => this.costOf(name);
    return new Set([...needed, ...minVertexCut({ from, wanted, costOf })]);
  }

  /** Says of tensors whether they are among some, or can be made again from those. */
  private reachableFrom(given: ReadonlySet<string>): (name: string) => boolean {
    const known = new Map<string, boolean>();
    const isReachable = (name: string): boolean => {
      if (given.has(name)) return true;
      let answer = known.get(name);
      if (answer === undefined) {
        answer = this.madeFrom.get(name)?.every(isReachable) ?? false;
        known.set(name, answer);
      }
      return answer;
    };
    return isReachable;
  }

  /**
   * Gives what some tensors can be made from again, directly or not, without free ones. All that it gives is there. A
   * tensor of whose makers one is no longer there can only be sent itself.
   */
  private ancestors(
    wanted: readonly string[],
    isFree: (name: string) => boolean,
  ): Map<string, readonly string[]> {
    const canBeThere = this.reachableFrom(this.there);
    const from = new Map<string, readonly string[]>();
    const visit = (name: string): void => {
      if (from.has(name)) return;
      const makers = (this.madeFrom.get(name) ?? []).filter((maker) => !isFree(maker));
      from.set(name, makers.every(canBeThere) ? makers : []);
      for (const maker of from.get(name)!) visit(maker);
    };
    for (const name of wanted) visit(name);
    return from;
  }

  private canBeSent(name: string): boolean {
    return this.sentBytes === undefined || this.sentBytes(name) !== undefined;
  }

  private costOf(name: string): number {
    if (this.sentBytes !== undefined) return this.sentBytes(name) ?? CANNOT_BE_SENT;
    if (this.madeFrom.has(name)) return UNKNOWN_COST.size;
    return this.inputs.has(name) ? UNKNOWN_COST.input : UNKNOWN_COST.inner;
  }
}

/** inOrder puts what is sent in the order in which it is made; what no later node reads itself comes first. */
function inOrder(names: readonly string[], live: readonly string[]): string[] {
  const at = new Map(live.map((name, index) => [name, index]));
  return [...names].sort((a, b) => (at.get(a) ?? -1) - (at.get(b) ?? -1));
}
