import { Decision, type Decisions } from './decisions.js';
import { NONE } from './lists.js';
import { type Requests, TaskState } from './requests.js';

/** Requests from their arrival to their one outcome, for cores whose tasks wait in queues or are in batches. */
export class Outcomes {
  /** Requests without an outcome. */
  pending = 0;

  constructor(
    private readonly requests: Requests,
    private readonly decisions: Decisions,
    /** Takes a waiting task out of its queue. */
    private readonly leaveQueue: (task: number) => void,
  ) {}

  open(model: number, deadlineNs: number, rows: number): number {
    this.pending += 1;
    return this.requests.add(model, deadlineNs, rows);
  }

  answer(request: number, how: number): void {
    this.decisions.push(Decision.answer, request, how);
    this.settle(request);
  }

  drop(request: number, reason: number, pool: number): void {
    this.decisions.push(Decision.drop, request, reason, pool);
    this.settle(request);
  }

  /** The outcome is decided: its waiting tasks leave the queues, those in batches will be ignored. */
  settle(request: number): void {
    const { requests } = this;
    requests.settled[request] = 1;
    this.pending -= 1;
    for (let task = requests.first(request); task !== NONE; task = requests.nextOf(task)) {
      if (requests.state[task] !== TaskState.queued) continue;
      this.leaveQueue(task);
      requests.state[task] = TaskState.ended;
    }
    if (requests.out[request] === 0) requests.retire(request);
  }

  /** A task goes into a batch. */
  wentOut(task: number): void {
    this.requests.state[task] = TaskState.inBatch;
    this.requests.out[this.requests.request[task] as number]! += 1;
  }

  /** A task leaves its batch; @returns whether its request still wants it. */
  cameBack(task: number): boolean {
    const { requests } = this;
    const request = requests.request[task] as number;
    requests.state[task] = TaskState.ended;
    requests.out[request]! -= 1;
    if (requests.settled[request] === 0) return true;
    if (requests.out[request] === 0) requests.retire(request);
    return false;
  }
}
