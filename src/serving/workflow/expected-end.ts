import { NONE, nthSmallest } from '../../collections/index.js';
import type { Future, FutureCall, Futures } from './futures.js';
import { BODY } from './histories.js';
import type { PlannedWork } from './planned-work.js';
import type { RecentWaits } from './recent-waits.js';
import { Held, type Residency } from './residency.js';
import type { Devices } from './to-place.js';
import { isExecuted, type OpenRequest, type Task } from './work.js';

/** ExpectedEndOptions holds the parts of an ExpectedEnd. */
export interface ExpectedEndOptions {
  readonly work: PlannedWork;
  readonly residency: Residency;
  readonly devices: Devices;
  readonly waits: RecentWaits;
  readonly futures: Futures;
  readonly quantile: number;
  readonly draws: number;
}

/** BeginningBatch is a batch that would begin now, and when it would end. */
export interface BeginningBatch {
  readonly tasks: readonly Task[];
  readonly endNs: number;
}

/** AskedEnd is a request of which the end is asked, as one of its tasks is about to begin. */
export interface AskedEnd {
  readonly at: number;
  readonly request: OpenRequest;
  readonly batch: BeginningBatch;
}

/** Step is a task of a request that is not executed, or a call that is expected of it. */
interface Step {
  /** The steps whose outputs it takes, and how long these take to its device. */
  readonly inputs: readonly { readonly step: number; readonly passNs: number }[];
  /** Before this its component is not there. */
  readonly fromNs: number;
  /** How long its inputs that exist take to its device. */
  readonly broughtNs: number;
  /** The time that the task's device waits before it begins, by the draw: nothing where it has begun. */
  readonly waitsNs: Float64Array | undefined;
  readonly runNs: number;
  /** How long its output takes to the program, undefined where the program does not read it. */
  readonly toFrontNs: number | undefined;
  readonly isCalled: boolean;
}

/** KnownSteps are the steps of the tasks of a request that are not executed, and where they are by the positions of the tasks. */
interface KnownSteps {
  readonly steps: readonly Step[];
  readonly stepOf: ReadonlyMap<number, number>;
}

/** ExpectedCall is a call of a future of a request, and the steps of what comes before it by their positions. */
interface ExpectedCall {
  readonly request: OpenRequest;
  readonly future: Future;
  readonly call: FutureCall;
  readonly position: number;
  readonly stepOf: ReadonlyMap<number, number>;
  /** isTaken says whether another expected call takes its output. */
  readonly isTaken: boolean;
}

/**
 * ExpectedEnd says when a request is expected to end (PARD §4.2, Eq. 3, over a workflow): what of it is not executed
 * takes its longest way, known tasks and expected calls. A task begins when its inputs and its component are on its
 * device, and what its device has to do before it lets it wait for as long as it did others of its component of late.
 * Calls that are expected are made no sooner than the program next reads something; whether it reads anything between
 * them is not known, so that the end may be later, not sooner.
 *
 * The end is a distribution: waits add up along a way, and nobody knows what the program will call. Each draw has waits
 * and a future of its own, and the quantile of their ends counts. The cost is O(draws × tasks of the request that are
 * left), less where few draws decide.
 */
export class ExpectedEnd {
  private readonly ends: Float64Array;

  constructor(private readonly options: ExpectedEndOptions) {
    this.ends = new Float64Array(options.draws);
  }

  /** of is when a request is expected to end if a batch with tasks of it begins now. */
  of(at: number, request: OpenRequest, batch: BeginningBatch): number {
    const { draws, quantile } = this.options;
    const endOf = this.drawing(at, request, batch);
    for (let draw = 0; draw < draws; draw++) this.ends[draw] = endOf(draw);
    return nthSmallest(this.ends, draws, Math.max(0, Math.ceil(quantile * draws) - 1));
  }

  /** isBy returns whether that is so by an instant. It draws no more ends than it needs to know. */
  isBy(byNs: number, asked: AskedEnd): boolean {
    const { at, request, batch } = asked;
    const { draws, quantile } = this.options;
    const endOf = this.drawing(at, request, batch);
    let needed = Math.max(1, Math.ceil(quantile * draws));
    for (let draw = 0; draw <= draws - needed; draw++) {
      if (endOf(draw) <= byNs) needed -= 1;
      if (needed === 0) return true;
    }
    return false;
  }

  /** drawing gives what draws ends of a request. */
  private drawing(at: number, request: OpenRequest, batch: BeginningBatch): (draw: number) => number {
    const known = this.knownSteps(at, request, batch);
    return (draw) => {
      const steps = [
        ...known.steps,
        ...this.expectedSteps(at, request, known, this.options.futures.of(request, draw)),
      ];
      return latestEnd(at, { steps, endsNs: new Float64Array(steps.length), draw });
    };
  }

  private knownSteps(at: number, { tasks }: OpenRequest, batch: BeginningBatch): KnownSteps {
    const steps: Step[] = [];
    const stepOf = new Map<number, number>();
    for (const task of tasks) {
      if (isExecuted(task)) continue;
      stepOf.set(task.position, steps.length);
      steps.push(this.knownStep(at, { task, batch, stepOf }));
    }
    return { steps, stepOf };
  }

  private expectedSteps(
    at: number,
    request: OpenRequest,
    { steps, stepOf: known }: KnownSteps,
    future: Future,
  ): Step[] {
    const called = request.tasks.length;
    const taken = new Set(
      future.flatMap(({ back }, i) => back.flatMap((one) => (one === BODY ? [] : [called + i - one]))),
    );
    const stepOf = new Map(known);
    return future.map((call, i) => {
      const position = called + i;
      stepOf.set(position, steps.length + i);
      return this.expectedStep(at, { request, future, call, position, stepOf, isTaken: taken.has(position) });
    });
  }

  private knownStep(
    at: number,
    {
      task,
      batch,
      stepOf,
    }: {
      readonly task: Task;
      readonly batch: BeginningBatch;
      readonly stepOf: ReadonlyMap<number, number>;
    },
  ): Step {
    const { devices, waits } = this.options;
    const { device, component, rows } = task;
    const toFrontNs = task.isWanted ? devices.passNs(task.bytes, device, NONE) : undefined;
    const isNow = batch.tasks.includes(task);
    if (isNow || task.state === 'running') {
      const endNs = isNow ? batch.endNs : Math.max(at, task.endNs);
      return {
        inputs: [],
        fromNs: endNs,
        broughtNs: 0,
        waitsNs: undefined,
        runNs: 0,
        toFrontNs,
        isCalled: true,
      };
    }
    const fromNs = this.thereNs(at, device, component);
    let broughtNs = 0;
    const inputs: Step['inputs'][number][] = [];
    for (const input of task.inputs) {
      const step = stepOf.get(input.position);
      if (step === undefined) broughtNs = Math.max(broughtNs, this.broughtNs(input, device));
      else inputs.push({ step, passNs: devices.passNs(input.bytes, input.device, device) });
    }
    const runNs = this.runNs(device, component, rows);
    return {
      inputs,
      fromNs,
      broughtNs,
      waitsNs: waits.drawsOf(at, component),
      runNs,
      toFrontNs,
      isCalled: true,
    };
  }

  private expectedStep(at: number, { request, future, call, position, stepOf, isTaken }: ExpectedCall): Step {
    const { tasks, body } = request;
    const { back, device, component, rows, bytes } = call;
    const { devices, waits } = this.options;
    const fromNs = this.thereNs(at, device, component);
    let broughtNs = 0;
    const inputs: Step['inputs'][number][] = [];
    for (const one of back) {
      const from = position - one;
      const known = one === BODY ? body : tasks[from];
      const step = one === BODY ? undefined : stepOf.get(from);
      if (step === undefined) broughtNs = Math.max(broughtNs, this.broughtNs(known as Task, device));
      else {
        const source = known ?? (future[from - tasks.length] as FutureCall);
        const isKnown = device !== NONE && source.device !== NONE;
        inputs.push({ step, passNs: isKnown ? devices.passNs(source.bytes, source.device, device) : 0 });
      }
    }
    return {
      inputs,
      fromNs,
      broughtNs,
      waitsNs: waits.drawsOf(at, component),
      isCalled: false,
      runNs: this.runNs(device, component, rows),
      toFrontNs: isTaken ? undefined : device === NONE ? 0 : devices.passNs(bytes, device, NONE),
    };
  }

  /** thereNs is when a device holds a component that it loads as soon as it can. */
  private thereNs(at: number, device: number, component: number): number {
    const { residency, work } = this.options;
    if (device === NONE) return at;
    switch (residency.stateOf(device, component)) {
      case Held.held:
        return at;
      case Held.loading:
        return work.copyingUntilNs(device);
      case Held.absent:
        return Math.max(at, work.copyingUntilNs(device)) + residency.loadNs(device, component);
    }
  }

  /** broughtNs is how long an output that exists takes to a device, from where that takes least; 0 where no device is known. */
  private broughtNs({ bytes, places }: Task, device: number): number {
    if (device === NONE) return 0;
    let leastNs = Number.POSITIVE_INFINITY;
    for (const place of places)
      leastNs = Math.min(leastNs, this.options.devices.passNs(bytes, place.device, device));
    return Number.isFinite(leastNs) ? leastNs : 0;
  }

  /** runNs is how long the batch takes that a device would execute a task in, as it is planned now. */
  private runNs(device: number, component: number, rows: number): number {
    const { work, devices } = this.options;
    if (device === NONE) return devices.leastNs(component, rows);
    const planned = work.planned(device).findLast((batch) => batch.component === component);
    return work.executionNs(device, component, Math.max(rows, planned?.rows ?? 0));
  }
}

interface OneDraw {
  readonly steps: readonly Step[];
  /** Where the ends of the steps are put. */
  readonly endsNs: Float64Array;
  readonly draw: number;
}

function latestEnd(at: number, { steps, endsNs, draw }: OneDraw): number {
  let latestNs = at;
  let nextReadNs = Number.POSITIVE_INFINITY;
  for (const [i, step] of steps.entries()) {
    const { inputs, fromNs, broughtNs, waitsNs, runNs, toFrontNs, isCalled } = step;
    const calledNs = isCalled || nextReadNs === Number.POSITIVE_INFINITY ? at : nextReadNs;
    let beginNs = Math.max(fromNs, calledNs + broughtNs);
    // An output that a call takes is sent on once the call is made.
    for (const { step: input, passNs } of inputs)
      beginNs = Math.max(beginNs, Math.max(calledNs, endsNs[input] as number) + passNs);
    const endNs = beginNs + (waitsNs?.[draw] ?? 0) + runNs;
    endsNs[i] = endNs;
    latestNs = Math.max(latestNs, endNs + (toFrontNs ?? 0));
    if (isCalled && toFrontNs !== undefined) nextReadNs = Math.min(nextReadNs, endNs + toFrontNs);
  }
  return latestNs;
}
