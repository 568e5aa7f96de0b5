import { NONE } from '../../collections/index.js';
import type { DeviceView, Outlook, Probed } from './outlook.js';

/** Source is where the output of a task that has a device already lies or will, and from when on. */
export interface Source {
  readonly device: number;
  readonly atNs: number;
}

/** Input is what a task takes: an output that has its places, or that of another task to be placed. */
export interface Input {
  readonly bytes: number;
  /** The index of the task among those to be placed, or its places. */
  readonly from: number | readonly Source[];
}

/** ToPlace is a task that is to get a device. Its inputs come from tasks before it in the list. */
export interface ToPlace {
  readonly component: number;
  readonly rows: number;
  readonly inputs: readonly Input[];
}

/** Placement is the device that a task got, and when its inputs are expected to be there and it to end. */
export interface Placement {
  readonly task: number;
  readonly device: number;
  readonly readyNs: number;
  readonly endNs: number;
}

/** Search says how far a search goes. */
export interface Search {
  /** How many devices are tried for each task, besides those that have its inputs or other tasks of the request. */
  readonly candidates: number;
  /** How many partial schedules of as many tasks are kept. */
  readonly beam: number;
  /** Whether a task is tried in each way in which a device can take it, and not only in that which ends first. */
  readonly everyWay: boolean;
}

/** EXACT tries everything, and keeps every schedule that may be best. */
export const EXACT: Search = {
  candidates: Number.POSITIVE_INFINITY,
  beam: Number.POSITIVE_INFINITY,
  everyWay: true,
};

/** Devices says which devices can execute a component, and how long outputs take between places. */
export interface Devices {
  readonly count: number;
  /** canRun tells whether a device is up and its class runs so many rows of a component. */
  canRun(device: number, component: number, rows: number): boolean;
  /** leastNs is the least time in which any device, up or not, executes so many rows of a component, alone or with others. */
  leastNs(component: number, rows: number): number;
  passNs(bytes: number, from: number, to: number): number;
}

/** The most tasks that are placed together; others follow after them. */
const MOST_TOGETHER = 24;

/** Schedule is a partial schedule: some tasks have devices. What it has done to devices is in their views. */
interface Schedule {
  /** Bit i: task i has a device. */
  readonly scheduled: number;
  /** By task: its device, or NONE, when its inputs are there, and its end. */
  readonly devices: Int32Array;
  readonly readyNs: Float64Array;
  readonly endsNs: Float64Array;
  /** The tasks in the order in which they got their devices. */
  readonly order: readonly number[];
  /** When the last of them ends. */
  readonly endNs: number;
  /** The devices that have got tasks, and what they look like now. */
  readonly changed: readonly (readonly [device: number, view: DeviceView])[];
}

/**
 * DynamicProgram finds the devices of a request's tasks by which the last task ends first (DyOrc §5.3, Algorithm 1): partial
 * schedules are extended by one task on one device at a time, in any order that inputs allow.
 *
 * It departs from the algorithm as printed, by which the result is empty: a schedule keeps its end, although triples that no
 * task needs any more are left out; only schedules of the same tasks outperform one another; and what a request's own tasks do
 * to devices counts as long as the schedule lives.
 *
 * First each task gets the device on which it ends first. What cannot end sooner than that, by the longest way that is left, is
 * not followed, so that the search is short while devices are idle. With `EXACT` the end is the least there is for up to 24 tasks;
 * what a request has beyond them follows after them. The cost grows with
 * the schedules kept, times the tasks that may be next, times the devices tried.
 */
export class DynamicProgram {
  /** How many partial schedules were made so far. */
  made = 0;

  constructor(
    private readonly outlook: Outlook,
    private readonly devices: Devices,
    private readonly search: Search,
  ) {}

  /**
   * place finds devices for tasks, whose inputs lie before them.
   * @returns the tasks in the order in which they are to be queued; none where some component has no device that runs it
   */
  place(at: number, tasks: readonly ToPlace[]): readonly Placement[] {
    const placed: Placement[] = [];
    let changed: Schedule['changed'] = [];
    for (let from = 0; from < tasks.length; from += MOST_TOGETHER) {
      const some = tasks.slice(from, from + MOST_TOGETHER).map((task) => moved(task, from, placed));
      const best = this.best(at, some, changed);
      if (best === undefined) return [];
      changed = best.changed;
      for (const task of best.order)
        placed.push({
          ...{ task: from + task, device: best.devices[task] as number },
          ...{ readyNs: best.readyNs[task] as number, endNs: best.endsNs[task] as number },
        });
    }
    return placed;
  }

  private best(at: number, tasks: readonly ToPlace[], changed: Schedule['changed']): Schedule | undefined {
    const reach = new Reach(at, tasks, this.outlook, this.devices, this.search);
    const empty: Schedule = {
      ...{ scheduled: 0, order: [], endNs: 0, changed },
      devices: new Int32Array(tasks.length).fill(NONE),
      readyNs: new Float64Array(tasks.length),
      endsNs: new Float64Array(tasks.length),
    };
    const greedy = reach.greedy(empty);
    if (greedy === undefined || greedy.endNs <= reach.leastEndNs(empty)) return greedy;
    let schedules: readonly Schedule[] = [empty];
    for (let count = 0; count < tasks.length; count++) {
      const kept = new Kept(reach);
      for (const schedule of schedules)
        for (const task of reach.nextOf(schedule))
          for (const device of reach.candidatesFor(schedule, task))
            for (const longer of reach.extended(schedule, task, device)) {
              this.made += 1;
              const leastNs = reach.leastEndNs(longer);
              if (leastNs < greedy.endNs) kept.add(longer, leastNs);
            }
      schedules = kept.best(this.search.beam);
    }
    return schedules.reduce((least, schedule) => (schedule.endNs < least.endNs ? schedule : least), greedy);
  }
}

/** moved makes the inputs of a task refer to those it is placed together with, or to where the earlier ones are. */
function moved(task: ToPlace, from: number, placed: readonly Placement[]): ToPlace {
  const inputs = task.inputs.map(({ bytes, from: source }): Input => {
    if (typeof source !== 'number') return { bytes, from: source };
    if (source >= from) return { bytes, from: source - from };
    const { device, endNs } = placed.find((one) => one.task === source) as Placement;
    return { bytes, from: [{ device, atNs: endNs }] };
  });
  return { ...task, inputs };
}

/** Reach knows what may follow a partial schedule of some tasks. */
class Reach {
  /** By task, a mask of those whose outputs it takes, and of those that take its output. */
  private readonly before: readonly number[];
  private readonly after: readonly number[];
  /** Masks of two tasks that call one component, neither of which needs the other. */
  private readonly pairs: readonly number[];
  /** By task, the devices worth a try that nothing is known of yet but their views. */
  private readonly untouched: readonly (readonly number[])[];
  private readonly nearby: readonly (readonly number[])[];
  /** By task, the least time from its begin to the end of the last task that needs it. */
  private readonly tailsNs: Float64Array;
  /** By task, which tasks take how much of its output. */
  private readonly takers: readonly string[];

  constructor(
    private readonly at: number,
    private readonly tasks: readonly ToPlace[],
    private readonly outlook: Outlook,
    private readonly devices: Devices,
    private readonly search: Search,
  ) {
    this.before = tasks.map(({ inputs }) =>
      inputs.reduce((mask, { from }) => (typeof from === 'number' ? mask | (1 << from) : mask), 0),
    );
    this.after = tasks.map((_, task) =>
      this.before.reduce((mask, before, other) => ((before >> task) & 1 ? mask | (1 << other) : mask), 0),
    );
    this.pairs = pairsOf(tasks, this.before);
    const byComponent = new Map<string, readonly number[]>();
    this.untouched = tasks.map(({ component, rows }) => {
      const key = `${component},${rows}`;
      const known = byComponent.get(key) ?? this.soonest(component, rows, search.candidates);
      byComponent.set(key, known);
      return known;
    });
    this.nearby = tasks.map(({ component, rows, inputs }) => {
      const places = inputs.flatMap(({ from }) =>
        typeof from === 'number' ? [] : from.map(({ device }) => device),
      );
      return places.filter((device) => device !== NONE && this.devices.canRun(device, component, rows));
    });
    this.takers = tasks.map((_, task) =>
      tasks
        .flatMap(({ inputs }, other) => inputs.flatMap(({ bytes, from }) => (from === task ? [`${other}:${bytes}`] : [])))
        .sort()
        .join(),
    );
    this.tailsNs = new Float64Array(tasks.length);
    for (let task = tasks.length - 1; task >= 0; task--) {
      const { component, rows } = tasks[task] as ToPlace;
      let laterNs = 0;
      for (let other = task + 1; other < tasks.length; other++)
        if (((this.after[task] as number) >> other) & 1) laterNs = Math.max(laterNs, this.tailsNs[other] as number);
      this.tailsNs[task] = this.devices.leastNs(component, rows) + laterNs;
    }
  }

  /** greedy gives each task, in their order, the device on which it ends first; undefined where none can run one. */
  greedy(empty: Schedule): Schedule | undefined {
    let schedule = empty;
    for (const task of this.tasks.keys()) {
      let best: Schedule | undefined;
      for (const device of this.candidatesFor(schedule, task)) {
        const [longer] = this.extended(schedule, task, device) as [Schedule];
        if (best === undefined || (longer.endsNs[task] as number) < (best.endsNs[task] as number)) best = longer;
      }
      if (best === undefined) return undefined;
      schedule = best;
    }
    return schedule;
  }

  /** leastEndNs is a time before which no schedule can end that a partial schedule becomes. */
  leastEndNs({ scheduled, endNs, endsNs }: Schedule): number {
    let leastNs = endNs;
    for (const [task, { inputs }] of this.tasks.entries()) {
      if ((scheduled >> task) & 1) continue;
      let readyNs = this.at;
      for (const { from } of inputs)
        if (typeof from === 'number' && (scheduled >> from) & 1) readyNs = Math.max(readyNs, endsNs[from] as number);
      leastNs = Math.max(leastNs, readyNs + (this.tailsNs[task] as number));
    }
    return leastNs;
  }

  /** nextOf lists the tasks that may be scheduled next. Of tasks that are alike in all, it is the first that is not. */
  nextOf({ scheduled }: Schedule): number[] {
    const next: number[] = [];
    for (let task = 0; task < this.tasks.length; task++) {
      if ((scheduled >> task) & 1 || (this.before[task] as number) & ~scheduled) continue;
      if (!next.some((other) => this.areAlike(other, task))) next.push(task);
    }
    return next;
  }

  /** candidatesFor lists devices for a task: those that would begin it first, those that have its inputs, those of its request. */
  candidatesFor(schedule: Schedule, task: number): readonly number[] {
    const soonest = this.untouched[task] as readonly number[];
    if (soonest.length === this.devices.count) return soonest;
    const { component, rows } = this.tasks[task] as ToPlace;
    const own = schedule.changed.map(([device]) => device);
    const all = new Set([...soonest, ...(this.nearby[task] as readonly number[]), ...own]);
    return [...all].filter((device) => this.devices.canRun(device, component, rows));
  }

  /** extended gives a schedule with one more task on a device: one, or one for each way in which the device can take it. */
  extended(schedule: Schedule, task: number, device: number): Schedule[] {
    const { component, rows } = this.tasks[task] as ToPlace;
    const known = schedule.changed.find(([other]) => other === device);
    const view = known?.[1] ?? this.outlook.viewOf(this.at, device);
    const readyNs = this.readyNs(schedule, task, device);
    const ways = this.outlook.probe(this.at, device, view, { component, rows, readyNs });
    const others = schedule.changed.filter(([other]) => other !== device);
    return (this.search.everyWay ? ways : ways.slice(0, 1)).map(({ endNs, view: next }) => ({
      readyNs: schedule.readyNs.with(task, readyNs),
      ...{ devices: schedule.devices.with(task, device), endsNs: schedule.endsNs.with(task, endNs) },
      ...{ scheduled: schedule.scheduled | (1 << task), order: [...schedule.order, task] },
      endNs: Math.max(schedule.endNs, endNs),
      changed: [...others, [device, next] as const].sort(([a], [b]) => a - b),
    }));
  }

  /** isStillCalled tells whether a task without a device calls a component, so that its open batches matter. */
  isStillCalled({ scheduled }: Schedule, component: number): boolean {
    return this.tasks.some((task, i) => !((scheduled >> i) & 1) && task.component === component);
  }

  /**
   * mayMeet tells whether two tasks without a device could be in one batch. Then a schedule that is earlier is not always better, as
   * the second of them may come too late for a batch that begins earlier.
   */
  mayMeet({ scheduled }: Schedule): boolean {
    return this.pairs.some((pair) => (pair & scheduled) === 0);
  }

  /** live lists the tasks whose outputs are still needed. */
  live({ scheduled }: Schedule): number[] {
    return this.tasks.flatMap((_, task) =>
      (scheduled >> task) & 1 && (this.after[task] as number) & ~scheduled ? [task] : [],
    );
  }

  /** readyNs is when all inputs of a task are on a device (Eq. 2). */
  private readyNs(schedule: Schedule, task: number, device: number): number {
    let readyNs = this.at;
    for (const { bytes, from } of (this.tasks[task] as ToPlace).inputs) {
      if (typeof from === 'number') {
        const passNs = this.devices.passNs(bytes, schedule.devices[from] as number, device);
        readyNs = Math.max(readyNs, (schedule.endsNs[from] as number) + passNs);
        continue;
      }
      let leastNs = Number.POSITIVE_INFINITY;
      for (const source of from)
        leastNs = Math.min(leastNs, source.atNs + this.devices.passNs(bytes, source.device, device));
      readyNs = Math.max(readyNs, leastNs);
    }
    return readyNs;
  }

  /** soonest lists the devices that would end a task first if its inputs were there. */
  private soonest(component: number, rows: number, most: number): readonly number[] {
    const able: number[] = [];
    for (let device = 0; device < this.devices.count; device++)
      if (this.devices.canRun(device, component, rows)) able.push(device);
    if (able.length <= most) return able;
    const ends = new Map(
      able.map((device) => {
        const view = this.outlook.viewOf(this.at, device);
        const [soonest] = this.outlook.probe(this.at, device, view, { component, rows, readyNs: this.at });
        return [device, (soonest as Probed).endNs] as const;
      }),
    );
    return able.sort((a, b) => (ends.get(a) as number) - (ends.get(b) as number) || a - b).slice(0, most);
  }

  private areAlike(one: number, other: number): boolean {
    const [a, b] = [this.tasks[one] as ToPlace, this.tasks[other] as ToPlace];
    return (
      a.component === b.component &&
      a.rows === b.rows &&
      this.takers[one] === this.takers[other] &&
      a.inputs.length === b.inputs.length &&
      a.inputs.every(({ bytes, from }, i) => bytes === b.inputs[i]?.bytes && from === b.inputs[i]?.from)
    );
  }
}

/** pairsOf lists, as masks, the pairs of tasks that call one component and neither of which needs the other. */
function pairsOf(tasks: readonly ToPlace[], before: readonly number[]): number[] {
  const needed: number[] = [];
  return tasks.flatMap(({ component }, task) => {
    let all = before[task] as number;
    for (let other = 0; other < task; other++) if ((all >> other) & 1) all |= needed[other] as number;
    needed[task] = all;
    return tasks
      .slice(0, task)
      .flatMap((one, other) =>
        one.component === component && !((all >> other) & 1) ? [(1 << task) | (1 << other)] : [],
      );
  });
}

/** Kept holds the schedules of a number of tasks that no other outperforms. */
class Kept {
  private readonly groups = new Map<string, KeptSchedule[]>();

  constructor(private readonly reach: Reach) {}

  /**
   * add keeps a schedule, unless one that has done as much on the same devices is nowhere later.
   * @param leastNs when it may end at the soonest
   */
  add(schedule: Schedule, leastNs: number): void {
    const live = this.reach.live(schedule);
    const times = this.timesOf(schedule, live);
    const key = this.keyOf(schedule, live);
    if (this.reach.mayMeet(schedule)) {
      const same = `${key};${times.join()}`;
      if (!this.groups.has(same)) this.groups.set(same, [{ schedule, times, leastNs }]);
      return;
    }
    const group = this.groups.get(key) ?? [];
    if (group.some((other) => isNowhereLater(other.times, times))) return;
    const left = group.filter((other) => !isNowhereLater(times, other.times));
    left.push({ schedule, times, leastNs });
    this.groups.set(key, left);
  }

  /** best gives the schedules that may end first, the first made among equals. */
  best(most: number): readonly Schedule[] {
    const all = [...this.groups.values()].flat();
    if (all.length > most) all.sort((a, b) => a.leastNs - b.leastNs || a.schedule.endNs - b.schedule.endNs).splice(most);
    return all.map(({ schedule }) => schedule);
  }

  /** keyOf says what two schedules must have in common to be compared: their tasks, where outputs lie, what devices have got. */
  private keyOf(schedule: Schedule, live: readonly number[]): string {
    const { scheduled, devices, changed } = schedule;
    const outputs = live.map((task) => `${task}@${devices[task]}`).join();
    const views = changed.map(([device, { open, loads }]) => {
      const joinable = open.filter(({ component }) => this.reach.isStillCalled(schedule, component));
      return `${device}:${joinable.map(({ component, rows }) => `${component}x${rows}`)}:${loads.map(({ component }) => component)}`;
    });
    return `${scheduled};${outputs};${views.join(' ')}`;
  }

  /** timesOf lists what must not be later for a schedule to be as good. */
  private timesOf(schedule: Schedule, live: readonly number[]): number[] {
    const { endNs, endsNs, changed } = schedule;
    return [
      endNs,
      ...live.map((task) => endsNs[task] as number),
      ...changed.flatMap(([, view]) => [
        ...[view.freeNs, view.copiedNs, view.idleFromNs, -view.idleToNs],
        // A batch that begins later can be joined by more, so that only the same start is as good.
        ...view.open.flatMap(({ component, startNs }) =>
          this.reach.isStillCalled(schedule, component) ? [startNs, -startNs] : [],
        ),
        ...view.loads.map(({ atNs }) => atNs),
      ]),
    ];
  }
}

interface KeptSchedule {
  readonly schedule: Schedule;
  readonly times: readonly number[];
  readonly leastNs: number;
}

function isNowhereLater(a: readonly number[], b: readonly number[]): boolean {
  return a.every((time, i) => time <= (b[i] as number));
}
