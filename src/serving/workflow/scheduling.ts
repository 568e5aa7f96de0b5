import { NONE } from '../../collections/index.js';
import type { ComponentDemand } from './component-demand.js';
import { BODY, type PredictedCall } from './histories.js';
import type { Placing } from './placing.js';
import type { PlannedWork } from './planned-work.js';
import type { Prediction } from './prediction.js';
import type { Input, OutputSource, ToPlace } from './to-place.js';
import type { OpenRequest, Reserved, Task } from './work.js';

/** SchedulingOptions holds the parts of Scheduling. */
export interface SchedulingOptions {
  readonly placing: Placing;
  readonly prediction: Prediction;
  readonly work: PlannedWork;
  readonly demand: ComponentDemand;
}

/**
 * Scheduling finds devices for what a request has called and is expected to call (DyOrc §5.3), and keeps work for what is expected
 * until it comes or something else does.
 */
export class Scheduling {
  constructor(private readonly options: SchedulingOptions) {}

  /**
   * schedule finds devices for the tasks of a request that have none, and reserves work for the calls that are expected.
   * @returns the tasks that got devices, in the order in which they are to be queued; those are left out that no device runs now
   */
  schedule(at: number, request: OpenRequest): readonly Task[] {
    const { placing, prediction } = this.options;
    const { expected, isToEnd } = request;
    this.withdraw(request);
    const tasks = request.tasks.filter(({ state, device }) => state === 'called' && device === NONE);
    const predicted =
      expected.length > 0 || isToEnd ? { calls: expected, isToEnd } : prediction.after(request);
    const known = this.toPlace(at, tasks);
    const all = [...known, ...toExpect(at, request, tasks, predicted.calls)];
    const chance = predicted.calls.reduce((product, call) => product * call.chance, 1);
    const placements = placing.place(at, all, { known: tasks.length, chance });
    if (placements.length < all.length) return this.oneByOne(at, tasks, known);
    const reserved = predicted.calls.map(
      (call): Reserved => ({ ...call, device: NONE, readyNs: 0, endNs: 0 }),
    );
    const queued: Task[] = [];
    for (const { task, ...place } of placements) {
      const own = tasks[task];
      if (own !== undefined) queued.push(Object.assign(own, place));
      else this.reserve(Object.assign(reserved[task - tasks.length] as Reserved, place));
    }
    request.expected = reserved;
    request.isToEnd = predicted.isToEnd;
    return queued;
  }

  /** withdraw takes back the work that was expected of a request. */
  withdraw(request: OpenRequest): void {
    for (const one of request.expected) this.release(one);
    request.expected = [];
    request.isToEnd = false;
  }

  /** taken takes back the work that was reserved for the next expected call, which has come. */
  taken(request: OpenRequest): Reserved {
    const next = request.expected.shift() as Reserved;
    this.release(next);
    return next;
  }

  /** oneByOne finds devices for the tasks that some device runs now, where that is not so for all. */
  private oneByOne(at: number, tasks: readonly Task[], known: readonly ToPlace[]): readonly Task[] {
    return tasks.filter((task, i) => {
      const { component, rows, inputs } = known[i] as ToPlace;
      // An input that is to be placed too, and has no device, lies nowhere yet.
      const placed = inputs.map(({ bytes, from }): Input => {
        if (typeof from !== 'number') return { bytes, from };
        const { device, endNs } = tasks[from] as Task;
        return { bytes, from: [{ device, atNs: Math.max(at, endNs) }] };
      });
      const [placement] = this.options.placing.place(at, [{ component, rows, inputs: placed }]);
      if (placement === undefined) return false;
      const { task: _, ...place } = placement;
      Object.assign(task, place);
      return true;
    });
  }

  private reserve({ device, component, rows, readyNs }: Reserved): void {
    this.options.work.expect(device, { component, rows, fromNs: readyNs });
    this.options.demand.expects(component, 1);
  }

  private release({ device, component, rows }: Reserved): void {
    this.options.work.withdrawExpected(device, component, rows);
    this.options.demand.expects(component, -1);
  }

  private toPlace(at: number, tasks: readonly Task[]): ToPlace[] {
    const known = new Map<Task, Input>();
    return tasks.map(({ component, rows, inputs }) => ({
      component,
      rows,
      inputs: inputs.map((input) => {
        const made = known.get(input) ?? inputOf(at, input, tasks);
        known.set(input, made);
        return made;
      }),
    }));
  }
}

function toExpect(
  at: number,
  request: OpenRequest,
  tasks: readonly Task[],
  calls: readonly PredictedCall[],
): ToPlace[] {
  const called = request.tasks.length;
  return calls.map(({ component, rows, back: inputs }, index) => ({
    component,
    rows,
    inputs: inputs.map((back): Input => {
      const position = called + index - back;
      if (back === BODY) return inputOf(at, request.body, tasks);
      if (position < called) return inputOf(at, request.tasks[position] as Task, tasks);
      const { bytes } = calls[position - called] as PredictedCall;
      return { bytes, from: tasks.length + position - called };
    }),
  }));
}

/** inputOf says where an output is taken from: where it lies or will, or from the task that is placed together with its reader. */
function inputOf(at: number, input: Task, tasks: readonly Task[]): Input {
  const { bytes, state, places, device, endNs } = input;
  const index = tasks.indexOf(input);
  if (index !== NONE) return { bytes, from: index };
  if (state !== 'done') return { bytes, from: [{ device, atNs: Math.max(at, endNs) }] };
  const there = places.filter(({ fetch }) => fetch === NONE);
  return {
    bytes,
    from: (there.length === 0 ? places : there).map(
      (place): OutputSource => ({ device: place.device, atNs: at }),
    ),
  };
}
