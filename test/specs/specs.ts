import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { randomProblem, type Shape } from '../../bench/refute/pooled/random-problem.js';
import type { Cluster, PooledSpec, Profile } from '../../src/formats/index.js';
import { type PooledProblem, resolvePooled } from '../../src/milp/index.js';

export const EXAMPLE = new URL('../../examples/pooled/spec.yaml', import.meta.url).pathname;

/** ONE_CPU is a spec of the model in `model.profile.json` on one CPU. */
export const ONE_CPU = `
kind: pooled
cluster: { devices: { cpu: { count: 1 } }, networkGbps: 10 }
models: [{ profile: model.profile.json, sloMs: 2000 }]
`;

/** makeBatchesCheap gives batches of 2 the time of batches of 1: a busy machine may measure them as not worth their time. */
export async function makeBatchesCheap(path: string): Promise<void> {
  const profile = JSON.parse(await readFile(path, 'utf8')) as Profile;
  for (const device of Object.values(profile.devices))
    for (const table of [
      device.blockLatencyUs,
      device.blockLatencyP95Us,
      device.pairLatencyUs,
      device.wholeLatencyUs,
    ])
      for (const byBatch of Object.values(table ?? {})) byBatch['2'] = byBatch['1'] as never;
  await writeFile(path, JSON.stringify(profile));
}

const SMALL: Shape = { classes: 2, blocks: 4, batches: 2, virtual: [1, 2], models: 1, mostGpus: 4 };

/** writeRandomSpec writes a random small problem as files. `path` is its spec. */
export async function writeRandomSpec(
  folder: string,
  seed: number,
  shape: Partial<Shape> = {},
  planner: PooledSpec['planner'] = {},
): Promise<{ path: string; problem: PooledProblem }> {
  const problem = randomProblem(seed, { ...SMALL, ...shape }, planner);
  const profiles = problem.models.map(({ profile }) => profile);
  const models = problem.models.map(({ spec, name }) => ({ ...spec, profile: `${seed}-${name}.json` }));
  const spec: PooledSpec = {
    kind: 'pooled',
    cluster: problem.cluster,
    models,
    planner: { sloMargin: 0.1, ...planner },
  };
  const path = await writeSpec(folder, `${seed}.json`, spec, profiles);
  return { path, problem };
}

/** writeSpec writes a spec and its models' profiles, under the names that the spec gives them. */
export async function writeSpec(
  folder: string,
  name: string,
  spec: PooledSpec,
  profiles: readonly Profile[],
): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, JSON.stringify(spec));
  for (const [m, profile] of profiles.entries())
    await writeFile(join(folder, spec.models[m]?.profile as string), JSON.stringify(profile));
  return path;
}

/** withCounts resolves the problem with other counts. */
export function withCounts(problem: PooledProblem, counts: Readonly<Record<string, number>>): PooledProblem {
  const devices = Object.entries(problem.cluster.devices).map(([name, device]) => [
    name,
    { ...device, count: counts[name] ?? 0 },
  ]);
  const cluster: Cluster = { ...problem.cluster, devices: Object.fromEntries(devices) };
  return resolvedAgain({ ...problem, cluster });
}

/** withSlos resolves the problem with other SLOs. */
export function withSlos(problem: PooledProblem, sloMs: readonly number[]): PooledProblem {
  const models = problem.models.map((model, m) => ({
    ...model,
    spec: { ...model.spec, sloMs: sloMs[m] as number },
  }));
  return resolvedAgain({ ...problem, models });
}

function resolvedAgain({ cluster, models, planner }: PooledProblem): PooledProblem {
  const { sloMarginMs, ...rest } = planner;
  const spec: PooledSpec = {
    kind: 'pooled',
    cluster,
    models: models.map((model) => model.spec),
    planner: sloMarginMs === undefined ? rest : { ...rest, sloMarginMs },
  };
  const profiles = models.map(({ profile }) => ({ profile, path: profile.model.name }));
  return resolvePooled(spec, { cluster, profiles, where: 'again' });
}
