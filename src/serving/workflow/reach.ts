import { NONE } from '../../collections/index.js';
import { type DeviceProbe, type DeviceView, type Outlook, soonestWay, Way } from './outlook.js';
import { Frontier, type Schedule, type Step, type StepList } from './schedules.js';
import type { Soonest, SoonestDevices } from './soonest-devices.js';
import type { Costs, Devices, Goal, OutputSource, Search, ToPlace } from './to-place.js';

/** ReachOptions holds the parts of a Reach, and what time it is. */
export interface ReachOptions {
  readonly at: number;
  readonly outlook: Outlook;
  readonly devices: Devices;
  readonly search: Search;
  readonly soonest: SoonestDevices;
  readonly costs: Costs;
  readonly goal: Goal;
}

/** Reach knows what may follow a partial schedule of some tasks. */
export class Reach {
  /** How many tasks on devices `greedy` has looked at. */
  looked = 0;
  private frontier: Frontier | undefined;
  /** By task, a mask of those that take its output. */
  private readonly after: readonly number[];
  /** By task, a mask of those whose outputs it takes. */
  private readonly before: readonly number[];
  /** By task, the devices that would end it first, and when the first would, if its inputs came as soon as they can. */
  private readonly soonest: readonly Soonest[];
  private readonly nearby: readonly (readonly number[])[];
  /** By task, the least time from its end to the end of the last task that needs it. */
  private readonly tailsNs: readonly number[];
  private readonly knownTailsNs: readonly number[];
  /** By task, the tasks before it that are alike in all, of which the first gets a device first. */
  private readonly alike: readonly (readonly number[])[];
  private readonly probe: DeviceProbe;

  constructor(
    private readonly tasks: readonly ToPlace[],
    private readonly options: ReachOptions,
  ) {
    this.probe = { at: options.at, device: 0, view: undefined as never, component: 0, rows: 0, readyNs: 0 };
    this.before = tasks.map(({ inputs }) =>
      inputs.reduce((mask, { from }) => (typeof from === 'number' ? mask | (1 << from) : mask), 0),
    );
    this.after = tasks.map((_, task) =>
      this.before.reduce((mask, before, other) => ((before >> task) & 1 ? mask | (1 << other) : mask), 0),
    );
    this.soonest = this.soonestOfAll();
    this.nearby = tasks.map((task) => this.nearbyOf(task));
    this.tailsNs = tailsOf(tasks, this.after, options.devices);
    this.knownTailsNs = tailsOf(tasks.slice(0, options.goal.known), this.after, options.devices);
    this.alike = options.search.isExact ? alikeOf(tasks, options.goal.known) : tasks.map(() => []);
  }

  /** common is what follows from which tasks have devices. */
  get common(): Frontier {
    this.frontier ??= new Frontier(this.tasks, this.before, this.after);
    return this.frontier;
  }

  get at(): number {
    return this.options.at;
  }

  /** count is how many tasks there are. */
  get count(): number {
    return this.tasks.length;
  }

  /** empty gives the schedule in which no task has a device. */
  empty(changed: Schedule['changed']): Schedule {
    const none = this.tasks.map(() => 0);
    const leastNs = this.leastNs(this.tailsNs);
    const leastKnownNs = this.leastNs(this.knownTailsNs);
    return {
      scheduled: 0,
      order: [],
      endNs: 0,
      knownNs: 0,
      costNs: 0,
      leastNs,
      leastKnownNs,
      changed,
      valueNs: this.valueOf(leastKnownNs, leastNs, 0),
      devices: this.tasks.map(() => NONE),
      readyNs: none,
      endsNs: none,
    };
  }

  /** greedy gives each task, in their order, the device on which it ends first; undefined where none can run one. */
  greedy(empty: Schedule): Schedule | undefined {
    let schedule = empty;
    for (const task of this.tasks.keys()) {
      let best: Step | undefined;
      let leastNs = Number.POSITIVE_INFINITY;
      for (const device of this.candidatesFor(schedule, task)) {
        const ends = this.options.outlook.ends(this.probing(schedule, task, device));
        const way = soonestWay(ends);
        const endNs = ends[way];
        this.looked += 1;
        if (endNs >= leastNs) continue;
        const { readyNs } = this.probe;
        const ownNs = endNs + this.options.costs.ofNs(this.probe);
        if (ownNs >= leastNs) continue;
        leastNs = ownNs;
        best = {
          schedule,
          task,
          device,
          way,
          readyNs,
          endNs,
          ...this.comesTo(schedule, task, endNs, ownNs - endNs),
        };
      }
      if (best === undefined) return undefined;
      schedule = this.taken(best);
    }
    return schedule;
  }

  /** extend offers the steps that may follow a schedule. */
  extend(schedule: Schedule, steps: StepList): void {
    for (let task = 0; task < this.tasks.length; task++) {
      if (!this.mayBeNext(schedule, task)) continue;
      for (const device of this.candidatesFor(schedule, task)) this.tryOn({ schedule, task, device }, steps);
      if (!this.options.search.isExact) return;
    }
  }

  /** taken gives the schedule that a step leads to. */
  taken(step: Step): Schedule {
    const { schedule, task, device, way, readyNs, endNs, costNs, leastNs, leastKnownNs, valueNs } = step;
    this.probing(schedule, task, device);
    const view = this.options.outlook.after(this.probe, way);
    return {
      scheduled: schedule.scheduled | (1 << task),
      devices: replaced(schedule.devices, task, device),
      readyNs: replaced(schedule.readyNs, task, readyNs),
      endsNs: replaced(schedule.endsNs, task, endNs),
      order: [...schedule.order, task],
      endNs: Math.max(schedule.endNs, endNs),
      knownNs: task < this.options.goal.known ? Math.max(schedule.knownNs, endNs) : schedule.knownNs,
      costNs,
      leastNs,
      leastKnownNs,
      valueNs,
      changed: changedBy(schedule.changed, device, view),
    };
  }

  private tryOn(
    { schedule, task, device }: Pick<Step, 'schedule' | 'task' | 'device'>,
    steps: StepList,
  ): void {
    const ends = this.options.outlook.ends(this.probing(schedule, task, device));
    const { readyNs } = this.probe;
    const soonest = soonestWay(ends);
    const evictedNs = this.options.costs.ofNs(this.probe);
    for (let way: Way = Way.join; way <= Way.behind; way = (way + 1) as Way) {
      const endNs = ends[way];
      if (endNs === Number.POSITIVE_INFINITY || (way !== soonest && !this.options.search.isExact)) continue;
      const value = this.comesTo(schedule, task, endNs, evictedNs);
      if (steps.takes(value.valueNs, value.ownNs))
        steps.add({ schedule, task, device, way, readyNs, endNs, ...value });
    }
  }

  /** comesTo says what a schedule comes to, at least, with a task that ends then and pushes out what is worth so much. */
  private comesTo(
    schedule: Schedule,
    task: number,
    endNs: number,
    evictedNs: number,
  ): Pick<Step, 'costNs' | 'leastNs' | 'leastKnownNs' | 'valueNs' | 'ownNs'> {
    const { known, chance } = this.options.goal;
    const isKnown = task < known;
    const ownNs = endNs + (this.tailsNs[task] as number);
    const leastNs = Math.max(schedule.leastNs, ownNs);
    const leastKnownNs = isKnown
      ? Math.max(schedule.leastKnownNs, endNs + (this.knownTailsNs[task] as number))
      : schedule.leastKnownNs;
    const costNs = schedule.costNs + (isKnown ? evictedNs : chance * evictedNs);
    return { costNs, leastNs, leastKnownNs, ownNs, valueNs: this.valueOf(leastKnownNs, leastNs, costNs) };
  }

  /** valueOf weighs the end of the known tasks and that of all by the chance of the others. */
  private valueOf(knownNs: number, allNs: number, costNs: number): number {
    const { known, chance } = this.options.goal;
    if (known >= this.tasks.length) return allNs + costNs;
    return knownNs + chance * (allNs - knownNs) + costNs;
  }

  private mayBeNext({ scheduled }: Schedule, task: number): boolean {
    if ((scheduled >> task) & 1 || (this.before[task] as number) & ~scheduled) return false;
    return (this.alike[task] as readonly number[]).every((other) => (scheduled >> other) & 1);
  }

  /**
   * candidatesFor lists devices for a task: those that would end it first, those that have its inputs, those of its
   * request. Of idle devices that are alike in all the first is enough that the schedule has not changed.
   */
  private candidatesFor({ changed }: Schedule, task: number): readonly number[] {
    const { devices: soonest, twins } = this.soonest[task] as Soonest;
    const { devices, search } = this.options;
    if (search.isExact && soonest.length === devices.count) return soonest;
    const { component, rows } = this.tasks[task] as ToPlace;
    const nearby = this.nearby[task] as readonly number[];
    const all: number[] = [];
    for (let i = 0; i < soonest.length; i++) {
      const twin = twins[i] as number;
      if (twin === NONE || isChanged(changed, twin)) all.push(soonest[i] as number);
    }
    for (const device of nearby) if (!all.includes(device)) all.push(device);
    for (const [device] of changed)
      if (!all.includes(device) && devices.canRun(device, component, rows)) all.push(device);
    return all;
  }

  private nearbyOf({ component, rows, inputs }: ToPlace): number[] {
    const places = inputs.flatMap(({ from }) =>
      typeof from === 'number' ? [] : from.map(({ device }) => device),
    );
    return places.filter((device) => device !== NONE && this.options.devices.canRun(device, component, rows));
  }

  /** probing sets the probe on a task and a device, as the schedule has left it. */
  private probing(schedule: Schedule, task: number, device: number): DeviceProbe {
    const { probe } = this;
    const { component, rows } = this.tasks[task] as ToPlace;
    probe.device = device;
    probe.component = component;
    probe.rows = rows;
    probe.view = this.viewIn(schedule, device);
    probe.readyNs = this.readyNs(schedule, task, device);
    return probe;
  }

  private viewIn({ changed }: Schedule, device: number): DeviceView {
    for (const [other, view] of changed) if (other === device) return view;
    return this.options.outlook.viewOf(this.options.at, device);
  }

  /** readyNs is when all inputs of a task are on a device (Eq. 2). */
  private readyNs({ devices, endsNs }: Schedule, task: number, device: number): number {
    let readyNs = this.options.at;
    for (const { bytes, from } of (this.tasks[task] as ToPlace).inputs) {
      const fromNs =
        typeof from === 'number'
          ? (endsNs[from] as number) + this.options.devices.passNs(bytes, devices[from] as number, device)
          : this.nearestNs(bytes, from, device);
      readyNs = Math.max(readyNs, fromNs);
    }
    return readyNs;
  }

  /** leastNs is a time before which the last of the tasks that have tails cannot end. */
  private leastNs(tailsNs: readonly number[]): number {
    return tailsNs.reduce(
      (least, tailNs, task) => Math.max(least, (this.soonest[task] as Soonest).endNs + tailNs),
      0,
    );
  }

  /** soonestOfAll finds the devices that would end each task first if its inputs came as soon as they can, and from no farther. */
  private soonestOfAll(): Soonest[] {
    const { at, soonest } = this.options;
    const components = [...new Set(this.tasks.map(({ component }) => component))];
    const found: Soonest[] = [];
    for (const [task, { component, rows, inputs }] of this.tasks.entries()) {
      const same = this.tasks.findIndex((other) => isSoughtAlike(other, this.tasks[task] as ToPlace));
      if (same < task) {
        found.push(found[same] as Soonest);
        continue;
      }
      let leastReadyNs = at;
      for (const { from } of inputs)
        if (typeof from === 'number') leastReadyNs = Math.max(leastReadyNs, (found[from] as Soonest).endNs);
      const readyNs = (device: number) => Math.max(leastReadyNs, this.broughtNs(task, device));
      found.push(soonest.find({ at, component, rows, leastReadyNs, readyNs, components }));
    }
    return found;
  }

  /** broughtNs is when the inputs of a task that exist or have a device are on another. */
  private broughtNs(task: number, device: number): number {
    let broughtNs = 0;
    for (const { bytes, from } of (this.tasks[task] as ToPlace).inputs)
      if (typeof from !== 'number') broughtNs = Math.max(broughtNs, this.nearestNs(bytes, from, device));
    return broughtNs;
  }

  private nearestNs(bytes: number, from: readonly OutputSource[], device: number): number {
    let leastNs = Number.POSITIVE_INFINITY;
    for (const source of from)
      leastNs = Math.min(leastNs, source.atNs + this.options.devices.passNs(bytes, source.device, device));
    return leastNs;
  }
}

/** isSoughtAlike returns whether two tasks call the same for the same inputs. */
function isSoughtAlike(one: ToPlace, other: ToPlace): boolean {
  return (
    one.component === other.component &&
    one.rows === other.rows &&
    one.inputs.length === other.inputs.length &&
    one.inputs.every(
      ({ bytes, from }, i) => bytes === other.inputs[i]?.bytes && from === other.inputs[i]?.from,
    )
  );
}

function replaced(list: readonly number[], i: number, item: number): number[] {
  const copy = list.slice();
  copy[i] = item;
  return copy;
}

function isChanged(changed: Schedule['changed'], device: number): boolean {
  for (const [other] of changed) if (other === device) return true;
  return false;
}

/** changedBy gives the views of changed devices, by their numbers, with another one. */
function changedBy(changed: Schedule['changed'], device: number, view: DeviceView): Schedule['changed'] {
  const next = changed.filter(([other]) => other !== device);
  let i = next.length;
  while (i > 0 && (next[i - 1] as Schedule['changed'][number])[0] > device) i--;
  next.splice(i, 0, [device, view]);
  return next;
}

function tailsOf(tasks: readonly ToPlace[], after: readonly number[], devices: Devices): number[] {
  const tails = tasks.map(() => 0);
  for (let task = tasks.length - 1; task >= 0; task--)
    for (let other = task + 1; other < tasks.length; other++) {
      if (!(((after[task] as number) >> other) & 1)) continue;
      const { component, rows } = tasks[other] as ToPlace;
      tails[task] = Math.max(
        tails[task] as number,
        devices.leastNs(component, rows) + (tails[other] as number),
      );
    }
  return tails;
}

/** alikeOf lists by task those before it that call the same for the same, and whose outputs the same tasks take as much of. */
function alikeOf(tasks: readonly ToPlace[], known: number): number[][] {
  const takers = tasks.map((_, task) =>
    tasks
      .flatMap(({ inputs }, other) =>
        inputs.flatMap(({ bytes, from }) => (from === task ? [`${other}:${bytes}`] : [])),
      )
      .sort()
      .join(),
  );
  const areAlike = (one: number, other: number): boolean => {
    const [a, b] = [tasks[one] as ToPlace, tasks[other] as ToPlace];
    const areAsKnown = one < known === other < known;
    return areAsKnown && takers[one] === takers[other] && isSoughtAlike(a, b);
  };
  return tasks.map((_, task) => [...tasks.keys()].filter((other) => other < task && areAlike(other, task)));
}
