import { emittedHead } from '../artifacts/index.js';
import { pushAll } from '../collections/index.js';
import { type Fault, fault, InputError, notJson, type Profile, tooLargeJson } from '../formats/index.js';

/** MeasuredFile is the output of another tool for one block, with what it measured. */
export interface MeasuredFile {
  readonly path: string;
  readonly text: string;
  /** The device class that it ran on. */
  readonly device: string;
  /** v: the run had 1/v of the device; 1 by default. */
  readonly virtual?: number;
  readonly batch: number;
  /** The index of the block, counting from 0; 0 by default (the whole model as one block). */
  readonly block?: number;
}

export interface MeasuredOptions {
  readonly model: string;
  /** The bytes that cross after each block for one request; their number is the number of blocks. */
  readonly cutBytes: readonly number[];
}

/** Latency is a block's latency as a file gives it. */
export interface Latency {
  readonly medianUs: number;
  readonly p95Us?: number;
}

/** LatencyReader reads a file's list of entries. If anything is wrong, it adds to `faults` and gives nothing. */
export type LatencyReader = (
  entries: readonly Record<string, unknown>[],
  path: string,
  faults: Fault[],
) => Latency | undefined;

/**
 * importMeasured makes a profile from one file per block, class, virtual size and batch size, each a JSON list of
 * objects. Cells without a file are null, and `measurement.complete` is then false.
 * @param format the tool's name, and the provider that it ran
 * @throws InputError with every fault of every file, by entry
 */
export function importMeasured(
  files: readonly MeasuredFile[],
  options: MeasuredOptions,
  format: { readonly name: string; readonly provider?: string; readonly read: LatencyReader },
): Profile {
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
    pushAll(faults, placeFaults(file, blocks));
    const entries = readEntries(file, format.name, faults);
    const latency = entries && format.read(entries, file.path, faults);
    if (latency !== undefined && faults.length === 0)
      place(profile, file, { ...latency, ...(format.provider && { provider: format.provider }) }, faults);
  }
  if (faults.length > 0) throw new InputError(`import ${format.name} files`, faults);
  profile.measurement = { complete: isComplete(profile) };
  return profile;
}

function readEntries(
  { path, text }: MeasuredFile,
  tool: string,
  faults: Fault[],
): Record<string, unknown>[] | undefined {
  const large = tooLargeJson(text);
  if (large !== undefined) {
    faults.push(fault(large, path));
    return undefined;
  }
  let entries: unknown;
  try {
    entries = JSON.parse(text);
  } catch {
    faults.push(fault(`it is not JSON: ${notJson(text)}`, path));
    return undefined;
  }
  if (Array.isArray(entries) && entries.length > 0 && entries.every(isObject)) return entries;
  faults.push(fault(`it is not a list of objects, as ${tool} writes`, path));
  return undefined;
}

function placeFaults({ path, virtual = 1, batch, block = 0 }: MeasuredFile, blocks: number): Fault[] {
  const faults: Fault[] = [];
  const whole = (value: number, least: number) => Number.isSafeInteger(value) && value >= least;
  if (!whole(virtual, 1)) faults.push(fault(`virtual size is ${virtual}`, path));
  if (!whole(batch, 1)) faults.push(fault(`batch size is ${batch}`, path));
  if (!whole(block, 0) || block >= blocks)
    faults.push(fault(`it is of block ${block}, and blocks are 0 to ${blocks - 1}`, path));
  return faults;
}

function place(
  profile: Profile,
  file: MeasuredFile,
  latency: Latency & { provider?: string },
  faults: Fault[],
): void {
  const { device: className, virtual = 1, batch, block = 0 } = file;
  const empty = () => profile.blocks.map((): number | null => null);
  const provider = latency.provider === undefined ? {} : { provider: latency.provider };
  profile.devices[className] ??= { ...provider, imported: true, blockLatencyUs: {}, blockLatencyP95Us: {} };
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
