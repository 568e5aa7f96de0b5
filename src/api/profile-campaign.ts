import { parseDevice } from '../execution/index.js';
import type { Boundary, DimValues, Measurement, Profile } from '../formats/index.js';
import { heldCells } from '../profiler/index.js';
import { asProfiled } from '../specs/index.js';

/**
 * CampaignOptions says what is measured, on which devices and for how long. Each measurement has `warmup`
 * runs that do not count, and then goes on until both `minRuns` runs and `minMs` milliseconds are over, or
 * `maxMs` milliseconds are. An option that is left out is as in the profile that is continued; where none is,
 * it has the default that is named here.
 */
export interface CampaignOptions {
  /** Devices as the command line writes them: `cpu:1` (the default), `slow=cpu:1,slowdown=3`, `cuda:0`. */
  readonly devices?: readonly string[] | undefined;
  /** Batch sizes; 1, 2, 4 and 8 by default. */
  readonly batch?: readonly number[] | undefined;
  /** Virtual sizes; 1 by default. */
  readonly virtual?: readonly number[] | undefined;
  /** Sizes of free dimensions, by name or as `<input>.<axis>`, or `batch` for one that is the batch. */
  readonly dim?: Readonly<DimValues> | undefined;
  /**
   * How far the rows of a batch may be from those of a request alone, as a share of a tensor's largest magnitude. By
   * default only rounding is allowed. It is for models whose rows influence one another slightly.
   */
  readonly batchTolerance?: number | undefined;
  /** Whether to take batches although nothing shows that rows keep apart; noted in the profile where it was needed. */
  readonly trustBatch?: boolean | undefined;
  /** For inputs that take certain values only, the number that fills each of their elements. */
  readonly fill?: Readonly<Record<string, number>> | undefined;
  /** How tensors cross a cut; `exact` by default. */
  readonly boundary?: Boundary | undefined;
  /** 3 by default. */
  readonly warmup?: number | undefined;
  /** 10 by default. */
  readonly minRuns?: number | undefined;
  /** 200 by default. */
  readonly minMs?: number | undefined;
  /** 2000 by default. */
  readonly maxMs?: number | undefined;
  /** The pause before each run on a whole device; 2 by default. */
  readonly pauseMs?: number | undefined;
}

/** AskedCampaign is a campaign without open questions, except for limits that have the profiler's defaults. */
export interface AskedCampaign {
  readonly cells: Cells;
  /** The cells of this run and of those that it continues, which a further run continues with. */
  readonly allCells: Cells;
  readonly boundary: Boundary;
  /** The options for reading the model. */
  readonly model: {
    readonly dims?: DimValues;
    readonly fill?: Readonly<Record<string, number>>;
    readonly batchTolerance?: number;
    readonly trustBatch?: boolean;
  };
  readonly limits: Partial<Record<Limit, number>>;
}

type Cells = NonNullable<Measurement['asked']>;
type Limit = 'warmupRuns' | 'minRuns' | 'minMs' | 'maxMs' | 'pauseMs';

const DEFAULT_CELLS: Cells = { devices: ['cpu:1'], batch: [1, 2, 4, 8], virtual: [1] };

/**
 * askedCampaign completes what is asked for by the profile that is continued, if there is one, and by defaults. How the
 * model is read is also taken from the profile whose blocks are measured, so that both profiles can be merged.
 */
export async function askedCampaign(
  options: CampaignOptions,
  before: Profile | undefined,
  blocksOf?: Profile,
): Promise<AskedCampaign> {
  const { devices, batch, virtual, boundary, dim, fill, batchTolerance, trustBatch } = options;
  const held = before === undefined ? undefined : askedCells(before);
  const cells: Cells = {
    devices: [...(devices ?? held?.devices ?? DEFAULT_CELLS.devices)],
    batch: [...(batch ?? held?.batch ?? DEFAULT_CELLS.batch)],
    virtual: [...(virtual ?? held?.virtual ?? DEFAULT_CELLS.virtual)],
  };
  const alike = before ?? blocksOf;
  const profiled = alike === undefined ? {} : asProfiled(alike.model);
  return {
    cells,
    allCells: held === undefined ? cells : await joined(held, cells),
    boundary: boundary ?? alike?.boundary ?? 'exact',
    model: {
      ...profiled,
      ...(dim && { dims: { ...profiled.dims, ...dim } }),
      ...(fill && { fill: { ...profiled.fill, ...fill } }),
      ...(batchTolerance && { batchTolerance }),
      ...(trustBatch && { trustBatch }),
    },
    limits: limitsOf(options, before === undefined ? {} : { pauseMs: 0, ...before.measurement }),
  };
}

function limitsOf(
  { warmup, minRuns, minMs, maxMs, pauseMs }: CampaignOptions,
  before: Measurement,
): Partial<Record<Limit, number>> {
  const given = { warmupRuns: warmup, minRuns, minMs, maxMs, pauseMs };
  const limits = (Object.keys(given) as Limit[]).map((name) => [name, given[name] ?? before[name]] as const);
  return Object.fromEntries(limits.filter(([, value]) => value !== undefined));
}

/**
 * askedCells gives the cells that a profile was asked for. A profile that is complete, or was written before
 * profiles said so, was asked for the cells that it has.
 */
function askedCells(profile: Profile): Cells {
  const { asked } = profile.measurement ?? {};
  if (asked !== undefined) return asked;
  const { devices, batch, virtual } = heldCells(profile);
  return {
    devices,
    batch: batch.length === 0 ? DEFAULT_CELLS.batch : batch,
    virtual: virtual.length === 0 ? DEFAULT_CELLS.virtual : virtual,
  };
}

function numbers(keys: readonly string[]): number[] {
  return [...new Set(keys.map(Number))].sort((a, b) => a - b);
}

/** joined gives the cells of both. A device of a class that both have is that of `now`. */
async function joined(before: Cells, now: Cells): Promise<Cells> {
  const byClass = new Map(
    [...before.devices, ...now.devices].map((text) => [parseDevice(text).className, text]),
  );
  return {
    devices: [...byClass.values()],
    batch: numbers([...before.batch, ...now.batch].map(String)),
    virtual: numbers([...before.virtual, ...now.virtual].map(String)),
  };
}
