import { NONE as SHARED_NONE } from '../../collections/index.js';
import { type Decisions, Decision as SharedDecision } from '../decisions.js';
import type { DagColumns, Flows, OpenBatches, RequestLife, Requests } from '../state/index.js';
import type { GearTable, ServedStep, Topology } from '../topology.js';
import type { Gears } from './gears.js';
import type { Onward, OnwardHooks } from './onward.js';

const NONE = SHARED_NONE;
const Decision = SharedDecision;

/** EscalationParts holds what an Escalation decides over, and where its decisions go. The topology has gears. */
export interface EscalationParts {
  readonly topology: Topology;
  readonly gears: Gears;
  readonly life: RequestLife;
  readonly decisions: Decisions;
}

/**
 * Escalation moves the tasks of cascades. A task keeps the gear that was in force when its request came: it goes on to
 * the gear's next step while the model of its step is unsure of it, and is answered else.
 */
export class Escalation implements Onward {
  private readonly graph: DagColumns;
  private readonly flows: Flows;
  private readonly requests: Requests;
  private readonly batches: OpenBatches;
  /** The edge to the next step, and the certainty below which it is taken, by gear and pool. */
  private readonly edge: Int32Array;
  private readonly below: Float64Array;
  private readonly tasks: number[] = [];
  private readonly edges: number[] = [];

  private readonly pools: number;
  private readonly gears: Gears;
  private readonly life: RequestLife;
  private readonly decisions: Decisions;

  constructor(
    { topology, gears, life, decisions }: EscalationParts,
    private readonly hooks: Pick<OnwardHooks, 'comesTo'>,
  ) {
    const { gears: table } = topology as { gears: GearTable };
    const pools = topology.pools.length;
    this.pools = pools;
    this.gears = gears;
    this.life = life;
    this.decisions = decisions;
    this.graph = life.graph;
    this.flows = life.flows;
    this.requests = life.requests;
    this.batches = life.batches;
    this.edge = new Int32Array(table.gears.length * pools).fill(NONE);
    this.below = new Float64Array(table.gears.length * pools);
    table.gears.forEach(({ steps }, gear) => {
      steps.slice(0, -1).forEach(({ pool, below }, step) => {
        this.edge[gear * pools + pool] = this.edgeTo(pool, (steps[step + 1] as ServedStep).pool);
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

  openFlows(request: number, first: number): void {
    let task = this.requests.firstTask(request);
    for (let row = 0; row < this.requests.rowsOf(request); row++, task = this.requests.nextTask(task)) {
      const flow = this.flows.open(first, row);
      this.flows.setGear(flow, this.gears.current);
      this.requests.setFlow(task, flow);
    }
  }

  /** enter has nothing to do: a cascade is entered at one step. */
  enter(): void {}

  judged(batch: number, verdicts: ArrayLike<number>): void {
    const pool = this.batches.pool(batch);
    for (let i = 0; i < this.batches.size(batch); i++)
      this.flows.setVerdict(this.requests.flowOf(this.batches.task(batch, i)), pool, verdicts[i] ?? 0);
  }

  /** sendOn answers the tasks of which the model is sure, and sends the others on, in a batch for each next step. */
  sendOn(at: number, batch: number): void {
    const pool = this.batches.pool(batch);
    this.takeOut(batch, pool);
    const end = this.graph.firstEdge[pool + 1] as number;
    for (let edge = this.graph.firstEdge[pool] as number; edge < end; edge++) this.sendAlong(edge, batch);
    for (let i = 0; i < this.tasks.length; i++)
      if (this.edges[i] === NONE) this.life.endTask(at, this.tasks[i] as number);
    this.batches.close(batch);
  }

  /** takeOut takes the tasks that are still wanted out of their batch, and finds the edge of each. */
  private takeOut(batch: number, pool: number): void {
    this.tasks.length = 0;
    this.edges.length = 0;
    for (let i = 0; i < this.batches.size(batch); i++) {
      const task = this.batches.task(batch, i);
      if (!this.life.cameBack(task)) continue;
      const flow = this.requests.flowOf(task);
      const at = this.flows.gearOf(flow) * this.pools + pool;
      const isUnsure = this.flows.verdict(flow, pool) < (this.below[at] as number);
      this.tasks.push(task);
      this.edges.push(isUnsure ? (this.edge[at] as number) : NONE);
    }
  }

  private sendAlong(edge: number, batch: number): void {
    let sent = NONE;
    for (let i = 0; i < this.tasks.length; i++) {
      if (this.edges[i] !== edge) continue;
      if (sent === NONE) sent = this.batches.open(this.batches.pool(batch), this.batches.device(batch));
      this.life.putInBatch(sent, this.tasks[i] as number);
    }
    if (sent === NONE) return;
    this.batches.setMoving(sent, edge);
    this.decisions.push(Decision.transfer, sent, this.batches.device(sent), NONE);
  }

  delivered(at: number, batch: number): void {
    const stage = this.stageAfter(batch);
    for (let i = 0; i < this.batches.size(batch); i++) {
      const task = this.batches.task(batch, i);
      if (this.life.cameBack(task)) this.hooks.comesTo(at, task, stage);
    }
    this.batches.close(batch);
  }

  stageAfter(batch: number): number {
    return this.graph.to[this.batches.edge(batch)] as number;
  }
}
