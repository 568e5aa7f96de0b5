import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { loadArtifact, partFault, readWhole, sha256OfFile } from '../../artifacts/index.js';
import { itemAt, pushAll } from '../../collections/index.js';
import { notDeployed, STRING_DTYPE } from '../../execution/index.js';
import {
  type ArtifactTypes,
  BUNDLE_MANIFEST,
  type Bundle,
  type BundleFile,
  bundledModelFiles,
  bundledPartFiles,
  type Fault,
  fault,
  firstFaults,
  InputError,
  type Loaded,
  listed,
  option,
  sha256Of,
  shown,
  stageName,
} from '../../formats/index.js';
import { readModel, textsNotUtf8 } from '../../onnx/index.js';
import {
  type PlanKind,
  planOf,
  planTopologyOf,
  type ServedPlan,
  STAGE_PLAN_KINDS,
  type StagePlan,
} from '../../plans/index.js';
import { poolsServedBy, type StageTopology, type Topology, topologyPartOf } from '../../serving/index.js';
import type { BundleParts } from './bundle-parts.js';
import { manifestFaults } from './manifest-faults.js';
import { refuseNoBundle } from './no-bundle.js';
import type { LiveModel, PoolWork } from './pool-work.js';
import { runOf } from './run-of.js';
import { loadManifest, refuseTarget } from './served-targets.js';

const GIB = 1024 ** 3;
export const DEPLOY_AGAIN = 'Deploy the plan again, or copy the bundle anew.';

/** CheckedBundle is a bundle of any plan that was checked: every file matches the manifest, and the parts fit together. */
export interface CheckedBundle {
  manifest: Loaded<'bundle'>;
  plan: ServedPlan;
  topology: Topology;
  models: LiveModel[];
  /** The work of the devices of each pool of the topology. */
  work: PoolWork[];
  /** isPart says whether the topology is that of a part of the plan's devices. */
  isPart?: true;
}

/** OpenedBundle is a checked bundle of a plan of stages. */
export interface OpenedBundle extends CheckedBundle {
  plan: StagePlan;
  topology: StageTopology;
}

/** PlannedBundle is a bundle of any target whose plan and models are what its manifest says. */
export interface PlannedBundle extends Pick<OpenedBundle, 'manifest' | 'plan'> {
  /** Where the plan contradicts itself. */
  readonly contradictions: readonly Fault[];
}

/** OpenOptions says how a bundle is opened. */
export interface OpenOptions {
  /** An SLO that replaces those of all models. */
  readonly sloMs?: number | undefined;
  /** The server or device of the plan whose devices alone serve, such as `T4-0` or `T4-0/gpu1`. */
  readonly at?: string | undefined;
}

/**
 * openBundle opens a bundle's folder and checks every file of it against the manifest's digests. It starts nothing.
 * @param options.verb what errors say cannot be done with the bundle; `serve` by default
 * @param options.signal ends the reading of its files
 * @throws MissingError where there is no manifest; InputError where it is a file, such as a plan, where it is for another
 *   target than this server's, or with every fault of its files and of their contents
 */
export async function openBundle(
  folder: string,
  options: OpenOptions & { verb?: string; signal?: AbortSignal | undefined } = {},
): Promise<OpenedBundle> {
  const task = `${options.verb ?? 'serve'} ${folder}`;
  const read = await readBundle(folder, { task, signal: options.signal });
  return openStages(folder, read, { ...options, task });
}

/**
 * openStages checks that the parts of a bundle that was read are those of its plan. The topology has no transfers,
 * because one process holds all tensors.
 * @throws InputError with every fault of their contents
 */
export async function openStages(
  folder: string,
  { manifest: loaded, plan, contradictions }: PlannedBundle,
  options: OpenOptions & { readonly task: string },
): Promise<OpenedBundle> {
  const { task } = options;
  const manifest = loaded.value;
  const topology = planTopologyOf(plan, {
    transfers: 'none',
    ...(options.sloMs === undefined ? {} : { sloMs: options.sloMs }),
  });
  const parts: BundleParts = { folder, manifest, topology, sizes: await sizesOf(folder, manifest) };
  const misfits = [...contradictions, ...firstFaults(manifestFaults(manifest))];
  const { models, work } = runOf(plan).work({ ...parts, plan }, misfits);
  pushAll(misfits, [...memoryFaults(plan, topology, work), ...(await textFaults(work))]);
  if (misfits.length > 0) throw new InputError(task, misfits, 'Deploy the plan again.');
  const bundle = { manifest: loaded, plan, topology, models, work };
  return options.at === undefined ? bundle : bundleAt(bundle, options.at, task);
}

/**
 * bundleAt gives a bundle as the devices at a place serve it, by themselves.
 * @throws InputError where no device is there, they serve nothing whole, or a tuner moves devices
 */
function bundleAt(bundle: OpenedBundle, at: string, task: string): OpenedBundle {
  const { plan, topology, work, models } = bundle;
  const isHere = ({ name }: { readonly name: string }) => name === at || name.startsWith(`${at}/`);
  const part = topologyPartOf(topology, isHere);
  const servers = [...new Set(topology.devices.map(({ server }) => server))];
  const where = option('at');
  const faults = [
    ...(topology.devices.some(isHere)
      ? []
      : [fault(`is ${shown(at)}, where the plan has no device; its servers are ${listed(servers)}`, where)]),
    ...(plan.serving?.tuner === undefined
      ? []
      : [fault('the plan has a tuner, which moves all devices', where)]),
  ];
  if (faults.length === 0 && part.pools.length === 0)
    faults.push(
      fault(`is ${shown(at)}, whose devices serve no model from its first stage to its last`, where),
    );
  if (faults.length > 0) throw new InputError(task, faults);
  return {
    ...bundle,
    topology: part.topology,
    models: models.map((model, m) => ({
      ...model,
      plannedRps: part.topology.models[m]?.throughputRps ?? 0,
    })),
    work: part.pools.map((pool) => itemAt(work, pool)),
    isPart: true,
  };
}

/** ReadOptions says what cannot be done without a bundle, and what it may be. */
export interface ReadOptions {
  readonly task: string;
  /** anyTarget says whether it may be for another engine than this server. */
  readonly anyTarget?: boolean;
  readonly signal?: AbortSignal | undefined;
}

/**
 * readBundle reads the manifest and the plan of a bundle of stages, and checks every file of both against the manifest's digests.
 * @throws what `openBundle` throws of files
 */
export async function readBundle(folder: string, options: ReadOptions): Promise<PlannedBundle> {
  return plannedBundle(await readPlanned(folder, STAGE_PLAN_KINDS, options), options.task);
}

/**
 * plannedBundle says where the plan of a bundle of stages contradicts itself.
 * @throws InputError where it does, so that nothing can be said of the rest of a pipeline or a cascade without its graph
 */
export function plannedBundle(read: Pick<PlannedBundle, 'manifest' | 'plan'>, task: string): PlannedBundle {
  const contradictions = contradictionsOf(read.plan);
  if (!planOf(read.plan).isReadDespiteFaults && contradictions.length > 0)
    throw new InputError(task, contradictions, 'Deploy the plan again.');
  return { ...read, contradictions };
}

/**
 * readPlanned reads the manifest of a bundle and its plan, which is of one of some kinds, and checks every file of both against the
 * manifest's digests.
 * @throws what `openBundle` throws of files
 */
export async function readPlanned<K extends PlanKind>(
  folder: string,
  kinds: readonly K[],
  { task, anyTarget = false, signal }: ReadOptions,
): Promise<{ readonly manifest: Loaded<'bundle'>; readonly plan: ArtifactTypes[K] }> {
  await refuseNoBundle(folder, task);
  const link = await partFault(folder, BUNDLE_MANIFEST);
  if (link !== undefined && !link.isMissing)
    throw new InputError(task, [fault(link.message, BUNDLE_MANIFEST)]);
  const loaded = await loadManifest(join(folder, BUNDLE_MANIFEST));
  const manifest = loaded.value;
  if (!anyTarget) refuseTarget(manifest.target, task);
  const faults = await damagedFiles(folder, manifest, signal);
  if (faults.length > 0) {
    throw new InputError(task, faults, DEPLOY_AGAIN);
  }
  const { value: plan, sha256 } = await loadArtifact(join(folder, manifest.plan.path), kinds);
  if (sha256 !== manifest.plan.sha256)
    throw new InputError(
      task,
      [fault(notDeployed(sha256, manifest.plan.sha256), manifest.plan.path)],
      DEPLOY_AGAIN,
    );
  return { manifest: loaded, plan };
}

/** contradictionsOf finds where the plan of a bundle contradicts itself. */
export function contradictionsOf(plan: ServedPlan): Fault[] {
  return planOf(plan)
    .contradictions(plan)
    .map(({ path, message }) => fault(message, `plan: ${path}`));
}

/** memoryFaults finds devices of several models whose files together are more than the device's memory. */
function memoryFaults(
  { cluster }: StagePlan,
  { devices, pools }: StageTopology,
  work: readonly PoolWork[],
): Fault[] {
  const told = new Map<string, Fault>();
  for (const device of devices) {
    const { memoryGiB } = cluster.devices[device.deviceClass] ?? {};
    const held = poolsServedBy(device);
    if (memoryGiB === undefined || held.length < 2) continue;
    const files = new Map(held.map((pool) => [itemAt(work, pool).file, itemAt(work, pool).fileBytes]));
    const neededGiB = [...files.values()].reduce((sum, bytes) => sum + bytes, 0) / GIB;
    const freeGiB = memoryGiB / device.virtual;
    if (neededGiB <= freeGiB) continue;
    const stages = held.map((pool) => stageName(itemAt(pools, pool).stage)).join(', ');
    const message = `${device.deviceClass} has ${freeGiB} GiB for each of its devices, and the models of ${stages} take ${neededGiB.toFixed(2)} GiB`;
    told.set(message, fault(message, '/stages'));
  }
  return [...told.values()];
}

/** textFaults finds files that may give text which is not UTF-8, of which clients would get something else. */
export async function textFaults(work: readonly PoolWork[]): Promise<Fault[]> {
  const giving = work.filter(({ outputs }) => outputs.some(({ spec }) => spec.dtype === STRING_DTYPE));
  const files = new Map(giving.map(({ file, digests }) => [file, digests.sha256]));
  const faults = await Promise.all(
    [...files].map(async ([file, sha256]) => {
      const bytes = await readWhole(file);
      const found = sha256Of(bytes);
      if (found !== sha256) return [fault(notDeployed(found, sha256), file)];
      return textsNotUtf8(readModel(bytes, { name: file })).map((holder) =>
        fault(`${holder} holds bytes that are not UTF-8, which ONNX Runtime for Node replaces`, file),
      );
    }),
  );
  return faults.flat();
}

/** sizesOf gives the sizes in bytes of a manifest's ONNX files, each with its external data, by their paths there. */
export async function sizesOf(folder: string, manifest: Bundle): Promise<Map<string, number>> {
  const sizes = await Promise.all(
    bundledModelFiles(manifest).map(async ({ file, parts }) => {
      const found = await Promise.all(parts.map(({ path }) => stat(join(folder, path))));
      return [file, found.reduce((sum, { size }) => sum + size, 0)] as const;
    }),
  );
  return new Map(sizes);
}

/** damagedFiles lists files that are missing or do not match the manifest's digests. */
async function damagedFiles(
  folder: string,
  manifest: Bundle,
  signal: AbortSignal | undefined,
): Promise<Fault[]> {
  const files = [manifest.plan, ...bundledPartFiles(manifest)];
  const distinct = [...new Map(files.map((file) => [`${file.path} ${file.sha256}`, file])).values()];
  const faults = await Promise.all(distinct.map((file) => damage(folder, file, signal)));
  return faults.filter((found) => found !== undefined);
}

async function damage(
  folder: string,
  { path, sha256 }: BundleFile,
  signal: AbortSignal | undefined,
): Promise<Fault | undefined> {
  const wrong = await partFault(folder, path);
  if (wrong !== undefined) return fault(wrong.isMissing ? 'is missing' : wrong.message, path);
  const found = await sha256OfFile(join(folder, path), signal);
  if (found === sha256) return undefined;
  return fault(notDeployed(found, sha256), path);
}
