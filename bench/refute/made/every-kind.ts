import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SolveOptions } from '../../../src/specs/index.js';
import type { Dice } from '../../seeded/dice.js';
import { randomCascade, writeCascade } from '../gears/random-cascade.js';
import { randomPipeline } from '../pipelines/random-spec.js';
import { madeSpec, written as writtenPooled } from '../pooled/random-spec.js';
import { madePipeline, written as writtenTuned } from '../tuned/random-pipeline.js';

/** Asked is a spec that was written, with how it is solved. */
interface Asked {
  readonly path: string;
  readonly options: SolveOptions;
}

/** EVERY_KIND writes a random spec of each kind that there is. */
export const EVERY_KIND: Readonly<Record<string, (dice: Dice, folder: string) => Promise<Asked>>> = {
  pooled: async (dice, folder) => {
    const made = madeSpec(dice);
    const holds = made.spec.models.length === 1 && dice.chance(0.15);
    const options = holds ? { hold: dice.pick([0.9, 0.99]) } : { work: 1e6, explain: dice.chance(0.5) };
    return { path: await writtenPooled(made, folder), options };
  },
  pipeline: async (dice, folder) => {
    const { spec, profiles } = randomPipeline(dice);
    for (const [i, profile] of profiles.entries())
      await writeFile(join(folder, `m${i}.json`), JSON.stringify(profile));
    const path = join(folder, 'spec.json');
    await writeFile(path, JSON.stringify(spec));
    return { path, options: { work: 1000 } };
  },
  'tuned pipeline': async (dice, folder) => ({
    path: await writtenTuned(madePipeline(dice), folder),
    options: { work: 2000 },
  }),
  cascade: async (dice, folder) => ({ path: await writeCascade(randomCascade(dice), folder), options: {} }),
};
