import { copyFile, mkdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { itemAt } from '../collections/index.js';
import { bundledFile, planOf, type StagePlan } from '../plans/index.js';
import type { WrittenParts } from './written-parts.js';

/** PlacedStages is the plan whose files are placed, and where the file of each of its parts goes. */
export interface PlacedStages {
  readonly plan: StagePlan;
  readonly paths: readonly string[];
}

/**
 * placeParts moves the ONNX files of a bundle's folder to where an engine looks for them, each with its external data beside
 * it under the same name. A file that several parts use is there several times, and so in the manifest.
 */
export async function placeParts(
  folder: string,
  written: WrittenParts,
  { plan, paths }: PlacedStages,
): Promise<WrittenParts> {
  const placed = { partitions: [], stages: [], sizes: [] } as {
    partitions: WrittenParts['partitions'];
    stages: NonNullable<WrittenParts['stages']>;
    sizes: number[];
  };
  const { partitions, stages = [] } = written;
  for (const [i, part] of planOf(plan).parts(plan).entries()) {
    const entry = bundledFile(part, written) as (typeof partitions)[number] | (typeof stages)[number];
    const file = itemAt(paths, i);
    const at = dirname(file);
    await mkdir(join(folder, at), { recursive: true });
    await copyFile(join(folder, entry.file), join(folder, file));
    const data = entry.data?.map(({ path, sha256 }) => ({
      path: `${at}/${basename(path)}`,
      from: path,
      sha256,
    }));
    for (const { path, from } of data ?? []) await copyFile(join(folder, from), join(folder, path));
    const moved = {
      file,
      ...(data === undefined ? {} : { data: data.map(({ path, sha256 }) => ({ path, sha256 })) }),
    };
    if ('model' in entry) placed.partitions.push({ ...entry, ...moved });
    else placed.stages.push({ ...entry, ...moved });
    const all: readonly unknown[] = 'model' in entry ? partitions : stages;
    placed.sizes.push(written.sizes[all.indexOf(entry)] as number);
  }
  await rm(join(folder, 'models'), { recursive: true });
  return {
    models: written.models,
    partitions: placed.partitions,
    sizes: placed.sizes,
    ...(written.stages === undefined ? {} : { stages: placed.stages }),
  };
}
