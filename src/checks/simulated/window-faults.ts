import { largestOf, smallestOf } from '../../collections/index.js';
import { type Fault, fault, type SimulatedWindow, type SimulationReport } from '../../formats/index.js';
import { addedUp, givenFaults, isBetween, rangeFaults, shareFaults } from '../figures.js';
import { isScaled, isStaged } from './device-faults.js';
import { countedPartFaults, endedFaults, invalidFaults } from './request-faults.js';

/** simulatedWindowFaults finds where the windows of a run contradict themselves and the figures of the whole run. */
export function simulatedWindowFaults(report: SimulationReport, spanS: number | undefined): Fault[] {
  const { windows, overall } = report;
  if (windows === undefined) return [];
  const { seconds, rows } = windows;
  if (!(seconds > 0)) return [fault(`is ${seconds}; a window lasts some time`, '/windows/seconds')];
  const count = spanS === undefined ? rows.length : Math.max(1, Math.ceil(spanS / seconds - 1e-9));
  const faults = [
    ...(rows.length === count
      ? []
      : [fault(`are ${rows.length}, and a run of ${spanS} s has ${count} of ${seconds} s`, '/windows/rows')]),
    ...rows.flatMap((row, i) =>
      rowFaults(row, {
        at: `/windows/rows/${i}`,
        report,
        fromS: i * seconds,
        longS: spanS === undefined ? undefined : Math.min(seconds, spanS - i * seconds),
      }),
    ),
  ];
  if (faults.length > 0) return faults;
  const counts = countedPartFaults(overall, rows, 'windows');
  return counts.length > 0
    ? counts
    : [...latencyTogether(rows, report), ...devicesTogether(rows, report, spanS)];
}

interface RowOf {
  readonly at: string;
  readonly report: SimulationReport;
  readonly fromS: number;
  readonly longS: number | undefined;
}

function rowFaults(row: SimulatedWindow, { at, report, fromS, longS }: RowOf): Fault[] {
  const { arrived, inTime, late, dropped, failed, utilisation, attainments, batches, inUse } = row;
  const ended = inTime + late + dropped + failed;
  const { classes, models, pools, complete } = report;
  const largest = largestOf(pools.map(({ batch }) => batch));
  return [
    ...givenFaults(row.fromS, fromS, `${at}/fromS`),
    ...(complete ? endedFaults(row, at) : []),
    ...givenFaults(row.attainment, ended === 0 ? undefined : inTime / ended, `${at}/attainment`),
    ...invalidFaults(row, at),
    ...(longS === undefined
      ? []
      : [
          ...givenFaults(row.offeredRps, arrived / longS, `${at}/offeredRps`),
          ...givenFaults(row.goodputRps, inTime / longS, `${at}/goodputRps`),
        ]),
    ...(batches > 0 || row.meanBatch === undefined ? [] : [fault('is of no batch', `${at}/meanBatch`)]),
    ...(batches === 0
      ? []
      : rangeFaults(row.meanBatch, [1, largest], { at: `${at}/meanBatch`, by: 'the pools' })),
    ...listFaults(utilisation, Object.keys(classes).length, `${at}/utilisation`),
    ...listFaults(attainments, models.length, `${at}/attainments`),
    ...(models.length === 1 && (attainments[0] ?? undefined) !== row.attainment
      ? [fault('is not that of the only model', `${at}/attainments/0`)]
      : []),
    ...(ended === 0 || row.attainment === undefined || attainments.every((one) => one === null)
      ? []
      : rangeFaults(row.attainment, rangeOf(attainments.filter((one) => one !== null)), {
          at: `${at}/attainments`,
          by: 'the models',
        })),
    ...(inUse ?? []).flatMap((devices, p) => {
      const { least = 0, most = Number.POSITIVE_INFINITY } = pools[p]?.inUse ?? {};
      return rangeFaults(devices, [least, most], { at: `${at}/inUse/${p}`, by: 'the pools' });
    }),
    ...rowLatencyFaults(row, { at, isGraph: isStaged(pools) }),
  ];
}

const rangeOf = (values: readonly number[]): [number, number] => [smallestOf(values), largestOf(values)];

function listFaults(shares: readonly (number | null)[], count: number, at: string): Fault[] {
  if (shares.length !== count) return [fault(`has ${shares.length} entries, and there are ${count}`, at)];
  return shares.flatMap((share, i) => shareFaults(share, `${at}/${i}`));
}

function rowLatencyFaults(
  { latencyMs, splitMs, inTime, late }: SimulatedWindow,
  { at, isGraph }: { readonly at: string; readonly isGraph: boolean },
): Fault[] {
  const answered = inTime + late;
  if (answered === 0)
    return Object.entries({ latencyMs, splitMs }).flatMap(([name, value]) =>
      value === undefined ? [] : [fault('is of requests, and none was answered', `${at}/${name}`)],
    );
  if (latencyMs === undefined || splitMs === undefined)
    return [fault('lacks its latencies, although requests were answered', at)];
  const { mean, p50, p99, max } = latencyMs;
  const half = Math.ceil(answered / 2 - 1e-9);
  const last = Math.ceil(0.99 * answered - 1e-9);
  // Percentiles may be the middles of buckets.
  const off = 1 / 256;
  const least = ((answered - half) * p50 + p50) / answered;
  const most = (half * p50 + (last - half) * p99 + (answered - last) * max) / answered;
  const sum = splitMs.queueing + splitMs.transfer + splitMs.compute;
  return [
    ...(0 <= p50 && p50 <= p99 && p99 <= max ? [] : [fault('has percentiles that fall', `${at}/latencyMs`)]),
    ...(last === answered && p99 !== max
      ? [fault(`is ${p99}, and the longest of so few is ${max}`, `${at}/latencyMs/p99`)]
      : []),
    ...rangeFaults(mean, [least * (1 - off) - max / answered, most * (1 + off)], {
      at: `${at}/latencyMs/mean`,
      by: 'the percentiles',
    }),
    ...Object.entries(splitMs).flatMap(([part, ms]) =>
      ms >= 0 ? [] : [fault(`is ${ms}, less than 0`, `${at}/splitMs/${part}`)],
    ),
    ...(isBetween(sum, mean, isGraph ? Number.POSITIVE_INFINITY : mean)
      ? []
      : [fault(`sum to ${sum}, and the mean latency is ${mean}`, `${at}/splitMs`)]),
  ];
}

/** latencyTogether compares the latencies of windows with those of the whole run. */
function latencyTogether(rows: readonly SimulatedWindow[], { overall }: SimulationReport): Fault[] {
  const { latencyMs, splitMs } = overall;
  if (latencyMs === undefined || splitMs === undefined) return [];
  const answered = rows.filter((row) => row.latencyMs !== undefined);
  const weighed = (of: (row: SimulatedWindow) => number) =>
    addedUp(answered.map((row) => (row.inTime + row.late) * of(row))) / latencyMs.count;
  const longest = largestOf(answered.map((row) => row.latencyMs?.max ?? 0));
  const near = (value: number, at: string, follows: number) =>
    Math.abs(value - follows) <= 1e-7 * Math.max(1e-3, Math.abs(follows))
      ? []
      : [fault(`is ${value}, and by the windows it is ${follows}`, at)];
  return [
    ...near(
      latencyMs.mean,
      '/overall/latencyMs/mean',
      weighed((row) => row.latencyMs?.mean ?? 0),
    ),
    ...near(latencyMs.max, '/overall/latencyMs/max', longest),
    ...(['transfer', 'compute', 'queueing'] as const).flatMap((part) =>
      near(
        splitMs[part].mean,
        `/overall/splitMs/${part}/mean`,
        weighed((row) => row.splitMs?.[part] ?? 0),
      ),
    ),
  ];
}

/** devicesTogether compares the batches and busy times of windows with those of the whole run. */
function devicesTogether(
  rows: readonly SimulatedWindow[],
  { classes, pools, windows }: SimulationReport,
  spanS: number | undefined,
): Fault[] {
  const batches = addedUp(rows.map((row) => row.batches));
  const all = addedUp(pools.map((pool) => pool.batches));
  const requests = addedUp(rows.map((row) => row.batches * (row.meanBatch ?? 0)));
  const most = addedUp(pools.map((pool) => pool.requests));
  const faults = [
    ...(batches <= all ? [] : [fault(`sum to ${batches}, and the pools executed ${all}`, '/windows/rows')]),
    ...(requests <= most * (1 + 1e-9)
      ? []
      : [fault(`have ${requests} requests in batches, and the pools ${most}`, '/windows/rows')]),
  ];
  if (faults.length > 0 || spanS === undefined || isScaled(pools)) return faults;
  const seconds = windows?.seconds ?? spanS;
  return Object.entries(classes).flatMap(([name, { busyGpuS, gpus }], c) => {
    const busy = addedUp(
      rows.map((row, i) => (row.utilisation[c] as number) * gpus * Math.min(seconds, spanS - i * seconds)),
    );
    if (Math.abs(busy - busyGpuS) <= 1e-7 * Math.max(1e-3, busy)) return [];
    return [fault(`is ${busyGpuS}, and by the windows it is ${busy}`, `/classes/${name}/busyGpuS`)];
  });
}
