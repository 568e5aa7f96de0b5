import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chdir, cwd } from 'node:process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { initSpec } from '../../src/api/index.js';
import { buildProgram } from '../../src/cli/program.js';
import type { InputError } from '../../src/formats/index.js';
import { openBundle } from '../../src/runtime/index.js';

const SRC = new URL('../../src/', import.meta.url).pathname;

/** What a shell hands to `plan` where a command is pasted. */
function pasted(command: string): string[] {
  const script = `plan() { for a; do printf '%s\\0' "$a"; done; }; ${command}`;
  return execFileSync('sh', ['-c', script], { encoding: 'utf8' }).split('\0').slice(0, -1);
}

/** sources gives the text of each file of src without its comments. */
function sources(): (readonly [file: string, text: string])[] {
  return readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => {
      const text = readFileSync(join(SRC, file), 'utf8');
      return [file, text.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')] as const;
    });
}

const COMMANDS = buildProgram()
  .commands.map((command) => command.name())
  .join('|');

/** A command that is written with what it is given: a value, a place for one, or the name of a file. */
const WITH_OPERAND = new RegExp(
  `\\bplan (?:${COMMANDS})(?: (?:merge|import|slice|convert|describe|rescale))?(?: --?[\\w-]+| [\\w.|]+)*?[ =](?:\\$\\{|<|['"]?[\\w./-]+\\.(?:json|ya?ml|onnx|csv)\\b)`,
);

describe('commands in messages', () => {
  it('are written with their operands by commandText() alone, which quotes them', () => {
    for (const [said, found] of [
      [`make it: plan profile \${path} -o x`, true],
      ['plan solve spec.yaml', true],
      ['plan deploy plan.json -o <folder>', true],
      [`plan deploy --target \${here}`, true],
      ['plan profile --blocks <this file> measures them', true],
      ['as plan simulate --trace has them', false],
      ['merge them with plan profile merge', false],
    ] as const)
      expect([said, WITH_OPERAND.test(said)]).toEqual([said, found]);
    expect(sources().flatMap(([file, text]) => (WITH_OPERAND.test(text) ? [file] : []))).toEqual([]);
  });

  describe('with a file whose name has spaces, quotation marks and a dash before it', () => {
    const NAME = `-it's a "file" of $HOME`;
    const before = cwd();
    let folder: string;
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'inferplan-pasted-'));
      chdir(folder);
      await writeFile(`${NAME}.onnx`, 'no model');
      await writeFile(`${NAME}.json`, '{"kind":"pooled-plan"}');
    });
    afterAll(async () => {
      chdir(before);
      await rm(folder, { recursive: true, force: true });
    });

    async function commandOf(work: Promise<unknown>): Promise<string[]> {
      const { message } = (await work.catch((error: unknown) => error)) as InputError;
      const [command] = /\bplan [a-z]+ .*$/m.exec(message.split('\n').slice(1).join('\n')) ?? [];
      return pasted(command as string);
    }

    it('can be pasted, and take it as a file', async () => {
      expect(await commandOf(initSpec([`${NAME}.onnx`], { kind: 'pooled' }))).toEqual([
        ...['profile', `./${NAME}.onnx`, '-o', `./${NAME}.profile.json`],
      ]);
      expect(await commandOf(openBundle(`${NAME}.json`))).toEqual([
        'deploy',
        `./${NAME}.json`,
        '-o',
        'bundle',
      ]);
    });
  });
});
