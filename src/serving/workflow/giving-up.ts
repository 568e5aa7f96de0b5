import { DropCode as SharedDropCode } from '../decisions.js';
import type { ExpectedEnd } from './expected-end.js';
import type { DroppingRule } from './policy.js';
import type { Queues } from './queues.js';
import type { RecentWaits } from './recent-waits.js';
import type { RequestEnds } from './request-ends.js';
import type { Task } from './work.js';

const DropCode = SharedDropCode;

/** GivingUpParts holds the parts of GivingUp. */
export interface GivingUpParts {
  readonly ends: RequestEnds;
  readonly expected: ExpectedEnd;
  readonly waits: RecentWaits;
  readonly queues: Queues;
}

/** GivingUp drops requests whose tasks are about to be executed although it is too late for them (PARD §4.2). */
export class GivingUp {
  constructor(
    private readonly rule: DroppingRule,
    private readonly parts: GivingUpParts,
  ) {}

  /** drops gives up those requests of a batch that would begin now for which it is too late, and returns whether there were any. */
  drops(
    at: number,
    tasks: readonly Task[],
    { endNs, pool }: { readonly endNs: number; readonly pool: number },
  ): boolean {
    if (this.rule.kind === 'never') return false;
    const { ends, expected, waits, queues } = this.parts;
    let isAny = false;
    for (const task of tasks) {
      const { request } = task;
      if (request.isSettled || request.deadlineNs === Number.POSITIVE_INFINITY) continue;
      const { deadlineNs } = request;
      const mayBeInTime =
        this.rule.kind === 'expired'
          ? at <= deadlineNs
          : expected.isBy(deadlineNs, { at, request, batch: { tasks, endNs } });
      if (mayBeInTime) continue;
      // Its wait so far counts, because otherwise only short waits would ever be measured.
      for (const task of tasks) if (task.request === request) waits.over(at, task);
      if (this.rule.kind === 'end-to-end') queues.gaveUp(at);
      ends.drop(request, DropCode.deadline, pool);
      isAny = true;
    }
    return isAny;
  }
}
