import { planTopologyOf } from '../../../src/plans/index.js';
import type { TraceWorkload } from '../../../src/simulation/index.js';
import { watchedRun } from '../watched-run.js';
import { type PardWorkload, pardWorkload } from '../workloads.js';
import { deviationOf, meanOf, quantileOf, type Section, type Settings } from './section.js';
import { type Passed, StageTimes } from './stage-times.js';

type Table = Section['tables'][number];

/** The requests of Fig. 12d. */
const CONSECUTIVE = 100;
/** A burst is so long, around the highest rate over 5 s. */
const BURST_S = 20;
const NS_PER_MS = 1e6;
const SHARES = [0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99];

/** parts shows where the latency of requests to lv-tweet goes (Fig. 12), with the seed 0. */
export async function parts({ seconds }: Settings): Promise<Section> {
  const asked = await pardWorkload({ application: 'lv', trace: 'tweet', durationS: seconds });
  const names = planTopologyOf(asked.plan, { transfers: 'links', rules: 'own' }).pools.map(
    (_, pool) => asked.plan.stages[pool]?.name ?? `${pool}`,
  );
  const pard = watched(asked, 'pard', names.length);
  const fcfs = watched(asked, 'pard-fcfs', names.length);
  return {
    tables: [
      consumed(pard, names, seconds),
      sums(pard),
      inBurst({ pard, fcfs }, burstOf(asked.workload), names),
      remaining(pard, names, asked.plan.sloMs),
    ],
  };
}

function watched(asked: PardWorkload, scheduler: string, pools: number): StageTimes {
  const times = new StageTimes(pools, asked.plan.sloMs * NS_PER_MS);
  watchedRun(asked, { scheduler }, times);
  return times;
}

/** consumed shows the latency budget that requests in time spent at each stage (Fig. 12a). */
function consumed({ inTime }: StageTimes, names: readonly string[], seconds: number): Table {
  const spentMs = (one: Passed, pool: number) =>
    ((one.queueing[pool] as number) + (one.wait[pool] as number) + (one.duration[pool] as number)) /
    NS_PER_MS;
  const lines = names.map((name, pool) => {
    const all = inTime.map((one) => spentMs(one, pool)).sort((a, b) => a - b);
    const means = inWindows(inTime, seconds, (one) => spentMs(one, pool));
    return [
      name,
      ...[meanOf(all), quantileOf(all, 0.5), quantileOf(all, 0.99)].map(ms),
      ...[Math.min(...means), Math.max(...means)].map(ms),
    ];
  });
  return {
    said: `Latency budget (ms) that ${inTime.length} requests in time spent at each stage, and the least and the largest mean over 10 s (Fig. 12a).`,
    lines: [['stage', 'mean', 'p50', 'p99', 'least 10 s', 'largest 10 s'], ...lines],
  };
}

function inWindows(inTime: readonly Passed[], seconds: number, figureOf: (one: Passed) => number): number[] {
  const values: number[][] = Array.from({ length: Math.ceil(seconds / 10) }, () => []);
  for (const one of inTime) values[Math.floor(one.sentNs / 1e10)]?.push(figureOf(one));
  return values.filter((of) => of.length > 0).map(meanOf);
}

/** sums shows how queueing delays, batch waits and durations of whole requests are distributed (Fig. 12b). */
function sums({ inTime }: StageTimes): Table {
  const lines = (['queueing', 'wait', 'duration'] as const).map((part) => {
    const all = inTime
      .map((one) => one[part].reduce((sum, ns) => sum + ns, 0) / NS_PER_MS)
      .sort((a, b) => a - b);
    return [
      PART_NAMES[part],
      ...SHARES.map((share) => ms(quantileOf(all, share))),
      ...[meanOf(all), deviationOf(all)].map(ms),
    ];
  });
  return {
    said: 'Sums over all stages (ms) of the requests in time: quantiles, mean and standard deviation (Fig. 12b).',
    lines: [['sum of', ...SHARES.map((share) => `p${100 * share}`), 'mean', 'deviation'], ...lines],
  };
}

const PART_NAMES = { queueing: 'queueing delays', wait: 'batch waits', duration: 'durations' };

/** burstOf is from when to when the rate of a trace is highest. */
function burstOf({ sources }: TraceWorkload): readonly [fromNs: number, toNs: number] {
  const trace = sources[0]?.trace;
  const counts = trace?.kind === 'counts' ? trace.counts : new Float64Array(1);
  let highest = 0;
  let peakS = 0;
  for (let s = 0; s + 5 <= counts.length; s++) {
    const sum = counts.subarray(s, s + 5).reduce((all, one) => all + one, 0);
    if (sum > highest) [highest, peakS] = [sum, s + 2.5];
  }
  return [1e9 * (peakS - BURST_S / 2), 1e9 * (peakS + BURST_S / 2)];
}

/** inBurst shows how long tasks queued before they were put into a batch, in the highest burst (Fig. 12c). */
function inBurst(
  of: { readonly pard: StageTimes; readonly fcfs: StageTimes },
  [fromNs, toNs]: readonly [number, number],
  names: readonly string[],
): Table {
  const queueingMs = ({ collects }: StageTimes, pool: number) => {
    const all = collects.filter((one) => one.pool === pool && one.atNs >= fromNs && one.atNs < toNs);
    return meanOf(all.map(({ queuedNs }) => queuedNs / NS_PER_MS));
  };
  const rows = names.map((name, pool) => ({
    name,
    pard: queueingMs(of.pard, pool),
    fcfs: queueingMs(of.fcfs, pool),
  }));
  const sumOf = (which: 'pard' | 'fcfs') => rows.reduce((sum, row) => sum + row[which], 0);
  const all = [...rows, { name: 'all', pard: sumOf('pard'), fcfs: sumOf('fcfs') }];
  return {
    said: `Mean queueing delay (ms) from second ${(fromNs / 1e9).toFixed(1)} to ${(toNs / 1e9).toFixed(1)}, where the rate is highest (Fig. 12c).`,
    lines: [['stage', 'pard', 'pard-fcfs'], ...all.map(({ name, pard, fcfs }) => [name, ms(pard), ms(fcfs)])],
  };
}

/** remaining shows what was left of the SLO of consecutive requests when they came to the stages 2 and 3 (Fig. 12d). */
function remaining({ came }: StageTimes, names: readonly string[], sloMs: number): Table {
  const lines = [1, 2].map((pool) => {
    const all = came[pool] as StageTimes['came'][number];
    const first = all.findIndex(({ atNs }) => atNs >= 60e9);
    const left = all.slice(first, first + CONSECUTIVE).map(({ leftNs }) => leftNs / NS_PER_MS);
    const figures = [meanOf(left), deviationOf(left), Math.min(...left), Math.max(...left)];
    return [names[pool] as string, ...figures.map(ms), correlation(left).toFixed(2)];
  });
  return {
    said: `Remaining budget (ms, of ${sloMs}) of ${CONSECUTIVE} consecutive requests from second 60 on, when they come to the stage, and its correlation with their order (Fig. 12d).`,
    lines: [['stage', 'mean', 'deviation', 'least', 'most', 'correlation'], ...lines],
  };
}

/** correlation is that of values with their places. */
function correlation(values: readonly number[]): number {
  const places = values.map((_, i) => i);
  const [x, y] = [meanOf(places), meanOf(values)];
  const together = meanOf(values.map((value, i) => (i - x) * (value - y)));
  return together / (deviationOf(places) * deviationOf(values));
}

function ms(value: number): string {
  return value.toFixed(1);
}
