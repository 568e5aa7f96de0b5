import type { OfflineProblem } from '../../../../bench/pard/oracle/problem.js';

/**
 * mostByBruteForce finds the most requests in time without a clock: for every set of requests that may be served it tries
 * every list of batches for every worker, stage after stage, and adds up when each batch can begin at the earliest.
 * It knows no dominance, and a set counts only if all of it is in time.
 */
export function mostByBruteForce(problem: OfflineProblem): number {
  const n = problem.arrivalNs.length;
  let most = 0;
  for (let set = 1; set < 1 << n; set++) {
    const served = Array.from({ length: n }, (_, r) => r).filter((r) => (set >> r) & 1);
    if (served.length > most && canServe(problem, served)) most = served.length;
  }
  return most;
}

function canServe(problem: OfflineProblem, served: readonly number[]): boolean {
  const { stages, routes, routeOf, arrivalNs, deadlineNs } = problem;
  const ended = stages.map(() => new Map<number, number>());
  const route = (r: number) => routes[routeOf[r]!]!;
  const readyAt = (r: number, k: number): number =>
    Math.max(
      arrivalNs[r]!,
      ...route(r).edges.flatMap(({ from, to }) => (to === k ? [ended[from]!.get(r)!] : [])),
    );
  const stageFrom = (k: number): boolean => {
    if (k === stages.length) return true;
    const { latencyNs, workers } = stages[k]!;
    const here = served.filter((r) => route(r).stages.includes(k));
    // The batches of one worker are listed after those of the worker before it.
    const put = (left: readonly number[], worker: number, freeNs: number): boolean => {
      if (left.length === 0) return stageFrom(k + 1);
      if (worker + 1 < workers.count[0]! && freeNs > 0 && put(left, worker + 1, 0)) return true;
      return subsets(left, latencyNs.length).some((batch) => {
        const end = Math.max(freeNs, ...batch.map((r) => readyAt(r, k))) + latencyNs[batch.length - 1]!;
        if (batch.some((r) => end > deadlineNs[r]!)) return false;
        for (const r of batch) ended[k]!.set(r, end);
        return put(
          left.filter((r) => !batch.includes(r)),
          worker,
          end,
        );
      });
    };
    return put(here, 0, 0);
  };
  return stageFrom(0);
}

/** subsets lists all sets of one up to so many members. */
function subsets(of: readonly number[], most: number): number[][] {
  const found: number[][] = [];
  for (let set = 1; set < 1 << of.length; set++) {
    const members = of.filter((_, i) => (set >> i) & 1);
    if (members.length <= most) found.push(members);
  }
  return found;
}
