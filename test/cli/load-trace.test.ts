import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { fewOf, inWholeRun } from '../cases.js';
import { plan, type Ran } from './plan.js';

/** The example's plan stands alone: beside its spec, each simulation would have it solved again. */
let EXAMPLE: string;

interface Told {
  readonly name: string;
  readonly throughputRps: number;
  readonly weight: number;
}

let folder: string;
let server: Server;
let url: string;
/** The models of the example's plan, which the test's server claims to serve. */
let models: Told[];
/** Whether the server tells planned rates and weights, as a real one does. */
let tellsRates = true;
/** Whether it tells an SLO of a model. */
let tellsSlo = (_: string): boolean => true;
/** The models of the requests received, in order. */
const asked: string[] = [];

const at = (file: string): string => join(folder, file);
const load = (...args: string[]): Promise<Ran> => plan(['load', url, ...args], { cwd: folder });

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-load-trace-'));
  EXAMPLE = at('plan.json');
  await copyFile(new URL('../../examples/pooled/expected-plan.json', import.meta.url), EXAMPLE);
  models = (JSON.parse(await readFile(EXAMPLE, 'utf8')) as { models: Told[] }).models;
  server = createServer((request, response) => {
    request.resume();
    const path = request.url as string;
    if (path === '/v2/repository/index')
      return response.end(JSON.stringify(models.map(({ name }) => ({ name }))));
    const model = models.find(({ name }) => path.startsWith(`/v2/models/${name}`));
    if (model === undefined) return response.writeHead(404).end('{"error":"no such model"}');
    if (request.method === 'GET') return response.end(metadata(model));
    asked.push(model.name);
    return response.end('{"outputs":[{"name":"y","datatype":"FP32","shape":[1],"data":[1]}]}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await writeFile(at('times.csv'), `${Array.from({ length: 60 }, (_, i) => (i * i) / 7000).join('\n')}\n`);
  await writeFile(at('counts.csv'), '0.2,20\n0.1,0\n0.2,10\n');
  await writeFile(at('short.csv'), '0\n0.05\n0.1\n');
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await rm(folder, { recursive: true, force: true });
});
beforeEach(() => {
  asked.length = 0;
  tellsRates = true;
  tellsSlo = () => true;
});

function metadata({ name, throughputRps, weight }: Told): string {
  const tensor = { datatype: 'FP32', shape: [-1, 2] };
  const rates = tellsRates ? { planned_rps: String(throughputRps), weight: String(weight) } : {};
  return JSON.stringify({
    name,
    inputs: [{ name: 'x', ...tensor }],
    outputs: [{ name: 'y', ...tensor }],
    properties: { ...(tellsSlo(name) ? { slo_ms: '5000' } : {}), ...rates },
  });
}

interface Counted {
  readonly name: string;
  readonly sent: number;
}

const sentBy = (report: { models: Counted[] }): Record<string, number> =>
  Object.fromEntries(report.models.map(({ name, sent }) => [name, sent]));

/** The number of arrivals of each model in a simulation of the same plan. */
async function simulated(
  ...args: string[]
): Promise<{ counts: Record<string, number>; rps: number; durationS: number }> {
  const { code, stdout } = await plan(['simulate', EXAMPLE, ...args, '--json'], { cwd: folder });
  expect(code).toBe(0);
  const report = JSON.parse(stdout);
  return {
    counts: Object.fromEntries(
      report.models.map((one: { name: string; requests: { arrived: number } }) => [
        one.name,
        one.requests.arrived,
      ]),
    ),
    rps: report.workload.models.reduce((sum: number, one: { rps: number }) => sum + one.rps, 0),
    durationS: report.workload.durationS,
  };
}

describe('plan load without an SLO', () => {
  beforeEach(() => {
    tellsSlo = () => false;
  });

  it('has no attainment, of all requests or of one model, and says why', async () => {
    const { code, stdout } = await load('--trace', 'short.csv', '--json');
    const report = JSON.parse(stdout);
    expect(code).toBe(0);
    expect(report).not.toHaveProperty('attainment');
    for (const model of report.models) expect(model).not.toHaveProperty('attainment');
    await writeFile(at('load.json'), stdout);
    expect((await plan(['validate', 'load.json'], { cwd: folder })).code).toBe(0);
    const shown = (await load('--trace', 'short.csv')).stdout;
    expect(shown).toMatch(/^attainment +— +no SLO says what is in time/m);
    expect(shown).not.toMatch(/^(in time|late|goodput) /m);
  });

  it('refuses a gate on it before anything is sent, with the remedy, and judges by --slo', async () => {
    const refused = await load('--trace', 'short.csv', '--fail-under', '99%');
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('--fail-under: needs an SLO, and the server tells none of detector');
    expect(refused.stderr).toContain('Say with --slo within how many milliseconds an answer is in time.');
    expect(asked).toEqual([]);
    const judged = await load('--trace', 'short.csv', '--slo', '5000', '--fail-under', '99%', '--json');
    expect(judged.code).toBe(0);
    const { checks } = JSON.parse(judged.stdout);
    expect(checks[0]).toEqual({ what: 'attainment', threshold: 0.99, value: 1, held: true });
    expect(checks.at(-1)).toEqual({ what: 'failedRequests', threshold: 0, value: 0, held: true });
  });

  it('needs none of a model that gets no requests', async () => {
    tellsSlo = (name) => name === 'detector';
    const gate = ['--fail-under', '50%'];
    expect((await load('--trace', 'detector=short.csv', ...gate)).code).toBe(0);
    const { code, stderr } = await load('--trace', 'segmenter=short.csv', ...gate);
    expect([code, stderr]).toEqual([2, expect.stringContaining('tells none of segmenter')]);
  });
});

describe('plan load --trace', () => {
  const ASKED: [string[]][] = [
    [['--trace', 'times.csv']],
    [['--trace', 'times.csv', '--rps', '150', '--seed', '3']],
    [['--trace', 'times.csv', '--duration', '0.3s']],
    [['--trace', 'counts.csv', '--seed', '5']],
    [['--trace', 'counts.csv', '--seed', '6', '--arrivals', 'gamma', '--cv', '2', '--rps', '100']],
    [
      [
        '--trace',
        'detector=counts.csv',
        '--trace',
        'segmenter=times.csv',
        '--rps',
        'detector=90',
        '--rps',
        'segmenter=50',
      ],
    ],
    [['--trace', 'segmenter=counts.csv', '--arrivals', 'uniform']],
  ];
  it.each(fewOf(ASKED, 1))(
    'sends the requests that plan simulate has under the same options: %j',
    async (args) => {
      const { code, stdout, stderr } = await load(...args, '--json');
      expect({ code, stderr }).toEqual({ code: 0, stderr: expect.not.stringContaining('error') });
      const report = JSON.parse(stdout);
      const { counts, rps, durationS } = await simulated(...args);
      expect(sentBy(report)).toEqual(counts);
      expect(asked).toHaveLength(report.sent);
      for (const { name, sent } of report.models as Counted[])
        expect(asked.filter((one) => one === name)).toHaveLength(sent);
      expect(report).toMatchObject({ arrivals: 'trace', durationS, failed: 0, answered: report.sent });
      expect(report.rps).toBeCloseTo(rps, 9);
      expect(report).not.toHaveProperty('model');
    },
  );

  it('shows each model, and holds each to --fail-under', async () => {
    const { code, stdout } = await load('--trace', 'times.csv', '--fail-under', '0.5');
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^model +sent +in time +late +dropped +failed +attainment +p50 ms +p99 ms +SLO ms$/m,
    );
    expect(stdout).toMatch(/^detector +\d+ .*100\.00 %.* 5 000$/m);
    const late = await load('--trace', 'detector=short.csv', '--slo', '0.000001', '--fail-under', '0.5');
    expect(late.code).toBe(6);
    expect(late.stderr).toContain('warning: segmenter got no requests, so nothing is said of it');
    expect(late.stderr).not.toContain('detector got no');
  });

  it('sends the priorities that plan simulate draws under the same trace, shares and seed, and shows each', async () => {
    const args = ['--trace', 'counts.csv', '--seed', '5', '--priorities', '1=0.25,0=0.75'];
    const simulation = await plan(['simulate', EXAMPLE, ...args, '--json'], { cwd: folder });
    const { levels } = JSON.parse(simulation.stdout).priorities;
    const report = JSON.parse((await load(...args, '--json')).stdout);
    expect(report.priorities.map(({ sent }: { sent: number }) => sent)).toEqual(
      levels.map(({ arrived }: { arrived: number }) => arrived),
    );
    const { stdout } = await load(...args);
    expect(stdout).toMatch(/^priority +sent +in time +late +dropped +failed +attainment +p50 ms +p99 ms$/m);
    expect(stdout).toMatch(new RegExp(`^none +${levels[1].arrived} .*100\\.00 %`, 'm'));
    expect(await load('--trace', 'counts.csv', '--priorities', '1=0.5')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        '--priorities: is "1=0.5", whose shares add up to 0.5; they must add up to 1',
      ),
    });
  });

  it('sends a whole trace to one model that is named', async () => {
    const { stdout } = await load('--trace', 'short.csv', '--model', 'segmenter', '--json');
    expect(JSON.parse(stdout)).toMatchObject({ model: 'segmenter', sent: 3, sloMs: 5000 });
    expect(JSON.parse(stdout)).not.toHaveProperty('models');
    expect(asked).toEqual(['segmenter', 'segmenter', 'segmenter']);
  });

  inWholeRun('warns as plan simulate does where the trace ends before the duration', async () => {
    const args = ['--trace', 'short.csv', '--duration', '0.4s'];
    const { code, stderr } = await load(...args);
    expect(code).toBe(0);
    const simulation = await plan(['simulate', EXAMPLE, ...args], { cwd: folder });
    const warning =
      /^warning: the trace ends before --duration: nothing arrives in the last 0\.300 s of 0\.4 s.*$/m;
    expect(stderr).toMatch(warning);
    expect(simulation.stderr.match(warning)?.[0]).toBe(stderr.match(warning)?.[0]);
  });

  it('splits a load only among models whose shares the server reports', async () => {
    tellsRates = false;
    expect(await load('--trace', 'short.csv')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--trace: the server does not say how its models share a load'),
    });
    const traces = ['--trace', 'detector=short.csv', '--trace', 'segmenter=short.csv'];
    expect(await load(...traces, '--rps', '50')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--rps: the server does not say'),
    });
    const { code, stdout } = await load(...traces, '--json');
    expect([code, sentBy(JSON.parse(stdout))]).toEqual([0, { detector: 3, segmenter: 3 }]);
  });

  it('refuses a rate that no client sends, with the limit, before it asks the server', async () => {
    const { code, stderr } = await load('--rps', '1000001', '--duration', '1s');
    expect([code, stderr]).toEqual([2, expect.stringContaining('at most 1000000 are sent')]);
    expect(asked).toEqual([]);
  });

  it('reports every fault of traces and options at once, and sends nothing', async () => {
    await writeFile(at('bad.csv'), '1\n0.5\n');
    const { code, stderr } = await load(
      ...['--trace', 'detector=bad.csv', '--trace', 'yolo=short.csv', '--rps', 'fast', '--cv', '2'],
    );
    expect(code).toBe(2);
    for (const said of [
      'bad.csv line 2: its arrival at 0.5 s comes after one at 1 s',
      '--trace "yolo=short.csv": the plan has no model "yolo"; it has detector, segmenter',
      '--rps "fast": is not a rate above 0',
      '--cv: is for --arrivals gamma',
    ])
      expect(stderr).toContain(said);
    expect(await load('--trace', 'none.csv')).toMatchObject({ code: 7 });
    expect(await load('--trace', 'short.csv', '--model', 'yolo')).toMatchObject({ code: 7 });
    const replaced = await load('--trace', 'short.csv', '-o', './short.csv');
    expect(replaced).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('is the trace, an input that would'),
    });
    expect(await readFile(at('short.csv'), 'utf8')).toBe('0\n0.05\n0.1\n');
    expect(asked).toEqual([]);
  });
});

describe('plan load without a trace', () => {
  it('asks for a rate and a duration, both at once', async () => {
    const { code, stderr } = await load('--arrivals', 'gamma', '--trace-format', 'perf-analyzer-intervals');
    expect(code).toBe(2);
    for (const said of [
      '--rps: is needed, or --trace',
      '--duration: is needed, or --trace',
      '--arrivals: gamma needs --cv',
      '--trace-format: is for --trace',
    ])
      expect(stderr).toContain(said);
    const wrong = await load('--rps', 'x=5', '--rps', '6', '--duration', '1s');
    expect(wrong.stderr).toContain(
      '--rps "x=5": is the rate of one model of a trace; without --trace there is one rate, such as 500',
    );
    expect(wrong.stderr).toContain('--rps: is given 2 times');
  });

  it('draws gamma arrivals', async () => {
    const gamma = [
      '--arrivals',
      'gamma',
      '--cv',
      '3',
      '--rps',
      '200',
      '--duration',
      '0.4s',
      '--model',
      'detector',
    ];
    const { code, stdout } = await load(...gamma, '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      arrivals: 'gamma',
      model: 'detector',
      rps: 200,
      durationS: 0.4,
    });
  });
});
