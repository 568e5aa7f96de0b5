import { afterEach, describe, expect, it, vi } from 'vitest';
import type { PipelinePlan } from '../../../src/formats/index.js';
import { stageName, ToldFaults } from '../../../src/formats/index.js';
import { chosenTuner, planTopologyOf } from '../../../src/plans/index.js';
import { streamOf, streamsOf } from '../../../src/random/index.js';
import {
  chosenScheduler,
  type Decisions,
  type LogEntry,
  makeCore,
  replay,
  type StageLocalPolicy,
} from '../../../src/serving/index.js';
import { Tuning } from '../../../src/serving/tuning/index.js';
import { LoadMeter } from '../../../src/serving/tuning/load-meter.js';
import { DeviceState, simulate } from '../../../src/simulator/index.js';
import { arrivalsAt } from '../../../src/workload/index.js';
import { fewOf, inWholeRun, LONG, seeds } from '../../cases.js';
import { edge, pipelineOf } from '../../pipeline-plans.js';
import { evenly, S, setOf } from './tuned.js';

afterEach(() => vi.restoreAllMocks());

/** Two stages of 20 ms and 10 ms, each with a device, planned for 25/s with at most 3 requests in 100 ms. */
function planWith(more: Partial<PipelinePlan> = {}): PipelinePlan {
  const plan = pipelineOf(
    [
      { name: 'a', latencyUs: 20_000, next: [edge('b', 0.5)] },
      { name: 'b', latencyUs: 10_000 },
    ],
    [['a'], ['b']],
    {
      rps: 25,
      cluster: { devices: { cpu: {} }, activationDelayMs: 500 },
      envelope: [{ windowUs: 1e5, requests: 3 }],
      ...more,
    },
  );
  Object.assign(plan.stages[0]!, { throughputRps: 50, maxProvisioningRatio: 0.5 });
  Object.assign(plan.stages[1]!, { throughputRps: 100, maxProvisioningRatio: 0.125, scaleFactor: 0.5 });
  return plan;
}

function run(
  plan: PipelinePlan,
  arrivals: number[],
  { tuner = 'inferline', policy = {} }: { tuner?: string; policy?: Partial<StageLocalPolicy> } = {},
) {
  const told = new ToldFaults();
  const found = chosenScheduler({ scheduler: 'fifo' }, told);
  if (found === undefined) throw told.error('test');
  const tuned = chosenTuner(plan, { ...found, policy: { ...found.policy, ...policy } }, { tuner });
  expect(tuned.faults).toEqual([]);
  const topology = planTopologyOf(tuned.plan);
  const changes: string[] = [];
  const random = streamOf(1, 'verdicts');
  const log: LogEntry[] = [];
  const fresh = (decisions: Decisions) =>
    makeCore(tuned.scheduler, topology, { decisions, streams: streamsOf(1, 'core') });
  const summary = simulate({
    topology,
    arrivals: arrivalsAt(arrivals),
    makeCore: fresh,
    log: (entry) => log.push(entry),
    verdict: () => random.integer(2),
    activationDelayNs: 5e8,
    observers: [
      {
        scaled: (atNs, device, state) => {
          const pool = topology.pools[topology.devices[device]!.pool]!;
          const what = Object.entries(DeviceState).find(([, value]) => value === state)?.[0];
          changes.push(`${atNs / S} ${stageName(pool.stage)} ${what}`);
        },
      },
    ],
  });
  return { changes, summary, log, fresh };
}

describe('Tuning', () => {
  it('counts a device as ready once, and not as lost that never was', () => {
    const ready = vi.spyOn(LoadMeter.prototype, 'ready');
    const sets = [setOf()];
    const plan = { settings: { kind: 'oracle' as const }, sets, gpus: {}, activationDelayNs: 0 };
    const tuning = new Tuning(plan, { pools: [{}], devices: [{ pool: 0 }] }, { scale: () => undefined });
    tuning.ready(1, 0, false);
    tuning.ready(2, 0, true);
    tuning.ready(3, 0, true);
    tuning.ready(4, 0, false);
    expect(ready.mock.calls).toEqual([
      [2, 0, 1],
      [4, 0, -1],
    ]);
  });
});

describe('a core with a tuner', () => {
  it('activates standby devices at the arrival that is too much, and retires them when the load is low', () => {
    const burst = [1, 1.01, 1.02, 1.03].map((s) => s * S);
    const { changes } = run(planWith(), [...burst, ...evenly(4, 2, 30)]);
    // 4 in 100 ms are 40/s: 40·0.02/0.5 = 1.6 and 40·0.5·0.01/0.125 = 1.6 devices.
    expect(changes).toEqual([
      '1.03 a comesUp',
      '1.03 b comesUp',
      '1.53 a up',
      '1.53 b up',
      '16.03 a standby',
      '16.03 b standby',
    ]);
  });

  it('has no more GPUs of a class in use than there are', () => {
    const plan = planWith({ classes: { cpu: { used: 2, count: 3 } } });
    const { changes } = run(
      plan,
      [1, 1.01, 1.02, 1.03, 1.6].map((s) => s * S),
    );
    expect(changes).toEqual(['1.03 a comesUp', '1.53 a up']);
  });

  inWholeRun('counts a device that is retired while it runs a batch until the batch ends', () => {
    const seen = { full: 0, runs: 0 };
    for (const seed of seeds(2, 20))
      for (const tuner of LONG ? ['inferline', 'ds2', 'hpa', 'kpa', 'by-rate'] : ['kpa', 'by-rate']) {
        const stream = streamOf(seed, 'load');
        const phases = Array.from({ length: 8 }, (_, k) => ({ from: 20 * k, rps: 5 + stream.integer(180) }));
        const arrivals = phases.flatMap(({ from, rps }) => evenly(rps, from, from + 20));
        const plan = planWith({ classes: { cpu: { used: 2, count: 6 } } });
        const { changes } = run(plan, arrivals, { tuner });
        let [inUse, most] = [2, 2];
        for (const line of changes) {
          if (line.endsWith('comesUp')) inUse++;
          if (line.endsWith('standby')) inUse--;
          most = Math.max(most, inUse);
        }
        expect(most, `${tuner}, seed ${seed}`).toBeLessThanOrEqual(6);
        seen.runs++;
        if (most === 6) seen.full++;
      }
    expect(seen.full, JSON.stringify(seen)).toBeGreaterThan(seen.runs / 4);
  });

  it('ends a simulation when all requests have ended, though the tuner asks to be woken for ever', () => {
    for (const tuner of ['inferline', 'coarse', 'ds2', 'hpa', 'kpa', 'by-rate']) {
      const { summary } = run(planWith(), evenly(4, 0, 20), { tuner });
      expect(summary.requests).toBe(80);
      expect(summary.endNs).toBeLessThan(20 * S);
    }
  });

  inWholeRun('decides the same again when a fresh core hears the log of another', () => {
    for (const tuner of fewOf(['inferline', 'coarse', 'ds2', 'hpa', 'kpa', 'by-rate'], 2)) {
      const arrivals = [...evenly(5, 0, 20), ...evenly(70, 20, 50), ...evenly(5, 50, 700)];
      const { log, fresh, changes } = run(planWith(), arrivals, { tuner });
      expect(changes.some((line) => line.endsWith('comesUp'))).toBe(true);
      expect(changes.some((line) => line.endsWith('standby'))).toBe(true);
      expect(replay(log, fresh)).toEqual({ same: true, entries: log.length });
    }
  });

  inWholeRun('leaves no task in the meter, whatever becomes of requests', () => {
    const policies: Partial<StageLocalPolicy>[] = [
      {},
      { placement: 'earliest-free' },
      { drop: { kind: 'hopeless' } },
      {
        drop: { kind: 'full-batch', share: 1 },
        late: { kind: 'background', patience: 4, mostMissed: 0.9, window: 100 },
        placement: 'earliest-free',
      },
    ];
    const came = vi.spyOn(LoadMeter.prototype, 'came');
    const left = vi.spyOn(LoadMeter.prototype, 'left');
    const leftSince = vi.spyOn(LoadMeter.prototype, 'leftSince');
    const executed = vi.spyOn(LoadMeter.prototype, 'executed');
    for (const policy of policies) {
      for (const spy of [came, left, leftSince]) spy.mockClear();
      executed.mockClear();
      const { summary } = run(planWith({ sloMs: 100 }), [...evenly(200, 0, 3), ...evenly(20, 3, 40)], {
        tuner: 'hpa',
        policy,
      });
      const inside = [0, 0];
      const told = [
        ...came.mock.calls.map(([, set, tasks], i) => ({
          set,
          tasks,
          nth: came.mock.invocationCallOrder[i],
        })),
        ...left.mock.calls.map(([, set, tasks], i) => ({
          set,
          tasks: -tasks,
          nth: left.mock.invocationCallOrder[i],
        })),
        ...leftSince.mock.calls.map(([set, tasks], i) => ({
          set,
          tasks: -tasks,
          nth: leftSince.mock.invocationCallOrder[i],
        })),
      ];
      for (const { set, tasks } of told.toSorted((a, b) => (a.nth as number) - (b.nth as number))) {
        inside[set] = (inside[set] as number) + tasks;
        expect(inside[set]).toBeGreaterThanOrEqual(0);
      }
      expect(inside).toEqual([0, 0]);
      // A request that is dropped may have been executed by the first stage.
      const first = executed.mock.calls.filter(([set]) => set === 0);
      const tasks = first.reduce((sum, [, size]) => sum + size, 0);
      expect(tasks).toBeGreaterThanOrEqual(summary.requests - summary.dropped);
      expect(tasks).toBeLessThanOrEqual(summary.requests);
    }
  });

  it('measures how many tasks are in a stage, and how many of its devices take work', () => {
    const read = vi.spyOn(LoadMeter.prototype, 'read');
    // Two at once take 20 ms and 40 ms each second: 0.06 tasks in the mean.
    const { changes } = run(
      planWith(),
      [0, 0, 1, 1, 2, 2, 3, 3, 3.5].map((s) => s * S),
      { tuner: 'kpa' },
    );
    const [first] = read.mock.results;
    expect((first!.value as { insideNs: Float64Array }).insideNs[0]).toBeCloseTo(2 * 0.06 * S, -1);
    expect((first!.value as { readyNs: Float64Array }).readyNs[0]).toBe(2 * S);
    expect(changes).toEqual([]);
  });
});
