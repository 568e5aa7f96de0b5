import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PipelineSpec } from '../../../src/formats/index.js';
import { solveSpec } from '../../../src/specs/index.js';
import type { Dice } from '../../seeded/dice.js';
import { overloadRefutations } from '../pipelines/overloaded.js';
import { randomPipeline } from '../pipelines/random-spec.js';
import type { Refuted } from '../refuter.js';

/**
 * refuter plans a random pipeline whose spec names no scheduler and whose links take no time, and serves its plan at ten times
 * the load of the spec. Plans for which the planner falls back to `inferline`, which drops nothing, claim nothing.
 */
export async function refuter(dice: Dice, folder: string): Promise<Refuted> {
  const { spec: drawn, profiles } = randomPipeline(dice);
  const { serving: _, ...rest } = drawn;
  const { devices } = drawn.cluster as Exclude<PipelineSpec['cluster'], string>;
  const spec: PipelineSpec = { ...rest, cluster: { kind: 'cluster', devices } };
  for (const [i, profile] of profiles.entries())
    await writeFile(join(folder, `m${i}.json`), JSON.stringify(profile));
  const path = join(folder, 'spec.json');
  await writeFile(path, JSON.stringify(spec));
  const solved = await solveSpec(path, { work: 1000 });
  const what = JSON.stringify(spec);
  if (solved.outcome !== 'pipeline-plan') return { what, outcome: solved.outcome, refutations: [] };
  const { plan } = solved;
  const scheduler = plan.serving?.scheduler as string;
  if (scheduler === 'inferline') return { what, outcome: scheduler, refutations: [] };
  return { what, outcome: 'served', refutations: overloadRefutations({ spec, profiles }, plan) };
}
