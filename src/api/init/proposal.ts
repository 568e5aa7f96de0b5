import { largestOf, smallestOf } from '../../collections/index.js';
import { type DeviceProfile, type Loaded, type Profile, wholeLatencyUs } from '../../formats/index.js';

/** ProposedClass is a device class as the profiles know it. */
export interface ProposedClass {
  readonly name: string;
  /**
   * The number of models that were measured on the class: one device for each, so that every model can be
   * served.
   */
  readonly count: number;
  /** The virtual sizes that every profile with the class has. */
  readonly virtual: readonly number[];
  readonly memoryGiB?: number;
  /** The factor of an emulated slower device. */
  readonly slowdown?: number;
}

/** ProposedModel is a model with the SLO that a person gave, or one that its profile suggests. */
export interface ProposedModel {
  readonly name: string;
  /** The profile's file. */
  readonly path: string;
  readonly classes: readonly string[];
  readonly sloMs: number;
  /** The reason for the SLO; absent where a person gave it. */
  readonly from?: SloReason;
  /**
   * Half of the requests per second that one device of the fastest class serves at its smallest batch size, to two
   * digits; undefined where nothing was measured.
   */
  readonly rps: number | undefined;
  readonly fastest: string | undefined;
}

/** SloReason says which latency an SLO was derived from. */
export interface SloReason {
  readonly times: number;
  readonly latencyUs: number;
  readonly what: 'whole model' | 'sum of the blocks';
  readonly deviceClass: string;
  readonly virtual: number;
  readonly batch: number;
}

/** An SLO of five times the fastest latency leaves room for batches, cuts and waiting. */
const SLO_OVER_FASTEST = 5;

interface Cell {
  readonly deviceClass: string;
  readonly virtual: number;
  readonly batch: number;
  /** The latency of the whole model, and whether it was measured in one piece. */
  readonly latencyUs: number | undefined;
  readonly isWhole: boolean;
  /** The sum of the blocks as a plan adds them up. */
  readonly blocksUs: number | undefined;
}

/**
 * proposedClasses gives the classes of all profiles, in the order in which they are met. A class that two profiles
 * measured at other virtual sizes only has no virtual size. Memory and slowdown are those of the first profile with
 * any.
 */
export function proposedClasses(profiles: readonly Profile[]): ProposedClass[] {
  const names = [...new Set(profiles.flatMap(({ devices }) => Object.keys(devices)))];
  return names.map((name) => {
    const devices = profiles.flatMap((profile) => profile.devices[name] ?? []);
    const [first, ...others] = devices.map(virtualSizes) as [number[], ...number[][]];
    const memory = devices.map(({ memoryBytes }) => memoryBytes).find((bytes) => bytes !== undefined);
    const slowdown = devices.find(({ emulated }) => emulated)?.slowdown;
    return {
      name,
      count: devices.length,
      virtual: first.filter((v) => others.every((sizes) => sizes.includes(v))),
      ...(memory === undefined ? {} : { memoryGiB: Math.max(1, Math.floor((memory / 2 ** 30) * 100)) / 100 }),
      ...(slowdown === undefined ? {} : { slowdown }),
    };
  });
}

/**
 * proposedModel describes the model of a profile, with the SLO that is given. By default it is five times the fastest
 * latency at the smallest batch size, rounded up to 0.1 ms. Plans count the same latency: what the whole model took in
 * one piece, or else the sum of its blocks. It is 0 where nothing was measured.
 */
export function proposedModel({ value, path }: Loaded<'profile'>, sloMs: number | undefined): ProposedModel {
  const cells = cellsOf(value);
  const fastest = leastBy(cells, ({ latencyUs }) => latencyUs);
  const { name } = value.model;
  const rest = {
    name,
    path,
    classes: Object.keys(value.devices),
    fastest: fastest?.deviceClass,
    rps: fastest && modestRps(fastest),
  };
  if (sloMs !== undefined) return { ...rest, sloMs };
  const from = fastest && reasonOf(fastest);
  return from === undefined
    ? { ...rest, sloMs: 0 }
    : { ...rest, sloMs: roundedUpMs(from.times * from.latencyUs), from };
}

/** reasonOf derives an SLO from the fastest latency. */
function reasonOf({ deviceClass, virtual, batch, latencyUs = 0, isWhole }: Cell): SloReason {
  const what = isWhole ? 'whole model' : 'sum of the blocks';
  return { times: SLO_OVER_FASTEST, latencyUs, what, deviceClass, virtual, batch };
}

/** cellsOf lists the cells that were measured at the smallest batch size of all, which is 1 for most models. */
function cellsOf({ devices }: Profile): Cell[] {
  const all = Object.entries(devices).flatMap(([deviceClass, device]) =>
    virtualSizes(device).flatMap((virtual) =>
      Object.entries(device.blockLatencyUs[virtual] ?? {}).map(
        ([batch, row]): Cell => ({
          deviceClass,
          virtual,
          batch: Number(batch),
          latencyUs: wholeLatencyUs(device, { virtual, batch: Number(batch) }),
          isWhole: device.wholeLatencyUs?.[virtual]?.[batch] !== undefined,
          blocksUs: plannedUs(row),
        }),
      ),
    ),
  );
  const measured = all.filter(({ latencyUs }) => latencyUs !== undefined);
  const smallest = smallestOf(measured.map(({ batch }) => batch));
  return measured.filter(({ batch }) => batch === smallest);
}

function virtualSizes({ blockLatencyUs }: DeviceProfile): number[] {
  const measured = Object.entries(blockLatencyUs).filter(([, rows]) => Object.keys(rows).length > 0);
  return measured.map(([v]) => Number(v)).sort((a, b) => a - b);
}

/** plannedUs adds up blocks as a plan does, which counts each as at least 1 µs. */
function plannedUs(row: readonly (number | null)[]): number | undefined {
  if (row.includes(null)) return undefined;
  return (row as readonly number[]).reduce((sum, us) => sum + Math.max(1, us), 0);
}

function leastBy(cells: readonly Cell[], of: (cell: Cell) => number | undefined): Cell | undefined {
  const value = (cell: Cell): number => of(cell) ?? Number.POSITIVE_INFINITY;
  const least = cells.reduce<Cell | undefined>(
    (best, cell) => (best === undefined || value(cell) < value(best) ? cell : best),
    undefined,
  );
  return least !== undefined && Number.isFinite(value(least)) ? least : undefined;
}

function roundedUpMs(us: number): number {
  return Math.max(1, Math.ceil(us / 100)) / 10;
}

/** modestRps gives half of what one device serves at that latency, to two significant digits. */
function modestRps({ latencyUs, blocksUs, batch }: Cell): number {
  const slowestUs = Math.max(1, latencyUs ?? 0, blocksUs ?? 0);
  return Number(((0.5 * batch * 1e6) / slowestUs).toPrecision(2));
}

/** WholeSlo is the SLO of a pipeline or cascade, and where it comes from. */
export interface WholeSlo {
  readonly sloMs: number;
  /** The sum or the largest of what is proposed for its models, or what a person gave. */
  readonly from: 'sum' | 'largest' | 'given';
}

/** wholeSlo proposes an SLO for models that a request goes through, all of them (`sum`) or up to the slowest (`largest`). */
export function wholeSlo(
  models: readonly ProposedModel[],
  from: 'sum' | 'largest',
  given: number | undefined,
): WholeSlo {
  if (given !== undefined) return { sloMs: given, from: 'given' };
  const all = models.map(({ sloMs }) => sloMs);
  const sloMs = from === 'sum' ? all.reduce((sum, ms) => sum + ms, 0) : largestOf(all);
  return { sloMs: Number(sloMs.toFixed(1)), from };
}

/** commonRps is a rate that one device of each model could serve, with as much to spare: the least of the models' own. */
export function commonRps(models: readonly ProposedModel[]): number {
  return smallestOf(models.map(({ rps }) => rps ?? 1));
}
