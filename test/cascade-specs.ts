import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CascadeSpec, Profile } from '../src/formats/index.js';
import { streamOf } from '../src/random/index.js';

/** The models of the family, from the fastest and least accurate to the slowest and most accurate. */
export const FAMILY = ['small', 'middle', 'large'] as const;
/** How many samples the family's records have. */
export const FAMILY_SAMPLES = 150;

/** FamilyAnswer is what a model of the family says of a sample. */
export interface FamilyAnswer {
  readonly isRight: boolean;
  readonly certainty: number;
}

/** familyAnswers gives what each model says of each sample: dearer ones are right more often, and right ones surer. */
export function familyAnswers(): FamilyAnswer[][] {
  const { uniform } = streamOf(5, 'family');
  return FAMILY.map((_, model) =>
    Array.from({ length: FAMILY_SAMPLES }, () => {
      const isRight = uniform() < 0.65 + 0.15 * model;
      return { isRight, certainty: Math.round(1000 * (isRight ? uniform() ** 0.3 : uniform())) / 1000 };
    }),
  );
}

/** familyRecordsText writes answers as records. */
export function familyRecordsText(answers: readonly (readonly FamilyAnswer[])[] = familyAnswers()): string {
  const lines = answers.flatMap((of, model) =>
    of.map(
      ({ isRight, certainty }, sample) => `${sample},${FAMILY[model]},${isRight ? 1 : 0},1,${certainty}`,
    ),
  );
  return `sample,model,prediction,label,certainty\n${lines.join('\n')}\n`;
}

/** familyProfile is the profile of a model of the family on a V100, four times as slow as the one before. */
export function familyProfile(model: number): Profile {
  const us = (batch: number) => [4 ** model * (600 + 200 * batch)];
  return {
    kind: 'profile',
    version: '1.0',
    model: { name: `${FAMILY[model]}-net` },
    blocks: [{ cutBytes: 0, weightBytes: 1e6 * 4 ** model }],
    devices: { V100: { blockLatencyUs: { 1: { 1: us(1), 2: us(2), 4: us(4) } } } },
  };
}

/** FAMILY_SPEC is a spec of the family that has a plan of several gears. */
export const FAMILY_SPEC: CascadeSpec = {
  kind: 'cascade',
  name: 'family',
  cluster: 'cluster.yaml',
  records: 'records.csv',
  models: FAMILY.map((name) => ({ name, profile: `${name}.json` })),
  slo: { latencyMs: 60 },
  load: { maxRps: 400, ranges: 4 },
  planner: { method: 'gears', thresholds: 6 },
};

/** writeFamily writes the spec, changed as a test wants it, beside the files that it names, and gives its path. */
export async function writeFamily(folder: string, change: Partial<CascadeSpec> = {}): Promise<string> {
  const path = join(folder, 'spec.json');
  await writeFile(path, JSON.stringify({ ...FAMILY_SPEC, ...change }));
  await writeFile(join(folder, 'cluster.yaml'), 'devices: { V100: { count: 2, hourlyCost: 3 } }\n');
  await writeFile(join(folder, 'records.csv'), familyRecordsText());
  for (const [model, name] of FAMILY.entries())
    await writeFile(join(folder, `${name}.json`), JSON.stringify(familyProfile(model)));
  return path;
}
