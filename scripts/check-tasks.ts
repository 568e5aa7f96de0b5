/**
 * This script does ten tasks of new users with the package as they get it: packed, and installed in an empty folder. It takes no
 * wrong turn: each command ends as it should, and is one that README.md or docs/ show with these options. It needs npm's
 * registry and takes some minutes, so that CI runs it. Where Python is not installed, it says which task it left out.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { folder, must, npmInstall, plan, project, served, user } from './package/installed.js';

const documents = ['README.md', ...readdirSync(join(project, 'docs')).map((name) => `docs/${name}`)].map(
  (name) => readFileSync(join(project, name), 'utf8'),
);

/** shown runs a command line that the documents show. @throws where they do not, or where it ends otherwise */
function shown(line: string, status = 0): string {
  const words = line.split(' ');
  const command = `plan ${words[0]}`;
  const wanted = [command, ...words.filter((word) => word.startsWith('--'))];
  const lacking = wanted.filter((part) => !documents.some((text) => text.includes(part)));
  if (lacking.length > 0) throw new Error(`no document shows ${lacking.join(', ')}: plan ${line}`);
  return plan(words, status).stdout;
}

function saved(file: string): Record<string, unknown> {
  return JSON.parse(readFileSync(join(user, file), 'utf8')) as Record<string, unknown>;
}

function save(file: string, text: string): void {
  writeFileSync(join(user, file), text);
}

/** expect ends the script where something is not as a task needs it. */
function expect(holds: boolean, what: string): void {
  if (!holds) throw new Error(`it does not hold that ${what}`);
}

const BRIEF = '--batch 1,2 --min-ms 1 --max-ms 20';

/** The tasks by their names, in the order in which they are done: some go on with the files of earlier ones. */
const TASKS: Readonly<Record<string, () => void | Promise<void>>> = {
  'mixes under 12 an hour': () => {
    shown('init --example pooled');
    shown('solve pooled/spec.yaml -o plan.json');
    const document = JSON.parse(shown('compare pooled/spec.yaml --budget 12 --json')) as { rows: unknown[] };
    expect(document.rows.length > 1, 'there are several mixes');
  },
  'a day of a trace at 99 %': () => {
    const hours = Array.from({ length: 24 }, (_, hour) => `3600,${3600 * (1 + (hour % 12))}`);
    save('day.csv', `interval_s,count\n${hours.join('\n')}\n`);
    shown('trace describe day.csv');
    shown('trace slice day.csv --busiest 1h -o hour.csv');
    shown('init pooled/detector.profile.json -o day.yaml');
    shown('solve day.yaml --hold 0.99 -o day.json');
    shown('simulate day.json --trace hour.csv --fail-under 0.99');
  },
  'a gate in CI': () => {
    expect(shown('validate plan.json --reporter junit').includes('<testsuite'), 'JUnit is printed');
    shown('simulate plan.json --load 0.7 --fail-under 0.9 --reporter junit');
    shown('simulate plan.json --load 1.5 --fail-under 0.99 --reporter github', 6);
    shown('diff plan.json plan.json --check --reporter junit');
    shown('diff plan.json day.json --check --reporter junit', 6);
  },
  'a cascade from records': () => {
    shown('init --example cascade');
    const profiles = ['tiny', 'base', 'large'].map((name) => `cascade/${name}.profile.json`).join(' ');
    shown(`init ${profiles} --kind cascade --records cascade/records.csv -o family.yaml`);
    shown('solve family.yaml -o family.json --explain');
    shown('simulate family.json --rps 50 --duration 10s');
    shown('validate family.json');
  },
  'a DAG of models': () => {
    shown('init --example pipeline');
    shown('solve pipeline/spec.yaml -o dag.json');
    shown('validate dag.json');
    shown('simulate dag.json --policy pipeline/policy.yaml --duration 10s');
  },
  'schedulers compared': () => {
    shown('simulate plan.json --load 1.1 --schedulers all --duration 5s -o schedulers.json');
    expect((saved('schedulers.json').rows as unknown[]).length > 2, 'several schedulers are compared');
  },
  'an ONNX model of their own, served': async () => {
    const build = [
      join(project, 'dist/examples/models/build.js'),
      'resnet18',
      '--image',
      '32',
      '--out',
      user,
    ];
    must(process.execPath, build);
    npmInstall(['install', 'onnxruntime-node@1.30.0', '--ignore-scripts']);
    shown('devices');
    shown(`profile resnet18.onnx --device fast=cpu:1,slowdown=2 ${BRIEF} -o resnet18.fast.json`);
    // A busy machine may drop what it would serve in time by itself.
    shown('init resnet18.fast.json --slo 2000 -o own.yaml');
    shown('solve own.yaml -o own.json');
    shown('deploy own.json -o bundle');
    await served('bundle', (url) => {
      shown(`load ${url} --rps 5 --duration 2s -o load.json`);
      python(url);
    });
    expect(saved('load.json').failed === 0, 'no request to the server fails');
    shown('verify load.json --plan own.json');
  },
  'the profiles of two machines': () => {
    const machine = '--device slow=cpu:1,slowdown=4';
    shown(`profile resnet18.onnx ${machine} --blocks resnet18.fast.json ${BRIEF} -o resnet18.slow.json`);
    shown('profile merge resnet18.fast.json resnet18.slow.json -o resnet18.profile.json');
    shown('init resnet18.profile.json -o two.yaml');
    shown('solve two.yaml -o two.json');
  },
  'TypeScript on top': () => {
    save(
      'caller.mts',
      `import { type PooledPlan, type Solved, solveSpec } from 'inferplan';
const solved: Solved = await solveSpec('pooled/spec.yaml');
if (solved.outcome !== 'plan') throw new Error(solved.outcome);
const plan: PooledPlan = solved.plan;
console.log(plan.models.map(({ name, throughputRps }) => \`\${name} \${throughputRps}\`).join(' '));
`,
    );
    const types = ['--types', 'node', '--typeRoots', join(project, 'node_modules/@types')];
    const options = ['--strict', '--module', 'nodenext', '--target', 'es2022', '--skipLibCheck', ...types];
    must(join(project, 'node_modules/.bin/tsc'), [...options, 'caller.mts']);
    expect(must(process.execPath, ['caller.mjs']).stdout.startsWith('detector '), 'the plan is used');
  },
};

/** python asks a server from Python, and reads what a command prints as JSON. */
function python(url: string): void {
  if (spawnSync('python3', ['--version']).status !== 0) {
    process.stdout.write('left out, as there is no python3: Python on top\n');
    return;
  }
  save(
    'caller.py',
    `import json, subprocess, sys, urllib.request
url = sys.argv[1]
plan = json.loads(subprocess.run(["npx", "plan", "solve", "own.yaml", "--json"], check=True, capture_output=True).stdout)
name = plan["models"][0]["name"]
model = json.load(urllib.request.urlopen(f"{url}/v2/models/{name}"))
tensor = model["inputs"][0]
shape = [1 if size < 1 else size for size in tensor["shape"]]
count = 1
for size in shape:
    count *= size
asked = {"inputs": [{"name": tensor["name"], "shape": shape, "datatype": tensor["datatype"], "data": [0.5] * count}]}
request = urllib.request.Request(f"{url}/v2/models/{name}/infer", json.dumps(asked).encode(), {"Content-Type": "application/json"})
answer = json.load(urllib.request.urlopen(request))
print(answer["outputs"][0]["name"])
`,
  );
  must('python3', ['caller.py', url]);
  process.stdout.write('done: Python on top\n');
}

try {
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
  const [packed] = JSON.parse(must('npm', args, { cwd: project }).stdout) as { filename: string }[];
  mkdirSync(user);
  npmInstall(['install', join(folder, packed?.filename ?? '')]);
  for (const [name, task] of Object.entries(TASKS)) {
    await task();
    process.stdout.write(`done: ${name}\n`);
  }
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
