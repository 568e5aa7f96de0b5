import { mkdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { CascadeSpec, GearPlan } from '../../src/formats/index.js';
import type { FamilyModel } from '../../src/gearplan/index.js';
import { solveSpec } from '../../src/specs/index.js';

/** writeFamily writes profiles and records into a new folder, as `plan profile` does. */
export async function writeFamily(folder: string, models: readonly FamilyModel[]): Promise<void> {
  await mkdir(folder, { recursive: true });
  const lines = ['sample,model,prediction,label,certainty'];
  for (const { name: model, latencyNs, memoryBytes, correct, certainty } of models) {
    const byBatch = Object.fromEntries(Array.from(latencyNs, (ns, b) => [b + 1, [ns / 1e3]]));
    const tensor = (of: string, width: number) => ({
      name: of,
      dtype: 'float32',
      shape: [1, width],
      batchAxis: 0,
    });
    const profile = {
      kind: 'profile',
      version: '1.0',
      model: { name: model, inputs: [tensor('x', 64)], outputs: [tensor('scores', 2)] },
      blocks: [{ nodes: [], cutBytes: 8, weightBytes: memoryBytes }],
      devices: { V100: { blockLatencyUs: { 1: byBatch } } },
    };
    await writeFile(join(folder, `${model}.profile.json`), JSON.stringify(profile));
    correct.forEach((right, sample) => {
      lines.push(
        `${sample},${model},${right ? sample % 2 : 1 - (sample % 2)},${sample % 2},${certainty[sample]}`,
      );
    });
  }
  await writeFile(join(folder, 'records.csv'), `${lines.join('\n')}\n`);
}

/** AskedFamily says what a family is planned for, on devices that hold all of its models. */
export interface AskedFamily {
  readonly devices: number;
  readonly maxRps: number;
  readonly ranges: number;
  readonly slo: { readonly latencyMs?: number; readonly accuracy?: number };
  readonly planner: NonNullable<CascadeSpec['planner']>;
}

/**
 * solveFamily plans a family that `writeFamily` wrote as `plan solve` does, with the confirmation of what the plan promises,
 * and writes `plan.json` beside it. The plan is called as the folder. It is undefined where there is no plan.
 */
export async function solveFamily(
  folder: string,
  models: readonly Pick<FamilyModel, 'name'>[],
  { devices, maxRps, ranges, slo, planner }: AskedFamily,
): Promise<GearPlan | undefined> {
  const spec = {
    kind: 'cascade',
    name: basename(folder),
    cluster: { devices: { V100: { count: devices } } },
    models: models.map(({ name }) => ({ name, profile: `${name}.profile.json` })),
    records: 'records.csv',
    slo,
    load: { maxRps, ranges },
    planner,
  };
  const path = join(folder, 'spec.yaml');
  await writeFile(path, JSON.stringify(spec));
  const solved = await solveSpec(path, { output: join(folder, 'plan.json') });
  return solved.outcome === 'gear-plan' ? solved.plan : undefined;
}
