import { describe, expect, it } from 'vitest';
import { topologyOf } from '../../src/plans/index.js';
import { streamOf } from '../../src/random/index.js';
import {
  Decision,
  type Decisions,
  DROP_REASONS,
  type LogEntry,
  ReservationCore,
  replay,
  type ServingCore,
  StageLocalCore,
  type StageLocalPolicy,
  type Topology,
} from '../../src/serving/index.js';
import { OutcomeCode, type SimulatorOptions, simulate } from '../../src/simulator/index.js';
import {
  type Arrivals,
  arrivalsAt,
  DrawnArrivals,
  mergedArrivals,
  steadyLoad,
} from '../../src/workload/index.js';
import { inWholeRun } from '../cases.js';
import { affine, planOf } from '../serving/plans.js';
import { runVirtual } from '../serving/virtual-driver.js';
import { OutsideObserver } from './outside-observer.js';
import { type Handed, ScriptedCore } from './scripted-core.js';

const MS = 1e6;

/**
 * One model has two pipelines: one of two stages, for 606 requests per second, and one of one stage, for 414.
 */
const twoPipelines = (transferBytes: number, networkGbps = 10) =>
  planOf(
    [
      {
        sloMs: 100,
        pipelines: [
          {
            throughputRps: 606,
            parts: [
              { batch: 8, virtualGpus: 2, latencyUs: affine(4000, 2800), transferBytes },
              { batch: 8, virtualGpus: 2, latencyUs: affine(4000, 2800) },
            ],
          },
          { throughputRps: 414, parts: [{ batch: 8, virtualGpus: 3, latencyUs: affine(10_000, 6000) }] },
        ],
      },
    ],
    networkGbps,
  );

/**
 * onSharedServers puts every pool on both of two servers, so that uplinks and downlinks are shared and do not
 * coincide.
 */
const onSharedServers = (topology: Topology): Topology => {
  const linkOf = Int32Array.from(topology.devices, (_, device) => device % 2);
  return { ...topology, links: { uplinkOf: linkOf, downlinkOf: linkOf, uplinkCount: 2, downlinkCount: 2 } };
};

const poisson = (rps: number, durationS: number, seed = 1, model = 0): Arrivals =>
  new DrawnArrivals({
    process: 'poisson',
    load: steadyLoad(rps, durationS),
    stream: streamOf(seed, `arrivals/${model}`),
    model,
  });

const pulled = (arrivals: Arrivals) => {
  const all: { at: number; model: number }[] = [];
  while (arrivals.next()) all.push({ at: arrivals.atNs, model: arrivals.model });
  return all;
};

const stageLocal =
  (topology: Topology, policy: Partial<StageLocalPolicy> = {}) =>
  (decisions: Decisions) =>
    new StageLocalCore(topology, decisions, policy);

const watched = (options: SimulatorOptions) => {
  const watcher = new OutsideObserver(options.topology, options.execution === undefined);
  const summary = simulate({ ...options, observers: [...(options.observers ?? []), watcher] });
  watcher.close();
  const { inTime, late, dropped, failed } = summary;
  expect([inTime, late, dropped, failed]).toEqual(watcher.outcomes);
  expect(inTime + late + dropped + failed).toBe(summary.requests);
  expect(watcher.arrivals).toBe(summary.requests);
  return { summary, watcher };
};

describe('simulate()', () => {
  it('gives every request the outcome, time and place that an independent, slower driver gives it', () => {
    for (let seed = 1; seed <= 30; seed++) {
      const stream = streamOf(seed, 'storm');
      const pick = <T>(...choices: T[]): T => choices[stream.integer(choices.length)]!;
      const policy: Partial<StageLocalPolicy> = {
        order: { kind: pick('fifo', 'deadline') },
        formation: pick(
          { kind: 'eager' },
          { kind: 'last-moment', leaves: 'transfer', stepNs: 1 },
          { kind: 'last-moment', leaves: 'nothing', stepNs: 1000 },
        ),
        drop: pick(
          { kind: 'never' },
          { kind: 'expired' },
          { kind: 'hopeless' },
          { kind: 'gear' },
          { kind: 'full-batch', share: 1 },
        ),
        late: pick({ kind: 'drop' }, { kind: 'background', patience: 4, mostMissed: 0.25, window: 128 }),
        choice: { kind: pick('proportional', 'least-loaded') },
        correction: pick({ kind: 'none' }, { kind: 'average', weight: 0.1 }),
      };
      const topology = topologyOf(twoPipelines(pick(0, 1000)));
      const rps = 200 + 1500 * stream.uniform();
      // Times are whole milliseconds in every other run, so that many things happen at one instant.
      const times = pulled(poisson(rps, 1, seed)).map(({ at }) =>
        seed % 2 === 0 ? at : Math.round(at / MS) * MS,
      );
      const slower = seed % 3 === 0 ? 1.3 : 1;
      const executionNs = (pool: number, size: number) =>
        Math.round(slower * topology.pools[pool]!.latencyNs[size - 1]!);
      const oracle = runVirtual({ topology, arrivals: times.map((at) => ({ at })), policy, executionNs });

      const arrivalOf: number[] = [];
      const ended: unknown[] = [];
      let next = 0;
      watched({
        topology,
        makeCore: stageLocal(topology, policy),
        arrivals: arrivalsAt(times),
        execution: (pool, size) => executionNs(pool, size),
        observers: [
          {
            arrived: (_at, _model, request) => {
              arrivalOf[request] = next++;
            },
            ended: (at, _model, request, arrivedAt, outcome, reason, place) => {
              const arrival = arrivalOf[request]!;
              if (outcome === OutcomeCode.dropped)
                ended.push({
                  arrival,
                  arrivedAt,
                  outcome: 'dropped',
                  at,
                  reason: DROP_REASONS[reason],
                  place,
                });
              else ended.push({ arrival, arrivedAt, outcome: ['inTime', 'late', '', 'failed'][outcome], at });
            },
          },
        ],
      });
      expect(ended).toEqual(oracle.ended);
    }
  });

  inWholeRun('starts every step as early as order and resources allow, and no earlier', () => {
    for (let seed = 1; seed <= 40; seed++) {
      const stream = streamOf(seed, 'script');
      const topology = onSharedServers(topologyOf(twoPipelines(40_000, seed % 4 === 0 ? 1e9 : 0.25)));
      const aheadNs = 30 * MS;
      let core: ScriptedCore | undefined;
      const watcher = new OutsideObserver(
        { ...topology, models: [{ ...topology.models[0]!, sloNs: 1e15 }] },
        false,
      );
      const jitter = streamOf(seed, 'jitter');
      const summary = simulate({
        topology,
        makeCore: (decisions) => {
          core = new ScriptedCore(topology, decisions, stream, aheadNs);
          return core;
        },
        arrivals: arrivalsAt(pulled(poisson(800, 0.5, seed)).map(({ at }) => Math.round(at / MS) * MS)),
        // Some executions take no time at all.
        execution: (_pool, _size, plannedNs) => plannedNs * jitter.integer(3),
        observers: [watcher],
      });
      watcher.close();
      expect(summary.requests).toBeGreaterThan(200);
      const { handed } = core!;
      expect(handed.every(({ end }) => end !== undefined)).toBe(true);
      expect(handed.map(({ from }) => from)).toEqual(startsOf(topology, handed));
      // Each kind of link alone delays transfers in every run with contention: if links of that kind were always free,
      // the starts would differ.
      const alone = (free: 'uplink' | 'downlink') => startsOf(topology, handed, free);
      if (seed % 4 !== 0)
        for (const free of ['uplink', 'downlink'] as const)
          expect(alone(free)).not.toEqual(handed.map(({ from }) => from));
      const executions = handed.filter(({ kind }) => kind === 'execute');
      expect(executions.map(({ startedTold }) => startedTold)).toEqual(executions.map(({ from }) => from));
      for (const { kind, batch, from, end } of handed) {
        const size = core!.batchSize(batch);
        if (kind === 'transfer') expect(end! - from!).toBe(topology.pools[0]!.transferNs[size - 1]);
      }
      expect(executions.some(({ from, at }) => from! > at)).toBe(true);
    }
  });

  it('lets the core decide once for all arrivals of an instant, after it has heard of all of them', () => {
    const topology = topologyOf(
      planOf([
        { sloMs: 50, pipelines: [{ throughputRps: 1, parts: [{ batch: 8, latencyUs: () => 1000 }] }] },
      ]),
    );
    const sizes: number[] = [];
    const log: LogEntry[] = [];
    simulate({
      topology,
      makeCore: stageLocal(topology, { formation: { kind: 'eager' } }),
      // Three requests come at the start, and four at 1 ms, when the first batch ends.
      arrivals: arrivalsAt([0, 0, 0, MS, MS, MS, MS]),
      observers: [{ started: (_batch, _pool, _device, size) => sizes.push(size) }],
      log: (entry) => log.push(entry),
    });
    expect(sizes).toEqual([3, 4]);
    expect(log.filter(([word]) => word !== 'said').map(([word, at]) => `${word}@${at! / MS}`)).toEqual([
      'deviceUp@0',
      ...['arrived@0', 'arrived@0', 'arrived@0', 'decide@0', 'started@0'],
      ...['executed@1', 'arrived@1', 'arrived@1', 'arrived@1', 'arrived@1', 'decide@1', 'started@1'],
      ...['executed@2', 'decide@2'],
    ]);
  });

  inWholeRun(
    'reports the events of an instant in order: transfers, executions, starts, the timer, arrivals',
    () => {
      const order = ['transferred', 'executed', 'started', 'due', 'arrived', 'decide'];
      const together = new Set<string>();
      for (let seed = 1; seed <= 20; seed++) {
        const plan = twoPipelines(0);
        // All times are whole milliseconds.
        for (const { partitions } of plan.models[0]!.pipelines)
          for (const part of partitions)
            part.latencyUsByBatch = part.latencyUsByBatch.map((_, b) => 1000 * (1 + b));
        const topology = topologyOf(plan);
        topology.pools[0]!.transferNs.forEach((_, b, column) => {
          column[b] = MS * (1 + (b % 3));
        });
        const cores: ScriptedCore[] = [];
        const stream = streamOf(seed, 'order');
        const inMs = {
          ...stream,
          integer: (below: number) => (below > 1000 ? MS * stream.integer(6) : stream.integer(below)),
        };
        simulate({
          topology,
          makeCore: (decisions) => {
            cores.push(new ScriptedCore(topology, decisions, inMs, 6 * MS));
            return cores[0]!;
          },
          arrivals: arrivalsAt(pulled(poisson(900, 0.3, seed)).map(({ at }) => Math.round(at / MS) * MS)),
        });
        const { told } = cores[0]!;
        told.forEach(([word, at], i) => {
          const [before, when] = told[i - 1] ?? ['', -1];
          if (when !== at || before === 'deviceUp') return;
          together.add(`${before} ${word}`);
          // A device begins its next batch as soon as it has ended one. After a decision the order starts again.
          const goesOn = before === 'started' && word === 'executed';
          if (before !== 'decide' && !goesOn)
            expect(order.indexOf(before)).toBeLessThanOrEqual(order.indexOf(word));
        });
      }
      for (const pair of [
        'transferred executed',
        'executed started',
        'executed arrived',
        'due arrived',
        'transferred arrived',
      ])
        expect([...together]).toContain(pair);
    },
  );

  it('serves equal requests in the order they came', () => {
    const topology = topologyOf(
      planOf([
        { sloMs: 1e6, pipelines: [{ throughputRps: 1, parts: [{ batch: 3, latencyUs: () => 700 }] }] },
      ]),
    );
    const arrivals = pulled(poisson(4000, 1, 5)).map(({ at }) => Math.round(at / MS) * MS);
    const served: number[] = [];
    let view: { requestOf(task: number): number; core: ServingCore };
    const arrivalOf: number[] = [];
    let next = 0;
    simulate({
      topology,
      makeCore: stageLocal(topology, { order: { kind: 'fifo' }, drop: { kind: 'never' } }),
      arrivals: arrivalsAt(arrivals),
      observers: [
        {
          begun: (given) => {
            view = given;
          },
          arrived: (_at, _model, request) => {
            arrivalOf[request] = next++;
          },
          executed: (batch, _pool, _device, size) => {
            const requests = Array.from({ length: size }, (_, i) =>
              view.requestOf(view.core.batchTask(batch, i)),
            );
            served.push(...requests.map((request) => arrivalOf[request]!));
          },
        },
      ],
    });
    expect(served).toEqual(arrivals.map((_, i) => i));
  });

  it('breaks no rule seen from outside, whatever the core, the load and the execution times', () => {
    const topology = onSharedServers(topologyOf(twoPipelines(200_000)));
    for (const rps of [50, 800, 3000])
      for (const makeCore of [
        stageLocal(topology),
        (decisions: Decisions) => new ReservationCore(topology, decisions),
      ])
        for (const factor of [undefined, 0.8, 1.25]) {
          const jitter = streamOf(rps, 'jitter');
          const execution = (_pool: number, _size: number, ns: number) =>
            ns * (factor! + 0.1 * jitter.uniform());
          const { summary, watcher } = watched({
            topology,
            makeCore,
            arrivals: poisson(rps, 2, 9),
            ...(factor === undefined ? {} : { execution }),
          });
          expect(summary.requests).toBeGreaterThan(50);
          expect(watcher.transfers).toBeGreaterThan(0);
        }
  });

  it('gives the same log, byte for byte, for the same seed, and its replay gives the same decisions', () => {
    const topology = onSharedServers(topologyOf(twoPipelines(200_000)));
    const run = (seed: number) => {
      const log: LogEntry[] = [];
      const jitter = streamOf(seed, 'jitter');
      simulate({
        topology,
        makeCore: stageLocal(topology),
        arrivals: poisson(900, 1, seed),
        execution: (_pool, _size, ns) => ns * (0.9 + 0.2 * jitter.uniform()),
        log: (entry) => log.push(entry),
      });
      return log;
    };
    const log = run(1);
    expect(JSON.stringify(run(1))).toBe(JSON.stringify(log));
    expect(JSON.stringify(run(2))).not.toBe(JSON.stringify(log));
    expect(replay(log, stageLocal(topology))).toEqual({ same: true, entries: log.length });
  });

  it('leaves the arrivals of a model as they are when other streams draw more', () => {
    const plan = planOf(
      ['a', 'b'].map(() => ({
        sloMs: 100,
        pipelines: [{ throughputRps: 500, parts: [{ batch: 4, latencyUs: affine(2000, 1000) }] }],
      })),
    );
    const topology = topologyOf(plan);
    const arrivedOfFirst = (rpsOfSecond: number, draws: number) => {
      const times: number[] = [];
      const jitter = streamOf(1, 'jitter');
      simulate({
        topology,
        makeCore: stageLocal(topology),
        arrivals: mergedArrivals([poisson(300, 1, 1, 0), poisson(rpsOfSecond, 1, 1, 1)]),
        execution: (_pool, _size, ns) => {
          for (let i = 0; i < draws; i++) jitter.uniform();
          return ns;
        },
        observers: [{ arrived: (at, model) => model === 0 && times.push(at) }],
      });
      return times;
    };
    const before = arrivedOfFirst(200, 1);
    expect(before.length).toBeGreaterThan(200);
    expect(arrivedOfFirst(900, 2)).toEqual(before);
  });

  inWholeRun(
    'uses numbers again, so that memory follows the requests in flight and not all that came',
    () => {
      const topology = topologyOf(twoPipelines(1000));
      const greatest = (durationS: number) => {
        const { watcher } = watched({
          topology,
          makeCore: stageLocal(topology),
          arrivals: poisson(700, durationS, 3),
        });
        expect(watcher.greatestRequest).toBeLessThan(2 * watcher.mostOpen);
        return watcher.greatestRequest;
      };
      expect(greatest(60)).toBeLessThan(4 * greatest(6));
      expect(greatest(60)).toBeLessThan(300);
    },
  );

  it('serves every request it took in, and ends at the last event', () => {
    const topology = topologyOf(twoPipelines(0));
    const { summary } = watched({ topology, makeCore: stageLocal(topology), arrivals: arrivalsAt([5 * MS]) });
    expect(summary).toEqual({
      requests: 1,
      inTime: 1,
      late: 0,
      dropped: 0,
      failed: 0,
      endNs: expect.any(Number),
      usedNs: new Float64Array(topology.devices.length).fill(summary.endNs),
    });
    expect(summary.endNs).toBeGreaterThan(5 * MS);
    const nobody = simulate({ topology, makeCore: stageLocal(topology), arrivals: arrivalsAt([]) });
    const usedNs = new Float64Array(topology.devices.length);
    expect(nobody).toEqual({ requests: 0, inTime: 0, late: 0, dropped: 0, failed: 0, endNs: 0, usedNs });
  });

  it('refuses executions that end before they begin, or at no time', () => {
    const topology = topologyOf(twoPipelines(0));
    const lasting = (ns: number) =>
      simulate({
        topology,
        makeCore: stageLocal(topology),
        arrivals: arrivalsAt([0, 5 * MS]),
        execution: () => ns,
      });
    expect(lasting(0).requests).toBe(2);
    expect(() => lasting(-1)).toThrow('Cannot simulate an execution of -1 ns: pool 0 with a batch of 1');
    expect(() => lasting(Number.NEGATIVE_INFINITY)).toThrow('an execution of -Infinity ns');
    expect(() => lasting(Number.NaN)).toThrow('an execution of NaN ns');
  });

  it('refuses impossible arrivals, and cores that break their contract', () => {
    const topology = topologyOf(twoPipelines(0));
    const run = (
      arrivals: Arrivals,
      makeCore: (decisions: Decisions) => ServingCore = stageLocal(topology),
    ) => simulate({ topology, makeCore, arrivals });
    expect(() => run(arrivalsAt([5, 4]))).toThrow('an arrival at 4 ns');
    expect(() => run(arrivalsAt([0.5]))).toThrow('an arrival at 0.5 ns');
    expect(() => run(arrivalsAt([-1]))).toThrow('an arrival at -1 ns');
    expect(() => run(arrivalsAt([Number.NaN]))).toThrow('an arrival at NaN ns');
    expect(() => run(arrivalsAt([1], 1))).toThrow('for model 1: the plan has no such model');
    const saying = (say: (decisions: Decisions) => void, decides = 1) =>
      run(arrivalsAt([7]), (decisions) => {
        const core = new ScriptedCore(topology, decisions, streamOf(1, 'x'), 1);
        let left = decides;
        core.decide = (at) => at === 7 && left-- > 0 && say(decisions);
        return core;
      });
    expect(() => saying(() => {})).toThrow('1 requests have no outcome at the end');
    expect(() => saying((decisions) => decisions.push(Decision.wakeAt, 7))).toThrow(
      'a wake-up is asked for at 7 ns, but it is 7 ns already',
    );
    expect(() =>
      saying((decisions) => {
        decisions.push(Decision.answer, 0, 0);
        decisions.push(Decision.answer, 0, 0);
      }),
    ).toThrow('request number 0 ends without being open');
  });
});

/**
 * startsOf computes when each step starts by the definition: after all steps that were handed to the same device or
 * link before it.
 * @param free a kind of link that is taken to be always free
 */
function startsOf(topology: Topology, handed: readonly Handed[], free?: 'uplink' | 'downlink'): number[] {
  const freeAt = new Map<string, number>();
  return handed.map((step) => {
    const resources = resourcesOf(topology, step).filter(
      (name) => free === undefined || !name.startsWith(free),
    );
    const start = Math.max(step.at, ...resources.map((name) => freeAt.get(name) ?? 0));
    for (const name of resources) freeAt.set(name, start + step.end! - step.from!);
    return start;
  });
}

/** resourcesOf lists the device or the links that a step takes. A transfer of no length takes no link. */
function resourcesOf({ links }: Topology, { kind, device, to, from, end }: Handed): string[] {
  if (kind === 'execute') return [`device ${device}`];
  if (end === from) return [];
  const downlink = to < 0 ? [] : [`downlink ${links.downlinkOf[to]}`];
  return [`uplink ${links.uplinkOf[device]}`, ...downlink];
}
