import { describe, expect, it } from 'vitest';
import { type PipelinePlan, ToldFaults } from '../../src/formats/index.js';
import { applicationsOf, plannedScheduler } from '../../src/plans/index.js';
import { streamsOf } from '../../src/random/index.js';
import type { ChosenScheduler } from '../../src/serving/index.js';
import { makeCore } from '../../src/serving/index.js';
import {
  arrivalsOf,
  drawnFates,
  type SimulationSetup,
  simulationReport,
} from '../../src/simulation/index.js';
import { runSimulation, simulatedTopology } from '../../src/simulation/run.js';
import { atLoadFactor, type DrawnWorkload, traceWorkload } from '../../src/simulation/workload.js';
import { simulate } from '../../src/simulator/index.js';
import { OutcomeCode } from '../../src/simulator/observer.js';
import type { CountTrace } from '../../src/workload/index.js';
import { fewOf } from '../cases.js';
import { edge, pipelineOf } from '../pipeline-plans.js';

const TWO = [
  { name: 'quick', sloMs: 12, share: 0.25, weight: 3 },
  { name: 'slow', sloMs: 90, share: 0.75 },
];

/** planWith is a DAG of four stages, served by 2 or 3 devices each, with applications or one SLO of 30 ms. */
function planWith(more: Partial<PipelinePlan> = {}): PipelinePlan {
  return pipelineOf(
    [
      { name: 'a', next: [edge('b', 0.5), edge('c')], batch: 4, latencyUs: 500 },
      { name: 'b', next: [edge('d')], batch: 2, latencyUs: 1500 },
      { name: 'c', next: [edge('d')], batch: 4, latencyUs: 700 },
      { name: 'd', batch: 8, latencyUs: 400 },
    ],
    [['a'], ['a'], ['b'], ['b'], ['c'], ['c'], ['d'], ['d']],
    { name: 'app', sloMs: 30, throughputRps: 1000, ...more },
  );
}

const two = () => planWith({ sloMs: 12, applications: TWO });

function schedulerOf(name: string): ChosenScheduler {
  const options = { scheduler: name };
  return plannedScheduler({}, { options, leastSloNs: 12e6 }, new ToldFaults()) as ChosenScheduler;
}

function setupOf(plan: PipelinePlan, scheduler: string, rps: number): SimulationSetup {
  const workload: DrawnWorkload = {
    kind: 'drawn',
    process: 'gamma',
    cv: 2,
    durationNs: 5e9,
    rps: applicationsOf(plan).map(({ weight }) => weight * rps),
  };
  return {
    plan,
    transfers: 'links',
    scheduler: schedulerOf(scheduler),
    workload,
    seed: 5,
    exact: true,
    execution: { slow: 1, jitter: { kind: 'cv', cv: 0.3 } },
  };
}

function timesOf(workload: Parameters<typeof arrivalsOf>[0], plan: PipelinePlan, seed = 1) {
  const found: { atNs: number; model: number }[] = [];
  const arrivals = arrivalsOf(workload, applicationsOf(plan), seed);
  while (arrivals.next()) found.push({ atNs: arrivals.atNs, model: arrivals.model });
  return found;
}

describe('the load of several applications', () => {
  const drawn: DrawnWorkload = { kind: 'drawn', process: 'gamma', cv: 2, durationNs: 20e9, rps: [1000] };
  const shared = { ...drawn, rps: [250, 750] };
  const trace: CountTrace = {
    kind: 'counts',
    format: 'csv',
    intervalS: Float64Array.of(5, 5, 5),
    counts: Float64Array.of(2700, 6000, 300),
  };
  const loads: Record<string, [Parameters<typeof arrivalsOf>[0], Parameters<typeof arrivalsOf>[0]]> = {
    'that is drawn': [drawn, shared],
    'that changes from phase to phase': [
      { ...drawn, phases: [1, 2].map((f) => ({ durationS: 5, transitionS: f - 1, rps: [f * 1000], cv: f })) },
      {
        ...shared,
        phases: [1, 2].map((f) => ({ durationS: 5, transitionS: f - 1, rps: [f * 250, f * 750], cv: f })),
      },
    ],
    'that begins with a warm-up': [
      { ...drawn, warmUp: { fillNs: [2e9], settleNs: 1e9 } },
      { ...shared, warmUp: { fillNs: [1e9, 2e9], settleNs: 1e9 } },
    ],
    'that is a trace': [traceWorkload(trace), traceWorkload(trace, [0.25, 0.75])],
  };

  for (const [what, [whole, parts]] of Object.entries(loads))
    it(`${what} comes as that of one, and each request belongs to one by its share`, () => {
      const one = timesOf(whole, planWith());
      const several = timesOf(parts, two());
      expect(several.map(({ atNs }) => atNs)).toEqual(one.map(({ atNs }) => atNs));
      const quick = several.filter(({ model }) => model === 0).length;
      // Four standard deviations of a share of 0.25.
      expect(Math.abs(quick / several.length - 0.25)).toBeLessThan(4 * Math.sqrt(0.1875 / several.length));
      // Whose a request is does not follow from whose the one before was.
      const pairs = several.slice(1).filter(({ model }, i) => model === 0 && several[i]!.model === 0).length;
      expect(Math.abs(pairs / several.length - 0.0625)).toBeLessThan(6 * Math.sqrt(0.0586 / several.length));
    });

  it('has streams of its own where phases change the shares, or one application alone has requests', () => {
    const phases = [
      { durationS: 5, transitionS: 0, rps: [300, 0] },
      { durationS: 5, transitionS: 0, rps: [0, 300] },
    ];
    const found = timesOf({ ...shared, phases }, two());
    expect(found.every(({ atNs, model }) => (atNs < 5e9 ? model === 0 : model === 1))).toBe(true);
    const alone = timesOf({ ...shared, rps: [0, 1000] }, two());
    expect(alone.every(({ model }) => model === 1)).toBe(true);
    expect(alone.map(({ atNs }) => atNs)).toEqual(timesOf(drawn, planWith()).map(({ atNs }) => atNs));
  });

  it('keeps its shares at another load factor', () => {
    expect(atLoadFactor(shared, applicationsOf(two()), 0.5)).toMatchObject({ rps: [125, 375] });
  });
});

describe('a simulation of several applications', () => {
  for (const scheduler of fewOf(['inferline', 'stage-local', 'pard', 'room-first', 'nexus', 'clipper++'], 2))
    it(`under ${scheduler} gives the same of all requests as one application, where the SLOs are equal`, async () => {
      const equal = TWO.map(({ name, share }) => ({ name, share, sloMs: 30 }));
      const one = await runSimulation(setupOf(planWith(), scheduler, 1100), {});
      const several = await runSimulation(setupOf(planWith({ applications: equal }), scheduler, 1100), {});
      expect(several.figures.overall).toEqual(one.figures.overall);
      expect(several.figures.pools).toEqual(one.figures.pools);
      const [a, b] = several.figures.models;
      expect((a?.arrived ?? 0) + (b?.arrived ?? 0)).toBe(one.figures.overall.arrived);
      const countAt = (drops: typeof one.figures.drops, pool: number) =>
        drops.reduce((sum, drop) => (drop.pool === pool ? sum + drop.count : sum), 0);
      for (const pool of [0, 1, 2, 3])
        expect(countAt(several.figures.drops, pool)).toBe(countAt(one.figures.drops, pool));
    });

  for (const scheduler of fewOf(['inferline', 'pard', 'room-first'], 1))
    it(`under ${scheduler} counts by application what an observer counts by its own SLO`, async () => {
      const setup = { ...setupOf(two(), scheduler, 1300), execution: { slow: 1 } };
      const report = simulationReport(setup, await runSimulation(setup, {}), {
        windowS: undefined,
        inputs: [],
      });
      expect(report.models.map(({ name, sloMs }) => [name, sloMs])).toEqual([
        ['quick', 12],
        ['slow', 90],
      ]);
      const counted = [0, 1].map(() => ({ arrived: 0, inTime: 0, late: 0, dropped: 0 }));
      const { plan, workload, seed } = setup;
      const topology = simulatedTopology(setup);
      const whose: number[] = [];
      simulate({
        topology,
        arrivals: arrivalsOf(workload, applicationsOf(plan), seed),
        makeCore: (decisions) =>
          makeCore(setup.scheduler, topology, { decisions, streams: streamsOf(seed, 'core') }),
        verdict: drawnFates(setup.plan as PipelinePlan, seed),
        weight: (_order, model) => (model === 0 ? 3 : 1),
        observers: [
          {
            arrived: (_at, model, request) => {
              whose[request] = model;
              counted[model]!.arrived++;
            },
            ended: (atNs, model, request, arrivedAtNs, outcome) => {
              expect(model).toBe(whose[request]);
              if (outcome === OutcomeCode.dropped) counted[model]!.dropped++;
              else counted[model]![atNs - arrivedAtNs <= TWO[model]!.sloMs * 1e6 ? 'inTime' : 'late']++;
            },
          },
        ],
      });
      const told = report.models.map(({ requests }) => {
        const { arrived, inTime, late, dropped } = requests;
        return { arrived, inTime, late, dropped };
      });
      expect(told).toEqual(counted);
      const drops = (name: string) =>
        report.drops.reduce((sum, drop) => (drop.model === name ? sum + drop.count : sum), 0);
      expect([drops('quick'), drops('slow')]).toEqual(counted.map(({ dropped }) => dropped));
      expect(new Set(report.pools.map(({ model }) => model))).toEqual(new Set(['app']));
    });
});
