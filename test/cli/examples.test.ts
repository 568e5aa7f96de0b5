import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { examplesOf } from '../../src/cli/examples.js';
import { buildProgram } from '../../src/cli/program.js';
import { plan } from './plan.js';

/** below lists a command and all below it, with their names as they are typed. */
function below(command: Command, name = command.name()): { command: Command; name: string }[] {
  return [
    { command, name },
    ...command.commands.flatMap((one) => below(one, name === 'plan' ? one.name() : `${name} ${one.name()}`)),
  ];
}

/** idleProgram is the program with commands that parse what they are given, and do nothing. */
function idleProgram(ran: string[]): Command {
  const program = buildProgram();
  for (const { command, name } of below(program))
    if (command.registeredArguments.length > 0 || command.commands.length === 0)
      command.action(() => void ran.push(name));
  return program;
}

describe('the help of each command', () => {
  const names = below(buildProgram()).map(({ name }) => name);

  it.each(names)('%s ends with two examples at least, and each can be parsed', async (name) => {
    const examples = examplesOf(name);
    expect(examples.length).toBeGreaterThanOrEqual(2);
    const { code, stdout } = await plan(name === 'plan' ? ['--help'] : [...name.split(' '), '--help']);
    expect(code).toBe(0);
    for (const { line, does } of examples) {
      expect(stdout.slice(stdout.indexOf('\nExamples:\n'))).toContain(`  $ ${line}\n      ${does}\n`);
      const [, ...words] = line.replace(/ >>? .*$/, '').split(' ');
      const ran: string[] = [];
      await idleProgram(ran).parseAsync(words, { from: 'user' });
      expect(ran).toHaveLength(1);
      expect(ran[0]).toMatch(name === 'plan' ? /./ : new RegExp(`^${name}`));
    }
  });

  it.each(names)('%s has examples that lack files at most, and no option', async (name) => {
    const folder = await mkdtemp(join(tmpdir(), 'inferplan-examples-'));
    try {
      for (const { line } of examplesOf(name)) {
        // A server that listens at the usual port is none of this test's.
        const [, ...words] = line
          .replace(/ >>? .*$/, '')
          .replace(':8000', ':1')
          .split(' ');
        const { code, stderr } = await plan(words, { cwd: folder });
        const lacks = code === 0 || code === 7 || stderr.includes('Is the server running?');
        expect([line, lacks, stderr]).toEqual([line, true, stderr]);
      }
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it.each([
    ['trace', 'convert'],
    ['profile', 'import'],
  ])('is given by plan help %s %s, as by --help', async (...path) => {
    expect(await plan(['help', ...path])).toEqual(await plan([...path, '--help']));
    expect((await plan(['help', ...path])).stdout).toContain(`Usage: plan ${path.join(' ')}`);
  });
});
