import { NONE } from '../../collections/index.js';
import type { PlannedWork } from './planned-work.js';
import type { Residency } from './residency.js';
import { placeOn, type Task } from './work.js';

/**
 * Stage says how near a task is to its execution.
 * - waiting: some input is not made.
 * - unsent: all inputs are made, and some is not sent to the device.
 * - coming: all inputs are there or on their way.
 * - ready: all inputs are there.
 */
type Stage = 'waiting' | 'unsent' | 'coming' | 'ready';

type Stages = Readonly<Record<Stage, Set<Task>>>;

/** Deadlines count for so long after a request was given up. */
const HURRY_NS = 5e9;
/** A task without a deadline waits for those that have one no longer than this. */
const WITHOUT_DEADLINE_NS = 10e9;

/** QueuesOptions holds the parts of Queues, and how many components there are. */
export interface QueuesOptions {
  readonly components: number;
  readonly work: PlannedWork;
  readonly residency: Residency;
}

/**
 * Queues holds the known tasks of each device that it has not begun, by how near they are to their execution. The *head* of a
 * device is the task whose inputs have been made for the longest time: it stays the head until it is executed, so that a
 * device which gives it what room it needs comes to an end.
 */
export class Queues {
  private readonly stages: readonly Stages[];
  /** The tasks whose inputs are made, in the order in which that came to be. */
  private readonly inTurn: readonly Set<Task>[];
  /** By device and component, how many tasks it has to do of it. */
  private readonly counts: Int32Array;
  /** The time of the last event that the core heard. */
  nowNs = 0;
  /** When a request was given up last. Since then there is too much to do, and what has the first deadline comes first. */
  private gaveUpNs = Number.NEGATIVE_INFINITY;

  constructor(
    devices: number,
    private readonly options: QueuesOptions,
  ) {
    this.stages = Array.from({ length: devices }, () => ({
      waiting: new Set(),
      unsent: new Set(),
      coming: new Set(),
      ready: new Set(),
    }));
    this.inTurn = Array.from({ length: devices }, () => new Set());
    this.counts = new Int32Array(devices * options.components);
  }

  /** head is the first task of a device whose inputs are made, undefined where there is none. */
  head(device: number): Task | undefined {
    for (const task of this.inTurn[device] as Set<Task>) return task;
    return undefined;
  }

  /** readyOn are the tasks that a device could execute if it held their components. */
  readyOn(device: number): ReadonlySet<Task> {
    return this.stagesOf(device).ready;
  }

  /** unsentTo are the tasks of a device whose inputs are made and not all sent to it. */
  unsentTo(device: number): ReadonlySet<Task> {
    return this.stagesOf(device).unsent;
  }

  /** all lists the tasks of a device. */
  all(device: number): Task[] {
    return Object.values(this.stagesOf(device)).flatMap((stage) => [...stage]);
  }

  /** needs returns whether a device has a known task of a component to do. */
  needs(device: number, component: number): boolean {
    return (this.counts[device * this.options.components + component] as number) > 0;
  }

  /** push adds a task to those of its device. */
  push(task: Task): void {
    this.counts[task.device * this.options.components + task.component]! += 1;
    this.changed(task);
  }

  /** changed reports that the inputs of a task are elsewhere than before, or on their way. */
  changed(task: Task): void {
    const stages = this.stagesOf(task.device);
    const stage = stages[stageOf(task)];
    if (stage.has(task)) return;
    this.remove(task);
    stage.add(task);
    if (stage === stages.ready) task.thereNs = this.nowNs;
    const inTurn = this.inTurn[task.device] as Set<Task>;
    if (stage === stages.waiting) inTurn.delete(task);
    else inTurn.add(task);
  }

  /** gaveUp reports that a request was given up because it was expected to end late. */
  gaveUp(at: number): void {
    this.gaveUpNs = at;
  }

  leave(task: Task): void {
    this.counts[task.device * this.options.components + task.component]! -= 1;
    this.remove(task);
    (this.inTurn[task.device] as Set<Task>).delete(task);
  }

  /**
   * nextBatch gives the batch that a device would execute next: the ready tasks of a component that it holds, in their
   * order, as many as fit. The component is one of which a planned batch is ready as a whole, or else of which some
   * tasks are: the first that was planned, or, while requests are given up, that of the task with the first deadline.
   * @returns none where there are none
   */
  nextBatch(device: number): Task[] {
    const { work, residency } = this.options;
    const ready = this.readyOn(device);
    if (ready.size === 0) return [];
    const rows = new Map<number, number>();
    for (const { component, rows: own } of ready) rows.set(component, (rows.get(component) ?? 0) + own);
    const begun = work
      .planned(device)
      .filter(({ component }) => rows.has(component) && residency.holds(device, component));
    // A batch that began in part would leave the rest to a smaller one.
    const whole = begun.filter((batch) => (rows.get(batch.component) as number) >= batch.rows);
    const [first] = whole.length > 0 ? whole : begun;
    if (first === undefined) return [];
    const among = new Set((whole.length > 0 ? whole : begun).map(({ component }) => component));
    return this.batchOf(device, this.urgentOn(device, among)?.component ?? first.component);
  }

  /**
   * urgentOn is the ready task of some components on a device whose deadline is first; undefined where none has a
   * deadline, or one without has waited so long that it takes its turn.
   */
  private urgentOn(device: number, among: ReadonlySet<number>): Task | undefined {
    if (this.nowNs - this.gaveUpNs > HURRY_NS) return undefined;
    let urgent: Task | undefined;
    let firstNs = Number.POSITIVE_INFINITY;
    for (const task of this.readyOn(device)) {
      if (!among.has(task.component)) continue;
      const { deadlineNs } = task.request;
      if (deadlineNs === Number.POSITIVE_INFINITY && this.nowNs - task.thereNs > WITHOUT_DEADLINE_NS)
        return undefined;
      if (deadlineNs < firstNs) [urgent, firstNs] = [task, deadlineNs];
    }
    return urgent;
  }

  private batchOf(device: number, component: number): Task[] {
    const batch: Task[] = [];
    let room = this.options.work.largest(device, component);
    for (const task of this.readyOn(device)) {
      if (task.component !== component || task.rows > room || (task.isAlone && batch.length > 0)) continue;
      batch.push(task);
      room = task.isAlone ? 0 : room - task.rows;
      if (room === 0) break;
    }
    return batch;
  }

  private remove(task: Task): void {
    const { waiting, unsent, coming, ready } = this.stagesOf(task.device);
    for (const stage of [waiting, unsent, coming, ready]) if (stage.delete(task)) return;
  }

  private stagesOf(device: number): Stages {
    return this.stages[device] as Stages;
  }
}

function stageOf({ inputs, device }: Task): Stage {
  let stage: Stage = 'ready';
  for (const input of inputs) {
    if (input.state !== 'done') return 'waiting';
    const place = placeOn(input, device);
    if (place === undefined) stage = 'unsent';
    else if (place.fetch !== NONE && stage === 'ready') stage = 'coming';
  }
  return stage;
}
