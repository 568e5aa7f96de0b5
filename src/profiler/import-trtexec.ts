import { emittedHead, type Fault, fault, InputError, type Profile } from '../artifacts/index.js';
import { figureOf, roundUs } from './statistics.js';

/** What one trtexec run of one block's engine wrote. */
export interface TrtexecFile {
  readonly path: string;
  readonly text: string;
  /** Device class it ran on. */
  readonly device: string;
  /** 1/v of the GPU; 1 unless given. */
  readonly virtual?: number;
  readonly batch: number;
  /** Which block, counting from 0; 0 unless given (the whole model as one block). */
  readonly block?: number;
}

export interface TrtexecOptions {
  readonly model: string;
  /** Bytes that cross after each block for one request; also says how many blocks there are. */
  readonly cutBytes: readonly number[];
}

interface Latency {
  readonly medianUs: number;
  readonly p95Us?: number;
}

const US_PER_MS = 1000;

/**
 * A profile from trtexec's JSON files, one per block, class, virtual GPU size and batch size. Both kinds are read and told
 * apart by what they hold:
 * - `--exportTimes`: a list of runs; the latency is the median of `computeMs` (GPU time, without copies to and from
 *   the host), with its 95th percentile;
 * - `--exportProfile`: `{ count }`, then layers; the latency is the sum of their `medianMs` (`averageMs` in versions that do
 *   not write it). TensorRT's layer names are of its own fusions, so no layers are taken over.
 *
 * Cells without a file are null and `measurement.complete` is then false.
 * @throws InputError with every fault of every file, by entry
 */
export function importTrtexec(files: readonly TrtexecFile[], options: TrtexecOptions): Profile {
  const faults: Fault[] = files.length === 0 ? [fault('no files are given')] : [];
  const blocks = options.cutBytes.length;
  if (blocks === 0) faults.push(fault('the bytes that cross after each block are not given'));
  const { inputs: _inputs, ...head } = emittedHead('profile', []);
  const profile: Profile = {
    ...head,
    model: { name: options.model },
    blocks: options.cutBytes.map((cutBytes) => ({ cutBytes })),
    devices: {},
  };
  for (const file of files) {
    faults.push(...placeFaults(file, blocks));
    const latency = readLatency(file, faults);
    if (latency !== undefined && faults.length === 0) place(profile, file, latency, faults);
  }
  if (faults.length > 0) throw new InputError('import trtexec files', faults);
  profile.measurement = { complete: isComplete(profile) };
  return profile;
}

function placeFaults({ path, virtual = 1, batch, block = 0 }: TrtexecFile, blocks: number): Fault[] {
  const faults: Fault[] = [];
  const whole = (value: number, least: number) => Number.isSafeInteger(value) && value >= least;
  if (!whole(virtual, 1)) faults.push(fault(`virtual size is ${virtual}`, path));
  if (!whole(batch, 1)) faults.push(fault(`batch size is ${batch}`, path));
  if (!whole(block, 0) || block >= blocks)
    faults.push(fault(`it is of block ${block}, and blocks are 0 to ${blocks - 1}`, path));
  return faults;
}

function readLatency({ path, text }: TrtexecFile, faults: Fault[]): Latency | undefined {
  let entries: unknown;
  try {
    entries = JSON.parse(text);
  } catch (error) {
    faults.push(fault(`it is not JSON: ${(error as Error).message}`, path));
    return undefined;
  }
  if (!Array.isArray(entries) || entries.length === 0 || entries.some((entry) => !isObject(entry))) {
    faults.push(fault('it is not a list of objects, as --exportTimes and --exportProfile write', path));
    return undefined;
  }
  const [first, ...layers] = entries as Record<string, unknown>[];
  return 'count' in first! ? ofProfile(layers, path, faults) : ofTimes([first!, ...layers], path, faults);
}

function ofTimes(
  runs: readonly Record<string, unknown>[],
  path: string,
  faults: Fault[],
): Latency | undefined {
  const before = faults.length;
  const times = runs.map((run, i) => milliseconds(run.computeMs, 'computeMs', `${path}[${i}]`, faults));
  if (faults.length > before) return undefined;
  const { medianUs, p95Us } = figureOf(times.map((ms) => ms * US_PER_MS));
  return { medianUs, p95Us };
}

function ofProfile(
  layers: readonly Record<string, unknown>[],
  path: string,
  faults: Fault[],
): Latency | undefined {
  const before = faults.length;
  if (layers.length === 0) faults.push(fault('it lists no layers', path));
  const times = layers.map((layer, i) => {
    const key = 'medianMs' in layer ? 'medianMs' : 'averageMs';
    return milliseconds(layer[key], key, `${path}[${i + 1}]`, faults);
  });
  if (faults.length > before) return undefined;
  return { medianUs: roundUs(times.reduce((sum, ms) => sum + ms, 0) * US_PER_MS) };
}

function milliseconds(value: unknown, key: string, path: string, faults: Fault[]): number {
  if (typeof value === 'number' && Number.isFinite(value) && value >= 0) return value;
  const said = value === undefined ? 'is missing' : `is ${JSON.stringify(value)}`;
  faults.push(fault(`${key} ${said}; milliseconds are needed`, path));
  return 0;
}

function place(profile: Profile, file: TrtexecFile, latency: Latency, faults: Fault[]): void {
  const { device: className, virtual = 1, batch, block = 0 } = file;
  const empty = () => profile.blocks.map((): number | null => null);
  profile.devices[className] ??= { provider: 'tensorrt', blockLatencyUs: {}, blockLatencyP95Us: {} };
  const device = profile.devices[className];
  const tables = [device.blockLatencyUs, device.blockLatencyP95Us ?? {}];
  const figures = [latency.medianUs, latency.p95Us ?? null];
  tables.forEach((table, i) => {
    table[virtual] ??= {};
    table[virtual][batch] ??= empty();
    const row = table[virtual][batch];
    if (i === 0 && row[block] !== null)
      faults.push(
        fault(`block ${block} of ${className} 1/${virtual}, batch ${batch} is given twice`, file.path),
      );
    row[block] = figures[i] ?? null;
  });
}

function isComplete({ devices }: Profile): boolean {
  const rows = Object.values(devices).flatMap(({ blockLatencyUs }) =>
    Object.values(blockLatencyUs).flatMap((byBatch) => Object.values(byBatch)),
  );
  return rows.every((row) => row.every((us) => us !== null));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
