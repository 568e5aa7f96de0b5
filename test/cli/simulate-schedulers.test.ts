import { spawn } from 'node:child_process';
import { copyFile, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ErrorDocument, SchedulerComparison } from '../../src/formats/index.js';
import { inWholeRun, whole } from '../cases.js';
import { PLAN_PROGRAM, plan } from './plan.js';

/** The examples' plans stand alone: beside their specs, each simulation would have them solved again. */
let EXAMPLE: string;
let PIPELINE: string;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-cli-schedulers-'));
  [EXAMPLE, PIPELINE] = (await Promise.all(
    ['pooled', 'pipeline'].map(async (example) => {
      const alone = join(folder, `${example}.json`);
      await copyFile(new URL(`../../examples/${example}/expected-plan.json`, import.meta.url), alone);
      return alone;
    }),
  )) as [string, string];
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const compare = (schedulers: string, ...more: string[]) =>
  plan(['simulate', EXAMPLE, '--schedulers', schedulers, '--duration', whole('1s', '2s'), ...more]);

describe('plan simulate --schedulers', () => {
  inWholeRun('shows the schedulers side by side, and says who is not among them', async () => {
    const { code, stdout } = await compare('all', '--policy', 'tables=gaps', '--windows', '1s');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^scheduler +attainment +dropped +invalid +in time\/s +mean ms/m);
    for (const name of ['reservation', 'reactive', 'stage-local', 'room-first \\(plan\\)', 'inferline'])
      expect(stdout).toMatch(new RegExp(`^${name} +\\d+\\.\\d\\d %`, 'm'));
    expect(stdout).toMatch(/^worst window +in time\/s, 1 s +dropped, 1 s$/m);
    expect(stdout).toMatch(/^tables=gaps does not exist in .*fifo.*, and did not apply$/m);
    expect(stdout).toContain('not compared: gears, because it is gears, which serves gear plans only');
  });

  it('prints with --json what it writes with -o, except for the paths of the inputs', async () => {
    const output = join(folder, 'comparison.json');
    const json = await compare('fifo,reactive', '--runs', '2', '--json');
    const shown = await compare('fifo,reactive', '--runs', '2', '-o', output);
    expect([json.code, shown.code]).toEqual([0, 0]);
    expect(shown.stdout).toContain(`comparison: ${output}`);
    const { inputs: _, ...printed } = JSON.parse(json.stdout) as SchedulerComparison;
    const { inputs: __, ...saved } = JSON.parse(await readFile(output, 'utf8')) as SchedulerComparison;
    expect(saved).toEqual(printed);
    expect(printed).toMatchObject({ kind: 'scheduler-comparison', runs: 2, complete: true });
    expect(printed.rows.map(({ scheduler }) => scheduler)).toEqual(['fifo', 'reactive']);
    const valid = await plan(['validate', output]);
    expect([valid.code, valid.stdout]).toEqual([
      0,
      expect.stringContaining('comparison of the schedulers fifo, reactive: 2 runs each, seed 0'),
    ]);
    const diff = await plan(['diff', output, EXAMPLE]);
    expect([diff.code, diff.stderr]).toEqual([
      2,
      expect.stringContaining('its kind is "scheduler-comparison"'),
    ]);
  });

  it('refuses what is for one scheduler or one run, all at once', async () => {
    const one = ['--scheduler', 'fifo', '--preset', 'published', '--sweep', 'load=1'];
    const run = ['--timeline', 't.json', '--fail-under', '0.9', '--json'];
    const { code, stdout } = await compare('all', ...one, ...run);
    expect(code).toBe(2);
    const { error } = JSON.parse(stdout) as ErrorDocument;
    expect(error.faults?.map(({ path }) => path)).toEqual([
      '--scheduler',
      '--preset',
      '--sweep',
      '--timeline',
      '--fail-under',
    ]);
    for (const { message } of error.faults ?? []) expect(message).toContain('not for --schedulers');
  });

  it.each([
    ['nope', '--schedulers: names "nope"; valid names are'],
    ['', '--schedulers: names no scheduler'],
    ['gears', '--schedulers: names gears, which cannot serve the plan'],
  ])('refuses --schedulers %j', async (schedulers, said) => {
    const before = await readdir(folder);
    const { code, stdout, stderr } = await compare(schedulers, '-o', join(folder, 'not.json'));
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(said);
    expect(await readdir(folder)).toEqual(before);
  });

  it('names --scheduler where that is wrong, though there is an option --schedulers', async () => {
    const { code, stderr } = await plan(['simulate', EXAMPLE, '--scheduler', 'nope']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('--scheduler: is "nope"')]);
  });

  inWholeRun('compares what can serve a DAG', async () => {
    const { code, stdout } = await plan([
      ...['simulate', PIPELINE, '--schedulers', 'all', '--duration', '1s', '--load', '1.3'],
    ]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^not compared: reservation, because .* is a DAG of stages/m);
    expect(stdout).toMatch(/^dropped at +(\w+ +)*\w+$/m);
  });

  inWholeRun('writes a whole file after Ctrl-C, and exits with 130', async () => {
    const output = join(folder, 'interrupted.json');
    const args = [
      'simulate',
      EXAMPLE,
      '--schedulers',
      'fifo,stage-local',
      '--load',
      '3',
      '--duration',
      '20h',
    ];
    const child = spawn(process.execPath, [PLAN_PROGRAM, ...args, '-o', output], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    child.stderr.once('data', () => child.kill('SIGINT'));
    const code = await new Promise((resolve) => child.once('close', resolve));
    expect(code).toBe(130);
    expect(JSON.parse(await readFile(output, 'utf8'))).toMatchObject({
      kind: 'scheduler-comparison',
      complete: false,
      runs: 0,
      rows: [],
      skipped: [{ scheduler: 'fifo' }, { scheduler: 'stage-local' }],
    });
    expect(await readdir(folder)).not.toContainEqual(expect.stringMatching(/interrupted.*(part|tmp)/));
  });
});
