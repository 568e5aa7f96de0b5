import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Dice } from '../../seeded/dice.js';
import type { CaseResult } from '../../seeded/every-case.js';
import type { Material } from '../material.js';
import { mutateText } from '../mutate-text.js';
import { faultsOf, plan } from '../program.js';
import type { Subject } from '../subject.js';
import { Cost, changesOf, pictureOf } from '../watch.js';
import { type Command, type Kind, OUT, oneFile } from './changed-files.js';

const EXAMPLE = fileURLToPath(new URL('../../../../examples/pipeline', import.meta.url));
const RECORDS = 'records.csv';
const SIMULATE = ['simulate', 'plan.json', '--duration', '0.02s'];
const SOLVE: Command = {
  args: ['solve', 'spec.yaml', '-o', `${OUT}/plan.json`],
  share: 0.5,
  needs: 'spec.yaml',
};

const KINDS: readonly Kind[] = [
  { kind: 'pipeline', file: 'spec.yaml', commands: [SOLVE] },
  { kind: 'pipeline', file: 'spec.yaml', commands: [SOLVE] },
  { kind: 'cluster', file: 'cluster.yaml', commands: [SOLVE] },
  { kind: 'profile', file: 'detect.profile.json', commands: [SOLVE] },
  {
    kind: 'pipeline-plan',
    file: 'plan.json',
    commands: [
      { args: [...SIMULATE, '-o', `${OUT}/report.json`], share: 0.15 },
      { args: ['diff', 'plan.json', 'old-plan.json'], share: 0.4 },
    ],
  },
  {
    kind: 'policy',
    file: 'policy.yaml',
    commands: [{ args: [...SIMULATE, '--policy', 'policy.yaml'], share: 0.3, needs: 'policy.yaml' }],
  },
];

/**
 * pipelines tries changed specs, plans, policies and records of examples/pipeline: `plan validate`, `solve`, `simulate`
 * and `diff`.
 */
export async function pipelines({ folder: material }: Material): Promise<Subject> {
  const folder = join(material, 'pipeline');
  cpSync(EXAMPLE, folder, { recursive: true });
  writeFileSync(join(folder, RECORDS), 'detect>plate,detect>face\n1,0\n0,1\n0,1\n');
  const { code, stderr } = await plan(['solve', 'spec.yaml', '-o', 'plan.json'], folder);
  if (code !== 0) throw new Error(`plan solve of ${EXAMPLE} ended with ${code}: ${stderr}`);
  return {
    run: async (dice, at) => {
      cpSync(folder, at, { recursive: true });
      cpSync(join(folder, 'plan.json'), join(at, 'old-plan.json'));
      return dice.chance(0.1) ? oneRecord(dice, at) : oneFile(dice, at, KINDS);
    },
    close: async () => {},
  };
}

/** oneRecord simulates with changed records. */
async function oneRecord(dice: Dice, folder: string): Promise<CaseResult> {
  const path = join(folder, RECORDS);
  const { value, what } = mutateText(dice, readFileSync(path, 'utf8'));
  writeFileSync(path, value);
  mkdirSync(join(folder, OUT));
  const before = pictureOf(folder);
  const cost = new Cost();
  const ran = await plan([...SIMULATE, '--verdicts', RECORDS, '-o', `${OUT}/report.json`], folder);
  return {
    what: `${RECORDS}: ${what}`,
    outcome: `${ran.code === 0 ? 'accepted' : 'refused'} records`,
    faults: [
      ...faultsOf(ran, value.toString()),
      ...cost.faults(value.length, 1),
      ...changesOf(before, pictureOf(folder), [OUT]),
    ],
  };
}
