import type { OfflineStage } from '../../../../bench/pard/oracle/problem.js';

/** Window is when a request may be served. */
export interface Window {
  readonly fromNs: number;
  readonly untilNs: number;
}

/**
 * servedAsFluid serves requests by the earliest deadline at a stage whose workers are one fluid, and gives how much of them
 * it serves. A served half counts as a half. This is the most that such a fluid can serve.
 */
export function servedAsFluid({ latencyNs, workers }: OfflineStage, windows: readonly Window[]): number {
  const perRequestNs = Math.min(...latencyNs.map((ns, i) => ns / (i + 1)));
  const left = windows.map(() => 1);
  const instants = [...windows.flatMap(({ fromNs, untilNs }) => [fromNs, untilNs]), ...workers.fromNs].sort(
    (a, b) => a - b,
  );
  let served = 0;
  for (let i = 0; i + 1 < instants.length; i++) {
    const [now, next] = [instants[i]!, instants[i + 1]!];
    const step = workers.fromNs.findLastIndex((ns) => ns <= now);
    let fluid = ((next - now) * workers.count[Math.max(0, step)]!) / perRequestNs;
    const open = windows.flatMap(({ fromNs, untilNs }, r) => (fromNs <= now && untilNs >= next ? [r] : []));
    for (const r of open.sort((a, b) => windows[a]!.untilNs - windows[b]!.untilNs)) {
      const part = Math.min(fluid, left[r]!);
      left[r]! -= part;
      fluid -= part;
      served += part;
    }
  }
  return served;
}
