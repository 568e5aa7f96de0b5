import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { BUNDLE_MANIFEST } from '../../../src/formats/index.js';
import type { Material } from '../material.js';
import type { Subject } from '../subject.js';
import { type Command, type Kind, OUT, oneFile } from './changed-files.js';

const SOLVE: Command = {
  args: ['solve', 'spec.yaml', '--work', '20000', '-o', `${OUT}/plan.json`],
  share: 0.06,
  needs: 'spec.yaml',
};

const KINDS: readonly Kind[] = [
  { kind: 'cluster', file: 'cluster.yaml', commands: [SOLVE] },
  {
    kind: 'pooled',
    file: 'spec.yaml',
    commands: [SOLVE, { ...SOLVE, args: [...SOLVE.args, '--explain'], share: 0.01 }],
  },
  {
    kind: 'profile',
    file: 'dense.profile.json',
    commands: [
      SOLVE,
      {
        args: ['profile', 'merge', 'dense.profile.json', 'lookup.profile.json', '-o', `${OUT}/merged.json`],
        share: 0.3,
      },
      { args: ['deploy', 'plan.json', '-o', `${OUT}/bundle`], share: 0.2, needs: 'plan.json' },
    ],
  },
  {
    kind: 'pooled-plan',
    file: 'plan.json',
    commands: [
      {
        args: ['simulate', 'plan.json', '--duration', '0.02s', '-o', `${OUT}/report.json`],
        share: 0.06,
      },
      { args: ['diff', 'plan.json', 'old-plan.json'], share: 0.4 },
      { args: ['deploy', 'plan.json', '-o', `${OUT}/bundle`], share: 0.3, needs: 'plan.json' },
    ],
  },
  { kind: 'simulation-report', file: 'report.json', commands: [] },
  { kind: 'simulation-sweep', file: 'sweep.json', commands: [] },
  { kind: 'scheduler-comparison', file: 'schedulers.json', commands: [] },
  { kind: 'bundle', file: `bundle/${BUNDLE_MANIFEST}`, commands: [] },
];

/** artifacts tries changed files of every kind, as JSON and as YAML: `plan validate` and the commands that read them. */
export async function artifacts({ folder: material }: Material): Promise<Subject> {
  return {
    run: async (dice, folder) => {
      cpSync(material, folder, { recursive: true });
      cpSync(join(material, 'plan.json'), join(folder, 'old-plan.json'));
      return oneFile(dice, folder, KINDS);
    },
    close: async () => {},
  };
}
