import type { LongestPath } from '../formats/index.js';
import type { StageGraph } from '../plans/index.js';

/** PathTimes says how long stages and edges take. */
export interface PathTimes {
  readonly stageUs: (stage: number) => number;
  readonly edgeUs: (stage: number, edge: number) => number;
}

/** longestPath finds the way through a graph that takes longest. A request can take any way: nothing excludes it. */
export function longestPath(
  { names, edges, order, entries }: StageGraph,
  { stageUs, edgeUs }: PathTimes,
): LongestPath {
  const restUs = names.map(() => 0);
  const next: (number | undefined)[] = names.map(() => undefined);
  for (const i of order.toReversed()) {
    let after = 0;
    (edges[i] ?? []).forEach(({ to }, k) => {
      const us = edgeUs(i, k) + (restUs[to] as number);
      if (next[i] !== undefined && us <= after) return;
      after = us;
      next[i] = to;
    });
    restUs[i] = stageUs(i) + after;
  }
  const first = entries.reduce((best, i) => ((restUs[i] as number) > (restUs[best] as number) ? i : best));
  const stages: string[] = [];
  for (let i: number | undefined = first; i !== undefined; i = next[i]) stages.push(names[i] as string);
  return { stages, latencyUs: restUs[first] as number };
}
