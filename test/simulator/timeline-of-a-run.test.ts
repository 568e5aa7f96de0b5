import { describe, expect, it } from 'vitest';
import { topologyOf } from '../../src/plans/index.js';
import { Answer, Decision, type Decisions, type ServingCore } from '../../src/serving/index.js';
import {
  OutcomeCode,
  type SimulationObserver,
  type SimulationView,
  simulate,
} from '../../src/simulator/index.js';
import { type Arrivals, arrivalsAt } from '../../src/workload/index.js';
import { affine, planOf } from '../serving/plans.js';

const MS = 1e6;
const { execute, transfer, answer, drop, wakeAt } = Decision;

/**
 * One model has two stages: devices 0 and 1, then device 2, each on a server of its own. A batch of b takes 2 + 2b ms
 * in the first stage and 1 + b ms in the second.
 */
function twoStages() {
  const topology = topologyOf(
    planOf([
      {
        sloMs: 10,
        pipelines: [
          {
            throughputRps: 1,
            parts: [
              { batch: 2, virtualGpus: 2, latencyUs: affine(2000, 2000) },
              { batch: 2, latencyUs: affine(1000, 1000) },
            ],
          },
        ],
      },
    ]),
  );
  topology.pools[0]?.transferNs.set([3 * MS, 5 * MS]);
  return topology;
}

type Said = [kind: number, ...rest: number[]];

/**
 * A core that makes the decisions of a script, by instant in milliseconds, and records the events that it is told.
 * Tasks have the number of their request plus 100.
 */
function played(script: Record<number, Said[]>, batches: { pool: number; tasks: number[] }[]) {
  const heard: string[] = [];
  let pending = 0;
  let next = 0;
  const hear =
    (word: string) =>
    (at: number, ...rest: number[]) => {
      const times =
        word === 'executed' || word === 'transferred' ? rest.map((x, i) => (i > 0 ? x / MS : x)) : rest;
      heard.push([word, at / MS, ...times].join(' '));
    };
  const make = (decisions: Decisions) =>
    ({
      arrived(at: number, model: number, deadlineNs: number, rows: number) {
        hear('arrived')(at, model, deadlineNs / MS, rows);
        pending += 1;
        return next++;
      },
      taskOf: (request: number) => request + 100,
      batchSize: (batch: number) => batches[batch]?.tasks.length,
      batchTask: (batch: number, i: number) => batches[batch]?.tasks[i],
      batchEdge: () => 0,
      requestOf: (task: number) => task - 100,
      batchPool: (batch: number) => batches[batch]?.pool,
      get pending() {
        return pending;
      },
      deviceUp: hear('deviceUp'),
      started: hear('started'),
      executed: hear('executed'),
      transferred(at: number, batch: number, ...times: number[]) {
        hear('transferred')(at, batch, ...times);
        (batches[batch] as { pool: number }).pool += 1;
      },
      due: hear('due'),
      decide(at: number) {
        for (const [kind, a, ...rest] of script[at / MS] ?? []) {
          decisions.push(kind as Decision, a as number, ...rest);
          if (kind === answer || kind === drop) pending -= 1;
        }
        delete script[at / MS];
      },
    }) as unknown as ServingCore;
  return { heard, make };
}

/** Arrivals of the one model at these times. */
const at = (...ms: number[]): Arrivals => arrivalsAt(ms.map((time) => time * MS));

describe('simulate() under scripted decisions', () => {
  const script = () => ({
    0: [[execute, 0, 0]] as Said[],
    2: [[wakeAt, 3 * MS]] as Said[],
    3: [[execute, 1, 1]] as Said[],
    6: [[transfer, 0, 0, 2]] as Said[],
    7: [[transfer, 1, 1, 2]] as Said[],
    11: [[execute, 0, 2]] as Said[],
    14: [
      [answer, 0, Answer.late],
      [answer, 1, Answer.failed],
      [wakeAt, 15 * MS],
      [wakeAt, 14.5 * MS],
    ] as Said[],
    14.5: [
      [execute, 1, 2],
      [wakeAt, 16 * MS],
    ] as Said[],
    16.5: [[answer, 2, Answer.inTime]] as Said[],
    20: [[drop, 3, 4, -1]] as Said[],
  });
  const batches = () => [
    { pool: 0, tasks: [100, 101] },
    { pool: 0, tasks: [102] },
  ];

  it('reports to the core every event at its time', () => {
    const core = played(script(), batches());
    const summary = simulate({ topology: twoStages(), makeCore: core.make, arrivals: at(0, 0, 2, 20) });
    expect(core.heard).toEqual([
      ...['deviceUp 0 0', 'deviceUp 0 1', 'deviceUp 0 2'],
      ...['arrived 0 0 10 1', 'arrived 0 0 10 1', 'started 0 0'],
      ...['arrived 2 0 12 1', 'due 3', 'started 3 1'],
      ...['executed 6 0 0 6', 'executed 7 1 3 7'],
      ...['transferred 11 0 6 11', 'started 11 0'],
      // The link that both transfers take is free again at 11 ms, and the second transfer takes 3 ms from then.
      ...['transferred 14 1 11 14', 'executed 14 0 11 14'],
      ...['due 14.5', 'started 14.5 1', 'due 16', 'executed 16.5 1 14.5 16.5'],
      'arrived 20 0 30 1',
    ]);
    expect(summary).toEqual({
      requests: 4,
      inTime: 1,
      late: 1,
      dropped: 1,
      failed: 1,
      endNs: 20 * MS,
      usedNs: new Float64Array(3).fill(20 * MS),
    });
  });

  it("reports to observers every event with its numbers, to each the events that it asks for, in the observers' order", () => {
    const core = played(script(), batches());
    const told: (string | number)[][] = [];
    const note =
      (word: string) =>
      (...numbers: number[]) => {
        told.push([word, ...numbers.map((x) => (Math.abs(x) > 1000 ? x / MS : x))]);
      };
    const words = ['arrived', 'ended', 'started', 'executed', 'transferred'] as const;
    const observers: SimulationObserver[] = [
      Object.fromEntries(words.map((word) => [word, note(word)])),
      ...words.map((word) => ({ [word]: note(`${word} too`) })),
      {},
    ];
    simulate({ topology: twoStages(), makeCore: core.make, arrivals: at(0, 0, 2, 20), observers });
    const first = told.filter(([word]) => !String(word).endsWith('too'));
    expect(told).toEqual(
      first.flatMap(([word, ...rest]) => [
        [word, ...rest],
        [`${word} too`, ...rest],
      ]),
    );
    const { inTime, late, dropped, failed } = OutcomeCode;
    expect(first).toEqual([
      // Fields: time, model, request.
      ['arrived', 0, 0, 0],
      ['arrived', 0, 0, 1],
      // Fields: batch, pool, device, size, then the times of handing over, start and end.
      ['started', 0, 0, 0, 2, 0, 0],
      ['arrived', 2, 0, 2],
      ['started', 1, 0, 1, 1, 3, 3],
      ['executed', 0, 0, 0, 2, 0, 0, 6],
      ['executed', 1, 0, 1, 1, 3, 3, 7],
      // Fields: batch, pool, from, to, size, then the times of handing over, start and end.
      ['transferred', 0, 0, 0, 2, 2, 6, 6, 11],
      ['started', 0, 1, 2, 2, 11, 11],
      ['transferred', 1, 0, 1, 2, 1, 7, 11, 14],
      ['executed', 0, 1, 2, 2, 11, 11, 14],
      // Fields: time, model, request, arrival, outcome, reason, pool.
      ['ended', 14, 0, 0, 0, late, -1, -1],
      ['ended', 14, 0, 1, 0, failed, -1, -1],
      ['started', 1, 1, 2, 1, 14.5, 14.5],
      ['executed', 1, 1, 2, 1, 14.5, 14.5, 16.5],
      ['ended', 16.5, 0, 2, 2, inTime, -1, -1],
      ['arrived', 20, 0, 3],
      ['ended', 20, 0, 3, 20, dropped, 4, -1],
    ]);
  });

  it('lets observers look up the requests of tasks and their arrival times', () => {
    const core = played(script(), batches());
    const looked: number[][] = [];
    let view: SimulationView | undefined;
    const topology = twoStages();
    simulate({
      topology,
      makeCore: core.make,
      arrivals: at(0, 0, 2, 20),
      observers: [
        {
          begun: (given) => {
            view = given;
          },
          executed: (batch, _pool, _device, size) => {
            const { core: read, requestOf, arrivedAt } = view as SimulationView;
            const requests = Array.from({ length: size }, (_, i) => requestOf(read.batchTask(batch, i)));
            looked.push(...requests.map((request) => [batch, request, arrivedAt(request) / MS]));
          },
        },
      ],
    });
    expect(view?.topology).toBe(topology);
    expect(looked).toEqual([
      [0, 0, 0],
      [0, 1, 0],
      [1, 2, 2],
      [0, 0, 0],
      [0, 1, 0],
      [1, 2, 2],
    ]);
  });

  it('asks for the time of an execution when it starts, and rounds it', () => {
    const core = played(script(), batches());
    const asked: number[][] = [];
    simulate({
      topology: twoStages(),
      makeCore: core.make,
      arrivals: at(0, 0, 2, 20),
      execution: (pool, size, plannedNs) => {
        asked.push([pool, size, plannedNs / MS]);
        return plannedNs + 0.4;
      },
    });
    expect(asked).toEqual([
      [0, 2, 6],
      [0, 1, 4],
      [1, 2, 3],
      [1, 1, 2],
    ]);
    expect(core.heard).toContain('executed 16.5 1 14.5 16.5');
  });

  it('begins any number of batches at an instant', () => {
    const count = 40;
    const topology = topologyOf(
      planOf([
        {
          sloMs: 10,
          pipelines: [{ throughputRps: 1, parts: [{ batch: 1, virtualGpus: count, latencyUs: () => 1000 }] }],
        },
      ]),
    );
    const each = Array.from({ length: count }, (_, i) => i);
    const core = played(
      { 0: each.map((i): Said => [execute, i, i]), 1: each.map((i): Said => [answer, i, Answer.inTime]) },
      each.map((i) => ({ pool: 0, tasks: [100 + i] })),
    );
    const summary = simulate({ topology, makeCore: core.make, arrivals: at(...each.map(() => 0)) });
    expect(core.heard.filter((line) => line.startsWith('started'))).toEqual(
      each.map((i) => `started 0 ${i}`),
    );
    expect(summary).toMatchObject({ requests: count, inTime: count, endNs: MS });
  });
});

describe('simulate() of cores that break their contract', () => {
  const run = (said: Record<number, Said[]>, arrivals: Arrivals = at(0, 0)) => {
    const core = played(said, [{ pool: 0, tasks: [100] }]);
    return () => simulate({ topology: twoStages(), makeCore: core.make, arrivals });
  };
  const ends: Said[] = [
    [answer, 0, Answer.inTime],
    [answer, 1, Answer.inTime],
  ];

  it('accepts a wakeAt ahead, and refuses one that is now or in the past', () => {
    expect(run({ 0: [[wakeAt, 1]], 1e-6: ends })).not.toThrow();
    expect(run({ 0: [[wakeAt, 0]] })).toThrow(
      'Broken promise of the serving core: a wake-up is asked for at 0 ns, but it is 0 ns already',
    );
    expect(run({ 0: [[wakeAt, 5]], 5e-6: [[wakeAt, 4]] })).toThrow(
      'a wake-up is asked for at 4 ns, but it is 5 ns already',
    );
  });

  it('reports how many requests have no outcome at the end', () => {
    expect(run({})).toThrow('2 requests have no outcome at the end');
    expect(run({ 0: ends.slice(1) })).toThrow('1 requests have no outcome at the end');
  });

  it('reports an error too where only the core still waits for something', () => {
    const core = played({ 0: ends }, []);
    const forgetful = (decisions: Decisions) =>
      Object.defineProperty(core.make(decisions), 'pending', { value: 1 });
    expect(() => simulate({ topology: twoStages(), makeCore: forgetful, arrivals: at(0, 0) })).toThrow(
      '0 requests have no outcome at the end',
    );
  });

  it('accepts arrivals of existing models only, in whole nanoseconds that never decrease', () => {
    const given = (atNs: number, model: number): Arrivals => {
      let left = 1;
      return { atNs, model, next: () => left-- > 0 };
    };
    for (const model of [-1, 1, Number.NaN])
      expect(run({}, given(0, model))).toThrow(`an arrival for model ${model}: the plan has no such model`);
    for (const time of [-1, 0.5, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY])
      expect(run({}, given(time, 0))).toThrow(`an arrival at ${time} ns: it is no whole number from 0`);
    expect(run({ 5: [[wakeAt, 7 * MS]] }, at(5, 4))).toThrow(
      `an arrival at ${4 * MS} ns: it is no whole number from ${5 * MS}`,
    );
    expect(run({ 0: ends.slice(0, 1) }, given(0, 0))).not.toThrow();
  });
});
