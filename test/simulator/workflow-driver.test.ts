import { describe, expect, it } from 'vitest';
import { NONE } from '../../src/collections/index.js';
import { Answer, Decision, Decisions, type WorkflowCore } from '../../src/serving/index.js';
import { type RecordedRun, type Trouble, WorkflowDriver } from '../../src/simulator/index.js';
import { call } from '../serving/workflow/story.js';
import { workflowTopology } from '../serving/workflow/workflows.js';

/** A batch takes 10 ns, as does a load, and 10 bytes pass between two of the three servers in 10 ns. */
const { topology, table } = workflowTopology({
  applications: 1,
  sloNs: 1000,
  components: [{ bytes: 10, loadNs: 10, latencyNs: [[10]] }],
  devices: [0, 1, 2].map((server) => ({ class: 0, server, bytes: 100 })),
  hostBytes: 100,
  linkBytesPerNs: 1,
  networkBytesPerNs: 1,
});

type Said = readonly [kind: Decision, a: number, b?: number, c?: number, d?: number];

/** Script is what a core decides the first time that it is asked at an instant. */
type Script = Readonly<Record<number, readonly Said[]>>;

/** scriptedCore makes a core that decides what its script says, and tells `hear` of its events. */
function scriptedCore(decisions: Decisions, script: Script, hear: (word: string, at: number) => void) {
  const left = new Map(Object.entries(script).map(([at, said]) => [Number(at), said]));
  const counts = { requests: 0, ended: 0, tasks: 0 };
  const heard = (word: string) => (at: number) => hear(word, at);
  const silent = () => {};
  const core: Partial<WorkflowCore> = {
    arrived: (at) => {
      hear('arrived', at);
      return counts.requests++;
    },
    submitted: (at) => {
      hear('submitted', at);
      return counts.tasks++;
    },
    fetched: heard('fetched'),
    started: heard('started'),
    executed: heard('executed'),
    loaded: heard('loaded'),
    deviceDown: heard('deviceDown'),
    drain: heard('drain'),
    due: heard('due'),
    decide: (at) => {
      hear('decide', at);
      for (const [kind, ...rest] of left.get(at) ?? []) {
        decisions.push(kind, ...rest);
        if (kind === Decision.answer) counts.ended += 1;
      }
      left.delete(at);
    },
    deviceUp: silent,
    sized: silent,
    wanted: silent,
    finished: silent,
    unneeded: silent,
    get pending() {
      return counts.requests - counts.ended;
    },
    bodyOf: () => 1000,
    batchSize: () => 0,
    batchRows: () => 1,
    batchPool: () => 0,
    outputBytes: () => 10,
    takersOf: () => 0,
  };
  return core as WorkflowCore;
}

interface Told {
  readonly script: Script;
  /** Each arrival has a time and a model, which is 0 where it is left out. */
  readonly arrivals?: readonly (readonly [atNs: number, model?: number])[];
  /** The program of the first request; the others call nothing. */
  readonly first?: RecordedRun;
  readonly troubles?: readonly Trouble[];
}

/** heardOf runs a script, and gives what its core and an observer heard, as `word@time`, and how many decisions were in the buffer. */
function heardOf({ script, arrivals = [], first, troubles = [] }: Told) {
  const decisions = new Decisions();
  const heard: { text: string; buffered: number }[] = [];
  const hear = (word: string, at: number) => heard.push({ text: `${word}@${at}`, buffered: decisions.count });
  let came = 0;
  new WorkflowDriver({
    topology,
    table,
    decisions,
    core: scriptedCore(decisions, script, hear),
    arrivals: {
      next: () => came++ < arrivals.length,
      get atNs() {
        return arrivals[came - 1]![0];
      },
      get model() {
        return arrivals[came - 1]![1] ?? 0;
      },
    },
    troubles,
    runOf: (order) => (order === 0 && first !== undefined ? first : { requestBytes: 0, calls: [] }),
    observers: [
      {
        started: (batch, _pool, _device, _rows, at) => hear(`begins ${batch}`, at),
        loadBegun: (at) => hear('load begins', at),
        ended: (at) => hear('ends', at),
      },
    ],
  }).run();
  return heard;
}

const answered = (request: number): Said => [Decision.answer, request, Answer.inTime];

describe('WorkflowDriver', () => {
  it('reports the events of an instant in order: fetches, executions, loads, calls, troubles, the timer, arrivals', () => {
    // What is to be heard first was scheduled last.
    const heard = heardOf({
      troubles: [{ kind: 'drains', atNs: 10 }],
      first: { requestBytes: 0, calls: [{ ...call(0), thinkNs: 10 }], reads: [] },
      arrivals: [[0], [10], [10]],
      script: {
        0: [
          [Decision.wakeAt, 10],
          [Decision.load, 2, 0],
          [Decision.execute, 0, 0],
          [Decision.fetch, 0, 0, 1, 0],
        ],
        10: [answered(0), answered(1), answered(2)],
      },
    });
    const at10 = heard.map(({ text }) => text).filter((text) => text.endsWith('@10'));
    expect(at10.map((text) => text.split('@')[0])).toEqual([
      'fetched',
      'executed',
      'loaded',
      'submitted',
      'drain',
      'due',
      'arrived',
      'arrived',
      'decide',
      'ends',
      'ends',
      'ends',
    ]);
  });

  it('tells the core that batches have begun after all its decisions were carried out and cleared', () => {
    const heard = heardOf({
      arrivals: [[0]],
      script: {
        0: [[Decision.execute, 0, 0], [Decision.execute, 1, 1], [Decision.load, 2, 0], answered(0)],
      },
    });
    expect(heard.slice(0, 9)).toEqual([
      { text: 'arrived@0', buffered: 0 },
      { text: 'decide@0', buffered: 0 },
      { text: 'begins 0@0', buffered: 4 },
      { text: 'begins 1@0', buffered: 4 },
      { text: 'load begins@0', buffered: 4 },
      { text: 'ends@0', buffered: 4 },
      { text: 'started@0', buffered: 0 },
      { text: 'started@0', buffered: 0 },
      { text: 'executed@10', buffered: 0 },
    ]);
  });

  it.each([
    [5, 5],
    [5, 4],
    [0, 0],
  ])('refuses at %d ns to wake the core at %d ns', (now, at) => {
    const script = { 0: [], [now]: [[Decision.wakeAt, at]] } as Script;
    expect(() => heardOf({ arrivals: [[now]], script })).toThrow(
      `Broken promise of the serving core: a wake-up is asked for at ${at} ns, but it is ${now} ns already`,
    );
  });

  it('wakes the core a nanosecond later, and at the last of the times that it asked for alone', () => {
    const script: Script = {
      0: [
        [Decision.wakeAt, 1],
        [Decision.wakeAt, 3],
      ],
      3: [[Decision.wakeAt, 4]],
    };
    const dues = heardOf({ script }).map(({ text }) => text);
    expect(dues.filter((text) => text.startsWith('due'))).toEqual(['due@3', 'due@4']);
  });

  it.each<[string, NonNullable<Told['arrivals']>, string]>([
    ['before the start', [[-1]], 'an arrival at -1 ns: it is no whole number from 0'],
    ['before the last one', [[5], [4]], 'an arrival at 4 ns: it is no whole number from 5'],
    ['between two nanoseconds', [[5], [5.5]], 'an arrival at 5.5 ns: it is no whole number from 5'],
    ['at no time', [[Number.NaN]], 'an arrival at NaN ns'],
    ['for a model past the last one', [[5, 1]], 'an arrival for model 1: the plan has no such model'],
    ['for a model that is none', [[5], [5, NONE]], 'an arrival for model -1: the plan has no such model'],
  ])('refuses an arrival %s', (_, arrivals, said) => {
    expect(() => heardOf({ arrivals, script: {} })).toThrow(RangeError);
    expect(() => heardOf({ arrivals, script: {} })).toThrow(`Cannot simulate ${said}`);
  });
});
