import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { describeInWholeRun, inWholeRun } from '../cases.js';
import { plan } from './plan.js';

let folder: string;
const ran = (...args: string[]) => plan(args, { cwd: folder });

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-reporter-'));
  await cp(new URL('../../examples/pooled', import.meta.url), folder, { recursive: true });
  const spec = await readFile(join(folder, 'spec.yaml'), 'utf8');
  await writeFile(join(folder, 'bad.yaml'), spec.replaceAll('sloMs: 200', 'sloMs: -1'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('--reporter github', () => {
  it('annotates the line of a spec that is wrong, and adds a summary to its file', async () => {
    const summary = join(folder, 'summary.md');
    vi.stubEnv('GITHUB_STEP_SUMMARY', summary);
    try {
      const { code, stdout } = await ran(
        'validate',
        'bad.yaml',
        'expected-plan.json',
        '--reporter',
        'github',
      );
      expect(code).toBe(2);
      expect(stdout).toMatch(/^::error file=bad\.yaml,line=6,title=[^\n]*::\/models\/1\/sloMs: [^\n]*\n$/);
      await cp(join(folder, 'bad.yaml'), join(folder, 'a bad one.yaml'));
      const compared = await ran('compare', 'a bad one.yaml', '--reporter', 'github');
      expect(compared.stdout).toMatch(/^::error file=a bad one\.yaml,line=6,/);
      const cluster = await readFile(join(folder, 'cluster.yaml'), 'utf8');
      await writeFile(join(folder, 'bad-cluster.yaml'), cluster.replace('count: 4', 'count: x'));
      const of = async (change: (text: string) => string) => {
        const spec = await readFile(join(folder, 'spec.yaml'), 'utf8');
        await writeFile(join(folder, 'other.yaml'), change(spec));
        return (await ran('validate', 'other.yaml', '--reporter', 'github')).stdout;
      };
      expect(await of((spec) => spec.replace('cluster.yaml', 'bad-cluster.yaml'))).toMatch(
        /^::error file=bad-cluster\.yaml,line=4,/,
      );
      expect(await of((spec) => spec.replace('detector.profile', 'nowhere'))).toMatch(
        /^::error file=nowhere\.json,[^\n]*::there is no such file/,
      );
      expect(await of((spec) => `${spec}\nmodles: 3\n`)).toMatch(/^::error file=other\.yaml,line=8,/);
      expect(await readFile(summary, 'utf8')).toMatch(/^### ❌ Failed \(1 of 2 checks\): plan validate/);
    } finally {
      vi.unstubAllEnvs();
    }
  });
});

describe('--reporter junit', () => {
  it('has a case for each gate, and nothing else on stdout', async () => {
    const args = ['simulate', 'expected-plan.json', '--load', '1.3', '--duration', '2s'];
    const { code, stdout } = await ran(...args, '--fail-under', '0.999', '--reporter', 'junit');
    expect(code).toBe(6);
    expect(stdout).toMatch(/^<\?xml [^>]*>\n<testsuites /);
    expect(stdout).toMatch(/<failure message="Attainment is \d[\d.]* %, below 99\.9 %" type="check">/);
    expect(stdout).toMatch(/<\/testsuites>\n$/);
  });

  inWholeRun('has a case for each scheduler that is compared, and for each load of a sweep', async () => {
    const args = ['simulate', 'expected-plan.json', '--duration', '1s', '--reporter', 'junit'];
    const compared = (await ran(...args, '--schedulers', 'room-first,fifo')).stdout;
    for (const name of ['room-first', 'fifo'])
      expect(compared).toMatch(new RegExp(`<testcase name="${name}"[^]*?<system-out>In time \\d`));
    const swept = (await ran(...args, '--sweep', 'load=0.5..1:2')).stdout;
    for (const name of ['load × 0.5', 'load × 1']) expect(swept).toContain(`<testcase name="${name}"`);
  });

  it('reports a refusal as a case, and is refused beside --json', async () => {
    const refused = await ran('diff', 'bad.yaml', 'expected-plan.json', '--reporter', 'junit');
    expect(refused.code).toBe(2);
    expect(refused.stdout).toContain('<error message="Cannot ');
    const both = await ran('validate', 'spec.yaml', '--reporter', 'junit', '--json');
    expect(both.code).toBe(2);
    expect(both.stderr).toContain('--reporter and --json would each print a document there');
  });

  it('names options by their flags, as stderr does', async () => {
    const args = ['compare', 'spec.yaml', '--mix', 'Q=1', '--sweep', 'slo=3', '--reporter'];
    for (const reporter of ['junit', 'github']) {
      const { code, stdout, stderr } = await ran(...args, reporter);
      expect([code, stdout]).toEqual([2, expect.not.stringMatching(/`(?:mixes|sweeps)`/)]);
      for (const flag of ['--mix', '--sweep'])
        expect([stdout, stderr]).toEqual([expect.stringContaining(flag), expect.stringContaining(flag)]);
    }
  });
});

describeInWholeRun('a reporter', () => {
  it('has the notes on the result, such as a class that no profile has', async () => {
    const cluster = await readFile(join(folder, 'cluster.yaml'), 'utf8');
    await writeFile(
      join(folder, 'more.yaml'),
      cluster.replace('networkGbps', '  A100: { count: 2, hourlyCost: 3 }\nnetworkGbps'),
    );
    const spec = await readFile(join(folder, 'spec.yaml'), 'utf8');
    await writeFile(join(folder, 'more-spec.yaml'), spec.replace('cluster.yaml', 'more.yaml'));
    const args = ['compare', 'more-spec.yaml', '--mix', 'L4=2,A100=1', '--reporter'];
    const note = /cannot use A100: only [^\n]* are profiled/;
    expect((await ran(...args, 'junit')).stdout).toMatch(note);
    const summary = join(folder, 'notes.md');
    vi.stubEnv('GITHUB_STEP_SUMMARY', summary);
    try {
      await ran(...args, 'github');
      expect(await readFile(summary, 'utf8')).toMatch(note);
    } finally {
      vi.unstubAllEnvs();
    }
  });
});

describe('a reporter beside arguments that are not valid', () => {
  it.each([
    [['simulate', 'expected-plan.json', '--fail-under', '101%'], '"101%" is not a share from 0 to 1'],
    [['compare', 'spec.yaml', '--budget', 'x'], '"x" is not a number above 0'],
    [['validate', 'spec.yaml', '--nope'], "unknown option '--nope'"],
    [['validate'], "missing required argument 'file'"],
  ])('reports as a case what is wrong with %j', async (args, message) => {
    const junit = await ran(...args, '--reporter=junit');
    expect(junit.code).toBe(2);
    const told = message.replaceAll('"', '&quot;');
    expect(junit.stdout).toContain(`<testsuites name="plan ${args[0]}" tests="1" failures="0" errors="1">`);
    expect(junit.stdout).toMatch(/<error message="[^\n]*" type="input">/);
    expect(junit.stdout).toContain(told);
    const summary = join(folder, 'arguments.md');
    vi.stubEnv('GITHUB_STEP_SUMMARY', summary);
    try {
      const github = await ran(...args, '--reporter', 'github');
      expect(github.stdout).toMatch(/^::error title=plan [^\n]*\n$/);
      expect(github.stdout).toContain(message.replaceAll('%', '%25'));
      expect(await readFile(summary, 'utf8')).toContain('### ❌ Failed (1 of 1 check)');
    } finally {
      vi.unstubAllEnvs();
      await rm(summary, { force: true });
    }
  });

  it('prints no report where the reporter is none, or where JSON is asked for', async () => {
    expect((await ran('validate', '--reporter', 'xml')).stdout).toBe('');
    const both = await ran('validate', '--reporter', 'junit', '--json');
    expect(JSON.parse(both.stdout).error.code).toBe('bad-input');
  });
});
