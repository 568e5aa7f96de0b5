import { join } from 'node:path';
import { oipDatatype } from '../../execution/index.js';
import { type Bundle, type BundleFile, type Fault, fault, type TensorSpec } from '../../formats/index.js';
import type { Topology } from '../../serving/index.js';
import type { PoolWork } from './pool-work.js';

/** BundleParts is what the work of a bundle's pools is found from, for a plan of any kind. */
export interface BundleParts {
  readonly folder: string;
  readonly manifest: Bundle;
  readonly topology: Topology;
  /** The size in bytes of each ONNX file with its external data, by its path in the manifest. */
  readonly sizes: ReadonlyMap<string, number>;
}

/** placedFile gives the file of a partition or stage of the manifest, as executors load it; of none an empty one. */
export function placedFile(
  { folder, sizes }: Pick<BundleParts, 'folder' | 'sizes'>,
  found: { readonly file: string; readonly sha256: string; readonly data?: BundleFile[] } | undefined,
): Pick<PoolWork, 'file' | 'digests' | 'fileBytes'> {
  const { file, sha256, data = [] } = found ?? { file: '', sha256: '' };
  return {
    file: join(folder, file),
    digests: { sha256, data: data.map((one) => ({ path: join(folder, one.path), sha256: one.sha256 })) },
    fileBytes: sizes.get(file) ?? 0,
  };
}

/** unplannedModels finds models of the manifest that the plan does not serve: a client would look for them in vain. */
export function unplannedModels({ models }: Bundle, planned: readonly string[]): Fault[] {
  return models.flatMap(({ name }, m) =>
    planned.includes(name)
      ? []
      : [fault(`is ${JSON.stringify(name)}, which the plan does not serve`, `/models/${m}/name`)],
  );
}

/** sentFaults finds tensors of a model that clients cannot send or get. */
export function sentFaults(model: string, specs: readonly TensorSpec[]): Fault[] {
  return specs.flatMap(({ name, dtype }) =>
    oipDatatype(dtype) === undefined
      ? [fault(`${name} is ${dtype}, which cannot be sent over HTTP`, `/models/${model}`)]
      : [],
  );
}

/** deviceFaults finds device classes of the topology that the manifest does not say how to run. */
export function deviceFaults({ manifest: { devices }, topology }: BundleParts): Fault[] {
  const classes = new Set([...topology.pools, ...topology.devices].map(({ deviceClass }) => deviceClass));
  return [...classes].flatMap((name) =>
    devices[name] === undefined ? [fault(`does not say how to run class ${name}`, '/devices')] : [],
  );
}

/** SourcedTensor is a tensor, and of a stage's inputs also where it comes from. */
interface SourcedTensor extends TensorSpec {
  readonly from?: readonly string[];
}

function sourcedText(spec: SourcedTensor): string {
  const source = spec.from === undefined ? '' : ` from ${spec.from.join(' or ')}`;
  return `${spec.name} ${typeText(spec)}${source}`;
}

/**
 * differingTensors gives a fault where the tensors of a model or stage of the manifest are not those of the plan.
 * @param at where the model or stage is in the manifest
 */
export function differingTensors(
  which: 'inputs' | 'outputs',
  {
    bundled,
    planned,
  }: { readonly bundled: readonly SourcedTensor[]; readonly planned: readonly SourcedTensor[] },
  at: string,
): Fault[] {
  const wordsOf = (specs: readonly SourcedTensor[]) => specs.map(sourcedText).join(', ') || 'none';
  const [is, wanted] = [wordsOf(bundled), wordsOf(planned)];
  return is === wanted ? [] : [fault(`its ${which} are ${is}; they are planned as ${wanted}`, at)];
}

interface WithTensors {
  readonly inputs?: readonly SourcedTensor[] | undefined;
  readonly outputs?: readonly SourcedTensor[] | undefined;
}

/** tensorFaults finds tensors of a stage or model, which is `at` in the manifest, that are not those of the plan. */
function tensorFaults(bundled: WithTensors, planned: WithTensors, at: string): Fault[] {
  return (['inputs', 'outputs'] as const).flatMap((which) =>
    differingTensors(which, { bundled: bundled[which] ?? [], planned: planned[which] ?? [] }, at),
  );
}

/** servedModelFaults finds whether the manifest has the one model that clients see, with the tensors that are planned. */
export function servedModelFaults({ models }: Bundle, name: string, planned: WithTensors): Fault[] {
  const bundled = models.find((model) => model.name === name);
  if (bundled !== undefined) return tensorFaults(bundled, planned, `/models/${name}`);
  return [fault(`has no model ${JSON.stringify(name)}, which the plan serves`, '/models')];
}

/** stageFaults finds stages that the manifest or the plan has alone, and those whose tensors differ. */
export function stageFaults(
  { stages = [] }: Bundle,
  planned: readonly (WithTensors & { readonly name: string })[],
): Fault[] {
  const names = new Set(planned.map(({ name }) => name));
  return [
    ...stages.flatMap(({ name }, i) =>
      names.has(name)
        ? []
        : [fault(`is ${JSON.stringify(name)}, which is no stage of the plan`, `/stages/${i}/name`)],
    ),
    ...planned.flatMap((stage) => {
      const bundled = stages.find(({ name }) => name === stage.name);
      if (bundled !== undefined) return tensorFaults(bundled, stage, `/stages/${stage.name}`);
      return [fault(`has no stage ${JSON.stringify(stage.name)}, which the plan serves`, '/stages')];
    }),
  ];
}

/** typeText describes a tensor, with the size of the batch's axis marked: `float32[1*, 16]`. */
export function typeText({ dtype, shape, batchAxis }: TensorSpec): string {
  return `${dtype}[${shape.map((size, axis) => (axis === batchAxis ? `${size}*` : size)).join(', ')}]`;
}
