import { largestOf, smallestOf } from '../../collections/index.js';
import {
  type ComparedApplication,
  type ComparedFigure,
  type ComparedScheduler,
  type Fault,
  fault,
  type SchedulerComparison,
} from '../../formats/index.js';
import { addedUp, givenFaults, rangeFaults, shareFaults } from '../figures.js';
import { intervalFaults } from './interval-faults.js';
import { executionFaults, workloadFaults } from './load-faults.js';

const NEAR = 1e-9;
/** Of Poisson arrivals, a window in which so many are expected has none with a probability of e⁻⁶⁴. */
const FILLING_REQUESTS = 64;

/**
 * schedulerComparisonFaults finds where a comparison of schedulers contradicts itself: in intervals that do not lie around their
 * means, shares, percentiles and windows that cannot be true together, and rates that other requests give than all rows had.
 */
export function schedulerComparisonFaults(comparison: SchedulerComparison): Fault[] {
  const { rows, runs, confidence, percentileError, skipped, priorities = [], workload } = comparison;
  const names = [...rows.map(({ scheduler }) => scheduler), ...skipped.map(({ scheduler }) => scheduler)];
  const first = [
    ...workloadFaults(workload),
    ...executionFaults(comparison.execution),
    ...(Number.isInteger(runs) && runs >= 0 && runs > 0 === rows.length > 0
      ? []
      : [fault(`is ${runs}, and there are ${rows.length} rows`, '/runs')]),
    ...(confidence === (runs > 1 ? 0.95 : undefined)
      ? []
      : [fault(`is ${confidence ?? 'missing'}, of ${runs} runs`, '/confidence')]),
    ...([0, 1 / 512].includes(percentileError) ? [] : [fault(`is ${percentileError}`, '/percentileError')]),
    ...names.flatMap((name, i) => (names.indexOf(name) === i ? [] : [fault(`names ${name} twice`, '/rows')])),
    ...(priorities.length === 0
      ? []
      : givenFaults(addedUp(priorities.map(({ share }) => share)), 1, '/priorities')),
    ...priorities.flatMap(({ share, weight, priority }, i) => [
      ...shareFaults(share, `/priorities/${i}/share`),
      ...(weight > 0 ? [] : [fault(`is ${weight}; a priority weighs something`, `/priorities/${i}/weight`)]),
      ...(priorities.findIndex((one) => one.priority === priority) === i
        ? []
        : [fault(`is ${priority}, as another is`, `/priorities/${i}/priority`)]),
    ]),
    ...workload.models.flatMap(({ rps, loadFactor }, m) =>
      rps >= 0 && loadFactor >= 0 && rps > 0 === loadFactor > 0
        ? []
        : [fault(`is ${loadFactor}, of ${rps} requests/s`, `/workload/models/${m}/loadFactor`)],
    ),
  ];
  if (first.length > 0) return first;
  const ofRows = rows.flatMap((row, r) => rowFaults(row, comparison, `/rows/${r}`));
  return ofRows.length > 0 ? ofRows : sameRequestsFaults(comparison);
}

type Figures = Pick<
  ComparedApplication,
  | 'goodputRps'
  | 'attainment'
  | 'dropRate'
  | 'invalidRate'
  | 'meanMs'
  | 'p50Ms'
  | 'p95Ms'
  | 'p99Ms'
  | 'dropsByStage'
>;

const RATES = ['goodputRps', 'meanMs', 'p50Ms', 'p95Ms', 'p99Ms'] as const;
/** Drops and attainments leave the room that the binomial bound asks for. */
const COUNTED = ['attainment', 'dropRate'] as const;

function figureFaults(figures: Figures, runs: number, at: string): Fault[] {
  const drops = figures.dropsByStage ?? {};
  const faults = [
    ...RATES.flatMap((name) => intervalFaults(figures[name], { at: `${at}/${name}`, runs, least: 0 })),
    ...COUNTED.flatMap((name) =>
      intervalFaults(figures[name], { at: `${at}/${name}`, runs, least: 0, most: 1, isShare: true }),
    ),
    ...intervalFaults(figures.invalidRate, { at: `${at}/invalidRate`, runs, least: 0, most: 1 }),
    ...Object.entries(drops).flatMap(([place, figure]) =>
      intervalFaults(figure, { at: `${at}/dropsByStage/${place}`, runs, least: 0, most: 1, isShare: true }),
    ),
  ];
  if (faults.length > 0) return faults;
  const { attainment, dropRate, invalidRate, p50Ms, p95Ms, p99Ms, meanMs } = figures;
  const dropped = addedUp(Object.values(drops).map(({ mean }) => mean));
  const ranks = [p50Ms, p95Ms, p99Ms].flatMap((one) => one?.mean ?? []);
  return [
    ...(attainment === undefined || dropRate === undefined
      ? []
      : rangeFaults(dropRate.mean, [dropped, 1 - attainment.mean], {
          at: `${at}/dropRate/mean`,
          by: 'drops and attainment',
        })),
    ...(dropRate?.mean === 0 && (invalidRate?.mean ?? 0) > 0
      ? [fault(`is ${invalidRate?.mean}, and no request was dropped or late`, `${at}/invalidRate/mean`)]
      : []),
    ...(ranks.every((value, i) => value >= (ranks[i - 1] ?? 0))
      ? []
      : [fault('has percentiles that fall', `${at}/p50Ms`)]),
    // Half of the requests take at least the median, and at most a twentieth more than the 95th percentile.
    ...(meanMs === undefined || p50Ms === undefined || meanMs.mean >= (p50Ms.mean / 2) * (1 - 1 / 128)
      ? []
      : [fault(`is ${meanMs.mean}, and half of the requests took ${p50Ms.mean}`, `${at}/meanMs/mean`)]),
  ];
}

function rowFaults(row: ComparedScheduler, comparison: SchedulerComparison, at: string): Fault[] {
  const { runs, workload, windowS } = comparison;
  const { worstWindows, applications = [], windows = [], weightedDropRate } = row;
  const faults = [
    ...figureFaults(row, runs, at),
    ...intervalFaults(weightedDropRate, {
      at: `${at}/weightedDropRate`,
      runs,
      least: 0,
      most: 1,
      isShare: true,
    }),
    ...applications.flatMap((one, i) => figureFaults(one, runs, `${at}/applications/${i}`)),
    ...worstWindows.flatMap((worst, i) => {
      const here = `${at}/worstWindows/${i}`;
      return [
        ...([1, 10, 60].includes(worst.seconds) &&
        worst.seconds <= workload.durationS * (1 + NEAR) &&
        worst.seconds > (worstWindows[i - 1]?.seconds ?? 0)
          ? []
          : [fault(`is ${worst.seconds}, of a run of ${workload.durationS} s`, `${here}/seconds`)]),
        ...intervalFaults(worst.leastGoodputRps, { at: `${here}/leastGoodputRps`, runs, least: 0 }),
        ...intervalFaults(worst.leastAttainment, { at: `${here}/leastAttainment`, runs, least: 0, most: 1 }),
        ...intervalFaults(worst.largestDropRate, { at: `${here}/largestDropRate`, runs, least: 0, most: 1 }),
      ];
    }),
    ...windows.flatMap((window, i) => {
      const here = `${at}/windows/${i}`;
      return [
        ...givenFaults(window.fromS, i * (windowS ?? 0), `${here}/fromS`),
        ...(['offeredRps', 'goodputRps', 'p99Ms'] as const).flatMap((name) =>
          intervalFaults(window[name], { at: `${here}/${name}`, runs, least: 0 }),
        ),
        ...(['attainment', 'dropRate', 'invalidRate'] as const).flatMap((name) =>
          intervalFaults(window[name], { at: `${here}/${name}`, runs, least: 0, most: 1 }),
        ),
      ];
    }),
  ];
  return faults.length > 0
    ? faults
    : [...worstFaults(row, comparison, at), ...partFaults(row, comparison, at)];
}

/** worstFaults finds worst windows that are better than the whole run, where whole windows make it up. */
function worstFaults(
  { worstWindows, goodputRps, attainment, dropRate }: ComparedScheduler,
  { workload }: SchedulerComparison,
  at: string,
): Fault[] {
  return worstWindows.flatMap(({ seconds, leastGoodputRps, leastAttainment, largestDropRate }, i) => {
    const here = `${at}/worstWindows/${i}`;
    const count = workload.durationS / seconds;
    if (Math.abs(count - Math.round(count)) > NEAR) return [];
    const by = 'the whole run';
    const isOnly = Math.round(count) === 1;
    // Windows without requests are left out, so that the worst of the others may be better than the whole run.
    const most = isFilled(workload, seconds) ? 1 : count;
    const least = (figure: ComparedFigure | undefined, times = 1): [number, number] => [
      isOnly ? (figure?.mean ?? 0) : 0,
      times * (figure?.mean ?? Number.POSITIVE_INFINITY),
    ];
    return [
      ...rangeFaults(leastGoodputRps?.mean, least(goodputRps, most), {
        at: `${here}/leastGoodputRps/mean`,
        by,
      }),
      ...rangeFaults(leastAttainment?.mean, least(attainment), { at: `${here}/leastAttainment/mean`, by }),
      ...rangeFaults(largestDropRate?.mean, [dropRate?.mean ?? 0, isOnly ? (dropRate?.mean ?? 1) : 1], {
        at: `${here}/largestDropRate/mean`,
        by,
      }),
    ];
  });
}

/**
 * isFilled says whether a given number of requests are expected in each window that none is without, but once in the
 * age of the universe.
 */
function isFilled({ arrivals, models, phases }: SchedulerComparison['workload'], seconds: number): boolean {
  const isEven = phases === undefined && (arrivals === 'poisson' || arrivals === 'uniform');
  return isEven && seconds * addedUp(models.map(({ rps }) => rps)) >= FILLING_REQUESTS;
}

/** partFaults finds applications and windows that are not together the whole run. */
function partFaults(
  row: ComparedScheduler,
  { workload, windowS = 0 }: SchedulerComparison,
  at: string,
): Fault[] {
  const { applications = [], windows = [], goodputRps, attainment } = row;
  const lengths = windows.map((_, i) => Math.min(windowS, workload.durationS - i * windowS));
  const served = addedUp(windows.map((window, i) => window.goodputRps.mean * (lengths[i] as number)));
  const shares = applications.flatMap((one) => one.attainment?.mean ?? []);
  return [
    ...(applications.length === 0
      ? []
      : givenFaults(
          goodputRps.mean,
          addedUp(applications.map((one) => one.goodputRps.mean)),
          `${at}/goodputRps/mean`,
        )),
    ...(applications.length === 0 || attainment === undefined || shares.length < applications.length
      ? []
      : rangeFaults(attainment.mean, [smallestOf(shares), largestOf(shares)], {
          at: `${at}/attainment/mean`,
          by: 'the applications',
        })),
    ...(windows.length === 0
      ? []
      : givenFaults(goodputRps.mean, served / workload.durationS, `${at}/goodputRps/mean`)),
    ...windows.flatMap((window, i) =>
      window.goodputRps.mean <= window.offeredRps.mean * (1 + NEAR)
        ? []
        : [
            fault(
              `is ${window.goodputRps.mean}, of ${window.offeredRps.mean} that came`,
              `${at}/windows/${i}/goodputRps/mean`,
            ),
          ],
    ),
  ];
}

/**
 * sameRequestsFaults finds rates that other requests give than all rows had: the goodput over the attainment, of one run exactly,
 * and the rate that was asked for.
 */
function sameRequestsFaults({ rows, runs, workload }: SchedulerComparison): Fault[] {
  const asked = addedUp(workload.models.map(({ rps }) => rps));
  const expected = asked * workload.durationS * Math.max(1, runs);
  // A trace that is cut by the duration has another rate than the whole.
  const isVaried =
    workload.arrivals === 'gamma' || workload.arrivals === 'trace' || workload.phases !== undefined;
  const off = (8 * Math.sqrt(expected) + 8) / (workload.durationS * Math.max(1, runs));
  const [first] = rows;
  return [
    ...rows.flatMap(({ goodputRps, attainment }, r) => {
      if (attainment === undefined || attainment.mean === 0) return [];
      const came = goodputRps.mean / attainment.mean;
      if (isVaried || Math.abs(came - asked) <= off * (1 + 1 / attainment.mean)) return [];
      return [
        fault(
          `is as if ${came} requests/s had come, and ${asked} were asked for`,
          `/rows/${r}/goodputRps/mean`,
        ),
      ];
    }),
    ...(runs === 1 && (first?.attainment?.mean ?? 0) > 0
      ? rows.flatMap(({ goodputRps, attainment }, r) => {
          const rps =
            ((first?.goodputRps.mean ?? 0) / (first?.attainment?.mean ?? 1)) * (attainment?.mean ?? 0);
          return rangeFaults(goodputRps.mean, [rps, rps], {
            at: `/rows/${r}/goodputRps/mean`,
            by: 'the attainments and the first row',
          });
        })
      : []),
    ...rows.flatMap(({ windows = [] }, r) =>
      windows.flatMap(({ offeredRps }, i) => {
        const same = first?.windows?.[i]?.offeredRps.mean ?? offeredRps.mean;
        return rangeFaults(offeredRps.mean, [same, same], {
          at: `/rows/${r}/windows/${i}/offeredRps/mean`,
          by: 'the first row',
        });
      }),
    ),
  ];
}
