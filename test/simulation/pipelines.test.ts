import { describe, expect, it } from 'vitest';
import type { PipelinePlan } from '../../src/formats/index.js';
import { ToldFaults } from '../../src/formats/index.js';
import { plannedScheduler } from '../../src/plans/index.js';
import { simulationHeadlines } from '../../src/report/simulate.js';
import type { ChosenScheduler } from '../../src/serving/index.js';
import { drawnFates } from '../../src/simulation/fates.js';
import { type SimulationSetup, simulationReport } from '../../src/simulation/index.js';
import { runSimulation } from '../../src/simulation/run.js';
import { edge, pipelineOf } from '../pipeline-plans.js';

const COUNT = 40_000;

function schedulerOf(policy: string[] = []): ChosenScheduler {
  return plannedScheduler({}, { options: { policy }, leastSloNs: 1e9 }, new ToldFaults()) as ChosenScheduler;
}

function setupOf(plan: PipelinePlan, rps: number, policy: string[] = []): SimulationSetup {
  return {
    plan,
    transfers: 'links',
    scheduler: schedulerOf(policy),
    execution: { slow: 1 },
    seed: 3,
    exact: true,
    workload: { kind: 'drawn', process: 'poisson', durationNs: 100e9, rps: [rps] },
  };
}

describe('drawnFates()', () => {
  const plan = pipelineOf(
    [
      { name: 'a', next: [edge('b', 0.2), edge('c', 0.5), edge('d', 0.3), edge('e', 0.6), edge('f')] },
      ...['b', 'c', 'd', 'e', 'f'].map((name) => ({ name })),
    ],
    [['a', 'b', 'c', 'd', 'e', 'f']],
    { exclusive: [['b', 'c', 'd']] },
  );

  it('takes exactly one edge of an exclusive list, and each by its probability, independently of the others', () => {
    const fates = drawnFates(plan, 1);
    const verdicts = Array.from({ length: COUNT }, (_, order) => fates(order, 0, 0));
    const shareOf = (wanted: (verdict: number) => boolean) => verdicts.filter(wanted).length / COUNT;
    // Four standard deviations of a share are at most 2 / √n.
    const near = (share: number) => ({
      asymmetricMatch: (is: number) => Math.abs(is - share) < 2 / Math.sqrt(COUNT),
    });
    const bit = (edgeIndex: number) => (verdict: number) => ((verdict >> edgeIndex) & 1) === 1;
    expect([0, 1, 2, 3, 4].map((i) => shareOf(bit(i)))).toEqual([
      near(0.2),
      near(0.5),
      near(0.3),
      near(0.6),
      0,
    ]);
    expect(shareOf((verdict) => [1, 2, 4].includes(verdict & 7))).toBe(1);
    expect(shareOf((verdict) => bit(0)(verdict) && bit(3)(verdict))).toEqual(near(0.12));
  });

  it('gives a row the same fate whatever else is asked, and rows, stages and seeds fates of their own', () => {
    const fates = drawnFates(plan, 1);
    const forward = Array.from({ length: 50 }, (_, order) => fates(order, 1, 0));
    const backward = Array.from({ length: 50 }, (_, i) => fates(49 - i, 1, 0)).reverse();
    expect(backward).toEqual(forward);
    expect(Array.from({ length: 50 }, (_, order) => fates(order, 0, 0))).not.toEqual(forward);
    expect(Array.from({ length: 50 }, (_, order) => drawnFates(plan, 2)(order, 1, 0))).not.toEqual(forward);
  });
});

describe('a simulation of a pipeline', () => {
  const forked = pipelineOf(
    [
      { name: 'a', next: [edge('b', 0.3), edge('c')] },
      { name: 'b', next: [edge('d')], latencyUs: 5000 },
      { name: 'c', next: [edge('d')], latencyUs: 2000 },
      { name: 'd' },
    ],
    [['a'], ['b', 'd'], ['c'], ['d']],
    { cluster: { devices: { cpu: { hourlyCost: 36 } } } },
  );

  it('executes each stage as often as its edges are taken, and a merge once per request', async () => {
    const { figures } = await runSimulation(setupOf(forked, 50), {});
    const [a, b, c, d] = figures.pools.map(({ requests }) => requests) as [number, number, number, number];
    expect(figures.overall.arrived).toBe(a);
    expect([c, d]).toEqual([a, a]);
    expect(Math.abs(b / a - 0.3)).toBeLessThan(2 / Math.sqrt(a));
  });

  it('gives requests the same fates under every policy, and the same figures again', async () => {
    const runs = await Promise.all(
      [[], [], ['order=fifo', 'drop=never', 'late=drop'], ['placement=earliest-free', 'sharing=fullest']].map(
        (policy) => runSimulation(setupOf(forked, 50, policy), {}),
      ),
    );
    expect(runs[1]?.figures).toEqual(runs[0]?.figures);
    const visits = runs.map(({ figures }) => figures.pools.map(({ requests }) => requests));
    for (const one of visits) expect(one).toEqual(visits[0]);
  });

  it('has as many devices in use as a schedule says, and pays only for these', async () => {
    const wide = pipelineOf([{ name: 'a' }], [['a'], ['a'], ['a']]);
    const scaling = {
      schedule: [
        { atS: 20, pool: 'a', devices: 1 },
        { atS: 60, pool: 'a', devices: 2 },
      ],
    };
    const scheduler = plannedScheduler(
      {},
      { options: { policy: [{ at: '', choices: { scaling } }] }, leastSloNs: 1e9 },
      new ToldFaults(),
    ) as ChosenScheduler;
    const run = await runSimulation({ ...setupOf(wide, 10), scheduler }, {});
    expect(run.usedGpuS).toEqual([expect.closeTo(3 * 20 + 1 * 40 + 2 * 40, 0)]);
  });

  it('counts the use of a part of a GPU as that part, and pays for it so', async () => {
    const whole = pipelineOf(
      [
        { name: 'a', next: [edge('b')] },
        { name: 'b', device: 'gpu' },
      ],
      [['a'], ['b'], ['b'], ['b']],
      {
        cluster: { devices: { cpu: { hourlyCost: 36 }, gpu: { hourlyCost: 72 } } },
        classes: { cpu: { used: 1 }, gpu: { used: 1 } },
      },
    );
    const ofGpu = { class: 'gpu', server: 'gpu-0', gpu: 0, virtual: 4 };
    const plan = {
      ...whole,
      stages: whole.stages.map((stage) => (stage.name === 'b' ? { ...stage, virtual: 4 } : stage)),
      placement: whole.placement.map((place, i) => (i === 0 ? place : { ...place, ...ofGpu })),
    };
    const setup = setupOf(plan, 10);
    const run = await runSimulation(setup, {});
    // One whole device for 100 s, and three quarters of a GPU.
    expect(run.usedGpuS).toEqual([expect.closeTo(100, 0), expect.closeTo(75, 0)]);
    const { classes } = simulationReport(setup, run, { windowS: undefined, inputs: [] });
    expect([classes.cpu?.cost, classes.gpu?.cost]).toEqual([expect.closeTo(1, 2), expect.closeTo(1.5, 2)]);
  });

  it('reports stages by name, and what the devices cost for the time of their use', async () => {
    const setup = setupOf(forked, 50);
    const run = await runSimulation(setup, {});
    const report = simulationReport(setup, run, { windowS: undefined, inputs: [] });
    expect(report.pools.map(({ stage }) => stage)).toEqual(['a', 'b', 'c', 'd']);
    expect(report.models.map(({ name, plannedRps }) => [name, plannedRps])).toEqual([['app', 100]]);
    const { usedGpuS = 0, cost = 0 } = report.classes.cpu!;
    expect(usedGpuS).toBeGreaterThan(4 * 99);
    expect(usedGpuS).toBeLessThan(4 * 101);
    expect(cost).toBeCloseTo(usedGpuS / 100, 10);
  });

  it('pays for devices until the load ends, though its last request ended long before', async () => {
    const setup: SimulationSetup = {
      ...setupOf(forked, 50),
      workload: {
        kind: 'drawn',
        process: 'poisson',
        durationNs: 100e9,
        rps: [5],
        phases: [
          { durationS: 10, transitionS: 0, rps: [50] },
          { durationS: 90, transitionS: 0, rps: [0] },
        ],
      },
    };
    const run = await runSimulation(setup, {});
    const report = simulationReport(setup, run, { windowS: undefined, inputs: [] });
    expect(report.overall.arrived).toBeGreaterThan(300);
    expect(report.classes.cpu?.usedGpuS).toBeCloseTo(4 * 100, 9);
    expect(report.cost).toEqual({ total: expect.closeTo(4, 9), perHour: expect.closeTo(144, 9), overS: 100 });
  });

  it('reports in the currency of the cluster what devices cost that come and go', async () => {
    const cluster = { ...forked.cluster, currency: 'EUR' };
    const setup = setupOf({ ...forked, cluster }, 50);
    const run = await runSimulation(setup, {});
    const report = simulationReport(setup, run, { windowS: undefined, inputs: [] });
    expect(report.cost?.currency).toBe('EUR');
    const pools = report.pools.map((pool) => ({ ...pool, inUse: { least: 1, most: 1, mean: 1 } }));
    expect(simulationHeadlines({ ...report, pools })[1]).toMatch(
      /^the devices in use cost 14\d EUR per hour on average/,
    );
  });
});
