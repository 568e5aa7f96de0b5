import { describe, expect, it } from 'vitest';
import { type InputError, ToldFaults } from '../../src/formats/index.js';
import type { JobsProgress } from '../../src/jobs/index.js';
import { plannedScheduler } from '../../src/plans/index.js';
import type { ChosenScheduler } from '../../src/serving/index.js';
import { runSimulation, type SimulationSetup } from '../../src/simulation/run.js';
import { runSweep, sweptLoads } from '../../src/simulation/sweep.js';
import { affine, planOf } from '../serving/plans.js';

function swept(text: string): number[] | string[] {
  const told = new ToldFaults();
  const loads = sweptLoads(text, told);
  if (told.count === 0) return loads;
  expect(loads).toEqual([]);
  return (told.error('sweep') as InputError).faults.map(({ path, message }) => `${path} ${message}`);
}

describe('sweptLoads()', () => {
  it('are evenly spaced with both ends, in steps of about 0.05 where nobody says how many', () => {
    expect(swept('load=0.8')).toEqual([0.8]);
    expect(swept(' load=.5 ')).toEqual([0.5]);
    const near = (loads: number[]) => loads.map((load) => expect.closeTo(load, 9));
    expect(swept('load=0.9..1.1')).toEqual(near([0.9, 0.95, 1, 1.05, 1.1]));
    expect(swept('load=0.5..2:4')).toEqual(near([0.5, 1, 1.5, 2]));
    expect(swept('load=1..1.01')).toEqual(near([1, 1.01]));
    expect(swept('load=1..2:2')).toEqual([1, 2]);
    expect(swept('load=100')).toEqual([100]);
    expect(swept('load=1..2:200').length).toBe(200);
    expect(swept('load=1..1')).toEqual([1]);
  });

  it.each([
    ['speed=1', 'is not a sweep: load=0.05..1.0, with :points if wanted'],
    ['load=1..2:3x', 'is not a sweep'],
    ['xload=1', 'is not a sweep'],
    ['load=0..1', 'begins at 0; a load must be above 0'],
    ['load=2..1:3', 'runs from 2 down to 1'],
    ['load=99..101:3', 'reaches 101 times the planned rate; at most 100 are simulated'],
    ['load=1..2:1', 'has 1 points; 2 to 200 are valid'],
    ['load=1:0', 'has 0 points; 1 to 200 are valid'],
    ['load=1..2:201', 'has 201 points; 2 to 200 are valid'],
    ['load=1..20', 'has 381 points; 2 to 200 are valid'],
  ])('refuse %s', (text, said) => {
    expect(swept(text)).toEqual([expect.stringContaining(said)]);
    expect(swept(text)[0]).toContain(`"${text}"`);
  });

  it('report all faults at once', () => {
    expect(swept('load=0..101:1').length).toBe(3);
  });
});

/** Two models on devices of their own: the first answers 100 requests/s, one at a time, and the second many more. */
const PLAN = planOf([
  { sloMs: 40, pipelines: [{ throughputRps: 100, parts: [{ batch: 1, latencyUs: affine(10_000, 0) }] }] },
  { sloMs: 40, pipelines: [{ throughputRps: 400, parts: [{ batch: 1, latencyUs: affine(1000, 0) }] }] },
]);

const scheduler = plannedScheduler(
  {},
  { options: { scheduler: 'fifo', policy: [] }, leastSloNs: 40e6 },
  new ToldFaults(),
) as ChosenScheduler;

const SETUP: SimulationSetup = {
  plan: PLAN,
  transfers: 'links',
  scheduler,
  execution: { slow: 1 },
  seed: 4,
  exact: true,
  workload: { kind: 'drawn', process: 'uniform', durationNs: 3e9, rps: [100, 400] },
};

describe('runSweep()', () => {
  it('has a point of each load, and finds to a hundredth where each model and all together meet the target', async () => {
    const progress: JobsProgress[] = [];
    const sweep = await runSweep(SETUP, [0.5, 2], {
      inputs: [],
      threads: 1,
      target: 0.9,
      onProgress: (told) => progress.push(told),
    });
    expect(sweep).toMatchObject({
      kind: 'simulation-sweep',
      seed: 4,
      complete: true,
      target: 0.9,
      workload: { arrivals: 'uniform', durationS: 3 },
      transfers: 'links',
      execution: { slow: 1, jitter: 'none' },
      scheduler: { name: 'fifo' },
    });
    expect(sweep.workload).not.toHaveProperty('cv');
    expect(sweep).not.toHaveProperty('notes');
    const loads = sweep.points.map(({ loadFactor }) => loadFactor);
    expect(loads).toEqual(loads.toSorted((a, b) => a - b));
    expect([loads[0], loads.at(-1)]).toEqual([0.5, 2]);
    for (const point of sweep.points) {
      const { figures } = await runSimulation(SETUP, { loadFactor: point.loadFactor });
      const { overall, models } = figures;
      expect(point).toEqual({
        loadFactor: point.loadFactor,
        attainment: overall.attainment,
        late: overall.late,
        dropRate: overall.dropRate,
        invalidRate: overall.invalidRate,
        offeredRps: overall.offeredRps,
        goodputRps: overall.goodputRps,
        p99Ms: overall.latencyMs?.p99,
        attainments: models.map(({ attainment }) => attainment),
      });
    }
    const meets = (load: number, of: (point: (typeof sweep.points)[number]) => number | null | undefined) =>
      (of(sweep.points.find(({ loadFactor }) => loadFactor === load)!) ?? 0) >= 0.9;
    // The largest that meets the target, and the next hundredth, were both tried.
    const { loadFactor, atLeast } = sweep.largest!;
    expect(atLeast).toBe(false);
    const next = loads[loads.indexOf(loadFactor) + 1]!;
    expect(next - loadFactor).toBeCloseTo(0.01, 9);
    expect([meets(loadFactor, (one) => one.attainment), meets(next, (one) => one.attainment)]).toEqual([
      true,
      false,
    ]);
    const [first, second] = sweep.models;
    const own = first!.largest!.loadFactor;
    expect(meets(own, (one) => one.attainments[0])).toBe(true);
    expect(meets(loads[loads.indexOf(own) + 1]!, (one) => one.attainments[0])).toBe(false);
    expect(own).toBeLessThan(loadFactor);
    // The second model meets it at all loads, so that its largest is not known.
    expect(second!.largest).toEqual({ loadFactor: 2, atLeast: true });
    expect(progress[0]).toMatchObject({ done: 0, of: 2 });
    expect(progress.at(-1)).toMatchObject({ done: loads.length, of: loads.length });
  });

  it('has no largest load where none meets the target, and is not complete where it was ended', async () => {
    const none = await runSweep(SETUP, [2], { inputs: [], threads: 1, target: 1 });
    expect(none).not.toHaveProperty('largest');
    expect(none.models.map(({ largest }) => largest)).toEqual([undefined, { loadFactor: 2, atLeast: true }]);
    const ended = await runSweep(SETUP, [0.5], { inputs: [], threads: 1, signal: AbortSignal.abort() });
    expect(ended).toMatchObject({ complete: false, points: [], target: 0.99 });
  });
});
