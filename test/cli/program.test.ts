import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isRepeatable } from '../../src/cli/options.js';
import { buildProgram } from '../../src/cli/program.js';
import { inWholeRun } from '../cases.js';
import { PLAN_PROGRAM, plan, planProcess } from './plan.js';

const BUILD_MODEL = createRequire(import.meta.url).resolve('#dist/examples/models/build.js');

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-cli-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** everyCommandOf lists a command and all that are below it. */
function everyCommandOf(command: Command): Command[] {
  return [command, ...command.commands.flatMap(everyCommandOf)];
}

describe('plan', () => {
  it('takes an option with a value twice exactly where its help says that it is repeatable', () => {
    const options = everyCommandOf(buildProgram()).flatMap(({ options }) => options);
    const valued = options.filter(({ required, optional }) => required || optional);
    expect(valued.length).toBeGreaterThan(100);
    for (const option of valued)
      expect([option.flags, isRepeatable(option)]).toEqual([
        option.flags,
        option.description.includes('(repeatable'),
      ]);
  });

  it('lists every command in its help, on stdout, and exits with 0', async () => {
    const { code, stdout } = await plan(['--help']);
    expect(code).toBe(0);
    for (const command of [
      'devices',
      'profile',
      'partition',
      'init',
      'solve',
      'simulate',
      'compare',
      'diff',
      'deploy',
      'serve',
      'load',
      'verify',
      'trace',
      'validate',
      'schema',
    ]) {
      expect(stdout).toMatch(new RegExp(`^  ${command} `, 'm'));
    }
  });

  inWholeRun('gives the same output from the built program as in this process', async () => {
    for (const args of [['--version'], ['solv', '--json'], ['solve', join(folder, 'none.yaml'), '--json']])
      expect(await planProcess(args)).toEqual(await plan(args));
  });

  it.each([
    [['solve', '--help'], 'Usage: plan solve'],
    [['help', 'solve'], 'Usage: plan solve'],
    [['profile', 'import', '--help'], 'Usage: plan profile import'],
    [['help'], 'Usage: plan [options]'],
    [['-h'], 'Usage: plan [options]'],
  ])('gives help for %j on stdout, and exits with 0', async (args, said) => {
    const { code, stdout } = await plan(args);
    expect(code).toBe(0);
    expect(stdout).toContain(said);
  });

  it.each([
    [['solv'], 'unknown command'],
    [['nosuch', '--help'], "unknown command 'nosuch'"],
    [['-h', 'nosuch'], "unknown command 'nosuch'"],
    [['trace', 'nosuch', '--help'], "unknown command 'nosuch'"],
    [['trace', '--help', 'nosuch'], "unknown command 'nosuch'"],
    [['help', 'trace', 'nosuch'], "unknown command 'nosuch'"],
    [['solv', '-h'], 'did you mean solve?'],
    [['help', 'solv'], 'did you mean solve?'],
    [['solve'], "missing required argument 'spec'"],
    [['solve', 'x.yaml', '--gap', 'small'], 'is not a number of 0 or more'],
    [['profile', 'x.onnx', '--batch', '1,two'], '"two" is not a whole number'],
    [['solve', 'x.yaml', '--hold', '2'], '"2" is not a share between 0 and 1, both excluded'],
    [
      ['simulate', 'x.json', '--seed', '9007199254740991'],
      '"9007199254740991" is not a whole number from 0 to 999,999,999',
    ],
    [
      ['verify', 'x.json', '--plan', 'y.json', '--correct', '-'],
      '--correct "-": a profile is written to a file',
    ],
    [['verify', 'x.json', '--plan', 'y.json', '--correct', 'm=-'], '--correct "m=-": a profile is written'],
    [['profile', 'x.onnx', '--dim', 'seq'], '"seq" is not name=size'],
    [['load', 'http://127.0.0.1:1', '--rps', '5', '--duration', 'soon'], '"soon" is not a time'],
    [['completion'], "missing required argument 'shell': the shell, one of bash, zsh, fish, pwsh"],
    [['simulate', 'x.json', '--rps'], '--rps: lacks its value <rate>\n'],
    [['schema', 'plan'], 'kind: "plan" is none of profile'],
    [
      ['simulate', 'x.json', '--scheduler', 'fifo', '--scheduler', 'reactive'],
      '--scheduler: is given twice, as "fifo" and "reactive": give it once',
    ],
    [['solve', 'x.yaml', '-o', 'a.json', '--output', 'b.json'], 'is given twice, as "a.json" and "b.json"'],
    [['profile', 'import', 'x.csv', '--model', 'm', '-o', 'p', '--model', 'n'], 'is given twice'],
  ])('answers wrong usage %j with exit code 2 and says what is wrong', async (args, said) => {
    const { code, stdout, stderr } = await plan(args);
    expect(code).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toContain(said);
    expect(stderr).not.toMatch(/^\s+at /m);
  });

  it.each([
    [
      ['simulate', '--seed', 'x', '--arrivals', 'gama', '--sceduler', 'fifo', '--rps'],
      [
        '--seed: "x" is not a whole number from 0 to 999,999,999',
        '--arrivals: "gama" is none of poisson, uniform, gamma; did you mean gamma?',
        '--rps: lacks its value <rate> before --json',
        "unknown option '--sceduler'; did you mean --scheduler?",
      ],
      'plan simulate',
    ],
    [
      ['profile', 'import', '--batch', 'a', '--nope', '--format', 'b'],
      [
        '--batch: "a" is not a whole number from 1 to 999,999,999',
        '--model: is required: name of the model',
        '--output: is required: write the profile here; - is stdout',
        "unknown option '--nope'",
        "unknown option '--format'",
      ],
      'plan profile import',
    ],
    [
      ['deploy', 'p.json', 'q.json', '-output', 'd', '--strict=1', '--lax'],
      [
        '-output: --output is written with two dashes',
        '--strict: takes no value, and is given "1"',
        "unknown option '--lax'",
      ],
      'plan deploy',
    ],
    [
      ['schema', 'pool', 'b', 'c'],
      [
        'too many arguments: "b", "c"; plan schema takes only <kind>',
        /^kind: "pool" is none of .*; did you mean pooled\?$/,
      ],
      'plan schema',
    ],
    [
      ['profile', '--bogus'],
      ["unknown option '--bogus'", /^missing required argument 'model': ONNX file/],
      'plan profile',
    ],
    [
      ['solve', '--policy', 'x', 's.yaml'],
      ["unknown option '--policy', which belongs to plan simulate, plan serve"],
      'plan solve',
    ],
    [
      ['simulate', 'p.json', '--seed', '--json'],
      ['--seed: lacks its value <n> before --json'],
      'plan simulate',
    ],
    [
      ['--seed', '3', 'solve', 's.yaml'],
      ["unknown option '--seed'; the options of a command are given after its name"],
      'plan',
    ],
    [
      ['trace', 'conver'],
      ["unknown command 'conver'; commands are describe, convert, rescale, slice; did you mean convert?"],
      'plan trace',
    ],
    [['schema', '--bogus'], ["unknown option '--bogus'", /^missing required argument 'kind'/], 'plan schema'],
  ])('reports all that is wrong with %j, and which command to ask', async (args, said, asked) => {
    const { code, stdout, stderr } = await plan([...args, '--json']);
    expect(code).toBe(2);
    const { error } = JSON.parse(stdout) as {
      error: { message: string; faults: { path: string; message: string }[] };
    };
    const told = error.faults.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
    expect(told).toEqual(said.map((one) => (typeof one === 'string' ? one : expect.stringMatching(one))));
    expect(error.message).toMatch(new RegExp(`^Cannot run ${asked}:`));
    expect(error.message).toMatch(
      new RegExp(`\n${asked} --help lists its (arguments and options|commands)\\.$`),
    );
    expect(stderr).toBe(`error: ${error.message}\n`);
  });

  it('shows control characters in its arguments as escapes', async () => {
    const command = await plan(['\x1b[2Jsolve']);
    expect(command.stderr).toContain("unknown command '\\x1b[2Jsolve'");
    const file = await plan(['solve', '\x1b[2J\x07.yaml']);
    expect(file.stderr).toContain('\\x1b[2J\\x07.yaml');
    expect(command.stderr + file.stderr).not.toContain('\x1b');
    const usage = await plan(['solve', '--gap', '\x1b[2J', 'x.yaml', '--json']);
    expect(usage.stderr).toContain('"\\x1b[2J" is not a number');
    expect(JSON.parse(usage.stdout).error.message).toContain('\x1b[2J');
  });

  it('exits with 7 for a missing file and with 2 for a bad one, reports all faults at once, and prints no stack trace', async () => {
    const missing = await plan(['solve', join(folder, 'none.yaml')]);
    expect(missing.code).toBe(7);
    expect(missing.stderr).toContain('there is no such file');
    const path = join(folder, 'bad.yaml');
    await writeFile(
      path,
      'kind: pooled\ncluster: c.yaml\nmodels: [{ profile: p.json, sloMs: -3, weigth: 1 }]\nplanner: { gap: 1 }\n',
    );
    const { code, stderr } = await plan(['solve', path]);
    expect(code).toBe(2);
    for (const said of ['/models/0/sloMs', 'weigth', 'gap']) expect(stderr).toContain(said);
    expect(stderr).not.toMatch(/^\s+at /m);
  });

  it('prints one JSON document on stdout with --json, also for errors', async () => {
    const { code, stdout } = await plan(['solve', join(folder, 'none.yaml'), '--json']);
    expect(code).toBe(7);
    expect(JSON.parse(stdout)).toMatchObject({ error: { faults: [{ message: 'there is no such file' }] } });
  });

  it('prints a schema that is JSON', async () => {
    const { code, stdout } = await plan(['schema', 'pooled-plan']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ title: 'PooledPlan' });
    const asDocument = await plan(['schema', 'pooled-plan', '--json']);
    expect(asDocument.code).toBe(0);
    expect(JSON.parse(asDocument.stdout)).toEqual(JSON.parse(stdout));
  });

  it('gives an import the batch and virtual sizes of its own options, not the defaults of profile', async () => {
    const times = join(folder, 'times.json');
    const profile = join(folder, 'imported.json');
    await writeFile(times, '[{ "computeMs": 1.5 }, { "computeMs": 1.7 }, { "computeMs": 1.6 }]');
    const size = ['--batch', '4', '--virtual', '2'];
    const place = ['--model', 'm', '--device', 'L4', '-o', profile];
    const { code, stdout } = await plan(['profile', 'import', 'trtexec', times, ...size, ...place, '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      devices: { L4: { blockLatencyUs: { '2': { '4': [1600] } } } },
    });
  });

  it('asks for the batch sizes of an imported table instead of taking the defaults of profile', async () => {
    const table = join(folder, 'm-L4-0.csv');
    await writeFile(table, '1,2\n');
    const output = join(folder, 'table.json');
    const { code, stderr } = await plan(['profile', 'import', 'csv', table, '--model', 'm', '-o', output]);
    expect(code).toBe(2);
    expect(stderr).toContain('--batch');
  });

  it.runIf(existsSync('/dev/full'))('reports without a stack trace that stdout is full', async () => {
    const full = openSync('/dev/full', 'w');
    const { code, stderr } = await planProcess(['schema', 'bundle'], { stdio: ['ignore', full, 'pipe'] });
    closeSync(full);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: Cannot write to stdout: ENOSPC[^\n]*\n$/);
  });

  it.runIf(existsSync('/dev/full'))('exits with the usual code when stderr cannot be written', async () => {
    const full = openSync('/dev/full', 'w');
    const { code } = await planProcess(['solve', 'no-such-spec.yaml'], { stdio: ['ignore', 'pipe', full] });
    closeSync(full);
    expect(code).toBe(7);
  });

  inWholeRun(
    'prints one document and exits with 130 when it is stopped before there is a result',
    async () => {
      const model = join(folder, 'large.onnx');
      await promisify(execFile)(process.execPath, [
        BUILD_MODEL,
        'mobilenetv2',
        '--image',
        '64',
        '--out',
        folder,
      ]);
      await rename(join(folder, 'mobilenetv2.onnx'), model);
      const child = spawn(process.execPath, [PLAN_PROGRAM, 'partition', model, '--json']);
      let stdout = '';
      child.stdout.on('data', (chunk: Buffer) => {
        stdout += chunk.toString('utf8');
      });
      let stderr = '';
      child.stderr.on('data', (chunk: Buffer) => {
        stderr += chunk.toString('utf8');
      });
      child.stderr.once('data', () => child.kill('SIGINT'));
      const [code] = (await once(child, 'close')) as [number];
      expect(code).toBe(130);
      expect(JSON.parse(stdout)).toMatchObject({
        kind: 'error',
        error: { code: 'interrupted', exitCode: 130, message: 'interrupted', faults: [] },
      });
      expect(stderr).toContain('interrupted before there was anything to keep\n');
    },
  );
});
