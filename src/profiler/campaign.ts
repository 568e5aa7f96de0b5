import { pushAll } from '../collections/index.js';
import { checkThreads, type NamedDevice } from '../execution/index.js';
import {
  type DimValues,
  type Fault,
  fault,
  InputError,
  MOST_BATCH,
  MOST_VIRTUAL,
  option,
  type Profile,
  sameData,
  type TensorSpec,
} from '../formats/index.js';
import { DEFAULT_LIMITS, type Limits, type PreparedModel, type ProfileOptions } from './types.js';

/** A longer pause leaves no time to measure. */
const LONGEST_PAUSE_MS = 1000;

/** Campaign is a checked list of what will be measured: the options with their defaults. */
export interface Campaign {
  readonly devices: readonly NamedDevice[];
  readonly batchSizes: readonly number[];
  readonly limits: Limits;
  virtualSizesOf(className: string): readonly number[];
}

/**
 * campaignOf completes the options with their defaults. A model with a fixed batch is measured at that batch only,
 * whatever sizes are asked for.
 * @throws InputError with every fault: sizes that are no positive integers, classes named twice, threads that do not
 *   divide among virtual GPUs or are more than the host has, limits that cannot be met, a profile to resume whose
 *   measurements differ from these
 */
export function campaignOf(prepared: PreparedModel, options: ProfileOptions): Campaign {
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const virtualSizesOf = (className: string) => ascending(options.virtualSizes?.[className] ?? [1]);
  const faults = [
    ...sizeFaults('batch sizes', options.batchSizes, MOST_BATCH),
    ...Object.entries(options.virtualSizes ?? {}).flatMap(([name, sizes]) =>
      sizeFaults(`virtual sizes of ${name}`, sizes, MOST_VIRTUAL),
    ),
    ...deviceFaults(options.devices, virtualSizesOf),
    ...limitFaults(limits),
    ...(options.resume === undefined ? [] : resumeFaults(prepared, options.resume, { ...options, limits })),
  ];
  if (faults.length > 0) throw new InputError(`profile ${prepared.name}`, faults);
  const { fixedBatch } = prepared;
  const batchSizes = fixedBatch === undefined ? ascending(options.batchSizes) : [fixedBatch];
  return { devices: options.devices, batchSizes, limits, virtualSizesOf };
}

function ascending(sizes: readonly number[]): number[] {
  return [...new Set(sizes)].sort((a, b) => a - b);
}

function sizeFaults(what: string, sizes: readonly number[], most: number): Fault[] {
  if (sizes.length === 0) return [fault(`no ${what} are given`)];
  const large = sizes.filter((size) => size > most);
  if (large.length > 0)
    return [fault(`${what} are at most ${most} (docs/limits.md), not ${large.join(', ')}`)];
  const wrong = sizes.filter((size) => !(Number.isSafeInteger(size) && size >= 1));
  return wrong.length === 0 ? [] : [fault(`${what} are whole numbers from 1 on, not ${wrong.join(', ')}`)];
}

function deviceFaults(
  devices: readonly NamedDevice[],
  virtualSizesOf: (className: string) => readonly number[],
): Fault[] {
  if (devices.length === 0) return [fault('no devices are given')];
  const names = devices.map(({ className }) => className);
  const twice = names.filter((name, i) => names.indexOf(name) !== i);
  const threads = devices.flatMap(({ className, device }) =>
    virtualSizesOf(className).flatMap((virtual) => checkThreads([{ device, virtual, count: 1 }])),
  );
  return [...new Set(twice)].map((name) => fault(`class ${name} is given twice`)).concat(threads);
}

function limitFaults({ warmupRuns, minRuns, minMs, maxMs, pauseMs }: Limits): Fault[] {
  const faults: Fault[] = [];
  if (!(Number.isSafeInteger(warmupRuns) && warmupRuns >= 0))
    faults.push(fault(`${warmupRuns} warm-up runs are asked for; 0 or more is valid`));
  if (!(Number.isSafeInteger(minRuns) && minRuns >= 1))
    faults.push(fault(`at least ${minRuns} runs are asked for; 1 or more is valid`));
  if (!(pauseMs >= 0 && pauseMs <= LONGEST_PAUSE_MS))
    faults.push(fault(`a pause of ${pauseMs} ms is asked for; 0 to ${LONGEST_PAUSE_MS} are valid`));
  if (!(minMs >= 0 && maxMs > 0))
    faults.push(
      fault(
        `a figure is to take at least ${minMs} and at most ${maxMs} ms; 0 or more, and more than 0, are valid`,
      ),
    );
  else if (maxMs < minMs)
    faults.push(
      fault(`${option('maxMs')} is ${maxMs}, less than ${option('minMs')}, which is ${minMs}: give both`),
    );
  return faults;
}

/**
 * resumeFaults says why a profile cannot be resumed: figures of other models, blocks or limits would mix in a table.
 */
function resumeFaults(
  prepared: PreparedModel,
  resume: Profile,
  options: ProfileOptions & { limits: Limits },
): Fault[] {
  const faults: Fault[] = [];
  if (resume.model.sha256 !== prepared.sha256)
    faults.push(fault('the profile to resume is of another model file: its digest differs'));
  else if (!sameData(resume.model.data, prepared.data))
    faults.push(fault('the profile to resume is of other external data: a digest differs'));
  if (!sameEntries(resume.model.dims ?? {}, prepared.dims))
    faults.push(fault('the profile to resume has other dimensions'));
  if (!sameEntries(fillOf(resume.model.inputs ?? []), fillOf(prepared.inputs)))
    faults.push(fault('the profile to resume has other values in its inputs'));
  if (resume.model.batchTolerance !== prepared.batchTolerance)
    faults.push(fault('the profile to resume has another batch tolerance'));
  if (resume.model.trustBatch !== prepared.trustBatch)
    faults.push(fault('the profile to resume has another reason to take batches on trust'));
  if ((resume.boundary ?? 'exact') !== prepared.boundary)
    faults.push(
      fault(`the profile to resume has boundary ${resume.boundary ?? 'exact'}, not ${prepared.boundary}`),
    );
  // Earlier versions did not pause.
  const measurement = { pauseMs: 0, ...resume.measurement };
  for (const key of ['warmupRuns', 'minRuns', 'minMs', 'maxMs', 'pauseMs'] as const) {
    if (measurement[key] !== options.limits[key])
      faults.push(
        fault(
          `the profile to resume was measured with ${key} ${measurement[key] ?? 'unknown'}, not ${options.limits[key]}`,
        ),
      );
  }
  pushAll(faults, otherPartition(resume, options.partition));
  const wanted = options.blocksOf?.blocks;
  if (wanted !== undefined && !sameBlocks(wanted, resume.blocks))
    faults.push(fault('the profile to resume has other blocks than those asked for'));
  return [...faults, ...options.devices.flatMap((named) => otherDevice(resume, named))];
}

/**
 * otherPartition gives a fault for the number of blocks, and one for the method, where it is asked for and is not what
 * the profile to resume was begun with. A method is not compared where the profile names none.
 */
function otherPartition(
  { blocks, measurement }: Profile,
  { method, blocks: count }: NonNullable<ProfileOptions['partition']> = {},
): Fault[] {
  const before = measurement?.partition;
  const faults: Fault[] = [];
  if (count !== undefined && count !== (before?.blocks ?? blocks.length))
    faults.push(
      fault(`the profile to resume was begun with ${before?.blocks ?? blocks.length} blocks, not ${count}`),
    );
  if (method !== undefined && before !== undefined && method !== before.method)
    faults.push(fault(`the profile to resume was begun with method ${before.method}, not ${method}`));
  return faults;
}

function otherDevice(resume: Profile, { className, device }: NamedDevice): Fault[] {
  const before = resume.devices[className];
  if (before === undefined) return [];
  const same =
    before.provider === device.provider &&
    (device.threads === undefined || before.threads === device.threads) &&
    before.deviceId === device.deviceId &&
    (before.slowdown ?? 1) === (device.slowdown ?? 1);
  return same ? [] : [fault(`class ${className} of the profile to resume is another device`)];
}

/** fillOf gives the numbers that fill inputs, by their names. */
function fillOf(inputs: readonly TensorSpec[]): Record<string, number> {
  return Object.fromEntries(inputs.flatMap(({ name, fill }) => (fill === undefined ? [] : [[name, fill]])));
}

function sameEntries(a: Readonly<DimValues>, b: Readonly<DimValues>): boolean {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...names].every((name) => a[name] === b[name]);
}

/** sameBlocks says whether two lists have as many blocks, and each the same nodes in order, or none named in both. */
export function sameBlocks(a: Profile['blocks'], b: Profile['blocks']): boolean {
  const text = (blocks: Profile['blocks']) => JSON.stringify(blocks.map(({ nodes }) => nodes ?? null));
  return text(a) === text(b);
}
