import { NONE } from '../../collections/index.js';
import { type Decisions, Answer as SharedAnswer, Decision as SharedDecision } from '../decisions.js';
import type { Agenda } from './agenda.js';
import type { OpenWork } from './open-work.js';
import type { Outputs } from './outputs.js';
import type { PlannedWork } from './planned-work.js';
import type { Queues } from './queues.js';
import type { Scheduling } from './scheduling.js';
import { isQueued, type OpenRequest } from './work.js';

const Decision = SharedDecision;
const Answer = SharedAnswer;

/** RequestEndsOptions holds the parts of RequestEnds. */
export interface RequestEndsOptions {
  readonly decisions: Decisions;
  readonly open: OpenWork;
  readonly agenda: Agenda;
  readonly queues: Queues;
  readonly work: PlannedWork;
  readonly outputs: Outputs;
  readonly scheduling: Scheduling;
}

/**
 * RequestEnds gives requests their one outcome, takes back what they had, and gives their numbers back once nothing of them is on a
 * device or on its way.
 */
export class RequestEnds {
  /** How many requests have no outcome. */
  unsettled = 0;
  /** How many tasks are known and have not been executed, of requests without an outcome. */
  known = 0;
  private readonly retired = new Set<OpenRequest>();

  constructor(private readonly options: RequestEndsOptions) {}

  opened(application: number, deadlineNs: number): OpenRequest {
    this.unsettled += 1;
    return this.options.open.open(application, deadlineNs);
  }

  /** executed reports that a task of a request has been executed. */
  executed(request: OpenRequest): void {
    request.left -= 1;
    this.known -= 1;
  }

  /** again reports that a task of a request is to be executed once more. */
  again(request: OpenRequest): void {
    request.left += 1;
    this.known += 1;
  }

  answerIfDone(at: number, request: OpenRequest): void {
    if (request.isSettled || !request.isFinished || request.left > 0) return;
    this.answer(request, at <= request.deadlineNs ? Answer.inTime : Answer.late);
  }

  answer(request: OpenRequest, how: number): void {
    this.options.decisions.push(Decision.answer, request.number, how);
    this.settle(request);
  }

  /** drop gives a request up, at a pool whose device was to execute a task of it, or elsewhere. */
  drop(request: OpenRequest, reason: number, pool = NONE): void {
    this.options.decisions.push(Decision.drop, request.number, reason, pool);
    this.settle(request);
  }

  /** settle takes back the places in queues, the expected work and the memory of a request that has its outcome. */
  settle(request: OpenRequest): void {
    const { scheduling, queues, work, agenda, outputs } = this.options;
    request.isSettled = true;
    this.unsettled -= 1;
    this.known -= request.left;
    scheduling.withdraw(request);
    for (const task of request.tasks) {
      if (!isQueued(task)) continue;
      queues.leave(task);
      work.withdraw(task.device, task.component, task.rows);
      agenda.touched.add(task.device);
    }
    outputs.release(request);
    this.retireIfDone(request);
  }

  retireIfDone(request: OpenRequest): void {
    if (request.isSettled && request.inBatches === 0 && request.fetches === 0) this.retired.add(request);
  }

  /** closeRetired gives the numbers of ended requests back, which can be used again after this `decide`. */
  closeRetired(): void {
    for (const { number } of this.retired) this.options.open.close(number);
    this.retired.clear();
  }
}
