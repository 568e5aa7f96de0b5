import { NONE as SHARED_NONE } from '../../../collections/index.js';
import type { DagColumns, Flows, Requests, WaitingTasks } from '../../state/index.js';

const NONE = SHARED_NONE;

/** ParallelStagesParts is what ParallelStages work with. */
export interface ParallelStagesParts {
  readonly graph: DagColumns;
  readonly flows: Flows;
  readonly requests: Requests;
  readonly queues: WaitingTasks;
  readonly queueOf: (task: number) => number;
}

/** ParallelStages tells the queues of parallel stages of a DAG which rows have been taken on at one of them. */
export class ParallelStages {
  private readonly parallel: readonly (readonly number[])[];

  constructor(
    pools: number,
    private readonly parts: ParallelStagesParts,
  ) {
    this.parallel = Array.from({ length: pools }, (_, pool) => parts.graph.parallelTo(pool));
  }

  /** collected reports that a task was taken on at its stage. Its cost is that of a walk over the tasks of the request. */
  collected(task: number): void {
    const { flows, requests } = this.parts;
    const parallel = this.parallel[requests.poolOf(task)] as readonly number[];
    const flow = requests.flowOf(task);
    for (let i = 0; i < parallel.length; i++) {
      const stage = parallel[i] as number;
      if (flows.isBegunBeside(flow, stage)) continue;
      flows.setBegunBeside(flow, stage);
      this.tellQueue(task, flow, stage);
    }
  }

  private tellQueue(task: number, flow: number, stage: number): void {
    const { requests, queues, queueOf } = this.parts;
    let other = requests.firstTask(requests.requestOf(task));
    for (; other !== NONE; other = requests.nextTask(other)) {
      if (requests.flowOf(other) !== flow || requests.poolOf(other) !== stage) continue;
      if (requests.isQueued(other) && !requests.isCollected(other) && !requests.isLate(other))
        queues.begunBeside?.(queueOf(other), other);
    }
  }
}
