import { spawn } from 'node:child_process';
import { copyFile, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FigureOverRuns, SimulationReport } from '../../src/formats/index.js';
import { cases, inWholeRun, WHOLE, whole } from '../cases.js';
import { PLAN_PROGRAM, plan, planProcess } from './plan.js';

const BESIDE_SPEC = new URL('../../examples/pooled/expected-plan.json', import.meta.url).pathname;
/** The example's plan stands alone: beside its spec, each simulation would have it solved again. */
let EXAMPLE: string;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-cli-simulate-'));
  EXAMPLE = join(folder, 'expected-plan.json');
  await copyFile(BESIDE_SPEC, EXAMPLE);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const DURATION = whole('2s', '5s');
const RUN: [string, string[], string] = ['a run', ['--duration', '20h'], 'simulation-report'];
const SWEEP: [string, string[], string] = [
  'a sweep',
  ['--sweep', 'load=0.1..1:190', '--duration', '2000s'],
  'simulation-sweep',
];

const INTERRUPTED = whole([], cases([RUN], [RUN, SWEEP]));

describe('plan simulate', () => {
  inWholeRun('needs only the plan, and shows the results by model, part and class', async () => {
    const { code, stdout } = await plan(['simulate', EXAMPLE, '--windows', '10s']);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^9[78]\.\d\d % of \d \d{3} requests in time; (29|30)\d requests\/s in time of 30\d$/m,
    );
    expect(stdout).toContain(
      "poisson arrivals, 304 requests/s (0.90 of the plan's rate) for 30 s, seed 0; scheduler room-first",
    );
    expect(stdout).toMatch(
      /^model +offered\/s +of plan +in time +late +dropped +attainment +p50 ms +p99 ms +SLO ms$/m,
    );
    expect(stdout).toMatch(/^detector +\d+ +0\.9\d? .* 120$/m);
    expect(stdout).toMatch(/^all +30\d .*%/m);
    expect(stdout).toMatch(/^segmenter +0\/2 +2 × 1\/1 L4 +2 +[12]\.\d\d .*%$/m);
    expect(stdout).toMatch(/^P4 +15 +12\.0 +8\d\.\d %$/m);
    expect(stdout).toMatch(/^uplinks, busiest .*%$/m);
    expect(stdout.match(/^ *(0|10|20) .*%$/gm)).toHaveLength(3);
    expect(stdout).not.toContain('\u001b');
  });

  inWholeRun(
    'prints with --json what it writes with -o, except for the paths of the inputs, and the same bytes each time',
    async () => {
      const output = join(folder, 'report.json');
      const options = [
        '--load',
        '0.5',
        '--duration',
        '5s',
        '--scheduler',
        'stage-local',
        '--policy',
        'drop=hopeless',
      ];
      const json = await plan(['simulate', EXAMPLE, ...options, '--json']);
      expect(json.code).toBe(0);
      const shown = await plan(['simulate', EXAMPLE, ...options, '-o', output]);
      expect(shown.stdout).toContain(`report: ${output}`);
      const { inputs, ...printed } = JSON.parse(json.stdout) as Record<string, unknown>;
      const { inputs: named, ...saved } = JSON.parse(await readFile(output, 'utf8')) as typeof printed;
      expect(saved).toEqual(printed);
      expect([inputs, named]).toMatchObject([[{ role: 'plan' }], [{ role: 'plan' }]]);
      if (!WHOLE) return;
      const elsewhere = { ...process.env, TZ: 'Asia/Tokyo', LC_ALL: 'de_DE.UTF-8' };
      const again = await planProcess(['simulate', EXAMPLE, ...options, '--json'], { env: elsewhere });
      expect(again.stdout).toBe(json.stdout);
      expect((await plan(['validate', output])).stdout).toContain('simulation report of detector, segmenter');
    },
  );

  inWholeRun('exits with 6 below --fail-under, and with 0 at it', async () => {
    const run = (share: string) =>
      plan(['simulate', BESIDE_SPEC, '--load', '1.3', '--duration', '5s', '--fail-under', share]);
    const missed = await run('0.99');
    expect(missed.code).toBe(6);
    expect(missed.stderr).toMatch(/^error: Attainment is [3-8]\d\.?\d* %, below 99 %$/m);
    expect(missed.stderr).toMatch(/^error: Attainment of segmenter is [3-8]\d\.?\d* %, below 99 %$/m);
    const held = await run('0.3');
    expect([held.code, held.stderr]).toEqual([0, '']);
    expect((await run('30%')).code).toBe(0);
    expect((await run('99%')).stderr).toBe(missed.stderr);
    // A model without requests passes, and that is told.
    const quiet = await plan([
      'simulate',
      BESIDE_SPEC,
      '--rps',
      'detector=50',
      '--duration',
      '1s',
      '--fail-under',
      '0.3',
    ]);
    expect([quiet.code, quiet.stderr]).toEqual([
      0,
      'warning: segmenter gets no requests, so nothing is said of it, whatever attainment is asked for\n',
    ]);
  });

  inWholeRun(
    'gives confidence intervals of several runs, and judges --fail-under by their lower ends',
    async () => {
      const run = (...more: string[]) =>
        plan(['simulate', EXAMPLE, '--duration', DURATION, '--runs', '4', '--seed', '3', ...more]);
      const { runs, overall } = JSON.parse((await run('--json')).stdout) as SimulationReport;
      const alone: number[] = [];
      for (const seed of ['3', '4', '5', '6']) {
        const one = await plan(['simulate', EXAMPLE, '--duration', DURATION, '--seed', seed, '--json']);
        alone.push((JSON.parse(one.stdout) as SimulationReport).overall.attainment as number);
      }
      const { mean, least, most, low, high } = runs!.overall.attainment as FigureOverRuns;
      expect(overall.attainment).toBe(alone[0]);
      expect(mean).toBeCloseTo(
        alone.reduce((sum, one) => sum + one / 4, 0),
        12,
      );
      expect([least, most]).toEqual([Math.min(...alone), Math.max(...alone)]);
      expect(low).toBeLessThan(least);
      const between = ((low + mean) / 2).toFixed(6);
      const missed = await run('--fail-under', between);
      expect(missed.code).toBe(6);
      const judged = JSON.parse((await run('--fail-under', between, '--json')).stdout) as SimulationReport;
      expect(judged.checks?.[0]).toEqual({
        what: 'attainment',
        threshold: Number(between),
        value: mean,
        low,
        held: false,
      });
      expect(missed.stderr).toMatch(
        /^error: Attainment is 9\d\.?\d* % or more with 95 % confidence, below 9\d\.?\d* % \(mean 9\d\.?\d* % of 4 runs\)$/m,
      );
      expect(missed.stdout).toMatch(/^4 runs +attainment +95 % interval +least/m);
      expect((await run('--fail-under', '0.5')).code).toBe(0);
      expect(high).toBeLessThanOrEqual(1);
      const none = await plan(['simulate', EXAMPLE, '--runs', '1001']);
      expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('--runs: is 1001; it must be')]);
    },
  );

  it('takes a load in phases, but not for a sweep', async () => {
    const phases = ['--phase', '5s,load=0.2', '--phase', '5s,load=0.8,over=2s'];
    const { code, stdout } = await plan(['simulate', EXAMPLE, ...phases]);
    expect(code).toBe(0);
    expect(stdout).toContain('poisson arrivals in 2 phases, 169 requests/s (0.50 of the plan');
    expect(stdout).toContain('for 12 s, seed 0');
    const swept = await plan(['simulate', EXAMPLE, ...phases, '--sweep', 'load=0.5']);
    expect([swept.code, swept.stderr]).toEqual([2, expect.stringContaining('--phase: is for one run')]);
  });

  it('writes a timeline and says where to open it', async () => {
    const timeline = join(folder, 'timeline.json');
    const { code, stdout } = await plan(['simulate', EXAMPLE, '--duration', '2s', '--timeline', timeline]);
    expect(code).toBe(0);
    expect(stdout).toContain(`timeline: ${timeline} (open it at ui.perfetto.dev)`);
    const { traceEvents } = JSON.parse(await readFile(timeline, 'utf8')) as { traceEvents: { ph: string }[] };
    expect(traceEvents.filter(({ ph }) => ph === 'X').length).toBeGreaterThan(300);
  });

  inWholeRun('sweeps loads and finds the largest that holds', async () => {
    const output = join(folder, 'sweep.json');
    const { code, stdout } = await plan([
      'simulate',
      EXAMPLE,
      '--sweep',
      'load=0.7..1:4',
      '--duration',
      '10s',
      '-o',
      output,
    ]);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^load +offered\/s +goodput\/s +late +attainment +detector +segmenter +p99 ms +invalid$/m,
    );
    expect(stdout).toMatch(/^0\.70 .*%/m);
    expect(stdout).toMatch(/^largest load with 99 % in time: 0\.[89]\d of the plan's rate$/m);
    expect(stdout).toMatch(/^ {2}segmenter: 0\.[789]\d of the plan's rate$/m);
    expect(JSON.parse(await readFile(output, 'utf8'))).toMatchObject({
      kind: 'simulation-sweep',
      complete: true,
    });
  });

  it.each<[string[], string, number]>([
    [['--sweep', 'load=0.5..1', '--load', '2', '--fail-under', '0.9'], 'is for one run, not for --sweep', 2],
    [['--rps', 'resnet=5'], 'the plan has no model "resnet"; it has detector, segmenter', 2],
    [['--jitter', 'much'], 'is neither profile nor a coefficient of variation', 2],
    [['--jitter', 'profile'], 'has no spread at batch 1', 2],
    [['--load', '-1'], 'is not a number above 0', 2],
    [['--fail-under', '99'], '"99" is not a share from 0 to 1, such as 0.99', 2],
    [['--arrivals', 'regular'], '--arrivals: "regular" is none of poisson, uniform, gamma', 2],
    [['--trace', 'none.csv'], 'none.csv: there is no such file', 7],
    [['-o', 'no/such/folder/x.json'], 'there is no folder', 2],
  ])('answers %j with a message about what is wrong, and writes nothing', async (args, said, wanted) => {
    const before = await readdir(folder);
    const { code, stdout, stderr } = await plan([
      'simulate',
      BESIDE_SPEC,
      '--timeline',
      join(folder, 'not.json'),
      ...args,
    ]);
    expect([code, stdout, stderr.includes(said)]).toEqual([wanted, '', true]);
    expect(stderr).not.toMatch(/^\s+at /m);
    expect(await readdir(folder)).toEqual(before);
  });

  it('reports every fault of a trace with its line, in JSON too', async () => {
    const trace = join(folder, 'bad.csv');
    await writeFile(trace, 'arrival_s\r\n1\r\n\r\nx\r\n0.5');
    const { code, stdout } = await plan([
      'simulate',
      EXAMPLE,
      '--trace',
      trace,
      '--scheduler',
      'none',
      '--json',
    ]);
    expect(code).toBe(2);
    const { error } = JSON.parse(stdout) as { error: { faults: { path: string }[] } };
    expect(error.faults.map(({ path }) => path)).toEqual([
      '--scheduler',
      `${trace} line 3`,
      `${trace} line 4`,
      `${trace} line 5`,
    ]);
  });

  it.each(INTERRUPTED)('writes what %s has done by Ctrl-C, and exits with 130', async (_, options, kind) => {
    const output = join(folder, `${kind}.json`);
    const args = [PLAN_PROGRAM, 'simulate', EXAMPLE, ...options, '-o', output];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    child.stderr.once('data', () => child.kill('SIGINT'));
    const code = await new Promise((resolve) => child.once('close', resolve));
    expect(code).toBe(130);
    expect(JSON.parse(await readFile(output, 'utf8'))).toMatchObject({ kind, complete: false });
  });
});
