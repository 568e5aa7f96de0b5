import { join } from 'node:path';
import {
  BUNDLE_MANIFEST,
  type Bundle,
  type BundledModel,
  type BundledPartition,
  type BundleFile,
  type Fault,
  fault,
  InputError,
  type Loaded,
  loadArtifact,
  type PlannedModel,
  type PooledPlan,
  partFault,
  sha256OfFile,
  type TensorSpec,
} from '../artifacts/index.js';
import { oipDatatype } from '../execution/index.js';
import { planFaults, type Topology, topologyOf } from '../serving/index.js';

/** OpenedBundle is a bundle that was checked: every file matches the manifest, and the parts fit together. */
export interface OpenedBundle {
  manifest: Loaded<'bundle'>;
  plan: PooledPlan;
  topology: Topology;
  models: LiveModel[];
  /** The work of the devices of each pool of the topology. */
  partitions: LivePartition[];
}

/** LiveModel is a model as clients see it. */
export interface LiveModel {
  name: string;
  sloNs: number;
  inputs: TensorSpec[];
  outputs: TensorSpec[];
  /** The most rows that one request may carry. */
  maxRows: number;
  /** The rate that it was planned for, in requests per second, and its weight among the models. */
  plannedRps: number;
  weight: number;
}

/** LivePartition holds the inputs and outputs of a pool's devices. */
export interface LivePartition {
  file: string;
  inputs: TensorSpec[];
  outputs: TensorSpec[];
  /** Names of the tensors that must be kept after it: inputs of later partitions, and the model's outputs. */
  carried: string[];
}

/**
 * openBundle opens a bundle's folder and checks every file of it against the manifest's digests. It starts nothing. The
 * topology has no transfers, because one process holds all tensors.
 * @param options.sloMs an SLO that replaces those of all models
 * @param options.verb what errors say cannot be done with the bundle; `serve` by default
 * @throws MissingError where there is no manifest; InputError with every fault of its files and of their
 *   contents
 */
export async function openBundle(
  folder: string,
  options: { sloMs?: number; verb?: string } = {},
): Promise<OpenedBundle> {
  const task = `${options.verb ?? 'serve'} ${folder}`;
  const link = await partFault(folder, BUNDLE_MANIFEST);
  if (link !== undefined && !link.isMissing)
    throw new InputError(task, [fault(link.message, BUNDLE_MANIFEST)]);
  const loaded = await loadArtifact(join(folder, BUNDLE_MANIFEST), ['bundle']);
  const manifest = loaded.value;
  const faults = await damagedFiles(folder, manifest);
  if (faults.length > 0) {
    throw new InputError(task, faults, 'Deploy the plan again, or copy the bundle anew.');
  }
  const { value: plan } = await loadArtifact(join(folder, manifest.plan.path), ['pooled-plan']);
  const topology = topologyOf(plan, {
    transfers: 'none',
    ...(options.sloMs === undefined ? {} : { sloMs: options.sloMs }),
  });
  const contradictions = planFaults(plan).map(({ path, message }) => fault(message, `plan: ${path}`));
  const misfits: Fault[] = [...contradictions, ...unplannedModels(manifest, plan)];
  const models = topology.models.map((_, m) => liveModel(manifest, plan, topology, m, misfits));
  const partitions = topology.pools.map((_, pool) =>
    livePartition(folder, manifest, plan, topology, pool, misfits),
  );
  if (misfits.length === 0) checkFeeds(models, partitions, topology, misfits);
  if (misfits.length > 0) throw new InputError(task, misfits, 'Deploy the plan again.');
  return { manifest: loaded, plan, topology, models, partitions };
}

/** damagedFiles lists files that are missing or do not match the manifest's digests. */
async function damagedFiles(folder: string, manifest: Bundle): Promise<Fault[]> {
  const files = [
    manifest.plan,
    ...manifest.partitions.flatMap(({ file, sha256, data }): BundleFile[] => [
      { path: file, sha256 },
      ...(data ?? []),
    ]),
  ];
  const distinct = [...new Map(files.map((file) => [`${file.path} ${file.sha256}`, file])).values()];
  const faults = await Promise.all(distinct.map((file) => damage(folder, file)));
  return faults.filter((found) => found !== undefined);
}

async function damage(folder: string, { path, sha256 }: BundleFile): Promise<Fault | undefined> {
  const wrong = await partFault(folder, path);
  if (wrong !== undefined) return fault(wrong.isMissing ? 'is missing' : wrong.message, path);
  const found = await sha256OfFile(join(folder, path));
  if (found === sha256) return undefined;
  return fault(
    `is not the file that was deployed: its sha256 is ${found}, the manifest says ${sha256}`,
    path,
  );
}

function liveModel(
  manifest: Bundle,
  plan: PooledPlan,
  topology: Topology,
  m: number,
  faults: Fault[],
): LiveModel {
  const { name, sloNs } = topology.models[m]!;
  const model = manifest.models.find((bundled) => bundled.name === name);
  if (model === undefined) {
    faults.push(fault(`has no model ${JSON.stringify(name)}, which the plan serves`, '/models'));
  }
  const { inputs, outputs } = model ?? { inputs: [], outputs: [] };
  for (const spec of [...inputs, ...outputs]) {
    if (oipDatatype(spec.dtype) === undefined) {
      faults.push(fault(`${spec.name} is ${spec.dtype}, which cannot be sent over HTTP`, `/models/${name}`));
    }
  }
  const pools = topology.pools.filter((pool) => pool.model === m);
  const batched = inputs.some((spec) => spec.batchAxis !== undefined);
  const maxRows = batched ? Math.max(1, ...pools.map((pool) => pool.batch)) : 1;
  const { throughputRps: plannedRps, weight, ...planned } = plan.models[m]!;
  if (model !== undefined)
    faults.push(...tensorFaults('inputs', model, planned), ...tensorFaults('outputs', model, planned));
  return { name, sloNs, inputs, outputs, maxRows, plannedRps, weight };
}

/** unplannedModels finds models of the manifest that the plan does not serve: a client would look for them in vain. */
function unplannedModels({ models }: Bundle, plan: PooledPlan): Fault[] {
  const planned = new Set(plan.models.map(({ name }) => name));
  return models.flatMap(({ name }, m) =>
    planned.has(name)
      ? []
      : [fault(`is ${JSON.stringify(name)}, which the plan does not serve`, `/models/${m}/name`)],
  );
}

/** tensorFaults gives a fault where a model's tensors are not those of the plan, if the plan names them. */
function tensorFaults(
  key: 'inputs' | 'outputs',
  { name, ...bundled }: BundledModel,
  planned: Partial<PlannedModel>,
): Fault[] {
  const wordsOf = (specs: readonly TensorSpec[]) =>
    specs.map((spec) => `${spec.name} ${typeText(spec)}`).join(', ');
  const [is, wanted] = [wordsOf(bundled[key]), wordsOf(planned[key] ?? bundled[key])];
  if (is === wanted) return [];
  return [
    fault(`its ${key} are ${is || 'none'}; they are planned as ${wanted || 'none'}`, `/models/${name}`),
  ];
}

function livePartition(
  folder: string,
  manifest: Bundle,
  plan: PooledPlan,
  topology: Topology,
  index: number,
  faults: Fault[],
): LivePartition {
  const pool = topology.pools[index]!;
  const planned = plan.models[pool.model]!.pipelines[pool.pipeline]!.partitions[pool.partition]!;
  const name = topology.models[pool.model]!.name;
  const range = planned.blocks ?? planned.layers;
  const found: BundledPartition | undefined = manifest.partitions.find(
    (part) => manifest.models[part.model]?.name === name && part.from === range?.[0] && part.to === range[1],
  );
  const where = `${name}, blocks ${range?.[0]} to ${range?.[1]}`;
  if (found === undefined) faults.push(fault(`has no file for ${where}`, '/partitions'));
  if (manifest.devices[pool.deviceClass] === undefined) {
    faults.push(fault(`does not say how to run class ${pool.deviceClass}`, '/devices'));
  }
  const { file, inputs, outputs } = found ?? { file: '', inputs: [], outputs: [] };
  return { file: join(folder, file), inputs, outputs, carried: [] };
}

/**
 * checkFeeds checks that every partition's inputs are model inputs or earlier outputs, and that the model's
 * outputs come out. It fills in `carried`.
 */
function checkFeeds(
  models: LiveModel[],
  partitions: LivePartition[],
  topology: Topology,
  faults: Fault[],
): void {
  topology.pools.forEach((pool, first) => {
    if (pool.partition !== 0) return;
    const model = models[pool.model]!;
    const chain: number[] = [];
    for (let at: number | undefined = first; at !== undefined; at = topology.pools[at]!.next) chain.push(at);
    const known = new Map(model.inputs.map((spec) => [spec.name, spec]));
    const check = (spec: TensorSpec, taker: string) => {
      const given = known.get(spec.name);
      const place = `model ${model.name}, pipeline ${pool.pipeline}`;
      if (given === undefined)
        faults.push(fault(`${taker} needs ${spec.name}, which nothing before it gives`, place));
      else if (typeText(given) !== typeText(spec))
        faults.push(
          fault(`${taker} needs ${spec.name} as ${typeText(spec)}, it is ${typeText(given)}`, place),
        );
    };
    chain.forEach((at, k) => {
      for (const spec of partitions[at]!.inputs) check(spec, `partition ${k}`);
      for (const spec of partitions[at]!.outputs) known.set(spec.name, spec);
      const later = chain.slice(k + 1).flatMap((i) => partitions[i]!.inputs.map(({ name }) => name));
      partitions[at]!.carried = [...new Set([...later, ...model.outputs.map(({ name }) => name)])];
    });
    for (const spec of model.outputs) check(spec, 'the answer');
  });
}

/** typeText describes a tensor, with the size of the batch's axis marked: `float32[1*, 16]`. */
function typeText({ dtype, shape, batchAxis }: TensorSpec): string {
  return `${dtype}[${shape.map((size, axis) => (axis === batchAxis ? `${size}*` : size)).join(', ')}]`;
}
