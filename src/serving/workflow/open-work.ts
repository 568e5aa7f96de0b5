import { NONE, Slots } from '../../collections/index.js';
import { BODY, backTo } from './histories.js';
import type { SubmittedCall } from './language.js';
import type { OpenRequest, Task } from './work.js';

/** How many calls back histories reach. */
const REMEMBERED = 2;

/**
 * OpenWork holds the requests and tasks that have numbers. A request's number and those of its tasks are in use until it is given
 * back.
 */
export class OpenWork {
  private readonly requestSlots = new Slots();
  private readonly taskSlots = new Slots();
  private readonly requests: (OpenRequest | undefined)[] = [];
  private readonly tasks: (Task | undefined)[] = [];

  /** counts says how many numbers are in use. */
  get counts(): { readonly requests: number; readonly tasks: number } {
    return { requests: this.requestSlots.used, tasks: this.taskSlots.used };
  }

  request(number: number): OpenRequest {
    return this.requests[number] as OpenRequest;
  }

  task(number: number): Task {
    return this.tasks[number] as Task;
  }

  /** all lists the requests. */
  all(): OpenRequest[] {
    return this.requests.filter((request) => request !== undefined);
  }

  /** open begins a request, whose body lies at the front. */
  open(application: number, deadlineNs: number): OpenRequest {
    const number = this.requestSlots.take();
    const request: Omit<OpenRequest, 'body'> & { body?: Task } = {
      number,
      application,
      deadlineNs,
      tasks: [],
      expected: [],
      isToEnd: false,
      isSettled: false,
      isFinished: false,
      isAsked: false,
      left: 0,
      inBatches: 0,
      fetches: 0,
    };
    const body = this.made(request as OpenRequest, {
      component: NONE,
      rows: 1,
      inputs: [],
      position: NONE,
      back: [],
      calledBefore: [],
    });
    body.state = 'done';
    body.places.push({ device: NONE, fetch: NONE, sends: 0 });
    request.body = body;
    this.requests[number] = request as OpenRequest;
    return request as OpenRequest;
  }

  /** called begins a task of a request. */
  called(request: OpenRequest, { component, rows, inputs: numbers }: SubmittedCall): Task {
    const inputs = numbers.map((input) => this.task(input));
    const position = request.tasks.length;
    const back = inputs.map((input) => (input === request.body ? BODY : backTo(input.position, position)));
    const task = this.made(request, {
      component,
      rows,
      inputs,
      position,
      back,
      calledBefore: lastCalls(request),
    });
    for (const input of inputs) input.readers.add(task);
    request.tasks.push(task);
    request.left += 1;
    return task;
  }

  /** close gives the numbers of a request and its tasks back. */
  close(number: number): void {
    const { body, tasks } = this.request(number);
    for (const task of [body, ...tasks]) {
      this.tasks[task.number] = undefined;
      this.taskSlots.giveBack(task.number);
    }
    this.requests[number] = undefined;
    this.requestSlots.giveBack(number);
  }

  private made(
    request: OpenRequest,
    call: Pick<Task, 'component' | 'rows' | 'inputs' | 'position' | 'back' | 'calledBefore'>,
  ): Task {
    const number = this.taskSlots.take();
    // A task is made for every call: one plain literal is made much faster than one of several parts.
    const { component, rows, inputs, position, back, calledBefore } = call;
    const task: Task = {
      number,
      request,
      component,
      rows,
      inputs,
      position,
      back,
      calledBefore,
      state: 'called',
      device: NONE,
      readyNs: 0,
      endNs: 0,
      thereNs: 0,
      bytes: 0,
      tries: 0,
      moves: 0,
      places: [],
      readers: new Set(),
      isWanted: false,
      isSent: false,
      isAlone: false,
    };
    this.tasks[number] = task;
    return task;
  }
}

/** lastCalls gives the components that a request called last. */
export function lastCalls({ tasks }: OpenRequest): number[] {
  return tasks.slice(-REMEMBERED).map(({ component }) => component);
}
