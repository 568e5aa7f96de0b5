import { largestOf, smallestOf } from '../../collections/index.js';
import { type Fault, fault, type SimulatedRequests } from '../../formats/index.js';
import { addedUp, givenFaults, isBetween, rangeFaults, shareFaults } from '../figures.js';
import { inTimeBounds, latencyFaults, partLatencyFaults } from '../latency-faults.js';

/** Counted has what became of requests, of all or of those of a model, a priority or a window. */
export interface Counted {
  readonly arrived: number;
  readonly inTime: number;
  readonly late: number;
  readonly dropped: number;
  readonly failed: number;
}

const ENDS = ['inTime', 'late', 'dropped', 'failed'] as const;

/** Deadlines are whole nanoseconds, so that answers so near to an SLO may count as either. */
const NEAR_SLO = 1e-5;

/** RequestsOf says of what requests are, and over how many seconds. */
export interface RequestsOf {
  readonly at: string;
  /** Undefined where no request came, so that nothing says how long a run was. */
  readonly spanS: number | undefined;
  /** The share by which percentiles may be off. */
  readonly off: number;
  readonly sloMs?: number;
  /** isGraph says whether stages run side by side, whose times may add up to more than a request takes. */
  readonly isGraph: boolean;
  /**
   * isSplit says whether the report says where the time of requests went: not of workflows, whose tasks run
   * side by side.
   */
  readonly isSplit?: boolean;
}

/** endedFaults finds more or fewer outcomes than requests that arrived. */
export function endedFaults(counted: Counted & { readonly unfinished?: number }, at: string): Fault[] {
  const ended = addedUp(ENDS.map((end) => counted[end])) + (counted.unfinished ?? 0);
  return ended === counted.arrived
    ? []
    : [fault(`is ${counted.arrived}, and ${ENDS.join(' + ')} is ${ended}`, `${at}/arrived`)];
}

/** requestFaults finds where the figures of some simulated requests contradict one another. */
export function requestFaults(requests: SimulatedRequests, of: RequestsOf): Fault[] {
  const { arrived, inTime, late, dropped, failed } = requests;
  const { at, spanS, off, isSplit = true } = of;
  const ended = inTime + late + dropped + failed;
  const share = (part: number) => (ended === 0 ? undefined : part / ended);
  const faults = [
    ...endedFaults(requests, at),
    ...givenFaults(requests.attainment, share(inTime), `${at}/attainment`),
    ...givenFaults(requests.dropRate, share(dropped + late), `${at}/dropRate`),
    ...(isSplit ? invalidFaults(requests, at) : splitFreeFaults(requests, at)),
    ...(spanS === undefined
      ? []
      : [
          ...givenFaults(requests.offeredRps, arrived / spanS, `${at}/offeredRps`),
          ...givenFaults(requests.throughputRps, (inTime + late) / spanS, `${at}/throughputRps`),
          ...givenFaults(requests.goodputRps, inTime / spanS, `${at}/goodputRps`),
        ]),
    ...missingFaults(requests, { at, isSplit }),
    ...latencyFaults(requests, { at, count: inTime + late, off }),
  ];
  return faults.length > 0 ? faults : [...splitFaults(requests, of), ...sloFaults(requests, of)];
}

/** invalidFaults finds device time that was wasted on no request, or used by none that was wasted. */
export function invalidFaults(
  {
    invalidRate,
    inTime,
    late,
    dropped,
    failed,
  }: Omit<Counted, 'arrived'> & { readonly invalidRate?: number },
  at: string,
): Fault[] {
  if (invalidRate === undefined) return inTime + late === 0 ? [] : [fault('is missing', `${at}/invalidRate`)];
  const most = dropped + late === 0 ? 0 : 1;
  const least = inTime + failed === 0 ? 1 : 0;
  return rangeFaults(invalidRate, [least, most], { at: `${at}/invalidRate`, by: 'the counts' });
}

/** splitFreeFaults finds figures of where time went, of which nothing is reported. */
function splitFreeFaults({ splitMs, invalidRate }: SimulatedRequests, at: string): Fault[] {
  return Object.entries({ splitMs, invalidRate }).flatMap(([name, value]) =>
    value === undefined
      ? []
      : [fault('is given, and of workflows it is not told where time went', `${at}/${name}`)],
  );
}

function missingFaults(
  { latencyMs, latencyHistogram, splitMs, inTime, late }: SimulatedRequests,
  { at, isSplit }: { readonly at: string; readonly isSplit: boolean },
): Fault[] {
  if (inTime + late === 0) return [];
  return Object.entries({ latencyMs, latencyHistogram, splitMs }).flatMap(([name, value]) =>
    value === undefined && name !== 'latencyHistogram' && (isSplit || name !== 'splitMs')
      ? [fault(`is missing, and ${inTime + late} requests were answered`, `${at}/${name}`)]
      : [],
  );
}

const PARTS = ['queueing', 'transfer', 'compute'] as const;
const RANKED = ['p50', 'p90', 'p95', 'p99', 'max'] as const;

/** splitFaults finds parts of latencies that do not add up to these, or are longer. */
function splitFaults({ latencyMs, splitMs }: SimulatedRequests, { at, off, isGraph }: RequestsOf): Fault[] {
  if (latencyMs === undefined || splitMs === undefined) return [];
  const parts = PARTS.flatMap((part) =>
    latencyFaults({ latencyMs: splitMs[part] }, { at: `${at}/splitMs/${part}`, count: latencyMs.count, off }),
  );
  if (parts.length > 0) return parts;
  const mean = addedUp(PARTS.map((part) => splitMs[part].mean));
  const most = isGraph ? Number.POSITIVE_INFINITY : mean;
  if (latencyMs.mean > mean * (1 + 1e-9) || (most === mean && !isBetween(latencyMs.mean, mean, mean)))
    return [
      fault(`have means that sum to ${mean}, and that of latencies is ${latencyMs.mean}`, `${at}/splitMs`),
    ];
  const longest = addedUp(PARTS.map((part) => splitMs[part].max));
  return [
    ...PARTS.flatMap((part) =>
      isGraph && part !== 'queueing'
        ? []
        : RANKED.flatMap((name) =>
            splitMs[part][name] <= latencyMs[name] * (1 + 2 * off) + 1e-9
              ? []
              : [
                  fault(
                    `is ${splitMs[part][name]}, more than the whole latency of ${latencyMs[name]}`,
                    `${at}/splitMs/${part}/${name}`,
                  ),
                ],
          ),
    ),
    ...(latencyMs.max <= longest * (1 + 1e-9)
      ? []
      : [fault(`is ${latencyMs.max}, and its parts take at most ${longest}`, `${at}/latencyMs/max`)]),
  ];
}

/** sloFaults finds more or fewer answers in time than the latencies say. */
function sloFaults(requests: SimulatedRequests, { at, sloMs, off }: RequestsOf): Fault[] {
  if (sloMs === undefined || requests.latencyMs === undefined) return [];
  const near = NEAR_SLO + 2 * off;
  const [least] = inTimeBounds(requests, sloMs * (1 - near));
  const [, most] = inTimeBounds(requests, sloMs * (1 + near));
  const by = `the latencies and the SLO of ${sloMs} ms`;
  return rangeFaults(requests.inTime, [least, most], { at: `${at}/inTime`, by });
}

/** countedPartFaults finds where the requests of all models or windows are not all requests. */
export function countedPartFaults(all: Counted, parts: readonly Counted[], named: string): Fault[] {
  return (['arrived', ...ENDS] as const).flatMap((name) => {
    const sum = addedUp(parts.map((part) => part[name]));
    return sum === all[name]
      ? []
      : [fault(`is ${all[name]}, and those of the ${named} are ${sum}`, `/overall/${name}`)];
  });
}

/** togetherFaults finds where figures of all requests are not those of the models together. */
export function togetherFaults(
  all: SimulatedRequests,
  models: readonly SimulatedRequests[],
  off: number,
): Fault[] {
  const faults = countedPartFaults(all, models, 'models');
  if (faults.length > 0) return faults;
  const rates = models.flatMap(({ invalidRate }) => invalidRate ?? []);
  const parts = PARTS.flatMap((part) =>
    partLatencyFaults(
      all.splitMs === undefined ? {} : { latencyMs: all.splitMs[part] },
      models.map(({ splitMs }) => (splitMs === undefined ? {} : { latencyMs: splitMs[part] })),
      { named: 'models', off: 2 * off },
    ).map((one) => fault(one.message, `/overall/splitMs/${part}${one.path.slice('/latencyMs'.length)}`)),
  );
  return [
    ...shareFaults(all.invalidRate, '/overall/invalidRate'),
    ...(rates.length === 0
      ? []
      : rangeFaults(all.invalidRate, [smallestOf(rates), largestOf(rates)], {
          at: '/overall/invalidRate',
          by: 'those of the models',
        })),
    ...partLatencyFaults(all, models, { named: 'models', off: 2 * off }).map((one) =>
      fault(one.message, `/overall${one.path}`),
    ),
    ...parts,
  ];
}
