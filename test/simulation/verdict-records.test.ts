import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { simulatePlan } from '../../src/api/index.js';
import { sha256Of } from '../../src/formats/index.js';
import { recordedFates, recordsFrom, type VerdictRecords } from '../../src/simulation/verdict-records.js';
import { inWholeRun } from '../cases.js';
import { edge, figured, pipelineOf } from '../pipeline-plans.js';
import { planOf } from '../serving/plans.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-verdicts-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** A street: a plate or a face, a face is matched or not, and a scene in any case. */
const PLAN = pipelineOf(
  [
    { name: 'detect', next: [edge('scene'), edge('plate', 0.5), edge('face', 0.5)] },
    { name: 'scene' },
    { name: 'plate' },
    { name: 'face', next: [edge('match', 0.5)] },
    { name: 'match' },
  ],
  [['detect'], ['scene'], ['plate'], ['face'], ['match']],
  { exclusive: [['plate', 'face']] },
);
/** The columns stand in another order than the edges. */
const HEADER = 'face>match,detect>face,detect>plate';
const TEXT = `${HEADER}\n1,1,0\n0,1,0\n,0,1\n0,0,1\n1,1,0\n`;

const faultsOf = async (text: string, plan = PLAN) => {
  const found = await recordsFrom(text, plan);
  return 'faults' in found ? found.faults.map(({ path, message }) => `${path} ${message}`) : [];
};

describe('recordsFrom()', () => {
  it('numbers the bits of a verdict by the conditional edges of its stage', async () => {
    const { requests, verdicts } = (await recordsFrom(TEXT, PLAN)) as VerdictRecords;
    expect(requests).toBe(5);
    expect(verdicts.map((one) => [...one])).toEqual([[2, 2, 1, 1, 2], [], [], [1, 0, 0, 0, 1], []]);
  });

  it('asks for the verdicts of every stage at which requests enter', async () => {
    const entries = pipelineOf(
      [
        { name: 'detect', next: [edge('read', 0.5)] },
        { name: 'listen', next: [edge('read', 0.5)] },
        { name: 'read' },
      ],
      [['detect'], ['listen'], ['read']],
    );
    expect(await faultsOf('detect>read,listen>read\n1,\n,0\n', entries)).toEqual([
      'line 2 listen>read is empty; it must be 0 or 1',
      'line 3 detect>read is empty; it must be 0 or 1',
    ]);
  });

  it('names every wrong column at once', async () => {
    expect(await faultsOf('detect>face,detect>face,detect>scene,id\n')).toEqual([
      expect.stringMatching(
        /^line 1 there is no edge "detect>scene".*detect>plate, detect>face, face>match$/,
      ),
      expect.stringMatching(/^line 1 there is no edge "id"/),
      'line 1 the column detect>face is given twice',
      'line 1 lacks a column detect>plate',
      'line 1 lacks a column face>match',
      ' it has no line of a request',
    ]);
    expect(await faultsOf('')).toContain('line 1 lacks a column face>match');
  });

  it('names every wrong cell with its line: no 0 or 1, not one of an exclusive list, too many or too few', async () => {
    expect(await faultsOf(`${HEADER}\n2,1,0\n,1,0\n\n0,1,1\n0,0,0\n0,1,0,1\n0\nx,0,1\n`)).toEqual([
      'line 2 face>match is "2"; it must be 0 or 1',
      'line 3 face>match is empty; it must be 0 or 1',
      'line 5 takes 2 of detect>plate, detect>face, which are exclusive: exactly one must be 1',
      'line 6 takes 0 of detect>plate, detect>face, which are exclusive: exactly one must be 1',
      'line 7 has 4 cells; the header has 3',
      'line 8 detect>plate is empty; it must be 0 or 1',
      'line 8 detect>face is empty; it must be 0 or 1',
      'line 8 takes 0 of detect>plate, detect>face, which are exclusive: exactly one must be 1',
      'line 9 face>match is "x"; it must be 0 or 1',
    ]);
    expect((await faultsOf(`${HEADER}\n"0,1,0\n`))[0]).toMatch(/^ it is not CSV: /);
  });
});

it('recordsFrom() wants the cells of stages that every request reaches', async () => {
  const always = pipelineOf(
    [{ name: 'a', next: [edge('b')] }, { name: 'b', next: [edge('c', 0.5)] }, { name: 'c' }],
    [['a'], ['b'], ['c']],
  );
  expect(await faultsOf('b>c\n1\n" "\n', always)).toEqual(['line 3 b>c is " "; it must be 0 or 1']);
});

describe('recordedFates()', () => {
  it('begins again at the first line after the last', async () => {
    const fates = recordedFates((await recordsFrom(TEXT, PLAN)) as VerdictRecords);
    expect([0, 2, 4, 5, 7].map((order) => fates(order, 0, 0))).toEqual([2, 1, 2, 2, 1]);
  });
});

describe('simulatePlan() with recorded verdicts', () => {
  const write = async (name: string, text: string) => {
    await writeFile(join(folder, name), text);
    return join(folder, name);
  };
  const plan = () => write('plan.json', JSON.stringify(figured(PLAN)));

  inWholeRun('sends each request where its line says, under every policy and seed', async () => {
    const verdicts = await write('records.csv', TEXT);
    const lines = TEXT.trim()
      .split('\n')
      .slice(1)
      .map((line) => line.split(',').map(Number));
    for (const options of [
      {},
      { policy: ['order=fifo', 'placement=earliest-free'] },
      { seed: 5, load: 0.2 },
    ]) {
      const { report } = await simulatePlan(await plan(), {
        verdicts,
        rps: ['40'],
        duration: 10,
        ...('load' in options ? { rps: undefined } : {}),
        ...options,
      });
      const count = (of: (line: number[]) => boolean) =>
        Array.from({ length: report.overall.arrived }, (_, i) => lines[i % lines.length]!).filter(of).length;
      expect(report.overall.arrived).toBeGreaterThan(300);
      expect(Object.fromEntries(report.pools.map(({ stage, requests }) => [stage, requests]))).toEqual({
        detect: report.overall.arrived,
        scene: report.overall.arrived,
        plate: count(([, , plate]) => plate === 1),
        face: count(([, face]) => face === 1),
        match: count(([match, face]) => face === 1 && match === 1),
      });
      expect(report.verdicts).toEqual({ recordedRequests: 5 });
      expect(report.inputs?.map(({ role, sha256 }) => [role, sha256])[1]).toEqual([
        'verdicts',
        sha256Of(await readFile(verdicts)),
      ]);
    }
  });

  it('refuses them for plans without edges that depend on a verdict, and with the faults of options', async () => {
    const verdicts = await write('wrong.csv', 'detect>fac\n1\n');
    const pooled = planOf([
      { sloMs: 9, pipelines: [{ throughputRps: 1, parts: [{ batch: 1, latencyUs: () => 5 }] }] },
    ]);
    await expect(
      simulatePlan(await write('pooled.json', JSON.stringify(pooled)), { verdicts }),
    ).rejects.toThrow(
      '`verdicts`: is for pipelines with edges that depend on a verdict, and the plan has none',
    );
    await expect(simulatePlan(await plan(), { verdicts, slow: -1 })).rejects.toThrow(
      /wrong\.csv line 1: there is no edge "detect>fac"[\s\S]*`slow`: is -1/,
    );
    await expect(simulatePlan(await plan(), { verdicts: join(folder, 'none.csv') })).rejects.toThrow(
      'none.csv: there is no such file',
    );
  });
});
