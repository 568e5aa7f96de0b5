import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { PLAN_PROGRAM } from './plan.js';

const project = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'inferplan-workflow-'));
afterAll(() => rmSync(folder, { recursive: true }));

interface Step {
  readonly name?: string;
  readonly run?: string;
}

/** stepsOf gives the shell lines of the workflow in a document, but for the one that installs the package. */
function stepsOf(document: string): Step[] {
  const text = readFileSync(join(project, document), 'utf8');
  const yaml = /```yaml\n([\s\S]*?)```/.exec(text)?.[1] as string;
  const { jobs } = parse(yaml) as { jobs: Record<string, { steps: Step[] }> };
  const steps = Object.values(jobs).flatMap((job) => job.steps);
  return steps.filter(({ run }) => run?.includes('plan ') && !run.startsWith('npm install'));
}

/** shell runs lines as GitHub does, with `plan` as a command and a file for the summary. */
function shell(run: string, summary: string) {
  const plan = `plan() { "${process.execPath}" "${PLAN_PROGRAM}" "$@"; }`;
  return spawnSync('bash', ['-e', '-o', 'pipefail', '-c', `${plan}\n${run}`], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, GITHUB_STEP_SUMMARY: join(folder, summary) },
  });
}

it('The workflow of docs/ci.md passes where nothing has changed, and each gate fails by its exit code where something has', () => {
  cpSync(join(project, 'examples/pooled'), folder, { recursive: true });
  renameSync(join(folder, 'expected-plan.json'), join(folder, 'plan.json'));
  const steps = stepsOf('docs/ci.md');
  expect(steps).toHaveLength(4);
  for (const { run } of steps) {
    const { status, stdout, stderr } = shell(run as string, 'passed.md');
    expect([status, stderr], stdout).toEqual([0, expect.not.stringContaining('error')]);
  }
  const summary = readFileSync(join(folder, 'passed.md'), 'utf8');
  expect(summary.match(/^### ✅ Passed: plan /gm)).toHaveLength(4);
  for (const said of ['attainment', 'load × 0.8', 'load × 1.2']) expect(summary).toContain(said);

  const spec = readFileSync(join(folder, 'spec.yaml'), 'utf8');
  writeFileSync(join(folder, 'spec.yaml'), spec.replaceAll('sloMs: 200', 'sloMs: 150'));
  const [validated, , compared] = steps.map(({ run }) => shell(run as string, 'failed.md'));
  expect(validated?.status).toBe(6);
  expect(validated?.stdout).toMatch(/^::error [^\n]*spec\.yaml[^\n]*has changed/m);
  expect(compared?.status).toBe(6);
  expect(readFileSync(join(folder, 'failed.md'), 'utf8')).toContain('❌ Failed');
}, 120_000);
