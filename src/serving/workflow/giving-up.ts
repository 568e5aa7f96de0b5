import { DropCode as SharedDropCode } from '../decisions.js';
import type { ExpectedEnd } from './expected-end.js';
import type { DroppingRule } from './policy.js';
import type { RequestEnds } from './request-ends.js';
import type { Task } from './work.js';

const DropCode = SharedDropCode;

/** GivingUp drops requests whose tasks are about to be executed although it is too late for them (PARD §4.2). */
export class GivingUp {
  constructor(
    private readonly rule: DroppingRule,
    private readonly ends: RequestEnds,
    private readonly expected: ExpectedEnd,
  ) {}

  /** drops gives up those requests of a batch that would begin now for which it is too late, and tells whether there were any. */
  drops(
    at: number,
    tasks: readonly Task[],
    { endNs, pool }: { readonly endNs: number; readonly pool: number },
  ): boolean {
    if (this.rule.kind === 'never') return false;
    let isAny = false;
    for (const { request } of tasks) {
      if (request.isSettled || request.deadlineNs === Number.POSITIVE_INFINITY) continue;
      const mayEndNs = this.rule.kind === 'expired' ? at : this.expected.of(at, request, { tasks, endNs });
      if (mayEndNs <= request.deadlineNs) continue;
      this.ends.drop(request, DropCode.deadline, pool);
      isAny = true;
    }
    return isAny;
  }
}
