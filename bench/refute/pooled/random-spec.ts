import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Cluster, PooledSpec } from '../../../src/formats/index.js';
import { type PooledProblem, resolvePooled } from '../../../src/milp/index.js';
import type { Dice } from '../../seeded/dice.js';
import { randomProblem, type Shape } from './random-problem.js';

/** MadeSpec is a random spec, with what it is about. */
export interface MadeSpec {
  readonly spec: PooledSpec & { readonly cluster: Cluster };
  readonly profiles: readonly PooledProblem['models'][number]['profile'][];
}

/** madeSpec draws a spec of few GPUs and blocks, of which all plans can be tried. */
export function madeSpec(dice: Dice): MadeSpec {
  const models = dice.pick([1, 1, 2, 2, 3]);
  const shape: Shape = {
    classes: models === 3 ? 1 : 1 + dice.below(2),
    blocks: models === 1 ? 2 + dice.below(2) : 2,
    batches: 2,
    virtual: [1, 2],
    models,
    mostGpus: models === 1 ? 3 : 2,
    ...(dice.chance(0.2) ? { timedSpans: true } : {}),
  };
  const planner = madePlanner(dice);
  const problem = randomProblem(dice.below(2 ** 31), shape);
  const profiles = problem.models.map(({ profile }) => profile);
  const specs = problem.models.map(({ spec, name, sloUs }) => ({
    ...spec,
    profile: `${name}.json`,
    rps: (spec.rps ?? 1) * dice.pick([0.1, 1, 1, 3]),
    // Some SLOs are so tight that few pipelines or none meet them.
    sloMs: (sloUs / 1000) * dice.pick([0.5, 0.8, 1, 1, 1.5]),
    ...(dice.chance(0.1) ? { sloMargin: 0.3 } : {}),
    ...(shape.classes === 2 && dice.chance(0.1) ? { not: ['C1'] } : {}),
    ...(dice.chance(0.1) ? { minShare: { C0: 0.3 } } : {}),
  }));
  const cluster = withTaken(problem.cluster, dice);
  return { spec: { kind: 'pooled', cluster, models: specs, planner }, profiles };
}

function madePlanner(dice: Dice): NonNullable<PooledSpec['planner']> {
  return {
    objective: dice.pick(['throughput', 'cost', 'power']),
    maxPartitions: dice.pick([1, 2, 2]),
    wholeGpusPer: dice.pick(['pool', 'position', 'class']),
    virtualPer: dice.pick(['gpu', 'gpu', 'server']),
    unifiedBatch: !dice.chance(0.2),
    linkThroughput: !dice.chance(0.2),
    ...(dice.chance(0.2) ? { batchFormation: { factor: 1.3, estimatedRps: 400 } } : {}),
    ...dice.pick([{ sloMargin: 0.1 }, { sloMargin: 0 }, { sloMargin: 0.4 }, { sloMarginMs: 0.3 }]),
  };
}

function withTaken(cluster: Cluster, dice: Dice): Cluster {
  const devices = Object.entries(cluster.devices).map(([name, device]) => [
    name,
    { ...device, ...((device.count as number) > 1 && dice.chance(0.15) ? { taken: 1 } : {}) },
  ]);
  return { ...cluster, devices: Object.fromEntries(devices) };
}

/** problemOf gives the problem of a spec, with its defaults. */
export function problemOf({ spec, profiles }: MadeSpec): PooledProblem {
  const { cluster } = spec;
  return resolvePooled(spec, {
    cluster,
    profiles: profiles.map((profile) => ({ profile, path: `${profile.model.name}.json` })),
    where: 'spec.json',
  });
}

/** written writes the files of a spec. It gives the path of the spec. */
export async function written(
  { spec, profiles }: MadeSpec,
  folder: string,
  name = 'spec.json',
): Promise<string> {
  for (const profile of profiles)
    await writeFile(join(folder, `${profile.model.name}.json`), JSON.stringify(profile));
  const path = join(folder, name);
  await writeFile(path, JSON.stringify(spec));
  return path;
}
