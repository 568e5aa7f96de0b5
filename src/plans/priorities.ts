import { type Fault, fault, type PlanServing } from '../formats/index.js';
import { MOST_LEVELS } from '../serving/index.js';

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

/** WeighedApplication is an application of a pipeline, with how much a drop of one of its requests weighs: 1 where absent. */
export interface WeighedApplication {
  readonly weight?: number | undefined;
}

/** areWeighed returns whether requests of some applications weigh more than those of others. */
export function areWeighed(applications: readonly WeighedApplication[] = []): boolean {
  return new Set(applications.map(({ weight = 1 }) => weight)).size > 1;
}

/**
 * levelFaults refuses priorities whose weights, times those of the applications, are more than a scheduler distinguishes, whatever
 * requests come. No fault is found without priorities, since there are no more applications than it distinguishes.
 */
export function levelFaults(
  priorities: PlanServing['priorities'],
  applications: readonly WeighedApplication[] = [{}],
): Fault[] {
  if (priorities === undefined) return [];
  // A request may have a priority that is not among them.
  const byPriority = [1, ...Object.values(priorities)];
  const all = applications.flatMap(({ weight = 1 }) => byPriority.map((one) => one * weight));
  const different = [...new Set(all)].sort((a, b) => a - b);
  if (different.length <= MOST_LEVELS) return [];
  return [
    fault(
      `gives requests ${different.length} different weights, times those of the applications: ${different.join(', ')}; a scheduler tells ${MOST_LEVELS} apart: give more of them the same`,
      AT,
    ),
  ];
}

/** unweighedFaults say that a scheduler cannot weigh requests although a plan gives them weights. */
export function unweighedFaults(
  scheduler: string,
  priorities: PlanServing['priorities'],
  applications: readonly WeighedApplication[] = [],
): Fault[] {
  const because = `because ${scheduler} does not weigh requests with these choices: name room-first or pard as the scheduler`;
  return [
    ...(priorities === undefined ? [] : [fault(`has no effect, ${because}, or leave priorities out`, AT)]),
    ...(areWeighed(applications)
      ? [fault(`have weights without effect, ${because}, or leave weights out`, '/applications')]
      : []),
  ];
}
