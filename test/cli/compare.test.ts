import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inLongRun, inWholeRun } from '../cases.js';
import { PLAN_PROGRAM, plan } from './plan.js';

const EXAMPLE = new URL('../../examples/pooled/spec.yaml', import.meta.url).pathname;
const EXPECTED = EXAMPLE.replace('spec.yaml', 'expected-plan.json');

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-cli-compare-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('plan compare', () => {
  inWholeRun('shows a row for each mix, also for an infeasible one, and marks the frontier', async () => {
    const output = join(folder, 'mixes.json');
    const mixes = ['--mix', 'L4=4,P4=12', '--mix', 'L4=8', '--mix', 'P4=12'];
    const { code, stdout, stderr } = await plan(['compare', EXAMPLE, ...mixes, '-o', output]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^4 L4 \+ 12 P4 +optimal +338 +111 +10\.0 +8\.26 +95\.9 % +0\.00 %$/m);
    expect(stdout).toMatch(/^8 L4 +optimal .*\*$/m);
    expect(stdout).toMatch(/^12 P4 +infeasible( +—)+$/m);
    expect(stderr).toContain('no plan with 12 P4: detector has 72.000 ms');
    const json = await plan(['compare', EXAMPLE, ...mixes, '--json']);
    const { inputs, ...printed } = JSON.parse(json.stdout) as Record<string, unknown>;
    const { inputs: named, ...written } = JSON.parse(await readFile(output, 'utf8')) as typeof printed;
    expect(printed).toEqual(written);
    expect(named).toHaveLength(4);
    const expected = JSON.parse(await readFile(EXPECTED, 'utf8')) as { objective: object };
    expect((printed.rows as { objective: object }[])[0]?.objective).toEqual(expected.objective);
  });

  it('takes mixes from a file and sweeps', async () => {
    const mixFile = join(folder, 'mixes.txt');
    await writeFile(mixFile, '# small\nL4=2,P4=4\nL4=4\n');
    const { code, stdout } = await plan([
      'compare',
      EXAMPLE,
      '--mix-file',
      mixFile,
      '--sweep',
      'margin=0.1..0.3:3',
    ]);
    expect(code).toBe(0);
    expect(stdout.match(/^(2 L4 \+ 4 P4|4 L4) +[123]0\.0 %/gm)).toHaveLength(6);
  });

  it.each([
    [['--mix', 'T4=3'], 'the cluster has no class T4; it has L4, P4', 2],
    [['--sweep', 'slo=1..2'], 'needs a unit', 2],
    [['--budget', '-1'], 'is not a number above 0', 2],
    [['--mix-file', 'none.txt'], 'there is no such file', 7],
    [[], 'nothing to compare', 2],
  ])('answers %j with a message about what is wrong', async (args, said, wanted) => {
    const { code, stderr } = await plan(['compare', EXAMPLE, ...args]);
    expect([code, stderr.includes(said)]).toEqual([wanted, true]);
  });

  inLongRun('prints and writes the rows that are done on Ctrl-C, and exits with 130', async () => {
    const output = join(folder, 'part.json');
    const args = [
      'compare',
      EXAMPLE,
      '--sweep',
      'slo=2x..10x:200',
      '--sweep',
      'margin=0..0.6:5',
      '-o',
      output,
    ];
    const child = spawn(process.execPath, [PLAN_PROGRAM, ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
    child.stderr.once('data', () => child.kill('SIGINT'));
    const code = await new Promise((resolve) => child.once('close', resolve));
    expect(code).toBe(130);
    expect(JSON.parse(await readFile(output, 'utf8'))).toMatchObject({ complete: false, cases: 1000 });
  });
});

describe('plan diff', () => {
  it('shows the changes of a new plan, and exits with 6 under --check', async () => {
    const other = join(folder, 'other.json');
    expect((await plan(['solve', EXAMPLE, '--baseline', 'dart-r', '-o', other])).code).toBe(0);
    const { code, stdout } = await plan(['diff', other, EXPECTED]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^throughput 76\.2 → 111 \(\+45\.4 %\); \d+ devices would serve something else$/m);
    expect(stdout).toMatch(/^P4 +devices in use +4 +12 /m);
    expect((await plan(['diff', other, EXPECTED, '--check'])).code).toBe(6);
    const json = await plan(['diff', other, EXPECTED, '--check', '--json']);
    expect([json.code, JSON.parse(json.stdout)]).toMatchObject([
      6,
      { same: false, objective: { kind: 'throughput' } },
    ]);
  });

  it('finds no difference between a plan and itself, and judges none where a changed SLO contradicts the plan', async () => {
    expect(await plan(['diff', EXPECTED, EXPECTED, '--check'])).toMatchObject({
      code: 0,
      stdout: 'the plans are the same\n',
    });
    const changed = join(folder, 'slo.json');
    const text = (await readFile(EXPECTED, 'utf8')).replace('"sloMs": 120', '"sloMs": 110');
    await writeFile(changed, text);
    const judged = await plan(['diff', EXPECTED, changed, '--check']);
    expect(judged.code).toBe(2);
    expect(judged.stderr).toContain('No command uses a plan that contradicts itself');
    const { code, stdout } = await plan(['diff', EXPECTED, changed]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^detector +SLO ms +120 +110 +-8\.3 %$/m);
  });

  it('exits with 2 for a file that is no plan, and with 7 for a missing one', async () => {
    expect((await plan(['diff', EXPECTED, EXAMPLE])).code).toBe(2);
    expect((await plan(['diff', EXPECTED, join(folder, 'none.json')])).code).toBe(7);
  });
});
