import { cpSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { plan, type Ran } from './plan.js';

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

/** ranAll runs lines as GitHub does, up to the first that fails, with a file for the summary. */
async function ranAll(run: string, summary: string): Promise<Ran> {
  const before = process.env.GITHUB_STEP_SUMMARY;
  process.env.GITHUB_STEP_SUMMARY = join(folder, summary);
  const all = { code: 0 as number | null, stdout: '', stderr: '' };
  try {
    for (const line of run.trim().split('\n')) {
      const [command, ...args] = line.trim().split(/\s+/);
      expect(command).toBe('plan');
      const { code, stdout, stderr } = await plan(args, { cwd: folder });
      all.code = code;
      all.stdout += stdout;
      all.stderr += stderr;
      if (code !== 0) break;
    }
    return all;
  } finally {
    if (before === undefined) delete process.env.GITHUB_STEP_SUMMARY;
    else process.env.GITHUB_STEP_SUMMARY = before;
  }
}

it('The workflow of docs/ci.md passes where nothing has changed, and each gate fails by its exit code where something has', async () => {
  cpSync(join(project, 'examples/pooled'), folder, { recursive: true });
  renameSync(join(folder, 'expected-plan.json'), join(folder, 'plan.json'));
  const steps = stepsOf('docs/ci.md');
  expect(steps).toHaveLength(4);
  for (const { run } of steps) {
    const { code, stdout, stderr } = await ranAll(run as string, 'passed.md');
    expect([code, stderr], stdout).toEqual([0, expect.not.stringContaining('error')]);
  }
  const summary = readFileSync(join(folder, 'passed.md'), 'utf8');
  expect(summary.match(/^### ✅ Passed: plan /gm)).toHaveLength(4);
  for (const said of ['attainment', 'load × 0.8', 'load × 1.2']) expect(summary).toContain(said);

  const spec = readFileSync(join(folder, 'spec.yaml'), 'utf8');
  writeFileSync(join(folder, 'spec.yaml'), spec.replaceAll('sloMs: 200', 'sloMs: 150'));
  const [first, , third] = steps.map(({ run }) => run as string);
  const validated = await ranAll(first as string, 'failed.md');
  const compared = await ranAll(third as string, 'failed.md');
  expect(validated.code).toBe(6);
  expect(validated.stdout).toMatch(/^::error [^\n]*spec\.yaml[^\n]*has changed/m);
  expect(compared.code).toBe(6);
  expect(readFileSync(join(folder, 'failed.md'), 'utf8')).toContain('❌ Failed');
}, 120_000);
