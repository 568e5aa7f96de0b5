/**
 * This script checks that the examples give the plans checked in beside them. Asked for the whole, it also plans the specs that
 * have no such plan, measures and deploys the examples that are built here, and runs the quickstart, which has to leave only
 * valid files and to print what docs/quickstart.md shows, figures aside.
 *
 *     node dist/scripts/check-examples.js            # a quarter of a minute, in npm run check
 *     node dist/scripts/check-examples.js --whole    # two minutes more, in CI
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { quickstartShape, quickstartTranscript } from './quickstart-shape.js';

const project = resolve(import.meta.dirname, '../..');
const planProgram = 'dist/bundle/cli/main.js';
const folder = mkdtempSync(join(tmpdir(), 'inferplan-examples-'));

function run(program: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], {
    cwd: project,
    encoding: 'utf8',
  });
  if (status !== 0)
    throw new Error(`${[program, ...args].join(' ')} ended with ${status}\n${stdout}${stderr}`);
  return stdout;
}

/** planBody gives a plan without the head, which depends on where the plan lies. */
function planBody(path: string): unknown {
  const { inputs, tool, ...body } = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
  return body;
}

/** checkPlan solves the spec of an example. @throws where its plan is another than the one checked in */
function checkPlan(example: string): void {
  const plan = join(folder, `${example}.json`);
  const [spec, expected] = [`examples/${example}/spec.yaml`, `examples/${example}/expected-plan.json`];
  run(planProgram, 'solve', spec, '-o', plan);
  run(planProgram, 'validate', plan);
  if (JSON.stringify(planBody(plan)) !== JSON.stringify(planBody(join(project, expected))))
    throw new Error(`${spec} gives another plan than ${expected}`);
}

/** checkPlanned plans a spec of which no plan is checked in. @throws where there is no plan, or a file is not valid */
function checkPlanned(spec: string): void {
  const plan = join(folder, 'planned.json');
  run(planProgram, 'solve', spec, '-o', plan);
  run(planProgram, 'validate', spec, plan);
}

/** What a batch takes at most on an idle machine, of the models that are measured here. */
const MOST_US = 3000;
const TABLES = ['blockLatencyUs', 'blockLatencyP95Us', 'layerLatencyUs', 'pairLatencyUs', 'wholeLatencyUs'];

/**
 * quicken cuts down what the profiles of a folder say that batches take. On a busy machine they were measured to take longer,
 * and no plan may serve the load of an example then.
 */
function quicken(out: string): void {
  const cut = (value: unknown): unknown => {
    if (typeof value === 'number') return Math.min(value, MOST_US);
    if (Array.isArray(value)) return value.map(cut);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, cut(inner)]));
  };
  for (const file of readdirSync(out).filter((name) => name.endsWith('.profile.json'))) {
    const path = join(out, file);
    const text = readFileSync(path, 'utf8');
    const quick = JSON.parse(text, (key, value) => (TABLES.includes(key) ? cut(value) : value));
    writeFileSync(path, JSON.stringify(quick));
  }
}

/** checkReal makes the pipeline that runs, measures it briefly, counts its samples, and plans it. @throws where a step fails */
function checkReal(out: string): void {
  run('dist/examples/pipelines/real/build.js', '--out', out, '--samples', '100');
  const devices = ['--device', 'fast=cpu:1,slowdown=2', '--device', 'slow=cpu:1,slowdown=6'];
  const brief = ['-b', '1,2', '--warmup', '1', '--min-runs', '2', '--min-ms', '1', '--max-ms', '100'];
  for (const name of ['spec', 'two-threads', 'doubled-load']) {
    const [spec, planned] = [join(out, `${name}.yaml`), join(out, `${name}-planned.yaml`)];
    const samples = ['--samples', join(out, 'samples.npy'), '-o', planned];
    run(planProgram, 'profile', spec, ...samples, ...devices, ...brief);
    run(planProgram, 'validate', planned);
  }
  const plan = join(out, 'plan.json');
  quicken(out);
  run(planProgram, 'solve', join(out, 'two-threads-planned.yaml'), '-o', plan);
  run(planProgram, 'deploy', plan, '-o', join(out, 'bundle'));
  run(planProgram, 'validate', join(out, 'bundle'));
}

/** checkCascade trains the family briefly, records it, plans it, and deploys it. @throws where a step fails */
function checkCascade(out: string): void {
  run('dist/examples/cascades/build.js', '--out', out, '--samples', '200', '--training', '300');
  const brief = ['-b', '1,2,4', '--warmup', '1', '--min-runs', '2', '--min-ms', '1', '--max-ms', '100'];
  const labelled = ['--samples', join(out, 'validation.npy'), '--labels', join(out, 'validation-labels.csv')];
  const [spec, plan, report] = ['spec.yaml', 'plan.json', 'report.json'].map((name) => join(out, name)) as [
    string,
    string,
    string,
  ];
  run(planProgram, 'profile', spec, ...labelled, '--device', 'slow=cpu:1,slowdown=2', ...brief);
  run(planProgram, 'validate', spec);
  quicken(out);
  run(planProgram, 'solve', spec, '-o', plan);
  run(planProgram, 'simulate', plan, '--rps', '100', '--duration', '5s', '-o', report);
  run(planProgram, 'deploy', plan, '-o', join(out, 'bundle'));
  run(planProgram, 'validate', plan, report, join(out, 'bundle'));
}

/** checkQuickstart runs the quickstart briefly. @throws where it fails, or prints anything other than its page shows */
function checkQuickstart(out: string): void {
  const printed = run('dist/examples/quickstart/run.js', '--out', out, '--seconds', '2', '--image', '48');
  const made = ['resnet18.onnx', 'resnet18.profile.json', 'spec.yaml', 'plan.json', 'bundle/manifest.json'];
  const files = [...made, 'load.json', 'verification.json'];
  run(planProgram, 'validate', ...files.map((file) => join(out, file)));
  const page = readFileSync(join(project, 'docs/quickstart.md'), 'utf8');
  const shown = quickstartShape(quickstartTranscript(page), 'quickstart-out');
  const found = quickstartShape(printed, relative(project, out));
  const lines = Math.max(shown.length, found.length);
  for (let i = 0; i < lines; i++)
    if (shown[i] !== found[i])
      throw new Error(`docs/quickstart.md shows "${shown[i]}", where the quickstart prints "${found[i]}"`);
}

/** checkPolicy simulates the plan of a pipeline with the policy beside it. @throws where a file is not valid */
function checkPolicy(): void {
  const policy = 'examples/pipeline/policy.yaml';
  const report = join(folder, 'report.json');
  run(planProgram, 'simulate', join(folder, 'pipeline.json'), '--policy', policy, '-o', report);
  run(planProgram, 'validate', policy, report);
}

/** checkWhole tries what takes a minute or more. @throws where a step fails */
function checkWhole(): void {
  const planned = ['image-processing', 'video-monitoring', 'social-media', 'tf-cascade'];
  for (const name of [...planned, 'tm', 'lv', 'ga', 'da', 'da-branch', 'tm-applications', 'rag'])
    checkPlanned(`examples/pipelines/${name}.yaml`);
  checkReal(join(folder, 'real'));
  checkCascade(join(folder, 'cascade'));
  checkQuickstart(join(folder, 'quickstart'));
}

try {
  for (const example of ['pooled', 'pipeline', 'cascade', 'workflow']) checkPlan(example);
  checkPolicy();
  if (process.argv.includes('--whole')) checkWhole();
  process.stdout.write('the examples give their expected results\n');
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
