import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { loadRuns } from '../../../src/artifacts/index.js';
import type { Run } from '../../../src/formats/index.js';
import type { Dice } from '../../seeded/dice.js';
import type { CaseResult } from '../../seeded/every-case.js';
import { jsonOf, type Mutated, mutateJson } from '../mutate-json.js';
import { mutateText } from '../mutate-text.js';
import { faultsOf, plan } from '../program.js';
import type { Subject } from '../subject.js';
import { Cost, changesOf, pictureOf } from '../watch.js';

const task = (component: string, inputs: Run['tasks'][number]['inputs'], after: number[]) => ({
  component,
  inputs,
  after,
  outputBytes: 40,
  rows: 1,
});

const RUNS: readonly Run[] = [
  {
    kind: 'run',
    version: '1.0',
    application: 'assistant',
    requestBytes: 2100,
    tasks: [
      task('plan', ['request'], []),
      { ...task('search', [0, 0], [0]), thinkMs: 1.5 },
      task('answer', [1], [0, 1]),
    ],
  },
  {
    kind: 'run',
    version: '1.0',
    application: 'search',
    requestBytes: 0,
    tasks: [task('search', [], []), task('search', ['request', 0], [])],
  },
];
const LINES = [
  '',
  ' ',
  '{',
  '[',
  'null',
  '"run"',
  '{"kind":"run"}',
  '{"kind":"run","kind":"run"}',
  '[[[[',
  '1e999',
  '{"kind":"run","version":"1.0","application":"a","requestBytes":9007199254740993,"tasks":[]}',
];
const FILE = 'runs.jsonl';

/** runs tries changed files of recorded runs: `plan validate`, whose verdict on each is compared with that of plain code here. */
export async function runs(): Promise<Subject> {
  return { run: oneFileOfRuns, close: async () => {} };
}

function changed(dice: Dice): Mutated<Buffer> {
  const lines = RUNS.map((run) => JSON.stringify(run));
  if (dice.chance(0.4)) return mutateText(dice, `${lines.join('\n')}\n`, LINES);
  const at = dice.below(lines.length);
  const { value, what } = mutateJson(dice, RUNS[at]);
  lines[at] = jsonOf(value).replaceAll(/\n */g, '');
  return { value: Buffer.from(lines.join('\n')), what: `line ${at + 1}: ${what}` };
}

async function oneFileOfRuns(dice: Dice, folder: string): Promise<CaseResult> {
  const { value, what } = changed(dice);
  const path = join(folder, FILE);
  writeFileSync(path, dice.chance(0.2) ? gzipSync(value) : value);
  mkdirSync(join(folder, 'out'));
  const [before, cost, given] = [pictureOf(folder), new Cost(), value.toString()];
  const ran = await plan(['validate', FILE, ...(dice.chance(0.2) ? ['--json'] : [])], folder);
  const faults = faultsOf(ran, given);
  const isTaken = ran.code === 0;
  if (isTaken) faults.push(...(await takenFaults(path, given)));
  const lines = given.split('\n').length;
  for (const [, line] of ran.stderr.matchAll(/^ {2}runs\.jsonl:(\d+)/gm))
    if (Number(line) > lines) faults.push(`told of line ${line} of ${lines}`);
  faults.push(...cost.faults(value.length, 0), ...changesOf(before, pictureOf(folder), ['out']));
  return { what, outcome: isTaken ? 'accepted' : 'refused', faults };
}

/** takenFaults finds what is wrong with a file that was taken: lines that are no runs, or runs that are not those of its lines. */
async function takenFaults(path: string, text: string): Promise<string[]> {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const wrong = lines.filter((line) => !isRun(JSON.parse(line.trim()) as Run));
  const { runs: loaded } = await loadRuns(path);
  const tasksOf = (all: readonly Run[]) => JSON.stringify(all.map(({ tasks }) => tasks));
  const isSame = tasksOf(loaded) === tasksOf(lines.map((line) => JSON.parse(line.trim()) as Run));
  return [
    ...wrong.map((line) => `plan validate takes the line ${line.slice(0, 500)}`),
    ...(isSame ? [] : ['the runs are not those of the lines']),
  ];
}

function isRun({ kind, application, requestBytes, tasks }: Run): boolean {
  const size = (bytes: number) => Number.isSafeInteger(bytes) && bytes >= 0;
  return (
    kind === 'run' &&
    typeof application === 'string' &&
    size(requestBytes) &&
    tasks.length > 0 &&
    tasks.every(
      ({ component, inputs, after, thinkMs = 0, outputBytes, rows }, own) =>
        typeof component === 'string' &&
        inputs.every((input) => input === 'request' || (size(input) && input < own)) &&
        after.every((read, i) => size(read) && read < own && after.indexOf(read) === i) &&
        Number.isFinite(thinkMs) &&
        thinkMs >= 0 &&
        size(outputBytes) &&
        Number.isSafeInteger(rows) &&
        rows >= 1,
    )
  );
}
