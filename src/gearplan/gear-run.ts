import type { Cascade } from './cascade.js';
import type { ModelPlacement } from './placement.js';
import type { FamilyModel } from './problem.js';

const NEVER = Number.POSITIVE_INFINITY;

/** GearTrial is a gear that is tried on a load. */
export interface GearTrial {
  readonly cascade: Pick<Cascade, 'models' | 'thresholds'>;
  readonly placement: ModelPlacement;
  /** How many requests must wait before each step of the cascade until a batch starts. */
  readonly minQueues: readonly number[];
  /** A batch starts too when its first request has waited so long. */
  readonly timeoutNs: number;
  /** The share of each model's requests that each device is to serve, by model. */
  readonly shares: readonly Float64Array[];
  /** When requests arrive, in order. */
  readonly arrivalsNs: Float64Array;
  /** So many of the first requests fill the queues and let them settle, and do not count; 0 where absent. */
  readonly warmUp?: number;
  /** The run ends as soon as more than `mostLate` requests that count are certain to take longer than `limitNs`. */
  readonly limitNs?: number;
  readonly mostLate?: number;
}

/** GearRunStep is one step of the cascade: its model, the share of each device, and the requests that each has taken. */
interface GearRunStep {
  readonly model: FamilyModel;
  readonly bit: number;
  readonly share: Float64Array;
  readonly taken: Float64Array;
}

/**
 * Waiting is the queue before a step. Requests stand in the order in which they came to the cascade; those which came
 * there at the same time stand in the order in which they came to this queue.
 */
class Waiting {
  private readonly requests: Int32Array;
  private head = 0;
  private tail = 0;
  /** When the queue last became empty. */
  emptiedNs = 0;

  constructor(private readonly arrivalsNs: Float64Array) {
    this.requests = new Int32Array(arrivalsNs.length);
  }

  get length(): number {
    return this.tail - this.head;
  }

  get first(): number {
    return this.requests[this.head] as number;
  }

  /** When the first request came to the cascade. */
  get firstNs(): number {
    return this.arrivalsNs[this.first] as number;
  }

  push(request: number): void {
    const { requests, arrivalsNs } = this;
    const cameNs = arrivalsNs[request] as number;
    let at = this.tail++;
    for (; at > this.head && (arrivalsNs[requests[at - 1] as number] as number) > cameNs; at--)
      requests[at] = requests[at - 1] as number;
    requests[at] = request;
  }

  /** take takes the first requests out, into a batch. */
  take(size: number, batch: Int32Array, atNs: number): void {
    for (let i = 0; i < size; i++) batch[i] = this.requests[this.head++] as number;
    if (this.head === this.tail) this.emptiedNs = atNs;
  }
}

/**
 * GearRun simulates one gear (CascadeServe §C.1) by the rules that `serving` has for gears: there is one queue before
 * each model; a batch starts when enough requests wait or the first of them has waited to the timeout, and takes all that
 * wait, up to the largest batch. It starts on the idle device that is furthest behind its share of the model's requests,
 * and of several on the one that has been idle longest. Of several queues that could start, the one whose first request
 * came first is served first, and of several the one of the cheapest model, as models are ordered in plans. Request k is as sample k of the records, and after the last sample comes the first again.
 *
 * It takes time by the requests and their steps, and for each batch by the devices.
 */
export class GearRun {
  private readonly steps: readonly GearRunStep[];
  /** The steps in the order of their models, in which queues that are alike are served. */
  private readonly byModel: Int32Array;
  private readonly queues: readonly Waiting[];
  /** When each request came to the queue where it stands, and when it was answered. */
  private readonly queuedNs: Float64Array;
  private readonly endedNs: Float64Array;
  /** The idle devices, in the order in which they fell idle. */
  private readonly idle: Int32Array;
  private idleDevices: number;
  /** The end, the step, and the requests of what each device runs. */
  private readonly endNs: Float64Array;
  private readonly stepOf: Int32Array;
  private readonly batches: readonly Int32Array[];
  private readonly sizes: Int32Array;
  /** The device whose batch ends first, -1 where none runs; of several, the one that began first. And when that is. */
  private firstToEnd = -1;
  private firstEndNs = NEVER;
  /** How many requests stand in queues, and whether any queue may wait for more. */
  private waiting = 0;
  private readonly mayWait: boolean;
  /** The requests that are sent on at this instant, each followed by its next step. */
  private readonly unsure: Int32Array;
  private unsureEnd = 0;
  /** The number of batches that began before that of each device. */
  private readonly begun: Float64Array;
  private batchesBegun = 0;
  /** How often a request came to a queue or a batch began, so far. */
  events = 0;
  /**
   * Whether every queue was empty at some time in the second half of the arrivals. Where one was not, more comes than is
   * served, and waiting grows without an end.
   */
  keptUp = true;
  /** How long each device was busy, in all. */
  private readonly busyNs: Float64Array;
  private late = 0;

  constructor(
    models: readonly FamilyModel[],
    private readonly trial: GearTrial,
  ) {
    const { cascade, placement, shares, arrivalsNs } = trial;
    this.steps = cascade.models.map((model) => ({
      model: models[model] as FamilyModel,
      bit: 1 << model,
      share: shares[model] as Float64Array,
      taken: new Float64Array(placement.length),
    }));
    this.byModel = Int32Array.from(cascade.models.keys()).sort(
      (a, b) => (cascade.models[a] as number) - (cascade.models[b] as number),
    );
    this.mayWait = trial.minQueues.some((minQueue) => minQueue > 1);
    this.queues = this.steps.map(() => new Waiting(arrivalsNs));
    this.queuedNs = new Float64Array(arrivalsNs.length);
    this.endedNs = new Float64Array(arrivalsNs.length);
    this.idle = Int32Array.from(placement, (_, device) => device);
    this.idleDevices = placement.length;
    this.endNs = new Float64Array(placement.length).fill(NEVER);
    this.stepOf = new Int32Array(placement.length);
    this.begun = new Float64Array(placement.length);
    const largest = Math.max(...this.steps.map(({ model }) => model.latencyNs.length));
    this.batches = placement.map(() => new Int32Array(largest));
    this.sizes = new Int32Array(placement.length);
    this.busyNs = new Float64Array(placement.length);
    this.unsure = new Int32Array(2 * largest * placement.length);
  }

  /** run gives when each request was answered; undefined where too many took longer than the limit. */
  run(): Float64Array | undefined {
    const { arrivalsNs, mostLate = NEVER } = this.trial;
    let arrived = 0;
    for (let atNs = 0; ; ) {
      const nextArrival = arrived < arrivalsNs.length ? (arrivalsNs[arrived] as number) : NEVER;
      const nextTimeout = this.mayWait && this.waiting > 0 ? this.nextTimeout(atNs) : NEVER;
      atNs = Math.min(this.firstEndNs, nextArrival, nextTimeout);
      if (atNs === NEVER) return this.endedNs;
      this.unsureEnd = 0;
      while (this.firstEndNs === atNs) this.end(this.firstToEnd, atNs);
      const isComing = arrived < arrivalsNs.length;
      while (arrived < arrivalsNs.length && arrivalsNs[arrived] === atNs) this.queue(0, arrived++, atNs);
      this.serve(atNs);
      this.escalate(atNs);
      if (isComing && arrived === arrivalsNs.length)
        this.keptUp = this.queues.every((queue) => queue.length === 0 || queue.emptiedNs >= atNs / 2);
      if (this.late > mostLate) return undefined;
    }
  }

  /** busiest is the share of the time until the last arrival in which the busiest device was busy. */
  get busiest(): number {
    const most = this.busyNs.reduce((a, b) => Math.max(a, b), 0);
    return Math.min(1, most / Math.max(1, this.trial.arrivalsNs.at(-1) ?? 1));
  }

  private findFirstToEnd(): void {
    let first = -1;
    let earliest = NEVER;
    for (let device = 0; device < this.endNs.length; device++) {
      const endNs = this.endNs[device] as number;
      if (endNs > earliest || endNs === NEVER) continue;
      if (endNs === earliest && (this.begun[device] as number) > (this.begun[first] as number)) continue;
      first = device;
      earliest = endNs;
    }
    this.firstToEnd = first;
    this.firstEndNs = earliest;
  }

  /** nextTimeout is when the next of the first requests has waited long enough. */
  private nextTimeout(atNs: number): number {
    let next = NEVER;
    for (let step = 0; step < this.queues.length; step++) {
      const queue = this.queues[step] as Waiting;
      if (queue.length === 0 || queue.length >= (this.trial.minQueues[step] as number)) continue;
      const timeout = this.timeoutOf(queue);
      if (timeout > atNs) next = Math.min(next, timeout);
    }
    return next;
  }

  private timeoutOf(queue: Waiting): number {
    return (this.queuedNs[queue.first] as number) + this.trial.timeoutNs;
  }

  private queue(step: number, request: number, atNs: number): void {
    this.events += 1;
    this.waiting += 1;
    this.queuedNs[request] = atNs;
    (this.queues[step] as Waiting).push(request);
  }

  /** end answers the requests of a batch of which its model is sure, and keeps the others to be sent on. */
  private end(device: number, atNs: number): void {
    const { cascade } = this.trial;
    const step = this.stepOf[device] as number;
    const { certainty } = (this.steps[step] as GearRunStep).model;
    const threshold = cascade.thresholds[step] ?? Number.NEGATIVE_INFINITY;
    const batch = this.batches[device] as Int32Array;
    for (let i = 0; i < (this.sizes[device] as number); i++) {
      const request = batch[i] as number;
      if ((certainty[request % certainty.length] as number) < threshold) {
        this.unsure[this.unsureEnd++] = request;
        this.unsure[this.unsureEnd++] = step + 1;
      } else this.endedNs[request] = atNs;
    }
    this.endNs[device] = NEVER;
    this.idle[this.idleDevices++] = device;
    this.findFirstToEnd();
  }

  /** escalate brings unsure requests to their next steps. Devices have taken by then what waited before. */
  private escalate(atNs: number): void {
    if (this.unsureEnd === 0) return;
    for (let i = 0; i < this.unsureEnd; i += 2)
      this.queue(this.unsure[i + 1] as number, this.unsure[i] as number, atNs);
    this.serve(atNs);
  }

  /** serve starts batches until no queue can start one. */
  private serve(atNs: number): void {
    while (this.idleDevices > 0 && this.waiting > 0) {
      let best = -1;
      let bestIdle = -1;
      for (let i = 0; i < this.byModel.length; i++) {
        const step = this.byModel[i] as number;
        const queue = this.queues[step] as Waiting;
        if (queue.length === 0 || (best !== -1 && queue.firstNs >= (this.queues[best] as Waiting).firstNs))
          continue;
        if (queue.length < (this.trial.minQueues[step] as number) && atNs < this.timeoutOf(queue)) continue;
        const at = this.idleFor(step);
        if (at === -1) continue;
        best = step;
        bestIdle = at;
      }
      if (best === -1) return;
      this.start(best, bestIdle, atNs);
    }
  }

  /** countLate counts the requests of a batch that will be late at its end, and were not when they came to its queue. */
  private countLate(device: number, endNs: number): void {
    const { arrivalsNs, limitNs = NEVER, warmUp = 0 } = this.trial;
    if (limitNs === NEVER) return;
    const batch = this.batches[device] as Int32Array;
    for (let i = 0; i < (this.sizes[device] as number); i++) {
      const request = batch[i] as number;
      if (request < warmUp) continue;
      const cameNs = arrivalsNs[request] as number;
      if (endNs - cameNs > limitNs && (this.queuedNs[request] as number) - cameNs <= limitNs) this.late += 1;
    }
  }

  /** idleFor is the place of the device for a step among the idle ones, -1 where none of these holds its model. */
  private idleFor(step: number): number {
    const { bit, share, taken } = this.steps[step] as GearRunStep;
    let best = -1;
    let least = NEVER;
    for (let at = 0; at < this.idleDevices; at++) {
      const device = this.idle[at] as number;
      if (((this.trial.placement[device] as number) & bit) === 0) continue;
      const planned = share[device] as number;
      const turns = planned > 0 ? (taken[device] as number) / planned : NEVER;
      if (best !== -1 && turns >= least) continue;
      best = at;
      least = turns;
    }
    return best;
  }

  private start(step: number, at: number, atNs: number): void {
    const device = this.idle[at] as number;
    this.idle.copyWithin(at, at + 1, this.idleDevices--);
    const queue = this.queues[step] as Waiting;
    const { model, taken } = this.steps[step] as GearRunStep;
    const { latencyNs } = model;
    const size = Math.min(queue.length, latencyNs.length);
    taken[device]! += size;
    this.waiting -= size;
    queue.take(size, this.batches[device] as Int32Array, atNs);
    this.sizes[device] = size;
    this.stepOf[device] = step;
    this.begun[device] = this.batchesBegun++;
    this.events += 1;
    const endNs = atNs + (latencyNs[size - 1] as number);
    this.endNs[device] = endNs;
    this.busyNs[device]! += endNs - atNs;
    this.countLate(device, endNs);
    // Of batches that end together, the one that began first stays first.
    if (endNs >= this.firstEndNs) return;
    this.firstToEnd = device;
    this.firstEndNs = endNs;
  }
}
