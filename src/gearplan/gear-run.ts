import { largestOf } from '../collections/index.js';
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
  /** This many of the first requests fill the queues and let them settle, and do not count; 0 where absent. */
  readonly warmUp?: number;
  /** The run ends as soon as more than `mostLate` requests that count are certain to take longer than `limitNs`. */
  readonly limitNs?: number;
  readonly mostLate?: number;
}

/** GearRunStep is one step of the cascade: its model, the share of each device, and the requests that each has taken. */
interface GearRunStep {
  /** Its place in the cascade. */
  readonly place: number;
  readonly model: FamilyModel;
  readonly bit: number;
  readonly minQueue: number;
  readonly threshold: number;
  readonly share: Float64Array;
  readonly taken: Float64Array;
  readonly queue: Waiting;
}

/**
 * Waiting is the queue before a step. Requests stand in the order in which they came to the cascade; those which came
 * there at the same time stand in the order in which they came to this queue.
 */
class Waiting {
  head = 0;
  tail = 0;
  /** When the first request came to the cascade. */
  firstNs = NEVER;
  /** When the queue last became empty. */
  emptiedNs = 0;

  constructor(
    private readonly arrivalsNs: Float64Array,
    readonly requests: Int32Array,
  ) {}

  /** add puts a request at its place. */
  add(request: number): void {
    const { requests, arrivalsNs, head } = this;
    const cameNs = arrivalsNs[request] as number;
    let at = this.tail++;
    for (; at > head && (arrivalsNs[requests[at - 1] as number] as number) > cameNs; at--)
      requests[at] = requests[at - 1] as number;
    requests[at] = request;
    if (at === head) this.firstNs = cameNs;
  }

  /** take takes the first requests out, into a batch. */
  take(size: number, batch: Int32Array, atNs: number): void {
    const { requests, head } = this;
    for (let i = 0; i < size; i++) batch[i] = requests[head + i] as number;
    this.head = head + size;
    if (this.head === this.tail) {
      this.firstNs = NEVER;
      this.emptiedNs = atNs;
    } else this.firstNs = this.arrivalsNs[requests[this.head] as number] as number;
  }
}

/** GearRunRoom is what runs one after another take in memory, so that a run of many makes no new columns. */
export class GearRunRoom {
  private readonly times: Float64Array[] = [];
  private readonly queues: Int32Array[] = [];

  /** timesOf gives one of a run's columns of times, with what the run before left in it. */
  timesOf(column: number, requests: number): Float64Array {
    const before = this.times[column];
    if (before !== undefined && before.length >= requests) return before.subarray(0, requests);
    const made = new Float64Array(requests);
    this.times[column] = made;
    return made;
  }

  /** queueOf gives the column of a step's queue. */
  queueOf(step: number, requests: number): Int32Array {
    const before = this.queues[step];
    if (before !== undefined && before.length >= requests) return before;
    const made = new Int32Array(requests);
    this.queues[step] = made;
    return made;
  }
}

/**
 * GearRun simulates one gear (CascadeServe §C.1) by the rules that `serving` has for gears: there is one queue before
 * each model; a batch starts when enough requests wait or the first of them has waited to the timeout, and takes all that
 * wait, up to the largest batch. It starts on the idle device that is furthest behind its share of the model's requests,
 * and of several on the one that has been idle longest. Of several queues that could start, the one whose first request
 * came first is served first, and of several the one of the cheapest model, as models are ordered in plans.
 * Request k is as sample k of the records, and after the last sample comes the first again.
 *
 * It takes time by the requests and their steps, and for each batch by the devices.
 */
export class GearRun {
  private readonly steps: readonly GearRunStep[];
  /** The steps in the order of their models, in which queues that are alike are served. */
  private readonly byModel: readonly GearRunStep[];
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
   * keptUp says whether every queue was empty at some time in the second half of the arrivals. Where one was
   * not, more comes than is served, and waiting grows without an end.
   */
  keptUp = true;
  /** How long each device was busy, in all. */
  private readonly busyNs: Float64Array;
  private readonly limitNs: number;
  private readonly warmUp: number;
  private late = 0;

  /** @param room what an earlier run took, whose answer is no longer looked at */
  constructor(
    models: readonly FamilyModel[],
    private readonly trial: GearTrial,
    room = new GearRunRoom(),
  ) {
    const { cascade, placement, shares, arrivalsNs, minQueues } = trial;
    const requests = arrivalsNs.length;
    this.steps = cascade.models.map((model, step) => ({
      place: step,
      model: models[model] as FamilyModel,
      bit: 1 << model,
      minQueue: minQueues[step] as number,
      threshold: cascade.thresholds[step] ?? Number.NEGATIVE_INFINITY,
      share: shares[model] as Float64Array,
      taken: new Float64Array(placement.length),
      queue: new Waiting(arrivalsNs, room.queueOf(step, requests)),
    }));
    this.byModel = this.steps.toSorted((a, b) => a.bit - b.bit);
    this.mayWait = minQueues.some((minQueue) => minQueue > 1);
    this.queuedNs = room.timesOf(0, requests);
    this.endedNs = room.timesOf(1, requests);
    this.idle = Int32Array.from(placement, (_, device) => device);
    this.idleDevices = placement.length;
    this.endNs = new Float64Array(placement.length).fill(NEVER);
    this.stepOf = new Int32Array(placement.length);
    this.begun = new Float64Array(placement.length);
    const largest = largestOf(this.steps.map(({ model }) => model.latencyNs.length));
    this.batches = placement.map(() => new Int32Array(largest));
    this.sizes = new Int32Array(placement.length);
    this.busyNs = new Float64Array(placement.length);
    this.unsure = new Int32Array(2 * largest * placement.length);
    this.limitNs = trial.limitNs ?? NEVER;
    this.warmUp = trial.warmUp ?? 0;
  }

  /** run gives when each request was answered; undefined where too many took longer than the limit. */
  run(): Float64Array | undefined {
    const { arrivalsNs, mostLate = NEVER } = this.trial;
    const requests = arrivalsNs.length;
    let arrived = 0;
    for (let atNs = 0; ; ) {
      const begunWith = arrived;
      arrived = this.queueWhileBusy(arrived);
      if (arrived > begunWith) {
        atNs = arrivalsNs[arrived - 1] as number;
        if (arrived === requests) this.seeWhetherKeptUp(atNs);
      }
      const nextArrival = arrived < requests ? (arrivalsNs[arrived] as number) : NEVER;
      // While all devices are busy, nothing follows from a timeout.
      const nextTimeout =
        this.mayWait && this.waiting > 0 && this.idleDevices > 0 ? this.nextTimeout(atNs) : NEVER;
      atNs = this.firstEndNs;
      if (nextArrival < atNs) atNs = nextArrival;
      if (nextTimeout < atNs) atNs = nextTimeout;
      if (atNs === NEVER) return this.endedNs;
      this.unsureEnd = 0;
      while (this.firstEndNs === atNs) this.end(this.firstToEnd, atNs);
      const isComing = arrived < requests;
      while (arrived < requests && arrivalsNs[arrived] === atNs) this.queue(0, arrived++, atNs);
      if (this.idleDevices > 0) this.serve(atNs);
      if (this.unsureEnd > 0) this.escalate(atNs);
      if (isComing && arrived === requests) this.seeWhetherKeptUp(atNs);
      if (this.late > mostLate) return undefined;
    }
  }

  /** busiest is the share of the time until the last arrival in which the busiest device was busy. */
  get busiest(): number {
    const most = this.busyNs.reduce((a, b) => Math.max(a, b), 0);
    return Math.min(1, most / Math.max(1, this.trial.arrivalsNs.at(-1) ?? 1));
  }

  /**
   * queueWhileBusy queues the requests that come before any device falls idle, where none is.
   * @returns how many requests have come
   */
  private queueWhileBusy(from: number): number {
    const { arrivalsNs } = this.trial;
    if (this.idleDevices > 0 || !((arrivalsNs[from] as number) < this.firstEndNs)) return from;
    const { queuedNs, firstEndNs } = this;
    const { queue } = this.steps[0] as GearRunStep;
    let to = from;
    for (; to < arrivalsNs.length; to++) {
      const cameNs = arrivalsNs[to] as number;
      if (cameNs >= firstEndNs) break;
      queuedNs[to] = cameNs;
      queue.add(to);
    }
    this.events += to - from;
    this.waiting += to - from;
    return to;
  }

  /** seeWhetherKeptUp looks at the queues when the last request has come. */
  private seeWhetherKeptUp(atNs: number): void {
    this.keptUp = this.steps.every(({ queue }) => queue.head === queue.tail || queue.emptiedNs >= atNs / 2);
  }

  private findFirstToEnd(): void {
    const { endNs, begun } = this;
    let first = -1;
    let earliest = NEVER;
    for (let device = 0; device < endNs.length; device++) {
      const end = endNs[device] as number;
      if (end > earliest || end === NEVER) continue;
      if (end === earliest && (begun[device] as number) > (begun[first] as number)) continue;
      first = device;
      earliest = end;
    }
    this.firstToEnd = first;
    this.firstEndNs = earliest;
  }

  /** nextTimeout is when the next of the first requests has waited long enough. */
  private nextTimeout(atNs: number): number {
    let next = NEVER;
    for (let step = 0; step < this.steps.length; step++) {
      const { queue, minQueue } = this.steps[step] as GearRunStep;
      const length = queue.tail - queue.head;
      if (length === 0 || length >= minQueue) continue;
      const timeout = this.timeoutOf(queue);
      if (timeout > atNs && timeout < next) next = timeout;
    }
    return next;
  }

  private timeoutOf({ requests, head }: Waiting): number {
    return (this.queuedNs[requests[head] as number] as number) + this.trial.timeoutNs;
  }

  private queue(step: number, request: number, atNs: number): void {
    this.events += 1;
    this.waiting += 1;
    this.queuedNs[request] = atNs;
    (this.steps[step] as GearRunStep).queue.add(request);
  }

  /** end answers the requests of a batch of which its model is sure, and keeps the others to be sent on. */
  private end(device: number, atNs: number): void {
    const { unsure, endedNs } = this;
    const step = this.stepOf[device] as number;
    const { model, threshold } = this.steps[step] as GearRunStep;
    const { certainty } = model;
    const samples = certainty.length;
    const batch = this.batches[device] as Int32Array;
    const size = this.sizes[device] as number;
    for (let i = 0; i < size; i++) {
      const request = batch[i] as number;
      const sample = request < samples ? request : request % samples;
      if ((certainty[sample] as number) < threshold) {
        unsure[this.unsureEnd++] = request;
        unsure[this.unsureEnd++] = step + 1;
      } else endedNs[request] = atNs;
    }
    this.endNs[device] = NEVER;
    this.idle[this.idleDevices++] = device;
    this.findFirstToEnd();
  }

  /** escalate brings unsure requests to their next steps. Devices have taken by then what waited before. */
  private escalate(atNs: number): void {
    for (let i = 0; i < this.unsureEnd; i += 2)
      this.queue(this.unsure[i + 1] as number, this.unsure[i] as number, atNs);
    this.serve(atNs);
  }

  /** serve starts batches until no queue can start one. */
  private serve(atNs: number): void {
    const { byModel } = this;
    while (this.idleDevices > 0 && this.waiting > 0) {
      let best = -1;
      let bestIdle = -1;
      let bestNs = NEVER;
      for (let i = 0; i < byModel.length; i++) {
        const step = byModel[i] as GearRunStep;
        const { queue } = step;
        // The first request of an empty queue never came.
        if (queue.firstNs >= bestNs) continue;
        if (queue.tail - queue.head < step.minQueue && atNs < this.timeoutOf(queue)) continue;
        const at = this.idleFor(step);
        if (at === -1) continue;
        best = i;
        bestIdle = at;
        bestNs = queue.firstNs;
      }
      if (best === -1) return;
      this.start(byModel[best] as GearRunStep, bestIdle, atNs);
    }
  }

  /** countLate counts the requests of a batch that will be late at its end, and were not when they came to its queue. */
  private countLate(batch: Int32Array, size: number, endNs: number): void {
    const { limitNs, warmUp, queuedNs } = this;
    const { arrivalsNs } = this.trial;
    for (let i = 0; i < size; i++) {
      const request = batch[i] as number;
      if (request < warmUp) continue;
      const cameNs = arrivalsNs[request] as number;
      if (endNs - cameNs > limitNs && (queuedNs[request] as number) - cameNs <= limitNs) this.late += 1;
    }
  }

  /** idleFor is the place of the device for a step among the idle ones, -1 where none of these holds its model. */
  private idleFor({ bit, share, taken }: GearRunStep): number {
    const { placement } = this.trial;
    let best = -1;
    let least = NEVER;
    for (let at = 0; at < this.idleDevices; at++) {
      const device = this.idle[at] as number;
      if (((placement[device] as number) & bit) === 0) continue;
      const planned = share[device] as number;
      const turns = planned > 0 ? (taken[device] as number) / planned : NEVER;
      if (best !== -1 && turns >= least) continue;
      best = at;
      least = turns;
    }
    return best;
  }

  private start({ place, model: { latencyNs }, taken, queue }: GearRunStep, at: number, atNs: number): void {
    const { idle } = this;
    const device = idle[at] as number;
    this.idleDevices -= 1;
    for (let next = at; next < this.idleDevices; next++) idle[next] = idle[next + 1] as number;
    const size = Math.min(queue.tail - queue.head, latencyNs.length);
    taken[device]! += size;
    this.waiting -= size;
    const batch = this.batches[device] as Int32Array;
    queue.take(size, batch, atNs);
    this.sizes[device] = size;
    this.stepOf[device] = place;
    this.begun[device] = this.batchesBegun++;
    this.events += 1;
    const endNs = atNs + (latencyNs[size - 1] as number);
    this.endNs[device] = endNs;
    this.busyNs[device]! += endNs - atNs;
    if (this.limitNs !== NEVER) this.countLate(batch, size, endNs);
    // Of batches that end together, the one that began first stays first.
    if (endNs >= this.firstEndNs) return;
    this.firstToEnd = device;
    this.firstEndNs = endNs;
  }
}
