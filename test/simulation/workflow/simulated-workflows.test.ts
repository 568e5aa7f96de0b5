import { describe, expect, it } from 'vitest';
import type { WorkflowPlan } from '../../../src/formats/index.js';
import type { Subcluster } from '../../../src/plans/index.js';
import { streamOf } from '../../../src/random/index.js';
import { WORKFLOW_SCHEDULERS, type WorkflowScheduler } from '../../../src/serving/index.js';
import {
  type CountedWorkflows,
  simulatedWorkflows,
  type WorkflowLoad,
  type WorkflowRun,
} from '../../../src/simulation/index.js';
import type { RecordedRun, SimulationObserver } from '../../../src/simulator/index.js';
import { type Arrivals, arrivalTimes } from '../../../src/workload/index.js';
import { whole } from '../../cases.js';
import { madePlan } from '../../plans/workflow/made-workflows.js';

/** at gives requests of workflows at instants in nanoseconds. */
function at(requests: readonly (readonly [atNs: number, workflow: number])[]): Arrivals {
  let next = -1;
  return {
    next: () => ++next < requests.length,
    get atNs() {
      return requests[next]![0];
    },
    get model() {
      return requests[next]![1];
    },
  };
}

/** oneCall is a request that calls a component once, whose inputs and outputs have no bytes. */
const oneCall = (component: number): RecordedRun => ({
  requestBytes: 0,
  calls: [{ component, rows: 1, inputs: [-1], after: [], thinkNs: 0, outputBytes: 0 }],
});

/** alone is a plan of one device that holds `holds` of two components, of which it has memory for one. */
function alone(batchUs: readonly number[], holds: readonly string[] = ['a']): CountedWorkflows {
  const component = (name: string) => ({
    name,
    model: name,
    memoryBytes: 2 ** 30,
    classes: [
      { device: 'g', batch: batchUs.length, latencyUsByBatch: [...batchUs], loadUs: 500_000, diskUs: 0 },
    ],
  });
  return {
    cluster: { devices: { g: { count: 1, memoryGiB: 1.5 } } },
    rps: 1,
    components: [component('a'), component('b')],
    workflows: ['one', 'two'].map((name) => ({ name, share: 0.5, frequencies: [] })),
    placement: [{ server: 'g-0', gpu: 0, class: 'g', holds: [...holds] }],
  };
}

const run = (
  plan: CountedWorkflows,
  load: Partial<WorkflowLoad> & Pick<WorkflowLoad, 'arrivals' | 'runOf'>,
) => simulatedWorkflows(plan, { scheduler: 'greedy', seed: 1, ...load });

const latenciesOf = ({ figures }: WorkflowRun) => figures.overall.latencyMs;

describe('simulatedWorkflows()', () => {
  for (const most of whole([4], [1, 4]))
    it(`serves one component on one device as a queue with batches of at most ${most} does`, () => {
      const timesNs = [
        ...arrivalTimes({ process: 'poisson', rps: 60, durationS: 20, stream: streamOf(7, 'test') }),
      ];
      const tookUs = [10_000, 15_000, 21_000, 24_000].slice(0, most);
      const served = run(alone(tookUs), {
        arrivals: at(timesNs.map((ns) => [ns, 0])),
        runOf: () => oneCall(0),
      });
      // The textbook's queue: whenever the device is free, it takes those that wait, first come, first served.
      const latencies: number[] = [];
      let freeNs = 0;
      let busyNs = 0;
      for (let i = 0; i < timesNs.length; ) {
        const startNs = Math.max(freeNs, timesNs[i]!);
        let end = i;
        while (end < timesNs.length && end - i < most && timesNs[end]! <= startNs) end += 1;
        freeNs = startNs + 1000 * tookUs[end - i - 1]!;
        busyNs += freeNs - startNs;
        for (; i < end; i++) latencies.push(freeNs - timesNs[i]!);
      }
      latencies.sort((a, b) => a - b);
      const quantile = (p: number) => latencies[Math.ceil(p * latencies.length) - 1]! / 1e6;
      expect(latenciesOf(served)).toMatchObject({
        count: timesNs.length,
        p50: quantile(0.5),
        p95: quantile(0.95),
        p99: quantile(0.99),
      });
      const mean = latencies.reduce((sum, one) => sum + one, 0) / latencies.length / 1e6;
      expect(latenciesOf(served)?.mean).toBeCloseTo(mean, 9);
      expect(served.figures.deviceTime.executing).toBeCloseTo(busyNs / freeNs, 12);
      expect(served.endNs).toBe(freeNs);
    });

  it('loads what a device lacks once there is room, which counts as loading', () => {
    // Executed from 0 to 10 ms, then the other component from 510 to 520 ms, as it is loaded from 10 ms on.
    const served = run(alone([10_000]), {
      arrivals: at([
        [0, 0],
        [5e6, 1],
      ]),
      runOf: (_, workflow) => oneCall(workflow),
    });
    expect(served.figures.workflows.map(({ latencyMs }) => latencyMs?.mean)).toEqual([10, 515]);
    expect(served.figures).toMatchObject({ loads: 1, evictions: 1 });
    expect(served.endNs).toBe(520e6);
    const { executing, loading, both, idle } = served.figures.deviceTime;
    expect([executing, loading, both, idle].map((share) => Math.round(share * 520))).toEqual([20, 500, 0, 0]);
    expect(served.figures.pools.map(({ batches, loads, evictions }) => [batches, loads, evictions])).toEqual([
      [1, 0, 1],
      [1, 1, 0],
    ]);
  });

  it('reports requests late by the SLO of their workflow, and counts calls, and rates over the time that is asked for', () => {
    const plan = alone([10_000]);
    const served = run(
      { ...plan, workflows: plan.workflows.map((one, w) => (w === 0 ? { ...one, sloMs: 15 } : one)) },
      {
        arrivals: at([
          [0, 0],
          [0, 0],
          [0, 1],
        ]),
        runOf: () => oneCall(0),
        spanNs: () => 2e9,
      },
    );
    expect(served.figures.workflows).toMatchObject([
      { arrived: 2, inTime: 1, late: 1, attainment: 0.5, offeredRps: 1 },
      { arrived: 1, inTime: 1, late: 0, attainment: 1, offeredRps: 0.5 },
    ]);
    expect(served.tasks).toBe(3);
    // Devices are counted until requests arrive no more.
    expect([served.endNs, served.figures.deviceTime.idle]).toEqual([2e9, 1 - 0.03 / 2]);
    expect(served.figures.classes).toMatchObject([{ devices: 1, busyS: 0.03 }]);
  });

  it('has devices hold what the plan says is held where none moves, under the scheduler static', () => {
    const empty = alone([10_000], []);
    const plan = { ...empty, placement: empty.placement.map((device) => ({ ...device, static: ['a'] })) };
    expect(() => run(plan, { scheduler: 'static', arrivals: at([]), runOf: () => oneCall(0) })).toThrow(
      'no device holds b',
    );
  });
});

/** drawnRuns gives a request of `madePlan`: a chat that may draw, or a search that calls twice side by side. */
function drawnRuns(seed: number): WorkflowLoad['runOf'] {
  const stream = streamOf(seed, 'runs');
  return (_, workflow) => {
    const call = (component: number, inputs: number[], after: number[] = []) => ({
      component,
      rows: 1,
      inputs,
      after,
      thinkNs: 1e6,
      outputBytes: 1000,
    });
    if (workflow === 1) return { requestBytes: 100, calls: [call(0, [-1]), call(0, [-1])] };
    const isDrawn = stream.uniform() < 0.25;
    return { requestBytes: 100, calls: [call(0, [-1]), ...(isDrawn ? [call(1, [0], [0])] : [])] };
  };
}

function poisson(seed: number, rps: number): Arrivals {
  const stream = streamOf(seed, 'arrivals');
  const times = arrivalTimes({ process: 'poisson', rps, durationS: 2, stream });
  return at([...times].map((ns) => [ns, stream.uniform() < 0.75 ? 0 : 1]));
}

function countOf(arrivals: Arrivals): number {
  let count = 0;
  while (arrivals.next()) count += 1;
  return count;
}

/** inGroups divides the devices of a plan into groups. */
function inGroups(plan: WorkflowPlan, groups: readonly number[]): WorkflowPlan {
  const subclusters = 1 + Math.max(...groups);
  return {
    ...plan,
    subclusters,
    placement: plan.placement.map((device, i) => ({ ...device, subcluster: groups[i]! })),
  };
}

/** fourDevices is `madePlan` with two servers of two big devices. */
function fourDevices(): WorkflowPlan {
  const plan = madePlan();
  plan.cluster.devices.big!.count = 4;
  const [one, other] = plan.placement;
  plan.placement = [one!, other!, { ...one!, server: 'big-1' }, { ...other!, server: 'big-1' }];
  return plan;
}

/** Watched adds up by itself for how long devices executed and loaded, from the times that each began and ended. */
class Watched {
  readonly spans: { device: number; fromNs: number; toNs: number; isLoad: boolean }[] = [];
  rows = 0;

  observing({ devices }: Subcluster): SimulationObserver {
    const loads = new Map<number, number>();
    return {
      executed: (_batch, _pool, device, rows, _handedNs, fromNs, toNs) => {
        this.rows += rows;
        this.spans.push({ device: devices[device]!, fromNs, toNs, isLoad: false });
      },
      loadBegun: (atNs, device) => loads.set(device, atNs),
      loaded: (toNs, device) =>
        this.spans.push({ device: devices[device]!, fromNs: loads.get(device)!, toNs, isLoad: true }),
    };
  }

  /** shares measures at every instant at which anything changes what each device does until the next. */
  shares(count: number, endNs: number): { executing: number; loading: number; both: number } {
    const sums = { executing: 0, loading: 0, both: 0 };
    for (let device = 0; device < count; device++) {
      const own = this.spans.filter((span) => span.device === device);
      const instants = [...new Set([0, endNs, ...own.flatMap(({ fromNs, toNs }) => [fromNs, toNs])])];
      instants.sort((a, b) => a - b);
      instants.slice(1).forEach((toNs, i) => {
        const during = own.filter((span) => span.fromNs <= instants[i]! && toNs <= span.toNs);
        const [loads, executes] = [during.some(({ isLoad }) => isLoad), during.some(({ isLoad }) => !isLoad)];
        const what = loads && executes ? 'both' : loads ? 'loading' : executes ? 'executing' : undefined;
        if (what !== undefined) sums[what] += (toNs - instants[i]!) / (count * endNs);
      });
    }
    return sums;
  }
}

describe('simulatedWorkflows() under every scheduler', () => {
  const cases = WORKFLOW_SCHEDULERS.flatMap((scheduler) =>
    [1, 2].flatMap((seed) =>
      [
        [0, 0, 0, 0],
        [0, 0, 1, 1],
      ].map((groups) => ({ scheduler, seed, groups })),
    ),
  );
  for (const { scheduler, seed, groups } of cases)
    it(`conserves requests, rows and time: ${scheduler}, seed ${seed}, ${1 + groups[3]!} groups`, () => {
      const plan = inGroups(fourDevices(), groups);
      const watched = new Watched();
      const served = simulatedWorkflows(plan, {
        scheduler,
        seed,
        arrivals: poisson(seed, 60),
        runOf: drawnRuns(seed),
        observers: (group) => [watched.observing(group)],
      });
      const { overall, workflows, deviceTime, pools, classes } = served.figures;
      expect(overall.inTime + overall.late + overall.dropped + overall.failed).toBe(overall.arrived);
      expect(workflows.reduce((sum, one) => sum + one.arrived, 0)).toBe(overall.arrived);
      // None is left with a group that has ended before.
      expect(overall.arrived).toBe(countOf(poisson(seed, 60)));
      const rows = pools.reduce((sum, pool) => sum + pool.rows, 0);
      expect([rows, rows <= served.tasks]).toEqual([watched.rows, true]);
      if (overall.dropped === 0) expect(rows).toBe(served.tasks);
      const { executing, loading, both, idle } = deviceTime;
      expect(executing + loading + both + idle).toBeCloseTo(1, 12);
      const found = watched.shares(plan.placement.length, served.endNs);
      for (const what of ['executing', 'loading', 'both'] as const)
        expect(deviceTime[what]).toBeCloseTo(found[what], 12);
      const busyS = pools.reduce((sum, pool) => sum + pool.busyS, 0);
      expect(classes.reduce((sum, one) => sum + one.busyS, 0)).toBeCloseTo(busyS, 9);
      expect(((executing + both) * plan.placement.length * served.endNs) / 1e9).toBeCloseTo(busyS, 9);
    });

  it('gives the same again with the same seeds', () => {
    const once = (scheduler: WorkflowScheduler) =>
      JSON.stringify(
        simulatedWorkflows(inGroups(fourDevices(), [0, 1, 1, 0]), {
          scheduler,
          seed: 3,
          arrivals: poisson(3, 60),
          runOf: drawnRuns(3),
        }),
      );
    // Each group must hold all components where none moves.
    for (const scheduler of WORKFLOW_SCHEDULERS.filter((name) => name !== 'static'))
      expect(once(scheduler)).toBe(once(scheduler));
  });

  it('says how often the next call was as expected, of DyOrc alone', () => {
    const guessesOf = (scheduler: WorkflowScheduler) =>
      simulatedWorkflows(fourDevices(), { scheduler, seed: 1, arrivals: poisson(1, 20), runOf: drawnRuns(1) })
        .guesses;
    const guesses = guessesOf('dyorc')!;
    expect(guesses.right).toBeGreaterThan(0.5 * guesses.made);
    expect(guesses.right).toBeLessThan(guesses.made);
    expect(guessesOf('greedy')).toBeUndefined();
    expect(guessesOf('ray-like')).toBeUndefined();
  });
});
