import { describe, expect, it } from 'vitest';
import type { ChainStep, WorkflowChain } from '../../src/formats/index.js';
import { streamOf } from '../../src/random/index.js';
import { chainFaults, chainNotes, edgesOf, expectedCalls, expectedRows } from '../../src/workload/index.js';
import { inWholeRun } from '../cases.js';
import { randomChain } from './chains.js';

const COMPONENTS = ['vision', 'language', 'image', 'judge'];

const step = (name: string, next?: ChainStep['next'], more: Partial<ChainStep> = {}): ChainStep => ({
  name,
  calls: [{ component: 'language', inputs: ['request'], outputBytes: 10 }],
  ...(next === undefined ? {} : { next }),
  ...more,
});

const chainOf = (steps: ChainStep[], start: WorkflowChain['start'] = 'one'): WorkflowChain => ({
  requestBytes: 100,
  start,
  steps,
});

const faultsOf = (chain: WorkflowChain) =>
  chainFaults(chain, { components: COMPONENTS, at: '/workflows/0/chain' }).map(
    ({ path, message }) => `${path} ${message}`,
  );

describe('chainFaults()', () => {
  it('finds nothing in random chains that are right', () => {
    for (let seed = 1; seed <= 200; seed++)
      expect({ seed, faults: faultsOf(randomChain(streamOf(seed, 'chain'))) }).toEqual({ seed, faults: [] });
  });

  it('reports all that is wrong with names, components, inputs and chances at once', () => {
    const chain = chainOf(
      [
        step('one', [
          { to: 'two', chance: 0.5 },
          { to: 'three', chance: 0.2 },
          { to: 'two', chance: 0.2 },
        ]),
        step('two', 'nowhere'),
        step('two'),
        step('end', undefined, { calls: [{ component: 'ear', inputs: ['two', 'mouth'], outputBytes: 1 }] }),
        step('request'),
      ],
      [{ to: 'end', chance: 1 }],
    );
    expect(faultsOf(chain)).toEqual([
      '/workflows/0/chain/steps/2/name is two, as another step is; give each its own',
      '/workflows/0/chain/steps/3/name is end, which stands for the end of a request; give another',
      '/workflows/0/chain/steps/4/name is request, which stands for the request itself; give another',
      '/workflows/0/chain/start/0/to is end, and a request calls something first; give a step',
      '/workflows/0/chain/steps/0/next/1/to is three, which is no step; there are one, two, two, end, request, end',
      '/workflows/0/chain/steps/0/next/2/to is two, as before; add their chances',
      '/workflows/0/chain/steps/0/next has chances that sum to 0.9; give chances that sum to 1',
      '/workflows/0/chain/steps/1/next is nowhere, which is no step; there are one, two, two, end, request, end',
      '/workflows/0/chain/steps/3/calls/0/component is ear, which is no component; there are vision, language, image, judge',
      '/workflows/0/chain/steps/3/calls/0/inputs/1 is mouth, which is no step; there are one, two, two, end, request, request',
    ]);
  });

  it('takes chances whose decimals sum to 1 except for rounding', () => {
    const thirds = ['one', 'two', 'end'].map((to) => ({ to, chance: 0.3333333 }));
    expect(faultsOf(chainOf([step('one', thirds), step('two')]))).toEqual([]);
    const fewer = thirds.map(({ to }) => ({ to, chance: 0.333 }));
    expect(faultsOf(chainOf([step('one', fewer), step('two')]))).toHaveLength(1);
  });

  it('refuses a chain some of whose requests have no end, at the steps that never lead there', () => {
    const chain = chainOf([
      step('one', [
        { to: 'two', chance: 0.01 },
        { to: 'end', chance: 0.99 },
      ]),
      step('two', 'three'),
      step('three', 'two'),
    ]);
    expect(faultsOf(chain)).toEqual([
      '/workflows/0/chain/steps/1/next two never leads to the end, so that its requests have none; lead to end with some chance',
      '/workflows/0/chain/steps/2/next three never leads to the end, so that its requests have none; lead to end with some chance',
    ]);
    // Steps that no request comes to may go round for ever.
    expect(faultsOf(chainOf([step('one'), step('two', 'three'), step('three', 'two')]))).toEqual([]);
  });

  it('refuses a chain whose requests make more than 1024 calls in the mean', () => {
    const loop = (chance: number) =>
      chainOf([
        step('one', [
          { to: 'one', chance: 1 - chance },
          { to: 'end', chance },
        ]),
      ]);
    expect(faultsOf(loop(1 / 1024))).toEqual([]);
    expect(faultsOf(loop(1 / 1100))).toEqual([
      '/workflows/0/chain makes 1100 calls in the mean; a chain makes at most 1024: lead to end with larger chances',
    ]);
  });
});

describe('chainNotes()', () => {
  it('names the steps that no request comes to', () => {
    expect(chainNotes(chainOf([step('one', 'two'), step('two')]), 'chat')).toEqual([]);
    expect(chainNotes(chainOf([step('one'), step('two')]), 'chat')).toEqual([
      'two is a step of chat that no request comes to',
    ]);
    expect(chainNotes(chainOf([step('one'), step('two', 'three'), step('three')]), 'chat')).toEqual([
      'two, three are steps of chat that no request comes to',
    ]);
  });
});

describe('expectedCalls()', () => {
  inWholeRun(
    'is the sum over steps of how often each is visited, as iterating the chain 2,000 times finds',
    () => {
      for (let seed = 1; seed <= 100; seed++) {
        const chain = randomChain(streamOf(seed, 'chain'));
        let here = new Map<string, number>(edgesOf(chain.start).map(({ to, chance }) => [to, chance]));
        let calls = 0;
        const rows: Record<string, number> = {};
        for (let turn = 0; turn < 2000; turn++) {
          const after = new Map<string, number>();
          for (const { name, next, calls: made } of chain.steps) {
            const chance = here.get(name) ?? 0;
            calls += chance * made.length;
            for (const one of made)
              rows[one.component] = (rows[one.component] ?? 0) + chance * (one.rows ?? 1);
            for (const edge of edgesOf(next))
              after.set(edge.to, (after.get(edge.to) ?? 0) + chance * edge.chance);
          }
          here = after;
        }
        expect(expectedCalls(chain)).toBeCloseTo(calls, 6);
        const found = Object.fromEntries(expectedRows(chain));
        for (const [component, mean] of Object.entries(rows))
          expect(found[component] ?? 0).toBeCloseTo(mean, 6);
        // Those that no request calls are none.
        for (const component of Object.keys(found)) expect(rows[component]).toBeGreaterThan(0);
      }
    },
  );

  it('is the number of rounds of a loop that ends with a chance', () => {
    const chain = chainOf([
      step('one', [
        { to: 'one', chance: 0.75 },
        { to: 'end', chance: 0.25 },
      ]),
    ]);
    expect(expectedCalls(chain)).toBeCloseTo(4, 12);
  });
});
