import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { simulatePlan, validateFiles } from '../../../src/api/index.js';
import type {
  NoPlan,
  PipelineApplication,
  PipelinePlan,
  PipelineSpec,
  SchedulerComparison,
  SimulationReport,
} from '../../../src/formats/index.js';
import { compareSpec, solveSpec } from '../../../src/specs/index.js';
import { inWholeRun, inWholeRunOnly, WHOLE, whole } from '../../cases.js';
import { plan } from '../../cli/plan.js';

const EXAMPLE = new URL('../../../examples/pipeline', import.meta.url).pathname;
/** How many draws a plan's sample has, which all take as long. */
const DRAWS = whole(2, 3);
const FIXED = ['device', 'batch', 'replicas', 'standby'] as const;
const TWO: PipelineApplication[] = [
  { name: 'live', sloMs: 60, share: 0.25 },
  { name: 'archive', sloMs: 400, share: 0.75, weight: 0.5 },
];

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-applications-'));
  await cp(EXAMPLE, folder, { recursive: true });
  const cluster = parse(await readFile(at('cluster.yaml'), 'utf8')) as { networkGbps?: number };
  delete cluster.networkGbps;
  await writeFile(at('cluster.yaml'), stringify(cluster));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const at = (name: string): string => join(folder, name);

/** asked writes the example with applications, as it is or to be planned for bursty requests. */
async function asked(applications: PipelineApplication[], method?: 'inferline' | 'exact'): Promise<void> {
  const { sloMs: _, ...spec } = parse(await readFile(join(EXAMPLE, 'spec.yaml'), 'utf8')) as PipelineSpec;
  Object.assign(spec, { applications });
  if (method !== undefined) {
    delete spec.shared;
    for (const stage of spec.stages) for (const key of FIXED) delete stage[key];
    Object.assign(spec, {
      planner: { method, draws: DRAWS },
      load: { arrivals: 'gamma', rps: 400, cv: 2, duration: whole('2s', '5s') },
    });
    delete spec.rps;
  }
  await writeFile(at('spec.yaml'), stringify(spec));
}

async function solved(): Promise<PipelinePlan> {
  expect(await solveSpec(at('spec.yaml'), { output: at('plan.json') })).toMatchObject({
    outcome: 'pipeline-plan',
  });
  return JSON.parse(await readFile(at('plan.json'), 'utf8')) as PipelinePlan;
}

async function simulated(...options: string[]): Promise<SimulationReport> {
  const { code, stdout, stderr } = await plan(['simulate', at('plan.json'), '--json', '--exact', ...options]);
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout) as SimulationReport;
}

describe('a pipeline with applications', () => {
  for (const method of inWholeRunOnly(['inferline', 'exact'] as const))
    it(`is planned by ${method} so that each meets the attainment within its own SLO, as simulations count`, async () => {
      await asked(TWO, method);
      const made = await solved();
      expect(made).toMatchObject({ version: '1.3', sloMs: 60 });
      expect(made.applications?.map(({ sample: _, ...one }) => one)).toEqual(TWO);
      const counted = TWO.map(() => ({ arrived: 0, inTime: 0, least: 1 }));
      for (let seed = 1; seed <= DRAWS; seed++) {
        const report = await simulated('--seed', String(seed));
        report.models.forEach(({ requests: { arrived, inTime, attainment } }, k) => {
          const own = counted[k] as (typeof counted)[number];
          own.arrived += arrived;
          own.inTime += inTime;
          own.least = Math.min(own.least, attainment as number);
        });
      }
      made.applications?.forEach(({ sample }, k) => {
        const { arrived, inTime, least } = counted[k] as (typeof counted)[number];
        expect(sample?.requests).toBe(arrived);
        expect(sample?.attainment).toBeCloseTo(inTime / arrived, 12);
        expect(sample?.leastAttainment).toBe(least);
        expect(least).toBeGreaterThanOrEqual(0.99);
      });
      const inTime = counted.reduce((sum, one) => sum + one.inTime, 0);
      expect(made.sample?.attainment).toBeCloseTo(inTime / (made.sample?.requests as number), 12);
      expect((await validateFiles([at('plan.json')]))[0]).toMatchObject({ ok: true });
      if (!WHOLE) return;
      const again = await readFile(at('plan.json'), 'utf8');
      await solved();
      expect(await readFile(at('plan.json'), 'utf8')).toBe(again);
    });

  inWholeRun('has a sample in which requests are weighed as simulations weigh them', async () => {
    const both = ['light', 'heavy'].map((name) => ({ name, sloMs: 100, share: 0.5 }));
    await asked([both[0], { ...both[1], weight: 10 }] as PipelineApplication[], 'inferline');
    const spec = parse(await readFile(at('spec.yaml'), 'utf8')) as PipelineSpec;
    const load = { arrivals: 'gamma', rps: 400, cv: 4, duration: '5s' };
    await writeFile(at('spec.yaml'), stringify({ ...spec, attainment: 0.85, load }));
    const { applications = [] } = await solved();
    const inTime = applications.map(() => 0);
    let unlike = 0;
    for (const seed of ['1', '2', '3']) {
      const [weighed, alike] = [
        await simulated('--seed', seed),
        await simulated('--seed', seed, '--policy', 'weighing=none'),
      ];
      weighed.models.forEach(({ requests }, k) => {
        inTime[k] = (inTime[k] as number) + requests.inTime;
        if (requests.inTime !== alike.models[k]?.requests.inTime) unlike++;
      });
    }
    expect(unlike).toBeGreaterThan(0);
    applications.forEach(({ sample }, k) => {
      const requests = sample?.requests as number;
      expect(sample?.attainment).toBeCloseTo((inTime[k] as number) / requests, 12);
    });
  });

  inWholeRun(
    'costs no more than one with the least SLO for all, and no less than one with the longest',
    async () => {
      const costs: number[] = [];
      for (const slosMs of [
        [60, 60],
        [60, 400],
        [400, 400],
      ]) {
        await asked(
          TWO.map((one, k) => ({ ...one, sloMs: slosMs[k] as number })),
          'exact',
        );
        costs.push((await solved()).hourlyCost as number);
      }
      expect(costs[0]).toBeGreaterThanOrEqual(costs[1] as number);
      expect(costs[1]).toBeGreaterThanOrEqual(costs[2] as number);
    },
  );

  inWholeRun(
    'ends with 3 where one has too short an SLO, names it, and names SLOs of all that a plan then meets',
    async () => {
      await asked([{ ...TWO[0]!, sloMs: 2 }, TWO[1]!], 'inferline');
      const { code, stdout, stderr } = await plan(['solve', at('spec.yaml'), '--json']);
      expect(code).toBe(3);
      expect(stderr).toMatch(/the SLO of live would have to be about [0-9.]+ ms, and it is 2 ms/);
      const { models } = JSON.parse(stdout) as NoPlan;
      expect(models.map(({ name, sloMs }) => [name, sloMs])).toEqual([
        ['live', 2],
        ['archive', 400],
      ]);
      await asked(
        TWO.map((one, k) => ({ ...one, sloMs: models[k]?.smallestFeasibleSloMs as number })),
        'inferline',
      );
      await solved();
    },
  );

  it('is refused where its plan was edited: shares, names, an SLO, or figures of its sample', async () => {
    await asked(TWO, 'inferline');
    const made = await solved();
    const [live, archive] = made.applications as [PipelineApplication, PipelineApplication];
    const forgeries: Partial<PipelinePlan>[] = [
      { applications: [live, { ...archive, share: 0.7 }] },
      { applications: [live, { ...archive, name: 'live' }] },
      { applications: [{ ...live, sloMs: 61 }, archive] },
      { sloMs: 61 },
      { applications: made.applications!.map((one) => ({ ...one, sample: { ...one.sample!, p50Ms: 1 } })) },
    ];
    for (const forged of forgeries) {
      await writeFile(at('plan.json'), JSON.stringify({ ...made, ...forged }));
      expect((await validateFiles([at('plan.json')]))[0], JSON.stringify(forged)).toMatchObject({
        ok: false,
      });
    }
  });

  it('is refused, as a spec and as a plan, where weights times those of priorities are too many', async () => {
    const weighed = [1, 3, 5, 7].map((weight, i) => ({ name: `a${i}`, sloMs: 400, share: 0.25, weight }));
    await asked(weighed);
    const spec = parse(await readFile(at('spec.yaml'), 'utf8')) as PipelineSpec;
    const serve = (priorities: Record<string, number>) =>
      writeFile(at('spec.yaml'), stringify({ ...spec, serving: { scheduler: 'room-first', priorities } }));
    const [few, many] = [{ 1: 2 }, { 1: 100, 2: 13, 3: 11, 4: 2 }];
    const told = /priorities[\s\S]*gives requests 20 different weights[\s\S]*a scheduler tells 16 apart/;
    await serve(many);
    await expect(solveSpec(at('spec.yaml'), {})).rejects.toThrow(told);
    await serve(few);
    const made = await solved();
    made.serving.priorities = many;
    await writeFile(at('plan.json'), JSON.stringify(made));
    await expect(simulatePlan(at('plan.json'), { priorities: '1=1' })).rejects.toThrow(told);
  });

  inWholeRun(
    'is compared under schedulers by application, and with another plan by what is asked',
    async () => {
      await asked(TWO);
      const made = await solved();
      const { code, stdout } = await plan([
        ...['simulate', at('plan.json'), '--json', '--schedulers', 'pard,fifo', '--load', '1.3'],
        ...['--duration', '5s'],
      ]);
      expect(code).toBe(0);
      const { rows } = JSON.parse(stdout) as SchedulerComparison;
      for (const { applications = [], goodputRps, dropsByStage } of rows) {
        expect(applications.map(({ name }) => name)).toEqual(['live', 'archive']);
        const sum = applications.reduce((all, one) => all + one.goodputRps.mean, 0);
        expect(sum).toBeCloseTo(goodputRps.mean, 6);
        for (const { dropsByStage: own } of applications)
          expect(Object.keys(own ?? {})).toEqual(Object.keys(dropsByStage ?? {}));
      }
      await writeFile(at('other.json'), JSON.stringify(made));
      await asked([{ ...TWO[0]!, weight: 4 }, TWO[1]!]);
      await solved();
      const diff = await plan(['diff', at('other.json'), at('plan.json')]);
      expect(diff.stdout).toContain('live (0.25 of the load) 99 % in 60 ms');
      expect(diff.stdout).toContain('live (0.25 of the load, weight 4) 99 % in');
    },
  );

  it('is no sweep of SLOs, but compares clusters', async () => {
    await asked(TWO, 'inferline');
    await expect(compareSpec(at('spec.yaml'), { sweeps: ['slo=50ms..60ms'] })).rejects.toThrow(
      'sweeps one SLO, and each application of the spec has its own',
    );
  });

  it('takes the rate of one application, at which it comes alone', async () => {
    await asked(TWO);
    await solved();
    const { report } = await simulatePlan(at('plan.json'), { rps: ['live=50'], duration: 2 });
    expect(report.models.map(({ requests }) => requests.arrived > 0)).toEqual([true, false]);
  });
});
