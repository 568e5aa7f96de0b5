import { emittedHead } from '../artifacts/index.js';
import { pushAll } from '../collections/index.js';
import {
  commandText,
  type DeviceProfile,
  type Fault,
  fault,
  InputError,
  type Measurement,
  type Profile,
  unfitFigures,
} from '../formats/index.js';
import { sameBlocks } from './campaign.js';
import { heldCells } from './held-cells.js';
import { overWholes } from './over-wholes.js';
import { predictedOverWhole, sumOverWhole } from './statistics.js';

/** MeasuredProfile is a profile to merge, with its path for faults. */
export interface MeasuredProfile {
  readonly profile: Profile;
  readonly path: string;
}

/**
 * mergeProfiles makes one profile of the profiles of several machines: the same model (by digest) and the same blocks
 * (by nodes), each machine with its device classes. A class that two profiles share is joined where both measured it
 * with the same settings and no figure differs; a virtual or batch size that only one has is taken from that one.
 * `inputs` is left to the caller, who knows the files.
 *
 * Measurement settings are kept where all agree. Each host is listed under the classes that it measured.
 * @throws InputError with every conflict: another model, dimensions, boundary, blocks, or a class measured twice with
 *   different figures; also where there are no profiles
 */
export function mergeProfiles(profiles: readonly MeasuredProfile[]): Profile {
  const [first, ...others] = profiles;
  if (first === undefined) throw new InputError('merge profiles', [fault('none are given')]);
  const faults = others.flatMap((other) => differences(first, other));
  const devices: Record<string, DeviceProfile> = {};
  const from = new Map<string, string>();
  for (const { profile, path } of profiles) {
    for (const [className, device] of Object.entries(profile.devices)) {
      const before = devices[className];
      if (before === undefined) devices[className] = structuredClone(device);
      else pushAll(faults, join(before, device, { className, paths: [from.get(className) ?? '', path] }));
      from.set(className, path);
    }
  }
  if (faults.length > 0) throw new InputError('merge profiles', faults, remedy(profiles, faults));
  const { inputs: _inputs, ...head } = emittedHead('profile', []);
  const { model, boundary, layers, blocks } = structuredClone(first.profile);
  return {
    ...head,
    model,
    ...(boundary === undefined ? {} : { boundary }),
    ...(layers === undefined ? {} : { layers }),
    blocks,
    devices,
    measurement: mergedMeasurement(profiles, devices),
  };
}

function differences(first: MeasuredProfile, other: MeasuredProfile): Fault[] {
  const [a, b] = [first.profile, other.profile];
  const faults: Fault[] = [];
  const differs = (what: string, x: unknown, y: unknown) => {
    if (JSON.stringify(x) === JSON.stringify(y)) return;
    faults.push(
      fault(`${what} differs from that of ${first.path}: ${shown(y)}, not ${shown(x)}`, other.path),
    );
  };
  if (a.model.sha256 !== undefined || b.model.sha256 !== undefined)
    differs("the model's digest", a.model.sha256, b.model.sha256);
  else differs("the model's name", a.model.name, b.model.name);
  differs("the model's external data", a.model.data, b.model.data);
  differs("the model's dimensions", sorted(a.model.dims), sorted(b.model.dims));
  differs('the fixed batch', a.model.fixedBatch, b.model.fixedBatch);
  differs('the measured shapes', sorted(a.model.measuredShapes), sorted(b.model.measuredShapes));
  differs('the batch tolerance', a.model.batchTolerance, b.model.batchTolerance);
  differs('the trust in its batches', a.model.trustBatch, b.model.trustBatch);
  differs('the boundary', a.boundary ?? 'exact', b.boundary ?? 'exact');
  const bytes = (profile: Profile) => profile.blocks.map(({ cutBytes }) => cutBytes);
  differs('the bytes after the blocks', bytes(a), bytes(b));
  if (!sameBlocks(a.blocks, b.blocks))
    faults.push(fault(`its blocks hold other nodes than those of ${first.path}`, other.path));
  return faults;
}

/** remedy says how profiles of one model are made that fit together, where those given are cut or read differently. */
function remedy(
  [first, ...others]: readonly MeasuredProfile[],
  faults: readonly Fault[],
): string | undefined {
  if (first === undefined) return undefined;
  const { model } = first.profile;
  const again = others.filter((other) => sameModel(first, other) && differences(first, other).length > 0);
  if (again.length === 0)
    return faults.some(({ path }) => path.startsWith('class '))
      ? 'Measure the device of each machine under a name of its own, as in --device other=cpu.'
      : undefined;
  const commands = again.map(({ profile, path }) =>
    commandText([
      ...['profile', model.file ?? 'MODEL', '--blocks', first.path],
      ...cellArguments(profile),
      ...['-o', path],
    ]),
  );
  const which =
    model.file === undefined ? `; MODEL is the file of ${model.name}, which ${first.path} does not name` : '';
  return `Measure the blocks of ${first.path} on the other machine, with the devices and sizes that it has; its --dim and --boundary are taken from it${which}:\n  ${commands.join('\n  ')}`;
}

/** cellArguments gives the arguments by which the devices and sizes of a profile are measured again. */
function cellArguments(profile: Profile): string[] {
  const { devices, batch, virtual } = heldCells(profile);
  return [
    ...devices.flatMap((device) => ['--device', device]),
    ...(batch.length === 0 ? [] : ['--batch', batch.join()]),
    ...(virtual.every((size) => size === 1) ? [] : ['--virtual', virtual.join()]),
  ];
}

/** sameModel says whether two profiles are of one file, by its digest where that is known. */
function sameModel(
  { profile: { model: a } }: MeasuredProfile,
  { profile: { model: b } }: MeasuredProfile,
): boolean {
  return a.sha256 === undefined && b.sha256 === undefined ? a.name === b.name : a.sha256 === b.sha256;
}

function sorted<T>(values: Readonly<Record<string, T>> = {}): [string, T][] {
  return Object.entries(values).sort(([a], [b]) => (a < b ? -1 : 1));
}

function shown(value: unknown): string {
  const text = value === undefined ? 'none' : JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 77)}…` : text;
}

const SETTINGS = [
  'provider',
  'threads',
  'deviceId',
  'slowdown',
  'emulated',
  'imported',
  'driver',
  'memoryBytes',
] as const;
const TABLES = [
  'blockLatencyUs',
  'blockLatencyP95Us',
  'layerLatencyUs',
  'pairLatencyUs',
  'wholeLatencyUs',
  'wholeExecutionUs',
] as const;

/** join adds a class's figures to those of another profile. @returns conflicts; with any, `into` is of no use */
function join(
  into: DeviceProfile,
  from: DeviceProfile,
  { className, paths }: { className: string; paths: readonly string[] },
): Fault[] {
  const faults: Fault[] = [];
  const conflict = (what: string) =>
    faults.push(fault(`${what} in ${paths.join(' and ')}`, `class ${className}`));
  for (const key of SETTINGS)
    if (into[key] !== from[key])
      conflict(`${key} differs (${into[key] ?? 'absent'}, ${from[key] ?? 'absent'})`);
  for (const key of TABLES) {
    const source = from[key];
    if (source === undefined) continue;
    const target: Record<string, Record<string, unknown>> = into[key] ?? {};
    for (const [virtual, rows] of Object.entries(source)) {
      target[virtual] ??= {};
      for (const [batch, row] of Object.entries(rows)) {
        const joined = joinRows(target[virtual][batch], row);
        if (joined === undefined) conflict(`${key} at 1/${virtual}, batch ${batch} is measured twice`);
        else target[virtual][batch] = joined;
      }
    }
    Object.assign(into, { [key]: target });
  }
  joinSpans(into, from, conflict);
  const loads = into.loadMs ?? from.loadMs;
  if (loads !== undefined) into.loadMs = loads.map((ms, i) => ms ?? from.loadMs?.[i] ?? null);
  return faults;
}

/** joinSpans adds spans that were timed in one piece; the same span at two latencies is a conflict. */
function joinSpans(into: DeviceProfile, from: DeviceProfile, conflict: (what: string) => void): void {
  for (const [virtual, byBatch] of Object.entries(from.spanLatencyUs ?? {})) {
    for (const [batch, spans] of Object.entries(byBatch)) {
      into.spanLatencyUs ??= {};
      into.spanLatencyUs[virtual] ??= {};
      const known = into.spanLatencyUs[virtual][batch] ?? [];
      const placed = new Map(known.map(({ layers, us }) => [layers.join('–'), us]));
      const added = spans.filter(({ layers }) => !placed.has(layers.join('–')));
      for (const { layers, us } of spans)
        if ((placed.get(layers.join('–')) ?? us) !== us)
          conflict(`layers ${layers.join('–')} at 1/${virtual}, batch ${batch} are timed twice`);
      into.spanLatencyUs[virtual][batch] = [...known, ...added];
    }
  }
}

/** joinRows joins two rows (or figures) of a cell: one fills the other's gaps; undefined where both differ. */
function joinRows(a: unknown, b: unknown): unknown {
  if (a === undefined || a === null || a === b) return b;
  if (b === null) return a;
  if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return undefined;
  const joined = a.map((value, i) => joinRows(value, b[i]));
  return joined.includes(undefined) ? undefined : joined;
}

function mergedMeasurement(profiles: readonly MeasuredProfile[], devices: Profile['devices']): Measurement {
  const all = profiles.map(({ profile }) => profile.measurement ?? {});
  const agreed = (['warmupRuns', 'minRuns', 'minMs', 'maxMs', 'pauseMs', 'date'] as const).flatMap((key) => {
    const [value] = all.map((measurement) => measurement[key]);
    return value !== undefined && all.every((measurement) => measurement[key] === value)
      ? [[key, value]]
      : [];
  });
  const hosts = profiles.flatMap(({ profile }) =>
    Object.keys(profile.devices).map((name) => [name, profile.measurement?.host ?? {}] as const),
  );
  const sums = overWholes(devices, sumOverWhole);
  const predicted = overWholes(devices, predictedOverWhole);
  const warnings = [...new Set(all.flatMap(({ warnings: list = [] }) => list))];
  const unfit = profiles.flatMap(({ profile }) => unfitFigures(profile));
  return {
    ...(Object.fromEntries(agreed) as Measurement),
    host: { classes: Object.fromEntries(hosts) },
    complete: all.every(({ complete }) => complete !== false),
    ...(Object.keys(sums).length > 0 ? { blockSumOverWhole: sums } : {}),
    ...(Object.keys(predicted).length > 0 ? { predictedOverWhole: predicted } : {}),
    ...(unfit.length > 0 ? { unfit: [...new Map(unfit.map((one) => [one.warning, one])).values()] } : {}),
    ...(warnings.length > 0 ? { warnings } : {}),
  };
}
