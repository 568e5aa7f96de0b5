import { largestOf, pushAll } from '../../collections/index.js';
import {
  aliasFaults,
  type Cluster,
  classGbps,
  classText,
  type DeviceClass,
  type Fault,
  fault,
  InputError,
  listed,
  MissingError,
  measurementNotes,
  type PooledSpec,
  type PooledSpecModel,
  type Profile,
  profiledClasses,
  servingNotes,
} from '../../formats/index.js';
import type { PooledProblem, ProblemModel, ResolvedPlanner } from '../problem.js';
import { profileFaults } from './profile-faults.js';
import { usableFigures } from './usable-figures.js';

/** Pricing has one bit per class that is to take a share of a model. */
const MOST_SHARES = 32;

/** ProfileFile is a profile that a model of the spec names, with its path. */
export interface ProfileFile {
  readonly profile: Profile;
  readonly path: string;
}

const DEFAULT_SLO_MARGIN = 0.4;

/** A class has at most this many GPUs. */
const MOST_GPUS = 1e9;

/** Weights smaller than this part of the largest lose their digits. */
const LEAST_WEIGHT = 1e-300;

/** A GPU is divided into at most this many virtual GPUs. */
const MOST_VIRTUAL = 1000;

/** SpecParts is what a pooled spec names. */
interface SpecParts {
  readonly cluster: Cluster;
  /** The profiles of the spec's models, in order. */
  readonly profiles: readonly ProfileFile[];
  /** The spec's file, which faults name. */
  readonly where: string;
}

/**
 * resolvePooled fills in every default of a pooled spec, with its cluster and profiles: among others a margin of 0.4 of
 * the SLO, three partitions at most, blocks, weight 1, and whole GPUs per pool. Classes that a model cannot use are
 * left out of its `classes`, with a note. It reads no file.
 * @throws InputError with every fault of spec, cluster and profiles, or with the first model that was given no profile;
 *   MissingError if a model can use no free GPU of the cluster, by its profile, `only` and `not`
 */
export function resolvePooled(spec: PooledSpec, { cluster, profiles, where }: SpecParts): PooledProblem {
  const task = `plan ${where}`;
  const planner = resolvedPlanner(spec);
  const models = spec.models.map((model, i) => resolvedModel(model, cluster, named(profiles, i, task), spec));
  const faults = [
    ...namesakeFaults(models),
    ...marginFaults(spec),
    ...clusterFaults(cluster, planner, models),
    ...aliasFaults(cluster, profiles),
    ...weightFaults(models, planner),
    ...spec.models.flatMap((model, i) => modelFaults(model, `/models/${i}`, cluster, planner)),
    ...models.flatMap((model, i) =>
      profileFaults(model, named(profiles, i, task).path, { cluster, planner }),
    ),
  ];
  if (faults.length > 0) throw new InputError(task, faults);
  refuseMissing(models, cluster, profiles, task);
  return { cluster, models, planner };
}

/** namesakeFaults refuses a model that is listed twice, because plans, options and requests find models by name. */
function namesakeFaults(models: readonly ProblemModel[]): Fault[] {
  const names = models.map(({ name }) => name);
  return names.flatMap((name, i) => {
    const first = names.indexOf(name);
    return first === i
      ? []
      : [fault(`is the model ${name}, as is /models/${first}: list it once`, `/models/${i}`)];
  });
}

/** marginFaults refuses two margins for one SLO. */
function marginFaults({ planner = {}, models }: PooledSpec): Fault[] {
  const margins = [
    { margins: planner, at: '/planner' },
    ...models.map((model, i) => ({ margins: model, at: `/models/${i}` })),
  ];
  return margins.flatMap(({ margins: { sloMargin, sloMarginMs }, at }) =>
    sloMargin === undefined || sloMarginMs === undefined
      ? []
      : [fault('has both sloMargin and sloMarginMs: give one', at)],
  );
}

function named(profiles: readonly ProfileFile[], i: number, task: string): ProfileFile {
  const found = profiles[i];
  if (found === undefined) throw new InputError(task, [fault('no profile was given for it', `/models/${i}`)]);
  return found;
}

function resolvedPlanner({ planner = {} }: PooledSpec): ResolvedPlanner {
  return {
    objective: planner.objective ?? 'throughput',
    maxPartitions: planner.maxPartitions ?? 3,
    granularity: planner.granularity ?? 'block',
    sloMargin: planner.sloMargin ?? DEFAULT_SLO_MARGIN,
    sloMarginMs: planner.sloMarginMs,
    unifiedBatch: planner.unifiedBatch ?? true,
    batchFormation: planner.batchFormation ?? 'none',
    linkThroughput: planner.linkThroughput ?? true,
    wholeGpusPer: planner.wholeGpusPer ?? 'pool',
    virtualPer: planner.virtualPer ?? 'gpu',
  };
}

function resolvedModel(
  model: PooledSpecModel,
  cluster: Cluster,
  { profile }: ProfileFile,
  spec: PooledSpec,
): ProblemModel {
  const names = Object.keys(cluster.devices);
  const classes = names.filter((name) => unusableNote(cluster, name, { spec: model, profile }) === undefined);
  const notes = [
    ...modelNotes({ spec: model, profile }, spec),
    ...names.flatMap((name) => unusableNote(cluster, name, { spec: model, profile }) ?? []),
    ...measurementNotes(profile.model.name, profile, usableFigures({ profile, classes }, cluster)),
  ];
  const sloUs = model.sloMs * 1000;
  return {
    profile,
    spec: model,
    name: profile.model.name,
    sloUs,
    sloMarginUs: marginUs(model, spec, sloUs),
    weight: model.weight ?? 1,
    rps: model.rps,
    batchFormation: model.batchFormation ?? spec.planner?.batchFormation ?? 'none',
    classes,
    minShare: Object.fromEntries(Object.entries(model.minShare ?? {}).filter(([, share]) => share > 0)),
    notes,
  };
}

/**
 * modelNotes gives what is to be known of a model on every cluster: what its server says of it, and that its rate has no say
 * in a plan for most throughput, which goes by weights alone.
 */
export function modelNotes(
  { spec: { rps, weight = 1 }, profile: { model } }: Pick<ProblemModel, 'spec' | 'profile'>,
  { planner = {} }: PooledSpec,
): string[] {
  const { name } = model;
  const told = servingNotes(name, model);
  if (rps === undefined || (planner.objective ?? 'throughput') !== 'throughput') return told;
  return [
    ...told,
    `${name}: rps ${rps} is not used by the objective throughput, but the weight of ${weight} is; give the rate as the weight, or planner.objective: cost`,
  ];
}

/** unusableNote says why a model cannot use a device class of the cluster; it is undefined where the model can. */
export function unusableNote(
  cluster: Cluster,
  name: string,
  { spec, profile }: Pick<ProblemModel, 'spec' | 'profile'>,
): string | undefined {
  const why = whyNotUsable(name, spec, profile);
  return why === undefined
    ? undefined
    : `${profile.model.name} cannot use ${classText(cluster, name)}: ${why}`;
}

function whyNotUsable(name: string, model: PooledSpecModel, profile: Profile): string | undefined {
  if (model.only !== undefined && model.only.length > 0 && !model.only.includes(name))
    return 'left out by `only`';
  if (model.not?.includes(name)) return 'excluded by `not`';
  if (profile.devices[name] !== undefined) return undefined;
  const profiled = profiledClasses(profile);
  return `only ${listed(profiled)} ${profiled.length === 1 ? 'is' : 'are'} profiled`;
}

/** The model's own margin comes before the planner's, and milliseconds come before a fraction. */
function marginUs(model: PooledSpecModel, spec: PooledSpec, sloUs: number): number {
  if (model.sloMarginMs !== undefined) return model.sloMarginMs * 1000;
  if (model.sloMargin !== undefined) return model.sloMargin * sloUs;
  if (spec.planner?.sloMarginMs !== undefined) return spec.planner.sloMarginMs * 1000;
  return (spec.planner?.sloMargin ?? DEFAULT_SLO_MARGIN) * sloUs;
}

function clusterFaults(cluster: Cluster, planner: ResolvedPlanner, models: readonly ProblemModel[]): Fault[] {
  const entries = Object.entries(cluster.devices);
  const free = entries.reduce((sum, [, c]) => sum + Math.max(0, c.count - (c.taken ?? 0)), 0);
  const faults = entries.flatMap(([name, device]) =>
    (device.taken ?? 0) > device.count
      ? [
          fault(
            `${device.taken} GPUs are taken and there are ${device.count}`,
            `/cluster/devices/${name}/taken`,
          ),
        ]
      : [],
  );
  pushAll(faults, entries.flatMap(sizeFaults));
  if (free === 0 && faults.length === 0)
    faults.push(fault(`it has no free device: ${entries.map(countText).join(', ')}`, '/cluster/devices'));
  if (planner.maxPartitions > 1 && free > 1) pushAll(faults, bandwidthFaults(cluster, models));
  if (planner.objective !== 'throughput') pushAll(faults, priceFaults(cluster, planner, models));
  return faults;
}

/** sizeFaults refuses counts that are too large for exact figures, and sizes that are too large for tables. */
function sizeFaults([name, { count, virtual = [] }]: [string, DeviceClass]): Fault[] {
  const at = `/cluster/devices/${name}`;
  const large = virtual.filter((v) => v > MOST_VIRTUAL);
  return [
    ...(count > MOST_GPUS
      ? [fault(`${count} GPUs are more than can be planned: give at most ${MOST_GPUS}`, `${at}/count`)]
      : []),
    ...(large.length > 0
      ? [
          fault(
            `a GPU cannot be ${large.join(' or ')} virtual ones: give at most ${MOST_VIRTUAL}`,
            `${at}/virtual`,
          ),
        ]
      : []),
  ];
}

function countText([name, { count, taken = 0 }]: [string, DeviceClass]): string {
  return taken > 0 ? `${name} has ${count}, ${taken} of them taken` : `${name} has ${count}`;
}

function usable(cluster: Cluster, models: readonly ProblemModel[]): [string, DeviceClass][] {
  return Object.entries(cluster.devices).filter(([name]) => models.some((m) => m.classes.includes(name)));
}

/** Without a bandwidth, the cost of a cut is not known. */
function bandwidthFaults(cluster: Cluster, models: readonly ProblemModel[]): Fault[] {
  return usable(cluster, models).flatMap(([name]) =>
    classGbps(cluster, name) === undefined
      ? [
          fault(
            'has no linkGbps and the cluster no networkGbps, so transfers between partitions cannot be planned; ' +
              'give one, or set planner.maxPartitions to 1',
            `/cluster/devices/${name}`,
          ),
        ]
      : [],
  );
}

function priceFaults(cluster: Cluster, planner: ResolvedPlanner, models: readonly ProblemModel[]): Fault[] {
  const key = planner.objective === 'cost' ? 'hourlyCost' : 'powerWatts';
  return usable(cluster, models).flatMap(([name, device]) =>
    device[key] === undefined
      ? [fault(`has no ${key}, which the objective ${planner.objective} needs`, `/cluster/devices/${name}`)]
      : [],
  );
}

function weightFaults(models: readonly ProblemModel[], planner: ResolvedPlanner): Fault[] {
  if (planner.objective !== 'throughput') {
    return models.flatMap((model, i) =>
      model.rps === undefined
        ? [fault(`has no rps, which the objective ${planner.objective} must meet`, `/models/${i}`)]
        : [],
    );
  }
  const largest = largestOf(models.map(({ weight }) => weight));
  const least = LEAST_WEIGHT * Math.max(1, largest);
  const small = models.flatMap(({ weight }, i) =>
    weight > 0 && weight < least
      ? [fault(`${weight} is too small to be counted: give at least ${least}, or 0`, `/models/${i}/weight`)]
      : [],
  );
  const sum = models.reduce((total, { weight }) => total + weight, 0);
  if (sum > 0) return small;
  return [
    fault(`the weights sum to ${sum}: ${models.map((m) => `${m.name} ${m.weight}`).join(', ')}`, '/models'),
  ];
}

function modelFaults(
  model: PooledSpecModel,
  at: string,
  cluster: Cluster,
  planner: ResolvedPlanner,
): Fault[] {
  const valid = Object.keys(cluster.devices);
  const unknown = (names: readonly string[], key: string): Fault[] =>
    names
      .filter((name) => !valid.includes(name))
      .map((name) =>
        fault(`names ${name}, which the cluster does not have; it has ${valid.join(', ')}`, `${at}/${key}`),
      );
  const faults = [
    ...unknown(model.only ?? [], 'only'),
    ...unknown(model.not ?? [], 'not'),
    ...unknown(Object.keys(model.minShare ?? {}), 'minShare'),
  ];
  const shares = Object.values(model.minShare ?? {}).filter((share) => share > 0).length;
  if (shares > MOST_SHARES)
    faults.push(
      fault(`asks for shares of ${shares} classes; at most ${MOST_SHARES} are planned`, `${at}/minShare`),
    );
  const marginMs = model.sloMarginMs ?? (model.sloMargin === undefined ? planner.sloMarginMs : undefined);
  if (marginMs !== undefined && marginMs >= model.sloMs)
    faults.push(
      fault(`the margin of ${marginMs} ms leaves nothing of the SLO of ${model.sloMs} ms`, `${at}/sloMs`),
    );
  return faults;
}

function refuseMissing(
  models: readonly ProblemModel[],
  cluster: Cluster,
  profiles: readonly ProfileFile[],
  task: string,
): void {
  const faults = models.flatMap((model, i) => {
    const free = model.classes.filter((name) => {
      const device = cluster.devices[name] as DeviceClass;
      return device.count > (device.taken ?? 0);
    });
    if (free.length > 0) return [];
    const profiled = profiledClasses(model.profile).join(', ');
    const there = Object.entries(cluster.devices).map(countText).join(', ');
    // Where no class would do, the counts say nothing; a comparison asks this with counts that are nobody's.
    const lacking =
      model.classes.length === 0
        ? `device class of the cluster (${listed(Object.keys(cluster.devices))})`
        : `free device of the cluster (${there})`;
    return [
      fault(
        `${model.name} can use no ${lacking}; its profile ${named(profiles, i, task).path} has ${profiled}`,
        `/models/${i}`,
      ),
    ];
  });
  if (faults.length > 0) throw new MissingError(task, faults, 'Profile the model on a class of the cluster.');
}
