import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { parseArtifact } from '../../src/artifacts/index.js';
import { buildProgram } from '../../src/cli/program.js';
import { fewOf, inWholeRun } from '../cases.js';
import { PLAN_PROGRAM, plan } from './plan.js';

/** completed lists what can follow these words, the last of which is typed in part. */
async function completed(...words: string[]): Promise<string[]> {
  const { stdout } = await plan(['complete', '--', ...words]);
  return stdout.split('\n').map((line) => line.split('\t')[0] as string);
}

describe('plan completion', () => {
  it.each(['bash', 'zsh', 'fish', 'pwsh'])(
    'prints a script for %s that asks plan complete',
    async (shell) => {
      const { code, stdout, stderr } = await plan(['completion', shell]);
      expect([code, stderr]).toEqual([0, '']);
      expect(stdout).toMatch(/plan['"]? ?complete|complete --/);
      const json = await plan(['completion', shell, '--json']);
      expect(JSON.parse(json.stdout)).toMatchObject({ shell, script: stdout });
      expect(() => parseArtifact(json.stdout, 'answer', ['completion'])).not.toThrow();
    },
  );

  it('leaves the options of commands as they are for who builds the program again in the same process', async () => {
    const offered = () =>
      buildProgram().commands.flatMap((command) => command.options.map(({ argChoices }) => argChoices));
    const before = offered();
    await completed('profile', '--pause-ms', '');
    expect(offered()).toEqual(before);
  });

  it('refuses a shell that it does not know, and names those that it does', async () => {
    const { code, stderr } = await plan(['completion', 'tcsh']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('bash, zsh, fish, pwsh')]);
  });

  it('completes commands, commands below them, options and their values', async () => {
    expect(await completed('s')).toEqual(expect.arrayContaining(['solve', 'simulate', 'serve', 'schema']));
    expect(await completed('trace', '')).toEqual(
      expect.arrayContaining(['describe', 'convert', 'rescale', 'slice']),
    );
    expect(await completed('solve', '--h')).toContain('--hold');
    expect(await completed('init', '--kind', '')).toEqual(
      expect.arrayContaining(['pooled', 'pipeline', 'cascade']),
    );
    expect(await completed('completion', '')).toEqual(
      expect.arrayContaining(['bash', 'zsh', 'fish', 'pwsh']),
    );
    const all = await completed('');
    expect(all).toContain('completion');
    expect(all).not.toContain('complete');
    expect(all).not.toContain('print-script');
  });

  it('completes the names of schedulers, tuners and the commands that help is asked for', async () => {
    expect(await completed('simulate', 'plan.json', '--scheduler', '')).toContain('stage-local');
    expect(await completed('serve', 'bundle', '--tuner', '')).toContain('inferline');
    expect(await completed('simulate', 'plan.json', '--tuner', '')).toContain('oracle');
    // The oracle is only simulated.
    expect(await completed('serve', 'bundle', '--tuner', '')).not.toContain('oracle');
    expect(await completed('help', 'tr')).toContain('trace');
    expect(await completed('help', 'trace', 'co')).toContain('convert');
  });

  it('completes the names of a list of schedulers, each once, and the choices of a policy with their words', async () => {
    const several = await completed('simulate', 'plan.json', '--schedulers', 'pard,');
    expect(several).toEqual(expect.arrayContaining(['pard,nexus', 'pard,reactive']));
    expect(several).not.toContain('pard,pard');
    expect(several).not.toContain('pard,all');
    expect(await completed('simulate', 'plan.json', '--schedulers', '')).toContain('all');
    expect(await completed('simulate', 'plan.json', '--policy', 'dr')).toEqual(['drop=', ':2', '']);
    expect(await completed('serve', 'bundle', '--policy', 'drop=nev')).toEqual(['drop=never', ':0', '']);
    expect(await completed('serve', 'bundle', '--policy=drop=nev')).toEqual(['drop=never', ':0', '']);
    // A number has no words.
    expect(await completed('serve', 'bundle', '--policy', 'slackNs=')).toEqual([':0', '']);
  });

  it.each([
    [0, ['solve', 'sp']],
    [0, ['solve', 'spec.yaml', '-o', '']],
    [0, ['trace', 'describe', '']],
    [0, ['simulate', 'plan.json', '--trace', 'd']],
    [4, ['solve', 'spec.yaml', '--gap', '']],
    [4, ['solve', '--h']],
    [4, ['load', '']],
    [4, ['s']],
  ])(
    'answers with the directive %i to %j, where 0 lets the shell complete files',
    async (directive, words) => {
      expect((await completed(...words)).at(-2)).toBe(`:${directive}`);
    },
  );

  const TYPED: [string, string][] = [
    ['plan sol', 'solve'],
    ['plan trace co', 'convert'],
    ['plan init --kind poo', 'pooled'],
    ['plan solve sp', ''],
  ];
  it.each(fewOf(TYPED, 1))('completes %j in bash without the package bash-completion', (line, answer) => {
    const typed = `compopt() { :; }
source <("$NODE" "$PLAN" completion bash)
plan() { "$NODE" "$PLAN" "$@"; }
COMP_LINE='${line}' COMP_POINT=${line.length}
__plan_complete
echo "\${COMPREPLY[@]}"
complete -p plan`;
    const { stdout, stderr } = spawnSync('bash', ['-c', typed], {
      encoding: 'utf8',
      env: { ...process.env, NODE: process.execPath, PLAN: PLAN_PROGRAM },
    });
    expect([stdout, stderr]).toEqual([`${answer}\ncomplete -o default -F __plan_complete plan\n`, '']);
  });

  inWholeRun('completes what is typed in bash', () => {
    // What the package bash-completion gives to all scripts.
    const given =
      '_get_comp_words_by_ref() { cur=sol; prev=plan; words=(plan sol); cword=1; }; compopt() { :; }';
    const typed = `${given}
source <("$NODE" "$PLAN" completion bash)
plan() { "$NODE" "$PLAN" "$@"; }
COMP_WORDS=(plan sol) COMP_CWORD=1 COMP_LINE='plan sol' COMP_POINT=8
$(complete -p plan | sed 's/.*-F \\([^ ]*\\).*/\\1/')
echo "\${COMPREPLY[@]}"`;
    const { stdout, stderr } = spawnSync('bash', ['-c', typed], {
      encoding: 'utf8',
      env: { ...process.env, NODE: process.execPath, PLAN: PLAN_PROGRAM },
    });
    expect([stdout.trim(), stderr]).toEqual(['solve', '']);
  });
});
