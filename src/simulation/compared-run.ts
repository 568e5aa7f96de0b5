import type { DropCount, RunFigures, WindowFigures, WorstFigures } from '../metrics/index.js';
import { outcomeRates } from '../metrics/index.js';
import { applicationsOf } from '../plans/index.js';
import { runSimulation, type SimulationJob, type SimulationRun, type SimulationSetup } from './run.js';
import type { SimulationHooks } from './watched-arrivals.js';

/** ComparedJob is one run under one scheduler. */
export type ComparedJob = Required<Pick<SimulationJob, 'scheduler' | 'seed'>> &
  Pick<SimulationJob, 'windowNs'>;

/**
 * Compared holds the figures that are compared, of one run or of a window of it. Figures that the run does
 * not have are absent.
 */
export interface Compared {
  readonly goodputRps: number;
  readonly attainment?: number;
  readonly dropRate?: number;
  readonly invalidRate?: number;
  readonly meanMs?: number;
  readonly p50Ms?: number;
  readonly p95Ms?: number;
  readonly p99Ms?: number;
}

/** ComparedRequests holds what a comparison needs of the requests of one run, or of those of a model. */
export interface ComparedRequests {
  readonly arrived: number;
  readonly figures: Compared;
  /** The requests that were dropped at the entry, then in each pool. */
  readonly dropped: readonly number[];
}

/** ComparedRun holds what a comparison needs of one run. It is small, as there may be many. */
export interface ComparedRun extends ComparedRequests {
  /** False when the run was interrupted. */
  readonly complete: boolean;
  /**
   * The share of all weight that was lost, and the number of the heaviest requests that weigh as much; absent
   * where nothing weighs requests.
   */
  readonly weighed?: { readonly dropRate?: number; readonly asHeaviest: number };
  /** The requests of each application, where several share their stages. */
  readonly applications?: readonly ComparedRequests[];
  readonly worst: readonly WorstFigures[];
  readonly windows?: readonly (Compared & { readonly fromS: number; readonly offeredRps: number })[];
}

/** The worst windows are those of PARD's figures 2 and 9. */
const WORST_OVER_S = [1, 10, 60];

/** comparedRun runs a plan once under a scheduler, in this thread, and keeps what a comparison needs. */
export async function comparedRun(
  setup: SimulationSetup,
  job: ComparedJob,
  hooks: SimulationHooks,
): Promise<ComparedRun> {
  const run = await runSimulation(setup, { ...job, worstOverS: WORST_OVER_S }, hooks);
  const { overall, drops, pools, windows, models } = run.figures;
  const isShared = applicationsOf(setup.plan).some(({ loadOf }) => loadOf !== undefined);
  const applications = models.map((one, m) =>
    comparedRequests(
      one,
      drops.filter(({ model }) => model === m),
      pools.length,
    ),
  );
  return {
    complete: run.complete,
    ...comparedRequests(overall, drops, pools.length),
    ...weighedOf(run),
    ...(isShared ? { applications } : {}),
    worst: run.worst ?? [],
    ...(windows === undefined ? {} : { windows: windows.map(comparedWindow) }),
  };
}

function weighedOf({ levels }: SimulationRun): Pick<ComparedRun, 'weighed'> {
  if (levels === undefined) return {};
  const { weightedDropRate, asHeaviest } = levels;
  return { weighed: { ...known({ dropRate: weightedDropRate }), asHeaviest } };
}

/** comparedRequests gives the figures of some requests that are compared, and how many were dropped at each place. */
export function comparedRequests(
  requests: RunFigures['overall'],
  drops: readonly DropCount[],
  pools: number,
): ComparedRequests {
  return {
    arrived: requests.arrived,
    figures: comparedFigures(requests),
    dropped: droppedAt(drops, pools),
  };
}

function comparedFigures({ latencyMs, ...requests }: RunFigures['overall']): Compared {
  const { goodputRps, attainment, dropRate, invalidRate } = requests;
  return {
    goodputRps,
    ...known({ attainment, dropRate, invalidRate }),
    ...(latencyMs === undefined
      ? {}
      : { meanMs: latencyMs.mean, p50Ms: latencyMs.p50, p95Ms: latencyMs.p95, p99Ms: latencyMs.p99 }),
  };
}

function comparedWindow({ fromS, offeredRps, goodputRps, attainment, ...window }: WindowFigures) {
  const { invalidRate, latencyMs, inTime, late, dropped, failed } = window;
  const { dropRate } = outcomeRates({ inTime, late, dropped, failed, cancelled: 0 }, 1);
  return {
    fromS,
    offeredRps,
    goodputRps,
    ...known({ attainment, dropRate, invalidRate, p99Ms: latencyMs?.p99 }),
  };
}

/** known leaves out the figures that are not there. */
function known<K extends string>(figures: { readonly [N in K]: number | undefined }): { [N in K]?: number } {
  return Object.fromEntries(Object.entries(figures).filter(([, value]) => value !== undefined)) as {
    [N in K]?: number;
  };
}

function droppedAt(drops: readonly DropCount[], pools: number): number[] {
  const counts = new Array<number>(1 + pools).fill(0);
  for (const { pool, count } of drops) counts[1 + pool]! += count;
  return counts;
}
