import type { Configuration, PlanningProblem } from '../../src/inferline/problem.js';

/**
 * everyConfiguration lists every configuration of a problem that its counts and its load allow, with its cost.
 * @param most the most replicas of a stage that are tried
 */
export function* everyConfiguration(
  { stages, counts, load }: PlanningProblem,
  most: number,
): Generator<{ tried: Configuration; cost: number }> {
  /** Whether full batches serve as many requests a second as come, of those that visit the stage. */
  const keepsUp = (stage: number, replicas: number, rowNs: number): boolean =>
    load === undefined || load.rps * load.visits[stage]! * rowNs <= 1e9 * replicas * (1 + 1e-9);
  const options = stages.map(({ candidates, replicas: fixed }, stage) =>
    candidates.flatMap(({ batches, hourlyCost, device, latencyNs }, candidate) =>
      batches.flatMap((batch) =>
        (fixed === undefined ? Array.from({ length: most }, (_, k) => k + 1) : [fixed])
          .filter((replicas) => keepsUp(stage, replicas, latencyNs[batch - 1]! / batch))
          .map((replicas) => ({ candidate, batch, replicas, device, cost: replicas * hourlyCost })),
      ),
    ),
  );
  if (options.some(({ length }) => length === 0)) return;
  const chosen = options.map(() => 0);
  for (;;) {
    const all = chosen.map((k, i) => options[i]?.[k] as (typeof options)[number][number]);
    const isAllowed = Object.entries(counts).every(
      ([name, count]) => all.reduce((sum, one) => sum + (one.device === name ? one.replicas : 0), 0) <= count,
    );
    const column = (of: (one: (typeof all)[number]) => number): Int32Array => Int32Array.from(all, of);
    const tried = {
      candidate: column((one) => one.candidate),
      batch: column((one) => one.batch),
      replicas: column((one) => one.replicas),
    };
    if (isAllowed) yield { tried, cost: all.reduce((sum, one) => sum + one.cost, 0) };
    let i = 0;
    while (i < chosen.length && ++(chosen[i] as number) === options[i]?.length) chosen[i++] = 0;
    if (i === chosen.length) return;
  }
}
