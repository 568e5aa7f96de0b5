import type { DeviceView, Way } from './outlook.js';
import type { ToPlace } from './to-place.js';

/**
 * Schedule is a partial schedule: some tasks have devices. The views of devices hold the changes that it
 * makes to them.
 */
export interface Schedule {
  /** Bit i: task i has a device. */
  readonly scheduled: number;
  /** By task: its device, when its inputs are there, and its end; NONE, 0 and 0 of the others. */
  readonly devices: readonly number[];
  readonly readyNs: readonly number[];
  readonly endsNs: readonly number[];
  /** The tasks in the order in which they got their devices. */
  readonly order: readonly number[];
  /** When the last of them ends, and the last of those that are known. */
  readonly endNs: number;
  readonly knownNs: number;
  /** The costs of evictions for these tasks, each by its chance. */
  readonly costNs: number;
  /** Times before which the last task that the schedule comes to have, and the last known one, cannot end. */
  readonly leastNs: number;
  readonly leastKnownNs: number;
  /** A lower bound of the schedule's value by these times: the less, the better. */
  readonly valueNs: number;
  /** The devices that have got tasks, by their numbers, and what they look like now. */
  readonly changed: readonly (readonly [device: number, view: DeviceView])[];
}

/** Step extends a schedule by a task on a device. */
export interface Step {
  readonly schedule: Schedule;
  readonly task: number;
  readonly device: number;
  readonly way: Way;
  readonly readyNs: number;
  readonly endNs: number;
  readonly costNs: number;
  readonly leastNs: number;
  readonly leastKnownNs: number;
  /**
   * A lower bound of the value of the schedule that it leads to, and a time before which the calls that
   * follow the task alone cannot end.
   */
  readonly valueNs: number;
  readonly ownNs: number;
}

/** StepList keeps the steps that may lead to the soonest ends, the first made among equals. */
export class StepList {
  readonly best: Step[] = [];
  /** How many steps it was asked about. */
  seen = 0;

  constructor(
    private readonly most: number,
    private readonly belowNs: number,
  ) {}

  /** takes returns whether a step would be kept that comes to so much. */
  takes(valueNs: number, ownNs: number): boolean {
    this.seen += 1;
    if (valueNs >= this.belowNs) return false;
    const worst = this.best.length < this.most ? undefined : this.best.at(-1);
    return worst === undefined || isSooner(valueNs, ownNs, worst);
  }

  add(step: Step): void {
    const { best, most } = this;
    if (most === Number.POSITIVE_INFINITY) {
      best.push(step);
      return;
    }
    let i = best.length === most ? most - 1 : best.length;
    for (; i > 0 && isSooner(step.valueNs, step.ownNs, best[i - 1] as Step); i--)
      best[i] = best[i - 1] as Step;
    best[i] = step;
  }
}

function isSooner(valueNs: number, ownNs: number, other: Step): boolean {
  return valueNs < other.valueNs || (valueNs === other.valueNs && ownNs < other.ownNs);
}

/** Frontier knows what follows from which tasks have devices, whichever these are. It computes each answer once. */
export class Frontier {
  private readonly lives = new Map<number, readonly number[]>();
  private readonly calls = new Map<number, ReadonlySet<number>>();
  private readonly meetings = new Map<number, boolean>();
  /** Masks of two tasks that call one component, neither of which needs the other. */
  private readonly pairs: readonly number[];

  /** @param before by task, a mask of those whose outputs it takes */
  constructor(
    private readonly tasks: readonly ToPlace[],
    before: readonly number[],
    private readonly after: readonly number[],
  ) {
    this.pairs = pairsOf(tasks, before);
  }

  /** live lists the tasks whose outputs are still needed. */
  live(scheduled: number): readonly number[] {
    return known(this.lives, scheduled, () =>
      this.after.flatMap((after, task) => ((scheduled >> task) & 1 && after & ~scheduled ? [task] : [])),
    );
  }

  /** called are the components that tasks without a device call, so that their open batches matter. */
  called(scheduled: number): ReadonlySet<number> {
    return known(
      this.calls,
      scheduled,
      () => new Set(this.tasks.flatMap(({ component }, i) => ((scheduled >> i) & 1 ? [] : [component]))),
    );
  }

  /**
   * mayMeet returns whether two tasks without a device could be in one batch. Then a schedule that is earlier is not
   * always better, as the second of them may come too late for a batch that begins earlier.
   */
  mayMeet(scheduled: number): boolean {
    return known(this.meetings, scheduled, () => this.pairs.some((pair) => (pair & scheduled) === 0));
  }
}

function known<T>(answers: Map<number, T>, scheduled: number, found: () => T): T {
  let answer = answers.get(scheduled);
  if (answer === undefined) {
    answer = found();
    answers.set(scheduled, answer);
  }
  return answer;
}

/** pairsOf lists, as masks, the pairs of tasks that call one component and neither of which needs the other. */
function pairsOf(tasks: readonly ToPlace[], before: readonly number[]): number[] {
  const needed: number[] = [];
  const pairs: number[] = [];
  for (const [task, { component }] of tasks.entries()) {
    let all = before[task] as number;
    for (let other = 0; other < task; other++) if ((all >> other) & 1) all |= needed[other] as number;
    needed[task] = all;
    for (let other = 0; other < task; other++)
      if (tasks[other]?.component === component && !((all >> other) & 1))
        pairs.push((1 << task) | (1 << other));
  }
  return pairs;
}

/** KeptSchedules holds the schedules of a number of tasks that no other outperforms. */
export class KeptSchedules {
  private readonly groups = new Map<number, Schedule[]>();
  private count = 0;

  constructor(
    private readonly common: Frontier,
    private readonly most: number,
  ) {}

  /** add keeps a schedule, unless one that has done as much on the same devices is nowhere later, or there are enough. */
  add(schedule: Schedule): void {
    if (this.count >= this.most) return;
    const key = this.keyOf(schedule);
    const group = this.groups.get(key);
    if (group === undefined) {
      this.groups.set(key, [schedule]);
      this.count += 1;
      return;
    }
    if (group.some((other) => this.outperforms(other, schedule))) return;
    const left = group.filter((other) => !this.outperforms(schedule, other));
    this.count += 1 + left.length - group.length;
    left.push(schedule);
    this.groups.set(key, left);
  }

  get schedules(): readonly Schedule[] {
    return [...this.groups.values()].flat();
  }

  /** keyOf mixes what two schedules must have in common to be compared, so that few others are looked at. */
  private keyOf({ scheduled, devices, changed }: Schedule): number {
    let key = scheduled;
    for (const task of this.common.live(scheduled))
      key = (Math.imul(key, 31) + (devices[task] as number)) | 0;
    for (const [device] of changed) key = (Math.imul(key, 37) + device) | 0;
    return key;
  }

  /**
   * outperforms returns whether one schedule has done as much as another on the same devices, and is nowhere later.
   * Where two tasks could still come into one batch, it must be equal.
   */
  private outperforms(one: Schedule, other: Schedule): boolean {
    const { scheduled } = one;
    if (scheduled !== other.scheduled || one.changed.length !== other.changed.length) return false;
    const isEqual = this.common.mayMeet(scheduled);
    const isAsGood = (ns: number, otherNs: number) => (isEqual ? ns === otherNs : ns <= otherNs);
    if (!isAsGood(one.endNs, other.endNs) || !isAsGood(one.knownNs, other.knownNs)) return false;
    if (one.costNs > other.costNs) return false;
    for (const task of this.common.live(scheduled)) {
      if (one.devices[task] !== other.devices[task]) return false;
      if (!isAsGood(one.endsNs[task] as number, other.endsNs[task] as number)) return false;
    }
    const called = this.common.called(scheduled);
    return one.changed.every(([device, view], i) => {
      const [otherDevice, otherView] = other.changed[i] as Schedule['changed'][number];
      return device === otherDevice && isViewAsGood(view, otherView, { isAsGood, called });
    });
  }
}

interface Comparison {
  readonly isAsGood: (ns: number, otherNs: number) => boolean;
  readonly called: ReadonlySet<number>;
}

function isViewAsGood(one: DeviceView, other: DeviceView, { isAsGood, called }: Comparison): boolean {
  if (one === other) return true;
  return (
    isAsGood(one.freeNs, other.freeNs) &&
    isAsGood(one.copiedNs, other.copiedNs) &&
    isAsGood(one.idleFromNs, other.idleFromNs) &&
    isAsGood(other.idleToNs, one.idleToNs) &&
    one.loads.length === other.loads.length &&
    one.loads.every(
      ({ component, atNs }, i) =>
        component === other.loads[i]?.component && isAsGood(atNs, other.loads[i]?.atNs),
    ) &&
    haveSameBatches(one, other, called)
  );
}

/**
 * haveSameBatches returns whether views have the same open batches. A batch that begins later can be joined
 * by more tasks, so the batches must be equal.
 */
function haveSameBatches(one: DeviceView, other: DeviceView, called: ReadonlySet<number>): boolean {
  const own = one.open.filter(({ component }) => called.has(component));
  const others = other.open.filter(({ component }) => called.has(component));
  return (
    own.length === others.length &&
    own.every(({ component, startNs, rows }, i) => {
      const batch = others[i];
      return component === batch?.component && startNs === batch.startNs && rows === batch.rows;
    })
  );
}
