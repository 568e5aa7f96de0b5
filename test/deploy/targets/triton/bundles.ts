import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  branchingPipeline,
  type DeviceKind,
  givenPooled,
  straightPipeline,
  twoGears,
  twoPipelines,
} from '../../../../scripts/triton/made-plans.js';
import { deployPlan } from '../../../../src/api/index.js';
import type { DeployedBundle } from '../../../../src/deploy/targets/target.js';
import type { Bundle } from '../../../../src/formats/index.js';
import type { StagePlan } from '../../../../src/plans/index.js';

/** MADE are the plans that are deployed: on GPUs, but for one on processor cores. */
export const MADE: Readonly<Record<string, (folder: string) => Promise<string>>> = {
  pooled: (folder) => givenPooled(folder, { on: 'gpu', pipelines: twoPipelines('gpu') }),
  branching: (folder) => branchingPipeline(folder, 'gpu'),
  straight: (folder) => straightPipeline(folder, 'cpu' satisfies DeviceKind),
  gears: (folder) => twoGears(folder, 'gpu'),
};

export type MadeName = 'pooled' | 'branching' | 'straight' | 'gears';

/** deployedMade makes a plan in a folder of its own, deploys it, and reads its engine's files. */
export async function deployedMade(folder: string, name: MadeName): Promise<DeployedBundle> {
  const own = join(folder, name);
  await mkdir(own);
  const plan = await (MADE[name] as (typeof MADE)[string])(own);
  const output = join(own, 'bundle');
  await deployPlan(plan, { output, target: 'triton' });
  return await readBundle(output);
}

/** readBundle reads a bundle as it is now. */
export async function readBundle(folder: string): Promise<DeployedBundle> {
  const text = (path: string) => readFile(join(folder, path), 'utf8');
  const manifest = JSON.parse(await text('manifest.json')) as Bundle;
  const files = manifest.files ?? [];
  const texts = new Map(await Promise.all(files.map(async ({ path }) => [path, await text(path)] as const)));
  return { plan: JSON.parse(await text('plan.json')) as StagePlan, manifest, texts };
}
