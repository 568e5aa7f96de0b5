import { type Fault, fault, type PlanServing } from '../artifacts/index.js';

const AT = '/serving/priorities';

/** weightOfPriority is the weight of a request by what it sends as `priority`: that of the plan, and else 1. */
export function weightOfPriority(priorities: PlanServing['priorities'], priority: number): number {
  return priorities?.[priority] ?? 1;
}

/** priorityFaults finds weights that turn priorities round: a lower number is more urgent, and may not weigh less. */
export function priorityFaults(priorities: PlanServing['priorities'] = {}): Fault[] {
  const levels = Object.keys(priorities)
    .map(Number)
    .sort((a, b) => a - b);
  return levels.flatMap((level, i) => {
    const before = levels[i - 1];
    if (before === undefined) return [];
    const [more, less] = [priorities[before] as number, priorities[level] as number];
    if (more >= less) return [];
    return [
      fault(
        `gives priority ${level} the weight ${less}, and the more urgent priority ${before} only ${more}: a lower number is more urgent`,
        AT,
      ),
    ];
  });
}

/** unweighedFault says that a scheduler cannot weigh requests although a plan gives them weights. */
export function unweighedFault(scheduler: string): Fault {
  return fault(
    `has no effect, because ${scheduler} does not weigh requests with these choices: name room-first or pard as the scheduler, or leave priorities out`,
    AT,
  );
}
