import { NONE, Slots } from '../../collections/index.js';
import { must } from '../broken-promise.js';
import { type Decisions, Decision as SharedDecision } from '../decisions.js';
import type { Residency } from './residency.js';
import { isTakenNow, isThere, type OpenRequest, type OutputPlace, placeOn, type Task } from './work.js';

const Decision = SharedDecision;

/** OutputsOptions holds the parts of Outputs. */
export interface OutputsOptions {
  readonly decisions: Decisions;
  readonly residency: Residency;
  /** passNs is how long bytes take from one place to another. */
  readonly passNs: (bytes: number, from: number, to: number) => number;
  /** arrived reports that an output now lies on a device, or at the front. */
  readonly arrived: (task: Task, device: number) => void;
  /** lost reports that an output is no more on a device, or no more on its way. */
  readonly lost: (task: Task) => void;
  /** ended reports that a fetch of a request is over. */
  readonly ended: (request: OpenRequest) => void;
  /** freed reports that a device has more room. */
  readonly freed: (device: number) => void;
}

interface Fetch {
  readonly task: Task;
  readonly from: number;
  readonly place: OutputPlace;
}

/**
 * Outputs knows where the outputs of tasks lie, and has them fetched. An output takes memory of each device where it lies, from
 * when it is sent there until its request has its outcome, or until it moves to the front.
 */
export class Outputs {
  private readonly slots = new Slots();
  private readonly fetches: (Fetch | undefined)[] = [];
  /** The numbers of fetches that have ended in this `decide`: they are used again only after it. */
  private readonly endedNow: number[] = [];
  /** The tasks whose outputs lie on each device or come there, the oldest first. */
  private readonly onDevice: readonly Set<Task>[];

  constructor(
    devices: number,
    private readonly options: OutputsOptions,
  ) {
    this.onDevice = Array.from({ length: devices }, () => new Set());
  }

  /** count is how many fetches have numbers in use. */
  get count(): number {
    return this.slots.used;
  }

  /** made reports that a device has executed a task. There may be no room for what it gave before something else leaves. */
  made(task: Task, device: number): void {
    this.put(task, { device, fetch: NONE, sends: 0 });
    this.options.residency.takeBytes(device, task.bytes);
    this.options.arrived(task, device);
  }

  /** bring sends an output to a device, which has room for it, or to the front, from where that takes least. */
  bring(task: Task, device: number): void {
    const from = this.nearest(task, device);
    must(from !== undefined, 'an output is fetched that lies nowhere');
    const place = this.put(task, { device, fetch: NONE, sends: 0 });
    place.fetch = this.send(task, from, place);
  }

  /** read sends an output to the program, from the front where it lies there already, unless it has been sent. */
  read(task: Task): void {
    if (task.isSent) return;
    task.isSent = true;
    const place = placeOn(task, NONE);
    if (place === undefined) this.bring(task, NONE);
    else this.send(task, place, place);
  }

  /** fetched reports that a fetch has come. A fetch in which a lost device took part is not reported. */
  fetched(fetch: number): void {
    const { task, place } = this.ended(fetch);
    if (task.request.isSettled) this.forget(task, place);
    else {
      place.fetch = NONE;
      this.options.arrived(task, place.device);
    }
    this.options.ended(task.request);
  }

  /** decided lets the numbers of fetches be used again that have ended. */
  decided(): void {
    for (const fetch of this.endedNow) this.slots.giveBack(fetch);
    this.endedNow.length = 0;
  }

  /** release gives back the memory of a request's outputs, but of those that are on their way or that a running task takes. */
  release(request: OpenRequest): void {
    for (const task of [request.body, ...request.tasks])
      for (const place of [...task.places])
        if (place.fetch === NONE && !isTakenNow(task, place.device)) this.forget(task, place);
  }

  /** giveUp forgets an output wherever it lies and comes. */
  giveUp(task: Task): void {
    this.endFetches(NONE, (one) => one.task === task);
    for (const place of [...task.places]) this.forget(task, place);
    task.isWanted = false;
  }

  /** deviceDown forgets what lay on a device that is gone, and what was on its way from or to it. */
  deviceDown(device: number): void {
    const lost = this.endFetches(device, ({ from, place }) => from === device || place.device === device);
    for (const task of [...(this.onDevice[device] as Set<Task>)]) {
      this.take(task, placeOn(task, device) as OutputPlace);
      lost.add(task);
    }
    for (const task of lost) if (!task.request.isSettled) this.options.lost(task);
  }

  /** frontLost forgets an output at the front, where it is not, and what was on its way from there or to it. */
  frontLost(task: Task): void {
    this.endFetches(NONE, (one) => one.task === task && (one.from === NONE || one.place.device === NONE));
    const place = placeOn(task, NONE);
    if (place !== undefined) this.take(task, place);
    task.isSent = false;
    task.isWanted = false;
    this.options.lost(task);
  }

  /**
   * some gives the oldest output that lies on a device or comes there and of which something holds, undefined where
   * there is none.
   */
  some(device: number, holds: (task: Task, place: OutputPlace) => boolean): Task | undefined {
    for (const task of this.onDevice[device] as Set<Task>)
      if (holds(task, placeOn(task, device) as OutputPlace)) return task;
    return undefined;
  }

  /** spill lets an output leave a device: it moves to the front, from where it is fetched again, unless it lies elsewhere too. */
  spill(device: number, task: Task): void {
    const place = placeOn(task, device) as OutputPlace;
    this.take(task, place);
    this.options.residency.giveBytes(device, task.bytes);
    const isElsewhere = task.places.some(({ fetch }) => fetch === NONE);
    if (!isElsewhere) this.put(task, { device: NONE, fetch: NONE, sends: 0 });
    this.options.decisions.push(Decision.spill, device, task.number, isElsewhere ? 0 : 1);
  }

  /**
   * endFetches ends fetches that are no more, as a device or the front is lost, and gives the tasks whose outputs these
   * would have brought.
   */
  private endFetches(lost: number, isOver: (fetch: Fetch) => boolean): Set<Task> {
    const tasks = new Set<Task>();
    for (const [fetch, going] of this.fetches.entries()) {
      if (going === undefined || !isOver(going)) continue;
      const { task, place } = this.ended(fetch);
      if (place.device === NONE) task.isSent = false;
      if (place.device === lost) this.take(task, place);
      else this.forget(task, place);
      tasks.add(task);
      this.options.ended(task.request);
    }
    return tasks;
  }

  private nearest(task: Task, device: number): OutputPlace | undefined {
    const { passNs } = this.options;
    let best: OutputPlace | undefined;
    for (const place of task.places) {
      if (!isThere(task, place.device)) continue;
      const isNearer =
        best === undefined ||
        passNs(task.bytes, place.device, device) < passNs(task.bytes, best.device, device);
      if (isNearer) best = place;
    }
    return best;
  }

  private send(task: Task, from: OutputPlace, to: OutputPlace): number {
    const fetch = this.slots.take();
    from.sends += 1;
    this.fetches[fetch] = { task, from: from.device, place: to };
    task.request.fetches += 1;
    if (to.device !== NONE) this.options.residency.takeBytes(to.device, task.bytes);
    this.options.decisions.push(Decision.fetch, fetch, from.device, to.device, task.number);
    return fetch;
  }

  private ended(fetch: number): Fetch {
    const going = this.fetches[fetch] as Fetch;
    this.fetches[fetch] = undefined;
    this.endedNow.push(fetch);
    const { task, from } = going;
    task.request.fetches -= 1;
    const sender = placeOn(task, from);
    if (sender !== undefined) sender.sends -= 1;
    // An output could not leave while it was sent.
    if (from !== NONE) this.options.freed(from);
    return going;
  }

  private put(task: Task, place: OutputPlace): OutputPlace {
    task.places.push(place);
    if (place.device !== NONE) (this.onDevice[place.device] as Set<Task>).add(task);
    return place;
  }

  private take(task: Task, place: OutputPlace): void {
    task.places = task.places.filter((other) => other !== place);
    if (place.device !== NONE) (this.onDevice[place.device] as Set<Task>).delete(task);
  }

  private forget(task: Task, place: OutputPlace): void {
    this.take(task, place);
    if (place.device === NONE) return;
    this.options.residency.giveBytes(place.device, task.bytes);
    this.options.freed(place.device);
  }
}
