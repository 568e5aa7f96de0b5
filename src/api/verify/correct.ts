import { pathFrom, relativePath } from '../../artifacts/index.js';
import {
  type CorrectedProfile,
  type DeviceProfile,
  type Fault,
  fault,
  InputError,
  type Loaded,
  option,
  type Profile,
  stageName,
} from '../../formats/index.js';
import type { PlanPart } from '../../plans/index.js';
import { LEAST_MEASURED, type MeasuredPool } from './measured.js';

/** CorrectionTarget is a profile to correct, and where the result is written. */
export interface CorrectionTarget {
  readonly profile: Loaded<'profile'>;
  readonly output: string;
}

/** ProfiledPlan is what a plan executes, and the models of all profiles that it names; several of these may be one. */
export interface ProfiledPlan {
  readonly profiled: readonly string[];
  readonly parts: readonly PlanPart[];
}

/**
 * correctionTargets finds which profile is written where: `file` for the only model, or `model=file` for each.
 * A file of the only model whose name has `=` is named with its folder, such as `./a=b.json`.
 * @throws InputError where a text names no model of the plan, a model is named twice or planned by 95th percentiles, or its
 *   profile is missing or one of several
 */
export function correctionTargets(
  texts: readonly string[],
  { profiled, parts }: ProfiledPlan,
  profiles: readonly Loaded<'profile'>[],
): CorrectionTarget[] {
  const faults: Fault[] = [];
  const targets: CorrectionTarget[] = [];
  const models = [...new Set(profiled)];
  for (const text of texts) {
    const named = models.find((name) => text.startsWith(`${name}=`));
    const model = named ?? (models.length === 1 ? models[0] : undefined);
    const own = profiles.filter(({ value }) => value.model.name === model);
    const unknown = named === undefined ? namedBefore(text) : undefined;
    const said =
      unknown !== undefined
        ? `the plan has no model ${unknown || '""'}; it has ${models.join(', ')}`
        : model === undefined
          ? `names no model; write model=file, with one of ${models.join(', ')}`
          : refusal(model, parts, own);
    const [profile] = own as [Loaded<'profile'>];
    if (said !== undefined) faults.push(fault(said, option('correct', `"${text}"`)));
    else if (targets.some((target) => target.profile === profile))
      faults.push(fault(`${model} is given twice`, option('correct', `"${text}"`)));
    else targets.push({ profile, output: named === undefined ? text : text.slice(named.length + 1) });
  }
  if (faults.length > 0) throw new InputError(`correct the plan's profiles`, faults);
  return targets;
}

/** namedBefore gives what a text names before its `=`. A text with a folder there is a path, such as `./a=b.json`. */
function namedBefore(text: string): string | undefined {
  const before = /^(.*?)=/.exec(text)?.[1];
  return before?.includes('/') ? undefined : before;
}

/** refusal says why the profile of a model cannot be corrected, where it cannot. */
function refusal(
  model: string,
  parts: readonly PlanPart[],
  own: readonly Loaded<'profile'>[],
): string | undefined {
  if (own.length === 0) return `the profile of ${model} that the plan was made from is not there`;
  if (own.length > 1)
    return `the plan was made from ${own.length} profiles of ${model}: ${own.map(({ path }) => path).join(', ')}; one is corrected`;
  const mixed = parts.find((part) => part.model === model && part.otherClasses !== undefined);
  if (mixed !== undefined)
    return `stage ${stageName(mixed.stage)} has replicas of several classes, whose batches a server does not tell apart`;
  const late = parts.find((part) => part.model === model && part.latencyQuantile === 'p95');
  return late && `stage ${stageName(late.stage)} is planned by 95th percentiles, and medians are corrected`;
}

/**
 * refuseUnmeasured refuses to correct profiles of which a load measured nothing, as the result would say that it was corrected.
 * @param load the load report's path
 * @throws InputError naming every such model
 */
export function refuseUnmeasured(
  load: string,
  targets: readonly CorrectionTarget[],
  pools: readonly MeasuredPool[],
): void {
  const faults = targets.flatMap(({ profile: { value }, output }) => {
    const { name } = value.model;
    const own = pools.filter(({ part }) => part.model === name);
    if (measuredCells(own).length > 0) return [];
    const executed = own.reduce((sum, { cells }) => cells.reduce((all, cell) => all + cell.executed, sum), 0);
    const said = `the server executed ${executed} batches of ${name}, and none of a size that was timed ${LEAST_MEASURED} times or more`;
    return [fault(said, option('correct', `"${output}"`))];
  });
  const advice = 'Send a longer load, or leave out the models that it does not reach.';
  if (faults.length > 0) throw new InputError(`correct profiles by ${load}`, faults, advice);
}

type Cell = CorrectedProfile['cells'][number];

/** correctedProfile multiplies what a profile has of the cells that a load measured by what the load says of them. */
export function correctedProfile(
  { profile, output }: CorrectionTarget,
  pools: readonly MeasuredPool[],
): { profile: Profile; corrected: CorrectedProfile } {
  const { value, path } = profile;
  const own = pools.filter(({ part }) => part.model === value.model.name);
  const cells = measuredCells(own);
  const devices = Object.entries(value.devices).map(([name, device]) => {
    const factors = cells.filter((cell) => cell.class === name);
    return [name, factors.length === 0 ? device : scaledDevice(device, factors)] as const;
  });
  const correctedBy = joinedFactors(value.measurement?.correctedBy ?? {}, cells);
  const file =
    value.model.file === undefined ? {} : { file: movedPath(value.model.file, { from: path, to: output }) };
  const inputs = value.inputs?.map((input) => ({
    ...input,
    path: movedPath(input.path, { from: path, to: output }),
  }));
  return {
    profile: {
      ...value,
      ...(inputs === undefined ? {} : { inputs }),
      model: { ...value.model, ...file },
      devices: Object.fromEntries(devices),
      measurement: { ...value.measurement, correctedBy },
    },
    corrected: { model: value.model.name, path: output, cells, kept: keptCells(value, own, cells) },
  };
}

/**
 * measuredCells gives one factor for each class, virtual size and batch: the measured time of all its partitions'
 * batches over what was planned for them.
 */
function measuredCells(pools: readonly MeasuredPool[]): Cell[] {
  const sums = new Map<string, Omit<Cell, 'factor'> & { plannedUs: number; measuredUs: number }>();
  for (const { part, cells } of pools) {
    for (const { batch, factor, executed, measured } of cells) {
      const plannedUs = part.latencyUsByBatch[batch - 1];
      if (factor === undefined || !plannedUs) continue;
      const { device, virtual } = part;
      const key = JSON.stringify([device, virtual, batch]);
      const sum = sums.get(key) ?? {
        class: device,
        virtual,
        batch,
        measured: 0,
        plannedUs: 0,
        measuredUs: 0,
      };
      sum.measured += measured;
      sum.plannedUs += executed * plannedUs;
      sum.measuredUs += executed * plannedUs * factor;
      sums.set(key, sum);
    }
  }
  return [...sums.values()].map(({ plannedUs, measuredUs, ...cell }) => ({
    ...cell,
    factor: measuredUs / plannedUs,
  }));
}

function scaledDevice(device: DeviceProfile, cells: readonly Cell[]): DeviceProfile {
  const { blockLatencyP95Us, layerLatencyUs, pairLatencyUs, wholeLatencyUs, spanLatencyUs } = device;
  const row = (us: readonly (number | null)[], factor: number) =>
    us.map((one) => (one === null ? null : one * factor));
  const tables = { blockLatencyP95Us, layerLatencyUs, pairLatencyUs };
  const rows = Object.entries(tables).flatMap(([name, table]) =>
    table === undefined ? [] : [[name, scaled(table, cells, row)] as const],
  );
  return {
    ...device,
    blockLatencyUs: scaled(device.blockLatencyUs, cells, row),
    ...Object.fromEntries(rows),
    ...(wholeLatencyUs && {
      wholeLatencyUs: scaled(wholeLatencyUs, cells, (us, factor) => us * factor),
    }),
    ...(spanLatencyUs && {
      spanLatencyUs: scaled(spanLatencyUs, cells, (spans, factor) =>
        spans.map(({ layers, us }) => ({ layers, us: us * factor })),
      ),
    }),
  };
}

/** scaled changes the entries of a table, by virtual size and then batch, that have a factor. */
function scaled<T>(
  table: Record<string, Record<string, T>>,
  cells: readonly Cell[],
  change: (entry: T, factor: number) => T,
): Record<string, Record<string, T>> {
  return mapped(table, (byBatch, virtual) =>
    mapped(byBatch, (entry, batch) => {
      const cell = cells.find((one) => String(one.virtual) === virtual && String(one.batch) === batch);
      return cell === undefined ? entry : change(entry, cell.factor);
    }),
  );
}

function mapped<A, B>(record: Readonly<Record<string, A>>, change: (value: A, key: string) => B) {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value, key)]));
}

type Factors = Record<string, Record<string, Record<string, number>>>;

/** joinedFactors multiplies the factors of earlier corrections by those of this one. */
function joinedFactors(before: Readonly<Factors>, cells: readonly Cell[]): Factors {
  const factors: Factors = structuredClone(before);
  for (const { class: name, virtual, batch, factor } of cells) {
    factors[name] ??= {};
    factors[name][virtual] ??= {};
    const byBatch = factors[name][virtual];
    byBatch[batch] = (byBatch[batch] ?? 1) * factor;
  }
  return factors;
}

/** keptCells lists the cells of the classes and virtual sizes of the plan that have no factor. */
function keptCells(
  { devices }: Profile,
  pools: readonly MeasuredPool[],
  cells: readonly Cell[],
): CorrectedProfile['kept'] {
  const used = new Map(
    pools.map(({ part: { device, virtual } }) => [`${virtual} ${device}`, { device, virtual }]),
  );
  return [...used.values()].flatMap(({ device, virtual }) =>
    Object.keys(devices[device]?.blockLatencyUs[virtual] ?? {}).flatMap((text) => {
      const batch = Number(text);
      const isMeasured = cells.some(
        (cell) => cell.class === device && cell.virtual === virtual && cell.batch === batch,
      );
      return isMeasured ? [] : [{ class: device, virtual, batch }];
    }),
  );
}

function movedPath(path: string, { from, to }: { readonly from: string; readonly to: string }): string {
  return relativePath(pathFrom(from, path), to);
}
