import { largestOf, smallestOf } from '../../collections/index.js';
import {
  type Fault,
  fault,
  type LargestLoad,
  type SimulationSweep,
  type SweptPoint,
} from '../../formats/index.js';
import { isBetween, rangeFaults, shareFaults } from '../figures.js';
import { executionFaults } from './load-faults.js';

/** The largest load is found in steps of 1/100. */
const STEP = 0.01;
const NEAR = 1e-9;
/** Random counts are believed within this many standard deviations, and this many requests. */
const DEVIATIONS = 8;
const MORE_REQUESTS = 8;

/**
 * simulationSweepFaults finds where a sweep of loads contradicts itself: in the shares, rates and counts of its points, in rates
 * that do not follow the load factors, and in the largest loads, which follow from the points and the target.
 */
export function simulationSweepFaults(sweep: SimulationSweep): Fault[] {
  const { target, workload, points, models } = sweep;
  const first = [
    ...(workload.durationS > 0
      ? []
      : [fault(`is ${workload.durationS}; a run lasts some time`, '/workload/durationS')]),
    ...(target > 0 ? shareFaults(target, '/target') : [fault(`is ${target}`, '/target')]),
    ...executionFaults(sweep.execution),
    ...points.flatMap((point, i) => [
      ...(point.loadFactor > (points[i - 1]?.loadFactor ?? 0)
        ? []
        : [fault(`is ${point.loadFactor}, and the point before is as large`, `/points/${i}/loadFactor`)]),
      ...pointFaults(point, sweep, `/points/${i}`),
    ]),
  ];
  if (first.length > 0) return first;
  return [
    ...offeredFaults(sweep),
    ...largestFaults(sweep.largest, sweep, { at: '', attainmentOf: (point) => point.attainment }),
    ...models.flatMap(({ largest }, m) =>
      largestFaults(largest, sweep, {
        at: `/models/${m}`,
        attainmentOf: (point) => point.attainments[m] ?? undefined,
      }),
    ),
  ];
}

function pointFaults(point: SweptPoint, { models, workload }: SimulationSweep, at: string): Fault[] {
  const { attainment, dropRate, invalidRate, offeredRps, goodputRps, late, p99Ms, attainments } = point;
  const known = attainments.filter((one) => one !== null);
  const faults = [
    ...shareFaults(attainment, `${at}/attainment`),
    ...shareFaults(dropRate, `${at}/dropRate`),
    ...shareFaults(invalidRate, `${at}/invalidRate`),
    ...attainments.flatMap((one, m) => shareFaults(one, `${at}/attainments/${m}`)),
    ...(offeredRps >= 0 ? [] : [fault(`is ${offeredRps}, less than 0`, `${at}/offeredRps`)]),
    ...(p99Ms === undefined || p99Ms >= 0 ? [] : [fault(`is ${p99Ms}, less than 0`, `${at}/p99Ms`)]),
    ...(attainments.length === models.length
      ? []
      : [fault(`are ${attainments.length}, of ${models.length} models`, `${at}/attainments`)]),
  ];
  if (faults.length > 0) return faults;
  if (attainment === undefined || dropRate === undefined)
    return offeredRps === 0 ? [] : [fault('has no attainment, and requests came', at)];
  // All that arrive are served to their end.
  const arrived = offeredRps * workload.durationS;
  const isCounted = workload.arrivals !== 'trace';
  return [
    ...rangeFaults(goodputRps, [attainment * offeredRps, attainment * offeredRps], {
      at: `${at}/goodputRps`,
      by: 'the attainment',
    }),
    ...(attainment + dropRate <= 1 + NEAR
      ? []
      : [fault(`is ${dropRate}, and ${attainment} were in time`, `${at}/dropRate`)]),
    ...(known.length === 0
      ? []
      : rangeFaults(attainment, [smallestOf(known), largestOf(known)], {
          at: `${at}/attainment`,
          by: 'the models',
        })),
    ...(dropRate > 0 || (invalidRate ?? 0) === 0
      ? []
      : [fault(`is ${invalidRate}, and no request was dropped or late`, `${at}/invalidRate`)]),
    ...(isCounted ? countFaults({ arrived, attainment, dropRate, late }, at) : []),
    ...(late !== undefined && (!Number.isInteger(late) || late < 0)
      ? [fault(`is ${late}, which counts no requests`, `${at}/late`)]
      : []),
  ];
}

function countFaults(
  {
    arrived,
    attainment,
    dropRate,
    late = 0,
  }: {
    readonly arrived: number;
    readonly attainment: number;
    readonly dropRate: number;
    readonly late?: number | undefined;
  },
  at: string,
): Fault[] {
  const counts = { offeredRps: arrived, attainment: attainment * arrived, dropRate: dropRate * arrived };
  return [
    ...Object.entries(counts).flatMap(([name, count]) =>
      Math.abs(count - Math.round(count)) <= 1e-6 * Math.max(1, count)
        ? []
        : [fault(`gives ${count} requests, which is no whole number`, `${at}/${name}`)],
    ),
    ...(late <= dropRate * arrived + 1e-6 * Math.max(1, arrived)
      ? []
      : [fault(`is ${late}, and ${dropRate * arrived} were dropped or late`, `${at}/late`)]),
  ];
}

/** offeredFaults finds points whose rates are not to one another as their load factors. */
function offeredFaults({ points, workload }: SimulationSweep): Fault[] {
  const { durationS, arrivals, cv = 1 } = workload;
  const all = points.reduce((sum, { offeredRps }) => sum + offeredRps, 0);
  const factors = points.reduce((sum, { loadFactor }) => sum + loadFactor, 0);
  if (arrivals === 'trace' || points.length < 2) return [];
  return points.flatMap(({ offeredRps, loadFactor }, i) => {
    const others = (all - offeredRps) / (factors - loadFactor);
    const expected = others * loadFactor * durationS;
    // Both the point and the others that it is compared with are random.
    const spread =
      Math.max(1, cv) * (Math.sqrt(expected) + expected / Math.sqrt((all - offeredRps) * durationS || 1));
    const off = DEVIATIONS * spread + MORE_REQUESTS;
    if (Math.abs(offeredRps * durationS - expected) <= off) return [];
    return [
      fault(
        `is ${offeredRps} at a load factor of ${loadFactor}, and the other points give ${others * loadFactor}`,
        `/points/${i}/offeredRps`,
      ),
    ];
  });
}

function largestFaults(
  largest: LargestLoad | undefined,
  { points, target, complete }: SimulationSweep,
  {
    at,
    attainmentOf,
  }: { readonly at: string; readonly attainmentOf: (point: SweptPoint) => number | undefined },
): Fault[] {
  const last = points.findLastIndex((point) => (attainmentOf(point) ?? 0) >= target);
  const found = points[last];
  const above = points[last + 1];
  if (largest === undefined)
    return found === undefined
      ? []
      : [fault(`is missing, and ${found.loadFactor} reaches ${target}`, `${at}/largest`)];
  if (found === undefined) return [fault(`is given, and no point reaches ${target}`, `${at}/largest`)];
  return [
    ...rangeFaults(largest.loadFactor, [found.loadFactor, found.loadFactor], {
      at: `${at}/largest/loadFactor`,
      by: 'the points',
    }),
    ...(largest.atLeast === (above === undefined)
      ? []
      : [
          fault(
            `is ${largest.atLeast}, and a larger load was ${above === undefined ? 'not ' : ''}tried`,
            `${at}/largest/atLeast`,
          ),
        ]),
    ...(!complete ||
    above === undefined ||
    isBetween(above.loadFactor, found.loadFactor, found.loadFactor + STEP + NEAR)
      ? []
      : [
          fault(
            `is ${largest.loadFactor}, and up to ${above.loadFactor} none was tried`,
            `${at}/largest/loadFactor`,
          ),
        ]),
  ];
}
