import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inWholeRun } from '../cases.js';
import { plan, type Ran } from './plan.js';

const POOLED = new URL('../../examples/pooled', import.meta.url).pathname;

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
    for (const [count, code] of [
      [10_000_001, 2],
      [3, 0],
    ]) {
      for (const name of ['many.csv', 'more.csv'])
        await writeFile(join(folder, name), `interval_s,count\n1,${count}\n`);
      const together = await run('describe', 'many.csv', 'more.csv');
      expect(together.code).toBe(code);
      if (code === 2) expect(together.stderr).toContain('of several traces at most 20000000 are described');
    }
    const windows = await run('describe', 'a.csv', '--window', '0.00001ms');
    expect(windows).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--window: gives 9e+8 windows'),
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

  inWholeRun('draws arrivals of counts as a simulation with the same seed does', async () => {
    const plan1 = at('one.json');
    // The plan has one model, which gets the whole trace.
    const spec = `kind: pooled\ncluster: ${POOLED}/cluster.yaml\nmodels: [{ profile: ${POOLED}/detector.profile.json, sloMs: 120 }]\n`;
    await writeFile(at('one.yaml'), spec);
    expect(await plan(['solve', at('one.yaml'), '-o', plan1])).toMatchObject({ code: 0 });
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

  it('shows the requests before and after where they differ, and says how to keep them', async () => {
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

  it('says of a binary file that it is none of the formats that are read', async () => {
    await writeFile(at('model.bin'), Buffer.from([8, 7, 18, 4, 0, 255, 1, 10, 34, 44]));
    const { code, stderr } = await run('describe', 'model.bin');
    expect(code).toBe(2);
    expect(stderr).toContain(
      'model.bin: it is no text in UTF-8, but a binary file, or a text in another encoding',
    );
    expect(stderr).toContain('the known formats are arrival_s');
    expect(stderr).not.toContain('line 1');
    await rm(at('model.bin'));
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

describe('plan trace', () => {
  it('writes no plain text under a name of gzip', async () => {
    for (const command of [['convert'], ['rescale', '--rps', '2'], ['slice', '--to', '2s']])
      expect(await run(...command, 'a.csv', '-o', 'out.csv.gz')).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(
          '--output: is out.csv.gz, a name of a file that is packed with gzip, but the trace is written as plain text: leave out .gz, and pack the file afterwards',
        ),
      });
    expect(existsSync(at('out.csv.gz'))).toBe(false);
  });
});

describe('a window of a trace', () => {
  inWholeRun('is as long as was asked in a simulation, and its rate is over that length', async () => {
    await writeFile(at('early.csv'), 'arrival_s\n0.1\n0.2\n0.3\n1\n61\n');
    const simulated = async (...options: string[]) => {
      const window = ['--trace', at('early.csv'), '--from', '0', '--to', '1min'];
      const { stdout } = await plan([
        'simulate',
        `${POOLED}/expected-plan.json`,
        ...window,
        ...options,
        '--json',
      ]);
      const { workload, overall } = JSON.parse(stdout);
      const rps = workload.models.reduce((sum: number, model: { rps: number }) => sum + model.rps, 0);
      return [workload.durationS, rps, overall.arrived];
    };
    expect(await simulated()).toEqual([60, expect.closeTo(4 / 60, 9), 4]);
    // The mean rate of the window is doubled, so that time goes twice as fast.
    expect(await simulated('--rps', String(8 / 60))).toEqual([30, expect.closeTo(8 / 60, 9), 4]);
  });

  it('is as long as was asked in a slice', async () => {
    await writeFile(at('early.csv'), 'arrival_s\n0.1\n0.2\n0.3\n1\n61\n');
    const { stdout } = await run('slice', 'early.csv', '--to', '1min', '-o', 'out.csv', '--json');
    const window = { durationS: 60, meanRps: 4 / 60, windows: { count: 60 } };
    expect(JSON.parse(stdout).traces[0]).toMatchObject(window);
    const again = await run('describe', 'out.csv', '--json');
    expect(JSON.parse(again.stdout).traces[0]).toMatchObject(window);
    await run('rescale', 'out.csv', '--duration', '30s', '-o', 'half.csv');
    expect(await text('half.csv')).toBe('arrival_s,window_s\n0.05,30\n0.1,\n0.15,\n0.5,\n');
  });
});

describe('plan trace slice', () => {
  it('takes a window, or the busiest of a length', async () => {
    const taken = await run('slice', 'a.csv', '--from', '1500ms', '--to', '9s', '-o', 'out.csv');
    expect(taken).toMatchObject({ code: 0, stderr: '' });
    expect(taken.stdout).toContain('window: from 1.5 s to 9 s\nrequests: 4 before, 2 after\n');
    expect(await text('out.csv')).toBe('arrival_s,window_s\n0,7.5\n2.5,\n');
    const busiest = await run('slice', 'counts.csv', '--busiest', '1min', '-o', 'out.csv', '--json');
    expect(JSON.parse(busiest.stdout)).toMatchObject({
      kind: 'trace-description',
      version: '1.1',
      window: { fromS: 0, toS: 60 },
      requestsBefore: 150,
    });
    expect(await text('out.csv')).toBe('interval_s,count\n60,120\n');
    await run('slice', 'counts.csv', '--from', '0', '--to', '2min', '-o', 'out.csv');
    expect(await text('out.csv')).toBe('interval_s,count\n60,120\n60,0\n');
  });

  it('refuses windows that are not said, are said twice, or lie outside, and writes nothing', async () => {
    for (const [options, said] of [
      [[], '--from: is needed, or --to or --busiest'],
      [
        ['--from', '1s', '--busiest', '1s'],
        '--busiest: finds the window by itself; leave out --from and --to',
      ],
      [['--from', '5s', '--to', '5s'], '--to: is 5 s, which is not after --from, 5 s'],
      [['--from', '1h'], '--from: is 3600 s; the trace ends at 9 s'],
      [['--busiest', '1h'], '--busiest: is 3600 s; the trace lasts 9 s'],
      [['--from', '5s', '--to', '6s'], 'no request comes from 5 s to 6 s'],
      [['--from', 'noon'], 'is not a time above 0'],
    ] as const)
      expect(await run('slice', 'a.csv', ...options, '-o', 'none.csv')).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(said),
      });
    expect(existsSync(at('none.csv'))).toBe(false);
  });
});

describe('traces of other programs', () => {
  it('are read from gzip and from objects of JSON by line', async () => {
    const lines = ['{"timestamp":1700000000.5}', '{"timestamp":1700000003}'];
    await writeFile(at('stamps.jsonl.gz'), gzipSync(lines.join('\n')));
    expect((await run('convert', 'stamps.jsonl.gz', '-o', '-')).stdout).toBe('arrival_s\n0\n2.5\n');
  });

  it('are reported by name where they are packed otherwise, or damaged', async () => {
    const packed = gzipSync(Buffer.from(Array.from({ length: 5000 }, (_, i) => i * 7919).join('\n')));
    const broken = Buffer.from(packed);
    broken.fill(255, 2000, 2100);
    for (const [bytes, said] of [
      [packed.subarray(0, 4000), 'it is packed with gzip, and its end is missing'],
      [broken, 'it is packed with gzip, and damaged'],
      [Buffer.from('PK\x03\x04more'), 'it is packed as zip; unpack it, or pack it with gzip'],
      [Buffer.from('BZh91AY'), 'it is packed as bzip2'],
    ] as const) {
      await writeFile(at('packed'), bytes);
      const { code, stderr } = await run('describe', 'packed');
      expect([code, stderr]).toEqual([2, expect.stringContaining(said)]);
    }
  });

  it('say how many requests began before them', async () => {
    await writeFile(at('2021.csv'), 'app,func,end_timestamp,duration\na,b,1,3\na,b,4,1\na,b,9,1\n');
    const { stdout } = await run('describe', '2021.csv');
    expect(stdout).toMatch(/^requests +2$/m);
    expect(stdout).toMatch(/^left out, begun before +1$/m);
    expect(JSON.parse((await run('describe', '2021.csv', '--json')).stdout)).toMatchObject({
      version: '1.1',
      traces: [{ requests: 2, begunBefore: 1 }],
    });
    const simulated = await plan(['simulate', `${POOLED}/expected-plan.json`, '--trace', at('2021.csv')]);
    expect(simulated.stderr).toContain('1 requests of the trace began before it and are left out');
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
