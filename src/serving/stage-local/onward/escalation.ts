import { itemAt, NONE as SHARED_NONE } from '../../../collections/index.js';
import type { Decisions } from '../../decisions.js';
import type { RequestLife } from '../../state/index.js';
import type { Topology } from '../../topology.js';
import type { Gears } from '../scaling/gears.js';
import { AlongEdges } from './along-edges.js';
import type { Onward, OnwardHooks } from './onward.js';

const NONE = SHARED_NONE;

/** EscalationParts holds what an Escalation decides over, and where its decisions go. */
export interface EscalationParts {
  readonly topology: Topology;
  readonly gears: Gears;
  readonly life: RequestLife;
  readonly decisions: Decisions;
}

/**
 * Escalation moves the tasks of cascades. A task keeps the gear that was active when its request came: it goes on to
 * the gear's next step while the model of its step is unsure of it, and is answered else.
 */
export class Escalation extends AlongEdges implements Onward {
  /** The edge to the next step, and the certainty below which it is taken, by gear and pool. */
  private readonly edge: Int32Array;
  private readonly below: Float64Array;
  /** The edge of each task that is sent on, NONE where it is answered. */
  private readonly edges: number[] = [];
  private readonly pools: number;
  private readonly gears: Gears;

  constructor(
    { topology, gears, life, decisions }: EscalationParts,
    private readonly hooks: Pick<OnwardHooks, 'comesTo' | 'watchesEdges' | 'took'>,
  ) {
    super(life, decisions);
    const { table } = gears;
    const pools = topology.pools.length;
    this.pools = pools;
    this.gears = gears;
    this.edge = new Int32Array(table.gears.length * pools).fill(NONE);
    this.below = new Float64Array(table.gears.length * pools);
    table.gears.forEach(({ steps }, gear) => {
      steps.slice(0, -1).forEach(({ pool, below }, step) => {
        this.edge[gear * pools + pool] = this.edgeTo(pool, itemAt(steps, step + 1).pool);
        this.below[gear * pools + pool] = below;
      });
    });
  }

  private edgeTo(from: number, to: number): number {
    const { firstEdge } = this.graph;
    for (let edge = firstEdge[from] as number; edge < (firstEdge[from + 1] as number); edge++)
      if (this.graph.to[edge] === to) return edge;
    return NONE;
  }

  protected override opened(flow: number): void {
    this.flows.setGear(flow, this.gears.current);
  }

  /** enter has nothing to do: a cascade is entered at one step. */
  enter(): void {}

  /** sendOn answers the tasks of which the model is sure, and sends the others on, in a batch for each next step. */
  sendOn(at: number, batch: number): void {
    const pool = this.batches.pool(batch);
    this.takeOut(batch);
    this.edges.length = 0;
    for (let i = 0; i < this.tasks.length; i++) this.edges.push(this.edgeFor(this.tasks[i] as number, pool));
    if (this.hooks.watchesEdges(pool))
      for (let i = 0; i < this.edges.length; i++)
        this.hooks.took(pool, this.bitOf(this.edges[i] as number, pool));
    const end = this.graph.firstEdge[pool + 1] as number;
    for (let edge = this.graph.firstEdge[pool] as number; edge < end; edge++) this.sendAlong(edge, batch);
    for (let i = 0; i < this.tasks.length; i++)
      if (this.edges[i] === NONE) this.life.endTask(at, this.tasks[i] as number);
    this.batches.close(batch);
  }

  private edgeFor(task: number, pool: number): number {
    const flow = this.requests.flowOf(task);
    const at = this.flows.gearOf(flow) * this.pools + pool;
    const isUnsure = this.flows.verdict(flow, pool) < (this.below[at] as number);
    return isUnsure ? (this.edge[at] as number) : NONE;
  }

  private bitOf(edge: number, pool: number): number {
    return edge === NONE ? 0 : 1 << ((edge - (this.graph.firstEdge[pool] as number)) & 31);
  }

  protected goingAlong(edge: number, i: number): number {
    return this.edges[i] === edge ? (this.tasks[i] as number) : NONE;
  }

  protected reaches(at: number, task: number, stage: number): void {
    this.hooks.comesTo(at, task, stage);
  }
}
