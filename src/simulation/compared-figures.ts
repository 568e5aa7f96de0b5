import { itemAt } from '../collections/index.js';
import type {
  ComparedApplication,
  ComparedFigure,
  ComparedScheduler,
  ComparedWindow,
  WorstWindow,
} from '../formats/index.js';
import { attainmentOverRuns, meanOverRuns } from '../metrics/index.js';
import type { Compared, ComparedRequests, ComparedRun } from './compared-run.js';

type RowFigures = Omit<ComparedScheduler, 'scheduler' | 'policy' | 'tuner'>;

/** Interval gives the mean of a figure over several runs, with its confidence interval. */
type Interval = (values: readonly number[]) => ComparedFigure;

/** amount is of a figure without an upper bound, such as a rate or a time. */
const amount: Interval = (values) => within(meanOverRuns(values), Number.POSITIVE_INFINITY);

/** share is of a figure from 0 to 1 that is no share of requests. */
const share: Interval = (values) => within(meanOverRuns(values), 1);

/** served is of a share of this many requests that is 1 where nothing went wrong, and unserved of one that is 0 then. */
const served =
  (requests: number): Interval =>
  (values) =>
    within(attainmentOverRuns(values, requests), 1);

const unserved =
  (requests: number): Interval =>
  (values) => {
    const { mean } = meanOverRuns(values);
    const { low, high } = attainmentOverRuns(
      values.map((value) => 1 - value),
      requests,
    );
    return { mean, low: 1 - high, high: 1 - low };
  };

function within({ mean, low, high }: ComparedFigure, most: number): ComparedFigure {
  return { mean, low: Math.max(0, low), high: Math.min(most, high) };
}

/**
 * rowFigures gives the figures of a scheduler over its runs, of which there is at least one. A figure is absent where a run
 * has none.
 * @param places the names of the places where requests are dropped, in the order of the runs' counts
 * @param names those of the applications, where runs tell them apart
 */
export function rowFigures(
  runs: readonly ComparedRun[],
  places: readonly string[],
  names: readonly string[] = [],
): RowFigures {
  const [first] = runs;
  const windows = first?.windows?.map(({ fromS }, i) =>
    windowOver(
      fromS,
      runs.flatMap((run) => run.windows?.[i] ?? []),
    ),
  );
  const applications = first?.applications?.map(
    (_, k): ComparedApplication => ({
      name: itemAt(names, k),
      ...requestsOver(
        runs.flatMap((run) => run.applications?.[k] ?? []),
        places,
      ),
    }),
  );
  const { dropsByStage, ...figures } = requestsOver(runs, places);
  return {
    ...figures,
    ...weightedOver(runs),
    worstWindows: (first?.worst ?? []).map(({ seconds }, i) =>
      worstOver(
        seconds,
        runs.flatMap((run) => run.worst[i] ?? []),
      ),
    ),
    ...(dropsByStage === undefined ? {} : { dropsByStage }),
    ...(applications === undefined ? {} : { applications }),
    ...(windows === undefined ? {} : { windows }),
  };
}

/**
 * weightedOver gives the share of weight that was lost, over runs; nothing where nothing weighs requests. Where none
 * was lost, as much may be lost as of that many requests that all weigh as much as the heaviest.
 */
function weightedOver(runs: readonly ComparedRun[]): Pick<RowFigures, 'weightedDropRate'> {
  const weighed = runs.flatMap((run) => run.weighed ?? []);
  const requests = weighed.reduce((sum, { asHeaviest }) => sum + asHeaviest, 0);
  const weightedDropRate = figureOver(
    runs.map((run) => run.weighed?.dropRate),
    unserved(requests),
  );
  return weightedDropRate === undefined ? {} : { weightedDropRate };
}

/** requestsOver gives the figures of all requests, or of those of an application, over runs. */
export function requestsOver(runs: readonly ComparedRequests[], places: readonly string[]) {
  const requests = runs.reduce((sum, { arrived }) => sum + arrived, 0);
  return {
    ...comparedOver(
      runs.map(({ figures }) => figures),
      requests,
    ),
    ...dropsOver(runs, { places, requests }),
  };
}

/** figureOver gives a figure over runs; nothing where a run lacks it. Of one run, the interval is its figure. */
function figureOver(values: readonly (number | undefined)[], interval: Interval): ComparedFigure | undefined {
  const known = values.filter((value) => value !== undefined);
  const [first] = known;
  if (first === undefined || known.length < values.length) return undefined;
  return known.length === 1 ? { mean: first, low: first, high: first } : interval(known);
}

/** overAll gives some figures over runs, without those that a run lacks. */
function overAll<K extends string>(
  runs: readonly { readonly [N in NoInfer<K>]?: number }[],
  intervals: { readonly [N in K]: Interval },
): { [N in K]?: ComparedFigure } {
  const found = Object.entries<Interval>(intervals).map(([name, interval]) => [
    name,
    figureOver(
      runs.map((run) => run[name as K]),
      interval,
    ),
  ]);
  return Object.fromEntries(found.filter(([, figure]) => figure !== undefined));
}

/** rateOver gives a rate, which every run has. */
function rateOver(values: readonly number[]): ComparedFigure {
  return figureOver(values, amount) as ComparedFigure;
}

function comparedOver(runs: readonly Compared[], requests: number) {
  return {
    goodputRps: rateOver(runs.map(({ goodputRps }) => goodputRps)),
    ...overAll(runs, {
      attainment: served(requests),
      dropRate: unserved(requests),
      invalidRate: share,
      meanMs: amount,
      p50Ms: amount,
      p95Ms: amount,
      p99Ms: amount,
    }),
  };
}

function worstOver(seconds: number, runs: ComparedRun['worst']): WorstWindow {
  const intervals = { leastGoodputRps: amount, leastAttainment: share, largestDropRate: share };
  return { seconds, ...overAll(runs, intervals) };
}

function windowOver(fromS: number, runs: NonNullable<ComparedRun['windows']>): ComparedWindow {
  return {
    fromS,
    offeredRps: rateOver(runs.map(({ offeredRps }) => offeredRps)),
    goodputRps: rateOver(runs.map(({ goodputRps }) => goodputRps)),
    ...overAll(runs, { attainment: share, dropRate: share, invalidRate: share, p99Ms: amount }),
  };
}

function dropsOver(
  runs: readonly ComparedRequests[],
  { places, requests }: { readonly places: readonly string[]; readonly requests: number },
): Pick<RowFigures, 'dropsByStage'> {
  if (runs.some(({ arrived }) => arrived === 0)) return {};
  // A stage may have the name of the entry.
  const shares = [...new Set(places)].map((name): [string, ComparedFigure] => [
    name,
    figureOver(
      runs.map(
        ({ dropped, arrived }) =>
          dropped.reduce((sum, count, i) => sum + (places[i] === name ? count : 0), 0) / arrived,
      ),
      unserved(requests),
    ) as ComparedFigure,
  ]);
  return { dropsByStage: Object.fromEntries(shares) };
}
