import type { Outlook } from './outlook.js';
import type { Placing } from './placing.js';
import { Reach } from './reach.js';
import { KeptSchedules, type Schedule, StepList } from './schedules.js';
import { SoonestDevices } from './soonest-devices.js';
import type { Costs, Devices, Goal, Input, PlacedTask, Search, ToPlace } from './to-place.js';

/** DynamicProgramParts holds what a DynamicProgram chooses by, and how far it searches. */
export interface DynamicProgramParts {
  readonly outlook: Outlook;
  readonly devices: Devices;
  readonly search: Search;
  readonly costs: Costs;
}

/** The most tasks that are placed together; others follow after them. */
const MOST_TOGETHER = 24;

/** A search that is not exact ends where the last task takes this many times as long as it has to at least. */
const GOOD_ENOUGH = 1.01;

/**
 * DynamicProgram finds the devices of a request's tasks by which the last task ends first (DyOrc §5.3, Algorithm 1): partial
 * schedules are extended by one task on one device at a time, in any order that inputs allow.
 *
 * It departs from the algorithm as printed, by which the result is empty: a schedule keeps its end, although triples that no
 * task needs any more are left out; only schedules of the same tasks outperform one another; and what a request's own tasks do
 * to devices counts as long as the schedule lives.
 *
 * First each task gets the device on which it ends first. A schedule that cannot end sooner than that, by the
 * longest remaining way, is not followed, so that the search is short while devices are idle. With `EXACT`
 * the end is the least there is for up to 24 tasks; what a request has beyond them follows after them. The
 * cost grows with the schedules kept, times the tasks that may be next, times the devices tried.
 */
export class DynamicProgram implements Placing {
  looked = 0;

  private readonly soonest: SoonestDevices;

  constructor(private readonly parts: DynamicProgramParts) {
    this.soonest = new SoonestDevices(parts);
  }

  /**
   * place finds devices for tasks, whose inputs lie before them.
   * @returns the tasks in the order in which they are to be queued; none where some component has no device that runs it
   */
  place(
    at: number,
    tasks: readonly ToPlace[],
    { known, chance }: Goal = { known: tasks.length, chance: 1 },
  ): readonly PlacedTask[] {
    const placed: PlacedTask[] = [];
    let changed: Schedule['changed'] = [];
    for (let from = 0; from < tasks.length; from += MOST_TOGETHER) {
      const some = tasks.slice(from, from + MOST_TOGETHER).map((task) => moved(task, from, placed));
      const { parts, soonest } = this;
      const goal = { known: Math.max(0, known - from), chance };
      const best = this.best(new Reach(some, { ...parts, soonest, at, goal }), changed);
      if (best === undefined) return [];
      changed = best.changed;
      for (const task of best.order)
        placed.push({
          task: from + task,
          device: best.devices[task] as number,
          readyNs: best.readyNs[task] as number,
          endNs: best.endsNs[task] as number,
        });
    }
    return placed;
  }

  private best(reach: Reach, changed: Schedule['changed']): Schedule | undefined {
    const empty = reach.empty(changed);
    const greedy = reach.greedy(empty);
    this.looked += reach.looked;
    const { beam, isExact } = this.parts.search;
    const { at } = reach;
    const goodNs = isExact ? empty.valueNs : at + GOOD_ENOUGH * (empty.valueNs - at);
    if (greedy === undefined || greedy.valueNs <= goodNs) return greedy;
    let schedules: readonly Schedule[] = [empty];
    for (let count = 0; count < reach.count; count++) {
      // Of steps that are kept some lead to equal schedules.
      const steps = new StepList(2 * beam, greedy.valueNs);
      for (const schedule of schedules) reach.extend(schedule, steps);
      this.looked += steps.seen;
      const kept = new KeptSchedules(reach.common, beam);
      for (const step of steps.best) kept.add(reach.taken(step));
      schedules = kept.schedules;
    }
    return schedules.reduce((best, schedule) => (schedule.valueNs < best.valueNs ? schedule : best), greedy);
  }
}

/** moved makes the inputs of a task refer to those it is placed together with, or to where the earlier ones are. */
function moved(task: ToPlace, from: number, placed: readonly PlacedTask[]): ToPlace {
  if (from === 0) return task;
  const inputs = task.inputs.map(({ bytes, from: source }): Input => {
    if (typeof source !== 'number') return { bytes, from: source };
    if (source >= from) return { bytes, from: source - from };
    const { device, endNs } = placed.find((one) => one.task === source) as PlacedTask;
    return { bytes, from: [{ device, atNs: endNs }] };
  });
  return { ...task, inputs };
}
