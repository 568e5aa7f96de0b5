import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inWholeRun } from '../cases.js';
import { PLAN_PROGRAM } from './plan.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'inferplan-shells-'));
  writeFileSync(join(folder, 'plan'), `#!/bin/sh\nexec '${process.execPath}' '${PLAN_PROGRAM}' "$@"\n`);
  chmodSync(join(folder, 'plan'), 0o755);
  writeFileSync(join(folder, 'spec.yaml'), '');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const has = (shell: string) => spawnSync(shell, ['-c', 'exit 0']).status === 0;

/** lines runs a shell in the folder, where `plan` is on the path, and gives what it prints. */
function lines(command: string, args: readonly string[]): string[] {
  const { PATH } = process.env;
  const { stdout, stderr } = spawnSync(command, args, {
    cwd: folder,
    encoding: 'utf8',
    timeout: 60_000,
    env: { ...process.env, HOME: folder, PATH: `${folder}:${PATH}` },
  });
  expect(stderr).toBe('');
  return stdout.split('\n').filter((line) => line !== '');
}

/** Each line that is typed, in part, and the first of the whole words that can follow. */
const TYPED: readonly (readonly [typed: string, first: string])[] = [
  ['plan sol', 'solve'],
  ['plan solve --ho', '--hold'],
  ['plan trace co', 'convert'],
  ['plan init --kind poo', 'pooled'],
  ['plan simulate p.json --schedulers pard,nex', 'pard,nexus'],
  ['plan simulate p.json --policy ord', 'order='],
];
/** What is behind an = of the word. */
const BEHIND: readonly (readonly [typed: string, word: string, behind: string])[] = [
  ['plan init --kind=poo', '--kind=pooled', 'pooled'],
  ['plan simulate p.json --policy order=fi', 'order=fifo', 'fifo'],
  ['plan simulate p.json --policy=order=fi', '--policy=order=fifo', 'fifo'],
];
const HARMFUL = [
  'plan solve $(touch>ran) --hol',
  'plan solve `touch>ran` --hol',
  'plan solve --a$(touch>ran)=',
  'plan solve ;touch>ran',
];
const ran = () => existsSync(join(folder, 'ran'));

describe.skipIf(!has('bash'))('completion (where bash is installed)', () => {
  const COMPLETE = `compopt() { :; }
source <(plan completion bash)
source <(plan completion bash)
for line in "$@"; do
  COMP_LINE="$line" COMP_POINT=\${#line} COMPREPLY=()
  __plan_complete
  echo "\${COMPREPLY[0]:--}"
done`;
  const completed = (typed: readonly string[]) => lines('bash', ['-c', COMPLETE, 'bash', ...typed]);

  inWholeRun('gives what can follow, behind an = that breaks words only what is behind it', () => {
    expect(completed([...TYPED, ...BEHIND].map(([typed]) => typed))).toEqual([
      ...TYPED.map(([, first]) => first),
      ...BEHIND.map(([, , behind]) => behind),
    ]);
  });

  it('evaluates nothing of what is typed', () => {
    completed(HARMFUL);
    expect(ran()).toBe(false);
    expect(lines('plan', ['completion', 'bash']).join('\n')).not.toMatch(/\beval\b|compgen -W/);
  });
});

describe.skipIf(!has('fish'))('completion (where fish is installed)', () => {
  const COMPLETE = `source (plan completion fish | psub)
for line in $argv
  set -l found (complete -C $line)
  echo (string split \\t -- $found[1])[1]
end`;
  const completed = (typed: readonly string[]) => lines('fish', ['--no-config', '-c', COMPLETE, ...typed]);

  it('gives what can follow, and files where the program names none', () => {
    const typed = [...TYPED, ...BEHIND, ['plan solve sp', 'spec.yaml'] as const];
    expect(completed(typed.map(([line]) => line))).toEqual(typed.map(([, first]) => first));
  });

  it('evaluates nothing of what is typed', () => {
    completed(HARMFUL);
    expect(ran()).toBe(false);
  });
});

describe.skipIf(!has('zsh'))('completion (where zsh is installed)', () => {
  // A terminal is needed. Tab alone completes, as zsh by default runs what is in $( ) at a tab itself.
  const COMPLETE = `zmodload zsh/zpty
zpty -b z "TERM=dumb zsh -f -i"
zpty -w z 'PROMPT="> "; autoload -U compinit; compinit -u -D; bindkey "^I" complete-word; source <(plan completion zsh)'
zpty -w z 'show() { print -r -- "<$BUFFER|"; BUFFER=; zle accept-line }; zle -N show; bindkey "^X" show; echo rea""dy'
while [[ $all != *ready$'\\r'* ]]; do zpty -r z out; all+=$out; done
for line in "$@"; do
  all=
  zpty -w -n z "$line"$'\\t\\x18'
  while [[ $all != *'<plan'*'|'$'\\r'* ]]; do zpty -r z out; all+=$out; done
  print -r -- "\${\${all##*'<plan'}%%'|'*}"
done
zpty -d z`;
  const completed = (typed: readonly string[]) => lines('zsh', ['-f', '-c', COMPLETE, 'zsh', ...typed]);

  it('completes what is typed, with files where the program names none', () => {
    const typed = [...TYPED, ...BEHIND, ['plan solve sp', 'spec.yaml'] as const];
    const words = completed(typed.map(([line]) => line)).map((line) => line.trim().split(' ').at(-1));
    expect(words).toEqual(typed.map(([, first]) => first));
  }, 90_000);

  it('evaluates nothing of what is typed', () => {
    completed(HARMFUL);
    expect(ran()).toBe(false);
  }, 90_000);
});
