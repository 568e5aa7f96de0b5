import { itemAt, largestOf, pushAll } from '../../collections/index.js';
import {
  type Fault,
  fault,
  type PooledPlan,
  stageIndex,
  stageRoute,
  type TensorSpec,
} from '../../formats/index.js';
import { bundledFile, type PlanPart, planOf } from '../../plans/index.js';
import { followersOf } from '../../serving/index.js';
import {
  type BundleParts,
  deviceFaults,
  differingTensors,
  placedFile,
  sentFaults,
  typeText,
  unplannedModels,
} from './bundle-parts.js';
import type { LiveModel, PoolWork } from './pool-work.js';

/** PooledBundle is a bundle of a pooled plan. */
export interface PooledBundle extends BundleParts {
  readonly plan: PooledPlan;
}

/**
 * pooledWork gives the work of each pool of the topology, and the models as clients see them. It adds to `faults` where
 * the manifest does not fit the plan, and where a partition's input comes from nowhere.
 */
export function pooledWork(
  bundle: PooledBundle,
  faults: Fault[],
): { readonly models: LiveModel[]; readonly work: PoolWork[] } {
  const { plan, manifest } = bundle;
  pushAll(
    faults,
    unplannedModels(
      manifest,
      plan.models.map(({ name }) => name),
    ),
  );
  const models = plan.models.map((_, m) => liveModel(bundle, m, faults));
  const work = planOf(plan)
    .parts(plan)
    .map((part) => partitionWork(bundle, part, faults));
  pushAll(faults, deviceFaults(bundle));
  if (faults.length === 0) checkFeeds(bundle, { models, work }, faults);
  return { models, work };
}

function liveModel({ plan, manifest, topology }: PooledBundle, m: number, faults: Fault[]): LiveModel {
  const { name, sloNs } = itemAt(topology.models, m);
  const model = manifest.models.find((bundled) => bundled.name === name);
  if (model === undefined) {
    faults.push(fault(`has no model ${JSON.stringify(name)}, which the plan serves`, '/models'));
  }
  const { inputs, outputs } = model ?? { inputs: [], outputs: [] };
  pushAll(faults, sentFaults(name, [...inputs, ...outputs]));
  const pools = topology.pools.filter((pool) => pool.model === m);
  const batched = inputs.some((spec) => spec.batchAxis !== undefined);
  const maxRows = batched ? Math.max(1, largestOf(pools.map((pool) => pool.batch))) : 1;
  const { throughputRps: plannedRps, weight, ...planned } = itemAt(plan.models, m);
  if (model !== undefined) {
    const at = `/models/${name}`;
    pushAll(faults, [
      ...differingTensors('inputs', { bundled: inputs, planned: planned.inputs ?? inputs }, at),
      ...differingTensors('outputs', { bundled: outputs, planned: planned.outputs ?? outputs }, at),
    ]);
  }
  const namesOf = (specs: readonly TensorSpec[]) => specs.map((spec) => spec.name);
  const keys = { inputKeys: namesOf(inputs), outputKeys: namesOf(outputs), mayLackOutputs: false };
  return { name, sloNs, inputs, outputs, ...keys, maxRows, plannedRps, weight };
}

function partitionWork(bundle: PooledBundle, part: PlanPart, faults: Fault[]): PoolWork {
  const { manifest } = bundle;
  const { name, blocks, layers } = part;
  const found = bundledFile(part, manifest);
  const range = blocks ?? layers;
  if (found === undefined)
    faults.push(
      fault(
        `has no file for ${name}${range === undefined ? '' : `, blocks ${range.join(' to ')}`}`,
        '/partitions',
      ),
    );
  const { inputs, outputs } = found ?? { inputs: [], outputs: [] };
  const own = found && manifest.models.find((model) => model.name === name);
  const ofModel = new Set(own?.inputs.map((spec) => spec.name));
  return {
    ...placedFile(bundle, found),
    inputs: inputs.map((spec) => ({ spec, from: [spec.name], isInner: !ofModel.has(spec.name) })),
    outputs: outputs.map((spec) => ({ spec, key: spec.name })),
    carried: new Set(),
  };
}

/**
 * checkFeeds checks that every partition's inputs are model inputs or earlier outputs, and that the model's
 * outputs come out. It fills in `carried`.
 */
function checkFeeds(
  { topology }: PooledBundle,
  { models, work }: { readonly models: readonly LiveModel[]; readonly work: readonly PoolWork[] },
  faults: Fault[],
): void {
  topology.pools.forEach((pool, first) => {
    if (stageIndex(pool.stage) !== 0) return;
    const model = itemAt(models, pool.model);
    const chain: number[] = [];
    for (
      let at: number | undefined = first;
      at !== undefined;
      at = followersOf(itemAt(topology.pools, at))[0]
    )
      chain.push(at);
    const known = new Map(model.inputs.map((spec) => [spec.name, spec]));
    const check = (spec: TensorSpec, taker: string) => {
      const given = known.get(spec.name);
      const place = `model ${model.name}, pipeline ${stageRoute(pool.stage)}`;
      if (given === undefined)
        faults.push(fault(`${taker} needs ${spec.name}, which nothing before it gives`, place));
      else if (typeText(given) !== typeText(spec))
        faults.push(
          fault(`${taker} needs ${spec.name} as ${typeText(spec)}, it is ${typeText(given)}`, place),
        );
    };
    chain.forEach((at, k) => {
      for (const { spec } of itemAt(work, at).inputs) check(spec, `partition ${k}`);
      for (const { spec } of itemAt(work, at).outputs) known.set(spec.name, spec);
      const later = chain.slice(k + 1).flatMap((i) => itemAt(work, i).inputs.map(({ spec }) => spec.name));
      // A row whose batch is lost may begin again, so that it keeps its inputs.
      itemAt(work, at).carried = new Set([...model.inputKeys, ...later, ...model.outputKeys]);
    });
    for (const spec of model.outputs) check(spec, 'the answer');
  });
}
