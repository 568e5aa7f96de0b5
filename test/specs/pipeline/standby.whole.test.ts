import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { validateFiles } from '../../../src/api/index.js';
import type { PipelinePlan, PipelineSpec, SimulationReport } from '../../../src/formats/index.js';
import { ToldFaults } from '../../../src/formats/index.js';
import { chosenTuner, plannedScheduler, planTopologyOf } from '../../../src/plans/index.js';
import { liveScheduler } from '../../../src/runtime/scheduler.js';
import { solveSpec } from '../../../src/specs/index.js';
import { inWholeRun, WHOLE, whole } from '../../cases.js';
import { plan } from '../../cli/plan.js';

const EXAMPLE = new URL('../../../examples/pipeline', import.meta.url).pathname;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-standby-'));
  await cp(EXAMPLE, folder, { recursive: true });
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const at = (name: string): string => join(folder, name);

let once: Promise<string> | undefined;
/** solvedOnce writes the plan of the unchanged spec beside it, which is searched once for all tests. */
async function solvedOnce(): Promise<PipelinePlan> {
  once ??= solved().then(() => readFile(at('plan.json'), 'utf8'));
  const text = await once;
  await writeFile(at('spec.yaml'), stringify(await specOf()));
  await writeFile(at('plan.json'), text);
  return JSON.parse(text) as PipelinePlan;
}

/** specOf is the spec of the example with all devices of its stages left to a planner, and with a tuner. */
async function specOf(): Promise<PipelineSpec> {
  const spec = parse(await readFile(join(EXAMPLE, 'spec.yaml'), 'utf8')) as PipelineSpec;
  delete spec.shared;
  for (const stage of spec.stages)
    for (const key of ['device', 'batch', 'replicas', 'standby'] as const) delete stage[key];
  spec.load = { arrivals: 'poisson', rps: 300, duration: whole('3s', '10s') };
  return Object.assign(spec, { planner: { method: 'inferline', draws: whole(1, 3) }, tuner: 'inferline' });
}

/** solved plans for that spec, as a test changes it. */
async function solved(change: (spec: PipelineSpec) => void = () => undefined): Promise<PipelinePlan> {
  const spec = await specOf();
  change(spec);
  await writeFile(at('spec.yaml'), stringify(spec));
  const outcome = await solveSpec(at('spec.yaml'), { output: at('plan.json') });
  expect(outcome.outcome).toBe('pipeline-plan');
  return JSON.parse(await readFile(at('plan.json'), 'utf8')) as PipelinePlan;
}

async function simulated(...options: string[]): Promise<SimulationReport> {
  const { code, stdout } = await plan(['simulate', at('plan.json'), '--json', ...options]);
  expect(code).toBe(0);
  return JSON.parse(stdout) as SimulationReport;
}

const RISE = whole(
  ['--phase', '5s,rps=300', '--phase', '10s,rps=600,over=2s'],
  ['--phase', '20s,rps=300', '--phase', '40s,rps=600,over=5s'],
);
const standbyIn = ({ stages }: PipelinePlan) => stages.map(({ standby = 0 }) => standby);

describe('a planned pipeline with a tuner', () => {
  inWholeRun(
    'has standby devices for twice its load, within its classes, at a price that is reported',
    async () => {
      const made = await solvedOnce();
      expect(made.standby).toMatchObject({ loadFactor: 2, draws: 5 });
      expect(Math.max(...standbyIn(made))).toBeGreaterThan(0);
      let all = 0;
      for (const [name, { used, standby = 0, count = Number.POSITIVE_INFINITY }] of Object.entries(
        made.classes,
      )) {
        expect(used + standby).toBeLessThanOrEqual(count);
        all += (used + standby) * (made.cluster.devices[name]?.hourlyCost as number);
      }
      expect(made.mostHourlyCost).toBeCloseTo(all, 9);
      expect(made.hourlyCost).toBeLessThan(all);
      // The price of a plan is that of what is in use.
      expect(made.objective?.value).toBeCloseTo(made.hourlyCost as number, 9);
      expect((await validateFiles([at('plan.json')]))[0]).toMatchObject({ ok: true });
      if (!WHOLE) return;
      const { stdout } = await plan(['solve', at('spec.yaml'), '-o', at('again.json')]);
      expect(stdout).toContain('the tuner inferline may activate');
      expect(stdout).toContain('at 2 times the load');
      expect(await readFile(at('again.json'), 'utf8')).toBe(await readFile(at('plan.json'), 'utf8'));
    },
  );

  it('is simulated with the devices that its server has, and never has more of a class in use than there are', async () => {
    const made = await solvedOnce();
    const told = new ToldFaults();
    const chosen = plannedScheduler(made.serving, { options: {}, leastSloNs: 1e6, kind: made.kind }, told);
    const own = chosenTuner(made, chosen as NonNullable<typeof chosen>, {});
    const live = liveScheduler({}, { plan: made, topology: planTopologyOf(made, { transfers: 'none' }) });
    expect(own.plan).toBe(made);
    expect(live.tuner).toEqual(own.scheduler.tuner);
    const tuned = await simulated(...RISE, '--windows', '5s');
    for (const [i, { inUse }] of tuned.pools.entries()) {
      const { replicas, standby = 0 } = made.stages[i] as PipelinePlan['stages'][number];
      expect(inUse?.most).toBeLessThanOrEqual(replicas + standby);
    }
    expect(tuned.cost?.perHour).toBeLessThanOrEqual(made.mostHourlyCost as number);
    // What it was given standby devices for, it serves; without a tuner it does not.
    const fixed = await simulated(...RISE, '--tuner', 'none');
    expect(tuned.overall.attainment).toBeGreaterThan(fixed.overall.attainment as number);
  });

  inWholeRun('is refused where its standby devices or what they cost were edited', async () => {
    const made = await solvedOnce();
    const i = standbyIn(made).findIndex((count) => count > 0);
    const more = structuredClone(made);
    more.standby!.loadFactor = 3;
    const dearer = structuredClone(made);
    dearer.mostHourlyCost! += 1;
    const fewer = structuredClone(made);
    delete fewer.stages[i]!.standby;
    const none: PipelinePlan = structuredClone(made);
    delete none.standby;
    for (const forged of [more, dearer, fewer, none]) {
      await writeFile(at('plan.json'), JSON.stringify(forged));
      expect((await validateFiles([at('plan.json')]))[0]).toMatchObject({ ok: false });
      expect((await plan(['simulate', at('plan.json')])).code).toBe(2);
    }
  });

  inWholeRun('has none without a tuner, and those that its spec fixes where it says how many', async () => {
    const untuned = await solved((spec) => {
      delete spec.tuner;
    });
    expect(untuned).not.toHaveProperty('standby');
    expect(untuned).not.toHaveProperty('mostHourlyCost');
    expect(standbyIn(untuned)).toEqual(untuned.stages.map(() => 0));
    const spec = parse(await readFile(join(EXAMPLE, 'spec.yaml'), 'utf8')) as PipelineSpec;
    spec.load = { arrivals: 'poisson', rps: 300, duration: '10s' };
    spec.tuner = 'inferline';
    await writeFile(at('spec.yaml'), stringify(spec));
    const outcome = await solveSpec(at('spec.yaml'));
    expect(outcome.outcome === 'pipeline-plan' && outcome.plan).not.toHaveProperty('standby');
    expect(outcome.outcome === 'pipeline-plan' && outcome.plan.mostHourlyCost).toBeGreaterThan(0);
  });
});
