import { describe, expect, it } from 'vitest';
import type { Run, WorkflowChain } from '../../src/formats/index.js';
import { taskOrderFaults } from '../../src/formats/run.js';
import { streamOf, uniformAt } from '../../src/random/index.js';
import { edgesOf, expectedCalls, RunsOfChain, runsOfRequests } from '../../src/workload/index.js';
import { inWholeRun } from '../cases.js';
import { randomChain } from './chains.js';

/** DEBATE asks twice side by side, and judges until it is content; then it speaks without looking. */
const DEBATE: WorkflowChain = {
  requestBytes: 100,
  start: 'agents',
  steps: [
    {
      name: 'agents',
      calls: [
        { component: 'language', inputs: ['request', 'judge'], outputBytes: 10, rows: 2 },
        { component: 'language', inputs: ['request', 'agents'], outputBytes: 20 },
      ],
      next: 'judge',
    },
    {
      name: 'judge',
      calls: [{ component: 'judge', inputs: ['agents'], outputBytes: 5, thinkMs: 3 }],
      next: [
        { to: 'agents', chance: 0.5 },
        { to: 'voice', chance: 0.5 },
      ],
    },
    {
      name: 'voice',
      calls: [{ component: 'voice', inputs: ['agents', 'draft'], outputBytes: 900 }],
      next: 'end',
    },
    { name: 'draft', calls: [{ component: 'language', inputs: ['request'], outputBytes: 1 }] },
  ],
};

const runOf = (chain: WorkflowChain, uniform: () => number): Run => {
  const drawn = new RunsOfChain(chain, 'debate').draw({ uniform });
  if ('run' in drawn) return drawn.run;
  throw new Error('no request was drawn');
};

describe('RunsOfChain', () => {
  it('lets a program read what it must choose by, and pass on the rest unread', () => {
    const draws = [0.49, 0.51];
    const run = runOf(DEBATE, () => draws.shift() as number);
    const language = { component: 'language', rows: 1 };
    expect(run).toEqual({
      kind: 'run',
      version: '1.0',
      application: 'debate',
      requestBytes: 100,
      tasks: [
        { ...language, inputs: ['request'], after: [], outputBytes: 10, rows: 2 },
        { ...language, inputs: ['request'], after: [], outputBytes: 20 },
        { component: 'judge', inputs: [0, 1], after: [], thinkMs: 3, outputBytes: 5, rows: 1 },
        { ...language, inputs: ['request', 2], after: [2], outputBytes: 10, rows: 2 },
        { ...language, inputs: ['request', 0, 1], after: [2], outputBytes: 20 },
        { component: 'judge', inputs: [3, 4], after: [2], thinkMs: 3, outputBytes: 5, rows: 1 },
        { component: 'voice', inputs: [3, 4], after: [2, 5], outputBytes: 900, rows: 1 },
      ],
    });
    expect(draws).toEqual([]);
  });

  inWholeRun('draws runs in which tasks need only earlier ones, and which walk the chain', () => {
    for (let seed = 1; seed <= 100; seed++) {
      const chain = randomChain(streamOf(seed, 'chain'));
      const stream = streamOf(seed, 'draws');
      const runs = new RunsOfChain(chain, 'debate');
      for (let i = 0; i < 20; i++) {
        const drawn = runs.draw(stream);
        if (!('run' in drawn)) throw new Error('no request was drawn');
        expect([...taskOrderFaults(drawn.run)]).toEqual([]);
        expectWalk(chain, drawn.run);
      }
    }
  });

  inWholeRun('makes as many calls in the mean as are expected', () => {
    for (let seed = 1; seed <= 10; seed++) {
      const chain = randomChain(streamOf(seed, 'chain'));
      const stream = streamOf(seed, 'draws');
      const lengths = Array.from({ length: 4000 }, () => runOf(chain, () => stream.uniform()).tasks.length);
      const mean = lengths.reduce((a, b) => a + b, 0) / lengths.length;
      const variance = lengths.reduce((sum, l) => sum + (l - mean) ** 2, 0) / lengths.length;
      expect(Math.abs(mean - expectedCalls(chain))).toBeLessThanOrEqual(
        5 * Math.sqrt(variance / lengths.length) + 1e-9,
      );
    }
  });

  it('draws a request anew that has more than 4096 calls, and gives up where all have', () => {
    const loop: WorkflowChain = {
      requestBytes: 0,
      start: 'one',
      steps: [
        {
          name: 'one',
          calls: [{ component: 'language', inputs: [], outputBytes: 0 }],
          next: [
            { to: 'one', chance: 0.5 },
            { to: 'end', chance: 0.5 },
          ],
        },
      ],
    };
    const runs = new RunsOfChain(loop, 'loop');
    let draws = 0;
    const drawn = runs.draw({ uniform: () => (++draws <= 4096 ? 0 : 0.9) });
    if (!('run' in drawn)) throw new Error('no request was drawn');
    // The first request passed 4096 calls with its 4096th draw, and the second ended with its first.
    expect(drawn.run.tasks).toHaveLength(1);
    draws = 0;
    const longest = runs.draw({ uniform: () => (++draws <= 4095 ? 0 : 0.9) });
    expect('run' in longest && longest.run.tasks).toHaveLength(4096);
    expect(runs.draw({ uniform: () => 0 })).toEqual({ tooLongDraws: 32 });
  });
});

describe('runsOfRequests()', () => {
  const recorded = Array.from(
    { length: 7 },
    (_, i): Run => ({
      kind: 'run',
      version: '1.0',
      application: 'chat',
      requestBytes: i,
      tasks: [{ component: 'language', inputs: ['request'], after: [], outputBytes: 1, rows: 1 }],
    }),
  );
  const sources = [
    { name: 'chat', runs: recorded },
    { name: 'debate', chain: DEBATE },
  ];

  it('replays each recorded run of a workflow equally often, and none of another', () => {
    const runOfRequest = runsOfRequests(sources, uniformAt(3, 'requests'));
    const counts = recorded.map(() => 0);
    for (let order = 0; order < 7000; order++) {
      const drawn = runOfRequest(order, 0);
      if (!('run' in drawn)) throw new Error('no run was chosen');
      counts[recorded.indexOf(drawn.run)]! += 1;
    }
    for (const count of counts) expect(Math.abs(count - 1000)).toBeLessThan(150);
  });

  it('gives a request the same run whatever was asked before', () => {
    const inOrder = runsOfRequests(sources, uniformAt(3, 'requests'));
    const backwards = runsOfRequests(sources, uniformAt(3, 'requests'));
    const asked = Array.from({ length: 200 }, (_, order) => [order, order % 2] as const);
    const told = asked.map(([order, workflow]) => inOrder(order, workflow));
    const again = asked.toReversed().map(([order, workflow]) => backwards(order, workflow));
    expect(again.toReversed()).toEqual(told);
    const other = runsOfRequests(sources, uniformAt(4, 'requests'));
    expect(asked.map(([order, workflow]) => other(order, workflow))).not.toEqual(told);
  });
});

/**
 * expectWalk finds the steps of a run again, by trying at each task every step that may come next, and checks what each
 * task reads and takes.
 */
function expectWalk(chain: WorkflowChain, { tasks }: Run): void {
  const stepOf = (name: string) => chain.steps.find((one) => one.name === name);
  type Visit = { readonly name: string; readonly from: number };
  const isRight = (
    visits: readonly Visit[],
    at: number,
    leads: WorkflowChain['start'] | undefined,
  ): boolean => {
    if (at === tasks.length) return edgesOf(leads).some(({ to }) => to === 'end');
    return edgesOf(leads).some(({ to }) => {
      const step = stepOf(to);
      if (step === undefined || at + step.calls.length > tasks.length) return false;
      const last = (name: string) => {
        const visit = visits.findLast((one) => one.name === name);
        return visit === undefined ? [] : indices(visit, stepOf(name)?.calls.length ?? 0);
      };
      const read = visits.flatMap((visit) => {
        const { next, calls } = stepOf(visit.name) as NonNullable<ReturnType<typeof stepOf>>;
        return edgesOf(next).length > 1 ? indices(visit, calls.length) : [];
      });
      const fits = step.calls.every(({ component, rows = 1, thinkMs, outputBytes, inputs }, c) => {
        const task = tasks[at + c];
        const taken = inputs.flatMap((input): (number | string)[] =>
          input === 'request' ? ['request'] : last(input),
        );
        return (
          JSON.stringify([component, rows, thinkMs || undefined, outputBytes, taken, read]) ===
          JSON.stringify([
            task?.component,
            task?.rows,
            task?.thinkMs,
            task?.outputBytes,
            task?.inputs,
            task?.after,
          ])
        );
      });
      return fits && isRight([...visits, { name: to, from: at }], at + step.calls.length, step.next);
    });
  };
  expect(isRight([], 0, chain.start)).toBe(true);
}

function indices({ from }: { readonly from: number }, count: number): number[] {
  return Array.from({ length: count }, (_, i) => from + i);
}
