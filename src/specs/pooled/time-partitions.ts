import { hostname } from 'node:os';
import { checkWritable, pathFrom, saveArtifact } from '../../artifacts/index.js';
import { itemAt, pushAll } from '../../collections/index.js';
import type { NamedDevice } from '../../execution/index.js';
import {
  counted,
  type DeviceProfile,
  fault,
  InputError,
  layersBeforeBlocks,
  MissingError,
  measuredAs,
  type PlannedPartition,
  type Profile,
  sameData,
} from '../../formats/index.js';
import type { PlanBody, ProfileFile } from '../../milp/index.js';
import {
  type NodeSpan,
  type PreparedModel,
  prepareModel,
  type TimedSpans,
  timeSpans,
} from '../../profiler/index.js';
import { asProfiled } from '../as-profiled.js';
import type { TimingRound } from '../timing-round.js';

/** BetweenRounds holds what later rounds need not find out again. It begins empty. */
export interface BetweenRounds {
  /** The partitions that could not be timed. They are not tried again. */
  readonly givenUp: Set<string>;
  /** Models that are ready to be run, by their profiles' files. */
  readonly prepared: Map<string, PreparedModel>;
  /**
   * The notes so far: the files that hold new figures, and the models on devices that have become slower or
   * faster.
   */
  readonly told: Set<string>;
}

/** TimePartitionsOptions says how partitions are timed. */
export interface TimePartitionsOptions {
  /** The values that rounds hand on to one another. */
  readonly between: BetweenRounds;
  /** As `SolveOptions.mostDrift`. */
  readonly mostDrift?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((doing: string) => void) | undefined;
}

/** Beyond this change of the whole model's latency, a device is not as it was when it was profiled. */
const NOTABLE_DRIFT = 0.25;
/** Beyond this factor, the whole model's latency at one of the two times says nothing about the other. */
const MOST_DRIFT = 2;

/** Cell is a partition that a plan uses and no figure was measured for, at the batch sizes that its pool may run. */
interface Cell extends NodeSpan {
  /** The key of a partition, which is the same for the same partition of a profile's model in all rounds. */
  readonly key: string;
  readonly className: string;
  readonly virtual: number;
  readonly batches: readonly number[];
  readonly planned: PlannedPartition;
}

/**
 * timePartitions times the partitions that a plan uses and that were not yet timed in one piece, on this
 * machine's devices, and adds the figures to the profiles' files. Each is scaled by what the whole model took
 * when it was profiled over what it takes now, so that a machine that is busier than then does not favour
 * what was timed before. A partition that cannot be timed (a device that is not here, a model that has
 * changed, a file that cannot be written, a whole model that takes less than half or more than twice as long
 * as then) is reported in the notes and given up.
 * @param profiles one per model of the plan, as their files have them; figures of an alias are those of its class
 * @returns undefined where every partition was timed or given up before
 * @throws the signal's reason on abort, with the files as they were
 */
export async function timePartitions(
  plan: PlanBody,
  profiles: readonly ProfileFile[],
  {
    between: { givenUp, prepared: ready, told },
    mostDrift = MOST_DRIFT,
    signal,
    onProgress,
  }: TimePartitionsOptions,
): Promise<TimingRound | undefined> {
  const found: Timed[] = [];
  const notes: string[] = [];
  const files = new Map<string, Profile>();
  /**
   * Does what may fail for reasons of the person's files and devices; then the cells are given up, and
   * reported.
   */
  const trying = async <T>(cells: readonly Cell[], act: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await act();
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof InputError || error instanceof MissingError)) throw error;
      notes.push(`not timed: ${error.message}`);
      for (const cell of cells) givenUp.add(cell.key);
      return undefined;
    }
  };
  for (const [m, file] of profiles.entries()) {
    const cells = untimed(plan, m, file).filter(({ key }) => !givenUp.has(key));
    if (cells.length === 0) continue;
    const prepared = await trying(cells, async () => {
      await checkWritable(file.path, { isUpdate: true });
      return ready.get(file.path) ?? (await preparedAsProfiled(file, signal));
    });
    if (prepared === undefined) continue;
    ready.set(file.path, prepared);
    for (const group of groupsOf(cells)) {
      const profile = files.get(file.path) ?? file.profile;
      const { className, virtual } = itemAt(group, 0);
      onProgress?.(
        `timing ${counted(group.length, 'partition')} of ${prepared.name} on 1/${virtual} ${className}`,
      );
      const timed = await trying(group, () =>
        timedGroup(prepared, profile, { cells: group, mostDrift, signal }),
      );
      if (timed === undefined) continue;
      pushAll(found, timed);
      files.set(file.path, withSpans(profile, timed));
    }
  }
  for (const [path, profile] of files) {
    await saveArtifact<'profile'>(path, profile, { isUpdate: true });
    if (!told.has(path))
      notes.push(`${path} holds the new figures; other plans that were made from it must be solved again`);
    told.add(path);
  }
  if (found.length === 0 && notes.length === 0) return undefined;
  return { timed: found.length, furthest: furthestOf(found), notes: [...driftNotes(found, told), ...notes] };
}

/** untimed lists the partitions of a model's pipelines without a figure of their own, each once. */
function untimed(
  { models, cluster }: Pick<PlanBody, 'models' | 'cluster'>,
  model: number,
  { profile, path }: ProfileFile,
): Cell[] {
  const cells = new Map<string, Cell>();
  for (const asPlanned of models[model]?.pipelines.flatMap(({ partitions }) => partitions) ?? []) {
    const planned = { ...asPlanned, device: measuredAs(cluster, asPlanned.device) };
    const { device: className, virtual, batch } = planned;
    const span = layersOf(planned, profile);
    const figures = profile.devices[className];
    const batches = Object.keys(figures?.blockLatencyUs[virtual] ?? {})
      .map(Number)
      .filter((size) => size <= batch && !isTimed(profile, planned, { ...span, size }));
    if (batches.length === 0) continue;
    const key = JSON.stringify([path, span, className, virtual]);
    const known = cells.get(key);
    if (known === undefined || known.batches.length < batches.length)
      cells.set(key, { ...span, key, className, virtual, batches, planned });
  }
  return [...cells.values()];
}

/** The layers of a partition, which is given in layers or in blocks. */
function layersOf({ layers, blocks }: PlannedPartition, profile: Profile): NodeSpan {
  if (layers !== undefined) return { from: layers[0], to: layers[1] };
  const [first, end] = blocks ?? [0, 0];
  const before = layersBeforeBlocks(profile.blocks);
  return { from: itemAt(before, first), to: itemAt(before, end) };
}

/**
 * Single blocks, pairs and the whole model are timed by profiling, other spans here. Blocks whose figures are sums of
 * layers have no 95th percentile.
 */
function isTimed(
  profile: Profile,
  { device, virtual, blocks }: PlannedPartition,
  { from, to, size }: NodeSpan & { readonly size: number },
): boolean {
  const figures = profile.devices[device];
  const p95 = figures?.blockLatencyP95Us?.[virtual]?.[size];
  if (blocks !== undefined && blocks[1] - blocks[0] === 1 && p95?.[blocks[0]] != null) return true;
  const pairs = figures?.pairLatencyUs?.[virtual]?.[size];
  if (blocks !== undefined && blocks[1] - blocks[0] === 2 && pairs?.every((us) => us !== null)) return true;
  if (from === 0 && to === profile.layers?.length && figures?.wholeLatencyUs?.[virtual]?.[size] !== undefined)
    return true;
  const spans = figures?.spanLatencyUs?.[virtual]?.[size] ?? [];
  return spans.some(({ layers }) => layers[0] === from && layers[1] === to);
}

/** Partitions of one class and virtual size are timed together. */
function groupsOf(cells: readonly Cell[]): Cell[][] {
  const groups = new Map<string, Cell[]>();
  for (const cell of cells) {
    const key = `${cell.virtual} ${cell.className}`;
    const group = groups.get(key) ?? [];
    group.push(cell);
    groups.set(key, group);
  }
  return [...groups.values()];
}

/** Timed is a partition's figure at a batch size. */
interface Timed {
  readonly cell: Cell;
  readonly model: string;
  readonly batch: number;
  readonly us: number;
  /** The present time of the whole model over the time when it was profiled. */
  readonly drift: number;
}

async function timedGroup(
  prepared: PreparedModel,
  profile: Profile,
  {
    cells,
    mostDrift,
    signal,
  }: {
    readonly cells: readonly Cell[];
    readonly mostDrift: number;
    readonly signal: AbortSignal | undefined;
  },
): Promise<Timed[]> {
  const { className, virtual } = itemAt(cells, 0);
  const figures = profile.devices[className] as DeviceProfile;
  const batches = [...new Set(cells.flatMap((cell) => cell.batches))];
  const at = (batch: number) => cells.filter((cell) => cell.batches.includes(batch));
  const measured = await timeSpans(prepared, {
    device: deviceOf(className, figures, prepared.name),
    virtual,
    spansAt: new Map(batches.map((batch) => [batch, at(batch)])),
    ...(signal === undefined ? {} : { signal }),
  });
  return batches.flatMap((batch) => {
    const { wholeUs, us } = measured.get(batch) as TimedSpans;
    const profiledUs = figures.wholeLatencyUs?.[virtual]?.[batch] ?? wholeUs;
    const drift = wholeUs / profiledUs;
    if (!(drift <= mostDrift && drift >= 1 / mostDrift))
      throw drifted(prepared.name, itemAt(cells, 0), { batch, wholeUs, profiledUs });
    return at(batch).map((cell, i) => {
      const scaled = Math.round((itemAt(us, i) / drift) * 1000) / 1000;
      return { cell, model: prepared.name, batch, us: scaled, drift };
    });
  });
}

function drifted(
  model: string,
  { className, virtual }: Cell,
  { batch, wholeUs, profiledUs }: { batch: number; wholeUs: number; profiledUs: number },
): InputError {
  const now = `the whole model takes ${(wholeUs / 1000).toPrecision(3)} ms at batch ${batch} on ${hostname()} now`;
  return new InputError(
    `time partitions of ${model} on 1/${virtual} ${className}`,
    [fault(`${now}, and took ${(profiledUs / 1000).toPrecision(3)} ms when it was profiled`)],
    'Profile the model again, on a machine that does nothing else.',
  );
}

function deviceOf(className: string, figures: DeviceProfile, model: string): NamedDevice {
  const { provider, threads, deviceId, slowdown } = figures;
  if (provider === undefined)
    throw new InputError(
      `time partitions of ${model} on ${className}`,
      [fault('its profile does not say by which provider the class is run')],
      'Profile the model on this machine.',
    );
  const device = {
    provider: provider as NamedDevice['device']['provider'],
    ...(threads === undefined ? {} : { threads }),
    ...(deviceId === undefined ? {} : { deviceId }),
    ...(slowdown === undefined ? {} : { slowdown }),
  };
  return { className, device };
}

function withSpans(profile: Profile, timed: readonly Timed[]): Profile {
  const devices = structuredClone(profile.devices);
  for (const { cell, batch, us } of timed) {
    const device = devices[cell.className] as DeviceProfile;
    device.spanLatencyUs ??= {};
    device.spanLatencyUs[cell.virtual] ??= {};
    const byBatch = device.spanLatencyUs[cell.virtual] as Record<
      string,
      { layers: [number, number]; us: number }[]
    >;
    byBatch[batch] = [...(byBatch[batch] ?? []), { layers: [cell.from, cell.to], us }];
  }
  return { ...profile, devices };
}

function furthestOf(timed: readonly Timed[]): TimingRound['furthest'] {
  let furthest: TimingRound['furthest'];
  let most = -1;
  for (const { cell, model, batch, us } of timed) {
    const plannedUs = cell.planned.latencyUsByBatch[batch - 1] ?? us;
    const off = Math.abs(Math.log(plannedUs / us));
    if (batch !== cell.planned.batch || off <= most) continue;
    most = off;
    furthest = { model, partition: cell.planned, batch, plannedUs, measuredUs: us };
  }
  return furthest;
}

function driftNotes(timed: readonly Timed[], told: Set<string>): string[] {
  const byClass = new Map<string, number>();
  for (const { cell, model, drift } of timed) {
    const key = `${model} on 1/${cell.virtual} ${cell.className}`;
    const known = byClass.get(key) ?? 1;
    byClass.set(key, Math.abs(Math.log(drift)) > Math.abs(Math.log(known)) ? drift : known);
  }
  return [...byClass].flatMap(([what, drift]) => {
    if (Math.abs(drift - 1) <= NOTABLE_DRIFT || told.has(what)) return [];
    told.add(what);
    const now = `the whole model takes ${drift.toFixed(2)} times as long on this machine (${hostname()}) now`;
    return [`${what}: ${now} as when it was profiled; figures were scaled by that`];
  });
}

/** preparedAsProfiled prepares the model of a profile as it was profiled. */
async function preparedAsProfiled(
  { profile, path }: ProfileFile,
  signal: AbortSignal | undefined,
): Promise<PreparedModel> {
  const { name, file, sha256, data } = profile.model;
  const task = `time the partitions of ${name}`;
  if (file === undefined) throw new MissingError(task, [fault('its profile names no ONNX file', path)]);
  const prepared = await prepareModel(pathFrom(path, file), {
    device: { provider: 'cpu' },
    ...asProfiled(profile.model),
    boundary: profile.boundary ?? 'exact',
    ...(signal === undefined ? {} : { signal }),
  });
  const refuse = (problem: string, at: string) =>
    new InputError(task, [fault(problem, at)], 'Profile it again.');
  const model = pathFrom(path, file);
  if (sha256 !== undefined && prepared.sha256 !== sha256)
    throw refuse('is not the file that was profiled: its digest differs', model);
  if (sha256 !== undefined && !sameData(data, prepared.data))
    throw refuse('has other external data than was profiled: a digest differs', model);
  const names = (layers: Profile['layers'] = []) => layers.map(({ name: layer }) => layer).join('\n');
  if (names([...prepared.layers]) !== names(profile.layers))
    throw refuse('lists other layers than the model has', `${path}#/layers`);
  return prepared;
}
