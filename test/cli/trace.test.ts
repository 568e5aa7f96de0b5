import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { plan, type Ran } from './plan.js';

const EXAMPLE = new URL('../../examples/pooled/expected-plan.json', import.meta.url).pathname;

let folder: string;
const at = (file: string): string => join(folder, file);
const run = (...args: string[]): Promise<Ran> => plan(['trace', ...args], { cwd: folder });
const text = (file: string): Promise<string> => readFile(at(file), 'utf8');

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-trace-'));
  await writeFile(at('a.csv'), 'arrival_s\n1\n1.5\n4\n9\n');
  await writeFile(at('b.csv'), '0.5\n2\n');
  await writeFile(at('counts.csv'), 'interval_s,count\n60,120\n60,0\n60,30\n');
  await writeFile(at('gaps.txt'), '500000\n250000\n');
  await writeFile(
    at('llm.csv'),
    'TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03,1,2\n2023-11-16 18:17:05.5,1,2\n',
  );
  await writeFile(
    at('functions.csv'),
    'HashOwner,HashApp,HashFunction,Trigger,1,2\na,b,c,http,3,1\na,b,d,http,0,4\n',
  );
  await writeFile(at('schedule.json'), '{"data":[{"timestamp":[250]},{"timestamp":[1000]}]}');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('plan trace describe', () => {
  it('shows requests, rates, burstiness and gaps', async () => {
    const { code, stdout, stderr } = await run('describe', 'a.csv', '--window', '2s');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^requests +4$/m);
    expect(stdout).toMatch(/^mean requests\/s +0\.375$/m);
    expect(stdout).toMatch(/^peak requests\/s in 2 s +1\.00$/m);
    expect(stdout).toMatch(/^gaps: burstiness \(CV\) +0\.\d+$/m);
    expect(stdout).toMatch(/^ {2}longest ms +5 000$/m);
    expect(stdout).not.toContain('share');
  });

  it("gives each model's share, and all together where all have arrival times", async () => {
    const { code, stdout } = await run('describe', 'detector=a.csv', 'b=b.csv', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      kind: 'trace-description',
      version: '1.0',
      inputs: [{ role: 'trace', path: 'a.csv' }, { path: 'b.csv' }],
      traces: [
        { name: 'detector', requests: 4, share: 4 / 6 },
        { name: 'b', requests: 2, share: 2 / 6 },
      ],
      all: { requests: 6, durationS: 9, gaps: { longestS: 5 } },
    });
    const mixed = await run('describe', 'a.csv', 'counts.csv');
    expect(mixed.stdout).toMatch(/^share +3 % +97 %$|^share +2\.6 % +97\.4 %$/m);
    expect(mixed.stdout).toMatch(/^peak requests\/s in 60 s +0\.0667 +2\.00$/m);
    expect(mixed.stdout).toMatch(/^ {2}longest silence s +— +60\.0$/m);
  });

  it('reports every fault of every trace at once', async () => {
    await writeFile(at('bad.csv'), '1\nx\n-2\n');
    const { code, stderr } = await run('describe', 'm=bad.csv', 'm=a.csv', 'none.csv');
    expect(code).toBe(2);
    for (const said of [
      'bad.csv line 2: arrival_s is "x"',
      'bad.csv line 3: arrival_s is "-2"',
      'none.csv: there is no such file',
      '"m=a.csv": that model has a trace already',
    ])
      expect(stderr).toContain(said);
    expect(await run('describe', 'none.csv')).toMatchObject({ code: 7 });
    const windows = await run('describe', 'a.csv', '--window', '0.00001ms');
    expect(windows).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--window: gives 9.0e+8 windows'),
    });
  });
});

describe('plan trace convert', () => {
  it.each([
    [['llm.csv'], 'arrival_s\n0\n2.5\n'],
    [['schedule.json'], 'arrival_s\n0.25\n1\n'],
    [['gaps.txt', '--trace-format', 'perf-analyzer-intervals'], 'arrival_s\n0.5\n0.75\n'],
    [['functions.csv'], 'interval_s,count\n60,3\n60,5\n'],
    [['a.csv', '--to', 'counts', '--interval', '3s'], 'interval_s,count\n3,2\n3,1\n3,0\n3,1\n'],
    [['counts.csv', '--interval', '120s'], 'interval_s,count\n120,120\n120,30\n'],
    [
      ['functions.csv', '--to', 'arrivals', '--arrivals', 'uniform'],
      'arrival_s\n10\n30\n50\n66\n78\n90\n102\n114\n',
    ],
  ])('writes %j as a CSV trace of inferplan', async (args, wanted) => {
    const written = await run('convert', ...args, '-o', 'out.csv');
    expect(written).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringMatching(/^trace: out\.csv$/m),
    });
    expect(await text('out.csv')).toBe(wanted);
    const printed = await run('convert', ...args, '-o', '-');
    expect(printed).toMatchObject({ code: 0, stdout: wanted, stderr: expect.stringContaining('requests') });
    const json = await run('convert', ...args, '-o', 'out.csv', '--json');
    expect(JSON.parse(json.stdout)).toMatchObject({
      kind: 'trace-description',
      traces: [{ name: 'out.csv' }],
    });
  });

  it('draws arrivals of counts as a simulation with the same seed does', async () => {
    const plan1 = at('one.json');
    const whole = JSON.parse(await readFile(EXAMPLE, 'utf8'));
    // The plan has one model, which gets the whole trace.
    const placement = whole.placement.filter(({ model }: { model: number }) => model === 0);
    await writeFile(plan1, JSON.stringify({ ...whole, models: [whole.models[0]], placement, inputs: [] }));
    expect(
      await run('convert', 'counts.csv', '--to', 'arrivals', '--seed', '7', '-o', 'drawn.csv'),
    ).toMatchObject({ code: 0 });
    const simulated = async (trace: string) => {
      const { code, stdout } = await plan([
        'simulate',
        plan1,
        '--trace',
        at(trace),
        '--duration',
        '3min',
        '--seed',
        '7',
        '--json',
      ]);
      expect(code).toBe(0);
      const { overall } = JSON.parse(stdout);
      return overall;
    };
    expect(await simulated('drawn.csv')).toEqual(await simulated('counts.csv'));
    expect((await text('drawn.csv')).split('\n').length).toBeGreaterThan(100);
  });

  it('shows the requests before and after where they differ, and tells how to keep them', async () => {
    const drawn = ['convert', 'counts.csv', '--to', 'arrivals', '--seed', '8', '-o', 'drawn.csv'];
    const { stdout } = await run(...drawn);
    const after = (await text('drawn.csv')).trim().split('\n').length - 1;
    expect(after).not.toBe(150);
    expect(stdout).toContain(`requests: 150 before, ${after} after; --arrivals uniform keeps each count\n`);
    expect(JSON.parse((await run(...drawn, '--json')).stdout)).toMatchObject({ requestsBefore: 150 });
    const kept = await run(...drawn, '--arrivals', 'uniform', '--json');
    expect(JSON.parse(kept.stdout)).toMatchObject({ traces: [{ requests: 150 }] });
    expect(kept.stdout).not.toContain('requestsBefore');
  });

  it('reports every fault of trace and options at once, and writes nothing', async () => {
    const before = await readdir(folder);
    const options = ['--arrivals', 'gamma', '--interval', '1s', '--to', 'arrivals'];
    const { code, stderr } = await run('convert', 'a.csv', ...options, '-o', 'none/out.csv');
    expect([code, stderr]).toEqual([2, expect.stringContaining('there is no folder')]);
    const wrong = await run('convert', 'a.csv', ...options, '-o', 'new.csv');
    expect(wrong.code).toBe(2);
    for (const said of [
      '--arrivals: gamma needs --cv',
      '--interval: is for --to counts',
      '--arrivals: places the requests of counts',
    ])
      expect(wrong.stderr).toContain(said);
    const bursty = ['--to', 'arrivals', '--arrivals', 'gamma', '--cv', '1e9', '-o', 'new.csv'];
    expect((await run('convert', 'counts.csv', ...bursty)).stderr).toContain(
      '--cv: is 1000000000; valid values are',
    );
    const short = await run('rescale', 'a.csv', '--duration', '0.0000000001s', '-o', 'new.csv');
    expect(short).toMatchObject({ code: 2, stderr: expect.stringContaining('--duration: is less than') });
    const counted = await run('convert', 'a.csv', '--to', 'counts', '-o', 'new.csv');
    expect(counted.stderr).toContain('--interval: is needed');
    expect(await readdir(folder)).toEqual(before);
  });
});

describe('plan trace rescale', () => {
  it('changes the mean rate, the duration, or both', async () => {
    await run('rescale', 'a.csv', '--rps', '0.75', '-o', 'out.csv');
    expect(await text('out.csv')).toBe('arrival_s\n0.5\n0.75\n2\n4.5\n');
    await run('rescale', 'a.csv', '--duration', '18s', '-o', 'out.csv');
    expect(await text('out.csv')).toBe('arrival_s\n2\n3\n8\n18\n');
    const both = ['rescale', 'counts.csv', '--duration', '1min', '--rps', '0.5', '-o'];
    const { stdout } = await run(...both, 'out.csv', '--json');
    expect(JSON.parse(stdout)).toMatchObject({ traces: [{ requests: 30, durationS: 60, meanRps: 0.5 }] });
    expect(await text('out.csv')).toBe('interval_s,count\n20,24\n20,0\n20,6\n');
  });

  it('gives the same bytes for the same inputs and seed', async () => {
    const times = Array.from({ length: 500 }, (_, i) => (i * i) / 1000);
    await writeFile(at('long.csv'), `${times.join('\n')}\n`);
    const made = async (seed: string) =>
      (await run('rescale', 'long.csv', '--rps', '1', '--duration', '100s', '--seed', seed, '-o', '-'))
        .stdout;
    expect(await made('3')).toBe(await made('3'));
    expect(await made('4')).not.toBe(await made('3'));
    expect((await made('3')).split('\n')).toHaveLength(103);
  });

  it('asks for a rate or a duration, and replaces no input', async () => {
    expect(await run('rescale', 'a.csv', '-o', 'new.csv')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--rps: is needed, or --duration'),
    });
    for (const command of ['rescale', 'convert']) {
      const { code, stderr } = await run(
        command,
        'a.csv',
        ...(command === 'rescale' ? ['--rps', '5'] : []),
        '-o',
        './a.csv',
      );
      expect([code, stderr]).toEqual([
        2,
        expect.stringContaining('is the trace, an input that would be replaced'),
      ]);
    }
    expect(existsSync(at('new.csv'))).toBe(false);
  });
});
