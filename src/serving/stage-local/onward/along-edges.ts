import { NONE as SHARED_NONE } from '../../../collections/index.js';
import { type Decisions, Decision as SharedDecision } from '../../decisions.js';
import type { DagColumns, Flows, OpenBatches, RequestLife, Requests } from '../../state/index.js';

const NONE = SHARED_NONE;
const Decision = SharedDecision;

/** AlongEdges is what moving tasks along edges has in common, whichever of them are taken. */
export abstract class AlongEdges {
  protected readonly graph: DagColumns;
  protected readonly flows: Flows;
  protected readonly requests: Requests;
  protected readonly batches: OpenBatches;
  /** The tasks of the batch that is sent on, which are still wanted. */
  protected readonly tasks: number[] = [];

  constructor(
    protected readonly life: RequestLife,
    private readonly decisions: Decisions,
  ) {
    this.graph = life.graph;
    this.flows = life.flows;
    this.requests = life.requests;
    this.batches = life.batches;
  }

  /** openFlows gives each row of a new request a flow through the route whose first stage is that of pool `first`. */
  openFlows(request: number, first: number): void {
    let task = this.requests.firstTask(request);
    for (let row = 0; row < this.requests.rowsOf(request); row++, task = this.requests.nextTask(task)) {
      const flow = this.flows.open(first, row);
      this.opened(flow);
      this.requests.setFlow(task, flow);
    }
  }

  /** opened hears of each new flow. */
  protected opened(_flow: number): void {}

  judged(batch: number, verdicts: ArrayLike<number>): void {
    const pool = this.batches.pool(batch);
    for (let i = 0; i < this.batches.size(batch); i++)
      this.flows.setVerdict(this.requests.flowOf(this.batches.task(batch, i)), pool, verdicts[i] ?? 0);
  }

  stageAfter(batch: number): number {
    return this.graph.to[this.batches.edge(batch)] as number;
  }

  delivered(at: number, batch: number): void {
    const stage = this.stageAfter(batch);
    for (let i = 0; i < this.batches.size(batch); i++) {
      const task = this.batches.task(batch, i);
      if (this.life.cameBack(task)) this.reaches(at, task, stage);
    }
    this.batches.close(batch);
  }

  /** reaches brings a task to a stage. */
  protected abstract reaches(at: number, task: number, stage: number): void;

  /** takeOut takes the tasks that are still wanted out of their batch. */
  protected takeOut(batch: number): void {
    this.tasks.length = 0;
    for (let i = 0; i < this.batches.size(batch); i++) {
      const task = this.batches.task(batch, i);
      if (this.life.cameBack(task)) this.tasks.push(task);
    }
  }

  /** sendAlong sends the tasks that go along an edge in one batch. */
  protected sendAlong(edge: number, batch: number): void {
    let sent = NONE;
    for (let i = 0; i < this.tasks.length; i++) {
      const task = this.goingAlong(edge, i, batch);
      if (task === NONE) continue;
      if (sent === NONE) sent = this.batches.open(this.batches.pool(batch), this.batches.device(batch));
      this.life.putInBatch(sent, task);
    }
    if (sent === NONE) return;
    this.batches.setMoving(sent, edge);
    this.decisions.push(Decision.transfer, sent, this.batches.device(sent), NONE);
  }

  /** goingAlong is the task that goes along an edge for the i-th task of a batch, NONE where none does. */
  protected abstract goingAlong(edge: number, i: number, batch: number): number;
}
