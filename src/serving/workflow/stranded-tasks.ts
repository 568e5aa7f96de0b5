import type { OpenRequest, Task } from './work.js';

/**
 * Chance says when a task can be given a device.
 * - now: some device that is up executes it sooner or later.
 * - later: none does before something else changes, such as a device that comes up.
 * - never: no device could ever execute it.
 */
export type Chance = 'now' | 'later' | 'never';

/**
 * StrandedTasks holds the tasks that no device can be given now. Their requests are dropped at their deadlines, or at
 * once if none ever can.
 */
export class StrandedTasks {
  private readonly chances = new Map<Task, Chance>();

  constructor(private readonly drop: (request: OpenRequest) => void) {}

  tell(task: Task, chance: Chance): void {
    if (chance === 'now') this.chances.delete(task);
    else this.chances.set(task, chance);
  }

  left(task: Task): void {
    this.chances.delete(task);
  }

  /**
   * dropLate drops the requests whose time has come.
   * @returns when that of the next comes, infinite where none is stranded
   */
  dropLate(at: number): number {
    let nextNs = Number.POSITIVE_INFINITY;
    for (const [{ request }, chance] of this.chances) {
      if (chance === 'never' || request.deadlineNs < at) this.drop(request);
      else nextNs = Math.min(nextNs, request.deadlineNs + 1);
    }
    return nextNs;
  }
}
