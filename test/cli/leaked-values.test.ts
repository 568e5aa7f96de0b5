import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { leakedValues } from '../../bench/fuzz/leaked-values.js';
import { writeMaterial } from '../../bench/fuzz/material.js';
import { jsonOf, mutateJson } from '../../bench/fuzz/mutate-json.js';
import { mutateText } from '../../bench/fuzz/mutate-text.js';
import { plan, type Ran } from '../../bench/fuzz/program.js';
import { Dice } from '../../bench/seeded/dice.js';
import { writeFamily } from '../cascade-specs.js';
import { cases, inWholeRunOnly, whole } from '../cases.js';

const SEED = 39;
const project = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

let root: string;
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'inferplan-leaked-'));
  await writeMaterial(join(root, 'pooled'));
  cpSync(join(root, 'pooled/dense.profile.json'), join(root, 'pooled/bundle/dense.profile.json'));
  cpSync(project('examples/pipeline'), join(root, 'pipeline'), { recursive: true });
  await made('pipeline', ['simulate', 'expected-plan.json', '--duration', '0.2s', '-o', 'report.json']);
  await made('pipeline', ['simulate', 'expected-plan.json', '--duration', '1s', '-o', 'longer.json']);
  mkdirSync(join(root, 'cascade'));
  await writeFamily(join(root, 'cascade'), {
    load: { maxRps: 40, ranges: 1 },
    planner: { method: 'gears', thresholds: 3 },
  });
  await made('cascade', ['solve', 'spec.json', '-o', 'plan.json']);
  cpSync(project('test/checks/load/reports'), join(root, 'load'), { recursive: true });
  writeFileSync(join(root, 'load', 'times.json'), '[{"computeMs":1.5},{"computeMs":1.7},{"computeMs":1.6}]');
  writeFileSync(join(root, 'load', 'times.csv'), 'batch,block,us\n1,0,1500\n2,0,1700\n');
  writeFileSync(join(root, 'load', 'trace.csv'), 'interval_s,count\n0.1,4\n0.1,0\n0.5,11\n');
  writeFileSync(join(root, 'load', 'empty.csv'), 'arrival_s\n');
  cpSync(join(root, 'pooled', 'plan.json'), join(root, 'load', 'plan.json'));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

async function made(folder: string, args: readonly string[]): Promise<void> {
  const { code, stdout, stderr } = await plan(args, join(root, folder));
  if (code !== 0) throw new Error(`plan ${args.join(' ')} ended with ${code}: ${stdout}${stderr}`);
}

/** Read is a file, and the commands that read it. */
interface Read {
  readonly folder: string;
  readonly file: string;
  readonly commands: readonly string[];
  /** Its changes in a quick run, and in a long one. */
  readonly changes?: readonly [number, number];
}

const FEW = [1, 60] as const;
const MANY = [whole(2, 8), 400] as const;
const READ: readonly Read[] = [
  { folder: 'pooled', file: 'cluster.yaml', commands: ['validate cluster.yaml spec.yaml'] },
  { folder: 'pooled', file: 'spec.yaml', commands: ['validate spec.yaml'] },
  {
    folder: 'pooled',
    file: 'dense.profile.json',
    commands: [
      'validate dense.profile.json spec.yaml plan.json',
      'profile merge dense.profile.json bundle/dense.profile.json -o out.json',
      'init dense.profile.json -o out.yaml --force',
      'deploy plan.json -o out',
    ],
  },
  {
    folder: 'pooled',
    file: 'plan.json',
    commands: ['validate plan.json', 'diff bundle/plan.json plan.json', 'deploy plan.json -o out'],
  },
  { folder: 'pooled', file: 'report.json', commands: ['validate report.json', 'diff report.json plan.json'] },
  { folder: 'pooled', file: 'sweep.json', commands: ['validate sweep.json'] },
  { folder: 'pooled', file: 'schedulers.json', commands: ['validate schedulers.json'] },
  { folder: 'pooled', file: 'bundle/manifest.json', commands: ['validate bundle'] },
  {
    folder: 'pooled',
    file: 'spec.yaml',
    changes: FEW,
    commands: ['solve spec.yaml --work 20000 -o out.json', 'compare spec.yaml --sweep slo=0.5x..1x:2'],
  },
  {
    folder: 'pooled',
    file: 'plan.json',
    changes: FEW,
    commands: ['simulate plan.json --duration 0.02s -o out.json'],
  },
  {
    folder: 'pipeline',
    file: 'expected-plan.json',
    commands: [
      'validate expected-plan.json',
      'diff expected-plan.json expected-plan.json',
      'deploy expected-plan.json -o out',
    ],
  },
  { folder: 'pipeline', file: 'spec.yaml', commands: ['validate spec.yaml'] },
  { folder: 'pipeline', file: 'spec.yaml', changes: FEW, commands: ['solve spec.yaml -o out.json'] },
  { folder: 'pipeline', file: 'policy.yaml', commands: ['validate policy.yaml'] },
  {
    folder: 'pipeline',
    file: 'policy.yaml',
    changes: FEW,
    commands: ['simulate expected-plan.json --duration 0.05s --policy policy.yaml -o out.json'],
  },
  { folder: 'cascade', file: 'spec.json', commands: ['validate spec.json'] },
  {
    folder: 'cascade',
    file: 'records.csv',
    changes: FEW,
    // Each confirmation of the plan searches it again.
    commands: ['validate spec.json', ...whole([], ['validate plan.json'])],
  },
  ...inWholeRunOnly<Read>([
    {
      folder: 'cascade',
      file: 'plan.json',
      changes: FEW,
      commands: ['validate plan.json', 'diff plan.json plan.json', 'deploy plan.json -o out'],
    },
    { folder: 'cascade', file: 'spec.json', changes: FEW, commands: ['solve spec.json -o out.json'] },
  ]),
  {
    folder: 'load',
    file: 'uniform.json',
    commands: ['validate uniform.json', 'verify uniform.json --plan plan.json'],
  },
  { folder: 'load', file: 'several.json', commands: ['validate several.json'] },
  { folder: 'load', file: 'labelled.json', commands: ['validate labelled.json'] },
  {
    folder: 'load',
    file: 'times.json',
    commands: ['profile import times.json --model m --device cpu --batch 2 -o out.json'],
  },
  {
    folder: 'load',
    file: 'times.csv',
    commands: ['profile import times.csv --model m --device cpu --batch 2 -o out.json'],
  },
  {
    folder: 'load',
    file: 'trace.csv',
    commands: [
      'trace describe trace.csv',
      'trace convert trace.csv -o out.csv',
      'trace rescale trace.csv --rps 5 -o out.csv',
    ],
  },
  {
    folder: 'load',
    file: 'empty.csv',
    changes: FEW,
    commands: ['trace describe empty.csv', 'trace rescale empty.csv --rps 5 -o out.csv'],
  },
];

describe('what commands tell', () => {
  it.each(READ)('has no word for a value that is none: $file of $folder, $commands', async (read) => {
    const { folder, file, commands, changes = MANY } = read;
    const at = join(root, folder);
    const text = readFileSync(join(at, file), 'utf8');
    const leaked: string[] = [];
    const tell = async (changed: string, what: string): Promise<void> => {
      writeFileSync(join(at, file), changed);
      for (const command of commands)
        for (const json of [[], ['--json']]) {
          const ran = await plan([...withoutOutput(command.split(' '), json), ...json], at);
          leaked.push(...wordsIn(ran, `${changed}${text}`).map((word) => `${word} (${what})`));
        }
    };
    await tell(text, 'as it is');
    for (let n = 0; n < cases(...changes); n++) {
      const { value, what } = changed(new Dice(SEED, `${folder}/${file}/${n}`), file, text);
      await tell(value, what);
    }
    writeFileSync(join(at, file), text);
    expect(leaked).toEqual([]);
  });
});

/** withoutOutput leaves `-o` out, of which a document on stdout takes the place. */
function withoutOutput(args: readonly string[], json: readonly string[]): string[] {
  const at = args.indexOf('-o');
  const canPrint = json.length > 0 && at >= 0 && !['deploy', 'init', 'trace'].includes(args[0] as string);
  return canPrint ? args.filter((_, i) => i !== at && i !== at + 1) : [...args];
}

function changed(dice: Dice, file: string, text: string): { value: string; what: string } {
  if (file.endsWith('.csv') || dice.chance(0.2)) {
    const { value, what } = mutateText(dice, text);
    return { value: value.toString(), what };
  }
  const { value, what } = mutateJson(dice, file.endsWith('.yaml') ? parse(text) : JSON.parse(text));
  return { value: jsonOf(value), what };
}

function wordsIn({ args, stdout, stderr, thrown }: Ran, given: string): string[] {
  const told = `${stdout}\n${stderr}\n${thrown === undefined ? '' : (thrown as Error).stack}`;
  return leakedValues(told, given).map((word) => {
    const line = told.split('\n').find((one) => one.includes(word));
    return `plan ${args.join(' ')} told ${word}: ${line?.slice(0, 300)}`;
  });
}
