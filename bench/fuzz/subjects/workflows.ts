import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Dice } from '../../seeded/dice.js';
import type { CaseResult } from '../../seeded/every-case.js';
import type { Material } from '../material.js';
import { mutateText } from '../mutate-text.js';
import { faultsOf, plan } from '../program.js';
import type { Subject } from '../subject.js';
import { Cost, changesOf, pictureOf } from '../watch.js';
import { type Command, type Kind, OUT, oneFile } from './changed-files.js';

const RUNS = 'talk.runs.jsonl';
const SIMULATE = ['simulate', 'plan.json', '--duration', '0.05s'];
const SOLVE: Command = {
  args: ['solve', 'spec.yaml', '-o', `${OUT}/plan.json`],
  share: 0.5,
  needs: 'spec.yaml',
};

const KINDS: readonly Kind[] = [
  { kind: 'workflow', file: 'spec.yaml', commands: [SOLVE] },
  { kind: 'workflow', file: 'spec.yaml', commands: [SOLVE] },
  { kind: 'cluster', file: 'cluster.yaml', commands: [SOLVE] },
  { kind: 'profile', file: 'dense.profile.json', commands: [SOLVE] },
  {
    kind: 'workflow-plan',
    file: 'plan.json',
    commands: [
      { args: [...SIMULATE, '-o', `${OUT}/report.json`], share: 0.15 },
      { args: [...SIMULATE, '--schedulers', 'all', '-o', `${OUT}/schedulers.json`], share: 0.1 },
      { args: ['diff', 'plan.json', 'old-plan.json'], share: 0.4 },
      { args: ['deploy', 'plan.json', '-o', `${OUT}/bundle`], share: 0.1 },
    ],
  },
  {
    kind: 'policy',
    file: 'policy.yaml',
    commands: [{ args: [...SIMULATE, '--policy', 'policy.yaml'], share: 0.3, needs: 'policy.yaml' }],
  },
];

const SPEC = `kind: workflow
cluster: cluster.yaml
components:
  - { name: first, profile: dense.profile.json, memoryGiB: 1, maxBatch: 2 }
  - { name: second, profile: dense.profile.json, memoryGiB: 2.5, loadMs: 40 }
workflows:
  - { name: talk, program: program.mjs, sloMs: 400, share: 0.75, runs: ${RUNS} }
  - name: other
    share: 0.25
    chain:
      requestBytes: 100
      start: [{ to: ask, chance: 0.5 }, { to: more, chance: 0.5 }]
      steps:
        - { name: ask, calls: [{ component: first, inputs: [request], outputBytes: 64, rows: 2 }], next: [{ to: more, chance: 0.5 }, { to: end, chance: 0.5 }] }
        - { name: more, calls: [{ component: second, inputs: [ask], outputBytes: 32, thinkMs: 1 }] }
load: { arrivals: poisson, rps: 20, duration: 1s }
planner: { method: dyorc, objective: latency, attainment: 0.9, subclusters: 2 }
serving: { scheduler: dyorc, policy: { dropping: expired, evicting: least-recent, sparing: { kind: reloads, most: 2 }, halfLifeNs: 1000000000 } }
`;
const CLUSTER = `kind: cluster
networkGbps: 10
devices:
  fast: { count: 2, perServer: 2, memoryGiB: 3, hostMemoryGiB: 4, loadGBps: 4, diskGBps: 1, gpuLinkGbps: 100 }
  slow: { count: 2, memoryGiB: 4, loadGBps: 4, linkGbps: 1 }
`;
const POLICY = `kind: policy
scheduler: dyorc
prediction: { kind: likeliest, most: 4 }
reserving: work
dropping: { kind: end-to-end, quantile: 0.2, draws: 8 }
moving: to-idle
mostTasks: 100
`;
const PROGRAM = 'export const inputs = [];\nexport const outputs = [];\nexport default async () => ({});\n';

const LINES = [1, 3].map((more) =>
  JSON.stringify({
    kind: 'run',
    version: '1.0',
    application: 'talk',
    requestBytes: 100 * more,
    tasks: [
      { component: 'first', inputs: ['request'], after: [], outputBytes: 64, rows: 1 },
      ...Array.from({ length: more }, () => ({
        component: 'second',
        inputs: [0],
        after: [0],
        outputBytes: 32,
        rows: 1,
        thinkMs: 0.5,
      })),
    ],
  }),
);

/**
 * workflows tries changed specs, recorded runs, plans and policies of workflows: `plan validate`, `solve`, `simulate`,
 * `diff` and `deploy`.
 */
export async function workflows({ folder: material }: Material): Promise<Subject> {
  const folder = join(material, 'workflow');
  mkdirSync(folder);
  cpSync(join(material, 'dense.profile.json'), join(folder, 'dense.profile.json'));
  cpSync(join(material, 'dense.onnx'), join(folder, 'dense.onnx'));
  const files = { 'spec.yaml': SPEC, 'cluster.yaml': CLUSTER, 'policy.yaml': POLICY, 'program.mjs': PROGRAM };
  for (const [name, text] of Object.entries({ ...files, [RUNS]: LINES.join('\n') }))
    writeFileSync(join(folder, name), text);
  const { code, stderr } = await plan(['solve', 'spec.yaml', '-o', 'plan.json'], folder);
  if (code !== 0) throw new Error(`plan solve of workflows ended with ${code}: ${stderr}`);
  return {
    run: async (dice, at) => {
      cpSync(folder, at, { recursive: true });
      cpSync(join(folder, 'plan.json'), join(at, 'old-plan.json'));
      return dice.chance(0.15) ? changedRuns(dice, at) : oneFile(dice, at, KINDS);
    },
    close: async () => {},
  };
}

/** changedRuns solves with changed recorded runs. */
async function changedRuns(dice: Dice, folder: string): Promise<CaseResult> {
  const path = join(folder, RUNS);
  const { value, what } = mutateText(dice, readFileSync(path, 'utf8'));
  writeFileSync(path, value);
  mkdirSync(join(folder, OUT));
  const before = pictureOf(folder);
  const cost = new Cost();
  const ran = await plan([...SOLVE.args], folder);
  return {
    what: `${RUNS}: ${what}`,
    outcome: `${ran.code === 0 ? 'accepted' : 'refused'} runs`,
    faults: [
      ...faultsOf(ran, value.toString()),
      ...cost.faults(value.length, 1),
      ...changesOf(before, pictureOf(folder), [OUT]),
    ],
  };
}
