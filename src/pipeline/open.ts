import { itemAt } from '../collections/index.js';
import {
  aliasFaults,
  BYTES_PER_GIB,
  classText,
  type DeviceProfile,
  distinctFaults,
  type Fault,
  fault,
  type LatencyQuantile,
  listed,
  type OpenCluster,
  type PipelineSpec,
  type PipelineStage,
  type Profile,
  profiledClasses,
  type StageInput,
  toldApart,
} from '../formats/index.js';
import { countFaults, readStageGraph, type StageGraph, wireStages } from '../plans/index.js';
import { latencyUsByBatch, measuredBatches } from './latencies.js';
import type { GivenReason, PipelineFiles, StageProfile } from './problem.js';
import { atQuantiles } from './quantiles.js';
import {
  classFaults,
  clusterFaults,
  drawsFaults,
  loadRps,
  modelTensors,
  specFaults,
  weightBytes,
  whenFaults,
} from './resolve.js';

/** OpenProblem is a spec that leaves device classes, batches or replicas to a planner, resolved and without faults. */
export interface OpenProblem {
  readonly spec: PipelineSpec;
  readonly cluster: OpenCluster;
  readonly graph: StageGraph;
  /** In the order of the spec. */
  readonly stages: readonly OpenStage[];
  /** The mean rate of the load. */
  readonly rps?: number;
}

/** OpenStage is a stage with what may be chosen for it. */
export interface OpenStage {
  readonly profile: Profile;
  /** The quantile of its latencies that the stage is planned with; by default the median. */
  readonly quantile?: LatencyQuantile | undefined;
  readonly inputs: readonly StageInput[] | undefined;
  readonly candidates: readonly OpenCandidate[];
  /** Classes that could serve the stage if their memory held its weights. */
  readonly tooSmall: readonly GivenReason[];
}

/** OpenCandidate is a device class that may serve a stage. */
export interface OpenCandidate {
  readonly device: string;
  /** The batch sizes that may be chosen, ascending. */
  readonly batches: readonly number[];
  /** At batch 1 … the largest; null where the profile has no such batch. */
  readonly latencyUsByBatch: readonly (number | null)[];
  readonly hourlyCost: number;
}

/** ResolvedOpen is a problem, or every fault of the spec and its files. */
export type ResolvedOpen =
  | { readonly problem: OpenProblem; readonly faults?: undefined }
  | { readonly faults: readonly Fault[]; readonly problem?: undefined };

/**
 * resolveOpen joins a spec whose stages are to be planned with its cluster and profiles, and reports every fault at once.
 * A class is a candidate for a stage where the spec allows it, its profile has it, and its memory holds the weights.
 */
export function resolveOpen(spec: PipelineSpec, read: PipelineFiles): ResolvedOpen {
  const many = countFaults(spec);
  if (many.length > 0) return { faults: many };
  const { files, faults: quantileFaults } = atQuantiles(spec, read, (i) =>
    offeredClasses(spec, i, read).map((device) => ({ device, virtual: 1 })),
  );
  const graphRead = readStageGraph(spec);
  const wiring = wireStages(
    graphRead,
    spec.stages.map(({ inputs }, i) => ({ ...modelTensors(files.profiles[i]), given: inputs })),
  );
  const offers = spec.stages.map((stage, i) => offerOf(stage, i, { files, file: files.profiles[i] }));
  const faults = [
    ...specFaults(spec, graphRead, []),
    ...drawsFaults(spec, files),
    ...wiring.faults,
    ...clusterFaults(files.cluster),
    ...aliasFaults(files.cluster, files.profiles),
    ...spec.stages.flatMap((stage, i) => whenFaults(stage, i, files.profiles[i])),
    ...offers.flatMap((offer) => offer.faults),
    ...quantileFaults,
  ];
  if (faults.length > 0) return { faults: distinctFaults(faults) };
  const stages = offers.map(({ candidates, tooSmall }, i): OpenStage => {
    const { profile, quantile } = itemAt(files.profiles, i);
    return { profile, quantile, inputs: wiring.inputs[i], candidates, tooSmall };
  });
  const rps = loadRps(spec, files);
  const problem = { spec, cluster: files.cluster, graph: graphRead.graph, stages };
  return { problem: { ...problem, ...(rps === undefined ? {} : { rps }) } };
}

/**
 * unprofiledNotes names the classes of a cluster that stages may be served on, and that their profiles lack. Stages whose
 * classes the spec names have none, and neither have classes of which there is no device.
 */
export function unprofiledNotes(
  { stages }: PipelineSpec,
  { cluster, profiles }: Pick<PipelineFiles, 'cluster' | 'profiles'>,
): string[] {
  const present = Object.entries(cluster.devices).filter(([, { count }]) => count !== 0);
  return present.flatMap(([name]) => {
    const lacking = stages.filter((stage, i) => {
      const { devices = {} } = profiles[i]?.profile ?? {};
      return namedClasses(stage, i).length === 0 && !Object.hasOwn(devices, name);
    });
    if (lacking.length === 0) return [];
    const why = lacking.length === 1 ? 'its profile has' : 'their profiles have';
    return [
      `${listed(lacking.map((stage) => stage.name))} cannot use ${classText(cluster, name)}: ${why} no such device`,
    ];
  });
}

/** Offer is what may be chosen for a stage, and what is wrong with what the spec says of it. */
interface Offer {
  readonly candidates: readonly OpenCandidate[];
  readonly tooSmall: readonly GivenReason[];
  readonly faults: readonly Fault[];
}

function offerOf(
  stage: PipelineStage,
  i: number,
  { files: { cluster }, file }: { readonly files: PipelineFiles; readonly file: StageProfile | undefined },
): Offer {
  const named = namedClasses(stage, i);
  const faults = [
    ...named.flatMap(({ device, path }) => classFaults(cluster, { device, virtual: 1, path })),
    ...(stage.device !== undefined && stage.devices !== undefined
      ? [
          fault(
            `lists classes, but device says ${stage.device}: leave out one of them`,
            `/stages/${i}/devices`,
          ),
        ]
      : []),
  ];
  if (faults.length > 0 || file === undefined) return { candidates: [], tooSmall: [], faults };
  const names = named.length > 0 ? named.map(({ device }) => device) : Object.keys(cluster.devices);
  const measured = names.flatMap((device) => candidatesOf(stage, device, { cluster, file }));
  const prices = measured
    .filter(({ hourlyCost }) => hourlyCost === undefined)
    .map(({ device }) => fault('lacks "hourlyCost", by which plans are compared', `/devices/${device}`));
  if (measured.length === 0)
    return {
      candidates: [],
      tooSmall: [],
      faults: [noneMeasured(stage, i, { names: names.map((name) => classText(cluster, name)), file })],
    };
  const tooSmall = measured.flatMap(({ device }) => memoryReason(stage, device, { cluster, file }));
  const small = tooSmall.map((reason) => reason.class);
  const candidates = measured.filter(({ device }) => !small.includes(device)) as OpenCandidate[];
  return { candidates, tooSmall, faults: prices };
}

/** offeredClasses lists the classes that may serve a stage, as far as its profile has them. */
function offeredClasses({ stages }: PipelineSpec, i: number, { cluster }: PipelineFiles): string[] {
  const named = namedClasses(itemAt(stages, i), i);
  return named.length > 0 ? named.map(({ device }) => device) : Object.keys(cluster.devices);
}

/** namedClasses lists the classes that the spec names for a stage; none where it leaves them open. */
function namedClasses({ device, devices = [] }: PipelineStage, i: number) {
  if (device !== undefined) return [{ device, path: `/stages/${i}/device` }];
  return devices.map((name) => ({ device: name, path: `/stages/${i}/devices` }));
}

function candidatesOf(
  { batch }: PipelineStage,
  device: string,
  { cluster, file: { profile, quantile } }: { readonly cluster: OpenCluster; readonly file: StageProfile },
): (Omit<OpenCandidate, 'hourlyCost'> & { readonly hourlyCost: number | undefined })[] {
  if (!Object.hasOwn(profile.devices, device)) return [];
  const measured = { device: profile.devices[device] as DeviceProfile, virtual: 1, quantile };
  const batches = measuredBatches(measured).filter((size) => batch === undefined || size === batch);
  const largest = batches.at(-1);
  if (largest === undefined) return [];
  const { hourlyCost } = cluster.devices[device] as { hourlyCost?: number };
  return [{ device, batches, latencyUsByBatch: latencyUsByBatch(measured, largest), hourlyCost }];
}

function noneMeasured(
  { batch }: PipelineStage,
  i: number,
  { names, file: { profile, path } }: { readonly names: readonly string[]; readonly file: StageProfile },
): Fault {
  const wanted = batch === undefined ? 'whole GPUs' : `batch ${batch} on whole GPUs`;
  const has = listed(profiledClasses(profile));
  return fault(
    `has no latency of ${wanted} of ${listed(names)} in ${path}, which has ${has}`,
    `/stages/${i}`,
  );
}

function memoryReason(
  { name }: PipelineStage,
  device: string,
  { cluster, file: { profile } }: { readonly cluster: OpenCluster; readonly file: StageProfile },
): GivenReason[] {
  const memoryGiB = cluster.devices[device]?.memoryGiB;
  const neededGiB = (weightBytes(profile) ?? 0) / BYTES_PER_GIB;
  if (memoryGiB === undefined || neededGiB <= memoryGiB) return [];
  const [needed, has] = toldApart([neededGiB, memoryGiB]);
  const text = `the weights of ${name} take ${needed} GiB of the ${has} GiB of ${device}`;
  return [{ code: 'weights-exceed-memory', stages: [name], class: device, neededGiB, memoryGiB, text }];
}
