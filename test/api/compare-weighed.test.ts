import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compareSchedulers, simulatePlan } from '../../src/api/index.js';
import { loadArtifact, saveArtifact } from '../../src/artifacts/index.js';
import type { PipelinePlan } from '../../src/formats/index.js';
import { schedulersParts } from '../../src/report/index.js';
import { inWholeRun } from '../cases.js';
import { edge, figured, pipelineOf } from '../pipeline-plans.js';

const APPLICATIONS = [
  { name: 'urgent', sloMs: 12, share: 0.25, weight: 3 },
  { name: 'plain', sloMs: 30, share: 0.75 },
];
const ASKED = { schedulers: 'pard,room-first', duration: 2, rps: ['1300'], seed: 4 };
const PRIORITIES = '1=0.2,2=0.8';

let folder: string;
const at = (file: string): string => join(folder, file);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-compare-weighed-'));
  const stages = [
    { name: 'a', next: [edge('b')], batch: 4, latencyUs: 900 },
    { name: 'b', batch: 4, latencyUs: 900 },
  ];
  const planWith = (more: Partial<PipelinePlan>) =>
    figured(pipelineOf(stages, [['a'], ['b']], { name: 'app', sloMs: 12, ...more }));
  const serving = { scheduler: 'room-first', priorities: { 1: 10 } };
  await saveArtifact<'pipeline-plan'>(at('plain.json'), planWith({}));
  await saveArtifact<'pipeline-plan'>(at('priorities.json'), planWith({ serving }));
  await saveArtifact<'pipeline-plan'>(at('both.json'), planWith({ serving, applications: APPLICATIONS }));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const compared = async (file: string, more: object = {}) =>
  (await compareSchedulers(at(file), { ...ASKED, ...more })).comparison;

describe('a comparison of schedulers under priorities', () => {
  inWholeRun(
    'gives each the weighted drop rate that a simulation under it has, and says what requests weigh',
    async () => {
      const output = at('comparison.json');
      const { rows, priorities } = await compared('priorities.json', { priorities: PRIORITIES, output });
      expect(priorities).toEqual([
        { priority: 1, share: 0.2, weight: 10 },
        { priority: 2, share: 0.8, weight: 1 },
      ]);
      expect(rows.map(({ scheduler }) => scheduler)).toEqual(['pard', 'room-first']);
      for (const { scheduler, weightedDropRate } of rows) {
        const { schedulers, ...asked } = ASKED;
        const { report } = await simulatePlan(at('priorities.json'), {
          ...asked,
          scheduler,
          priorities: PRIORITIES,
        });
        const rate = report.priorities!.weightedDropRate!;
        expect(rate).toBeGreaterThan(0);
        expect(weightedDropRate).toEqual({ mean: rate, low: rate, high: rate });
      }
      expect((await loadArtifact(output, ['scheduler-comparison'])).value.rows).toEqual(rows);
    },
  );

  inWholeRun(
    'multiplies the weights of applications with those of priorities, or has them alone',
    async () => {
      const { rows, priorities } = await compared('both.json');
      expect(priorities).toBeUndefined();
      const [urgent, plain] = rows[1]!.applications!;
      // Requests are not told apart further, so that the weight lost follows from the shares of the two.
      const lost = (one: typeof urgent) => 1 - one!.attainment!.mean;
      const { report } = await simulatePlan(at('both.json'), { ...ASKED, scheduler: 'room-first' });
      const [heavy, light] = report.models.map(({ requests }) => requests.arrived) as [number, number];
      const rate = (3 * heavy * lost(urgent) + light * lost(plain)) / (3 * heavy + light);
      expect(rate).toBeGreaterThan(0);
      expect(rows[1]!.weightedDropRate!.mean).toBeCloseTo(rate, 12);
      const both = await compared('both.json', { priorities: PRIORITIES });
      expect(both.rows[1]!.weightedDropRate!.mean).not.toBeCloseTo(rate, 3);
    },
  );

  it('gives intervals over runs, and a column where requests are weighed alone', async () => {
    const columns = (comparison: Parameters<typeof schedulersParts>[0]) =>
      schedulersParts(comparison).flatMap((part) => (typeof part === 'object' ? [part.columns] : []))[0];
    const several = await compared('priorities.json', { priorities: PRIORITIES, runs: 3 });
    for (const { weightedDropRate } of several.rows) {
      const { mean, low, high } = weightedDropRate!;
      expect(low).toBeLessThan(mean);
      expect(high).toBeGreaterThan(mean);
    }
    expect(columns(several)).toContain('lost, by weight');
    const unweighed = await compared('plain.json');
    expect(unweighed).not.toHaveProperty('priorities');
    expect(unweighed.rows.every((row) => !('weightedDropRate' in row))).toBe(true);
    expect(columns(unweighed)).not.toContain('lost, by weight');
  });

  it('leaves room for lost weight where no run lost any, as of requests that weigh as much as the heaviest', async () => {
    const light = { rps: ['50'], priorities: PRIORITIES, runs: 2, jitter: 0 };
    const { rows } = await compared('priorities.json', light);
    const { weightedDropRate, dropRate } = rows[1]!;
    expect(weightedDropRate).toMatchObject({ mean: 0, low: 0 });
    expect(weightedDropRate!.high).toBeGreaterThan(dropRate!.high);
    expect(weightedDropRate!.high).toBeLessThan(1);
  });
});
