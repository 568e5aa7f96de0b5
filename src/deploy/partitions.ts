import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Bundle, fault, InputError, type PooledPlan } from '../formats/index.js';
import { type DeployedModel, writeBlocks } from './model-file.js';

/** PooledModels is a pooled plan with its models, in its order. */
export interface PooledModels {
  readonly plan: PooledPlan;
  readonly models: readonly DeployedModel[];
  readonly signal?: AbortSignal | undefined;
}

/**
 * writePartitions writes one ONNX file per distinct partition of a plan into a bundle's folder.
 * @returns the manifest's entries for them, and their sizes in bytes
 */
export async function writePartitions(
  folder: string,
  { plan, models, signal }: PooledModels,
): Promise<Pick<Bundle, 'models' | 'partitions'> & { readonly sizes: number[] }> {
  const partitions: Bundle['partitions'] = [];
  const sizes: number[] = [];
  for (const [m, model] of models.entries()) {
    const name = fileName(plan.models[m]?.name ?? '', m);
    await mkdir(join(folder, 'models', name), { recursive: true });
    for (const [from, to] of distinctRanges(plan, m)) {
      signal?.throwIfAborted();
      const place = { folder, file: `models/${name}/${from}-${to}.onnx`, signal };
      const { written, size } = await writeBlocks(place, model, { from, to });
      const { inputs, outputs, ...file } = written;
      partitions.push({ ...file, model: m, from, to, inputs, outputs });
      sizes.push(size);
    }
  }
  const served = plan.models.map(({ name }, m) => ({
    name,
    inputs: models[m]?.profile.model.inputs ?? [],
    outputs: models[m]?.profile.model.outputs ?? [],
  }));
  return { models: served, partitions, sizes };
}

/** distinctRanges lists the distinct block ranges that the plan's pipelines use of a model, in order. */
function distinctRanges(plan: PooledPlan, model: number): [number, number][] {
  const ranges = new Map<string, [number, number]>();
  for (const pipeline of plan.models[model]?.pipelines ?? []) {
    for (const { blocks } of pipeline.partitions) {
      if (blocks) ranges.set(blocks.join('-'), blocks);
    }
  }
  return [...ranges.values()].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
}

/**
 * fileName turns a name into that of a file or folder that every file system takes. The index keeps names apart when
 * characters are lost.
 */
export function fileName(name: string, index: number): string {
  const safe = name.replaceAll(/[^A-Za-z0-9._-]/g, '_').replace(/^\.+/, '');
  return safe === name ? name : `${safe}-${index}`;
}

/**
 * refuseLayers refuses a plan in which a partition has no range of blocks, because bundles are made of blocks.
 * @throws InputError with a fault for each such model
 */
export function refuseLayers(plan: PooledPlan): void {
  const faults = plan.models.flatMap(({ name, pipelines }, m) =>
    pipelines.some((pipeline) => pipeline.partitions.some(({ blocks }) => blocks === undefined))
      ? [fault(`${name} is cut between layers inside blocks`, `/models/${m}`)]
      : [],
  );
  if (faults.length > 0)
    throw new InputError('deploy a plan of layer granularity', faults, 'Solve with granularity: block.');
}
