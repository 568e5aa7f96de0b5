import { describe, expect, it } from 'vitest';
import { type PlanServing, ToldFaults } from '../../src/formats/index.js';
import { plannedScheduler, planOf, servingFaults } from '../../src/plans/index.js';
import { priorityFaults } from '../../src/plans/priorities.js';
import { streamOf } from '../../src/random/index.js';
import { pipelineOf } from '../pipeline-plans.js';

const PRIORITIES = { 1: 10, 2: 2 };
/** The most priorities that a plan may have, of as many weights. */
const FIFTEEN = Array.from({ length: 15 }, (_, i) => [i + 1, 100 - i]);

const weighingOf = (serving: PlanServing) =>
  plannedScheduler(serving, { options: {}, leastSloNs: 1e8 }, new ToldFaults())?.policy.weighing;
const faultsOf = (serving: PlanServing) =>
  servingFaults({ serving }).map(({ path, message }) => `${path} ${message}`);

describe('a plan whose applications have weights', () => {
  const WEIGHED = [{ weight: 10 }, {}];

  it('lets its scheduler weigh requests where the weights differ, and else not', () => {
    const weighing = (applications: { weight?: number }[]) =>
      plannedScheduler(
        { scheduler: 'room-first' },
        { options: {}, leastSloNs: 1e8, applications },
        new ToldFaults(),
      )?.policy.weighing;
    expect(weighing(WEIGHED)).toEqual({ kind: 'levels', margin: 0.25 });
    expect(weighing([{ weight: 3 }, { weight: 3 }])).toEqual({ kind: 'none' });
    expect(weighing([{ weight: 1 }, {}])).toEqual({ kind: 'none' });
  });

  it('is refused where its scheduler cannot weigh requests', () => {
    const faults = (scheduler: string, applications: { weight?: number }[]) =>
      servingFaults({ serving: { scheduler }, applications }).map(
        ({ path, message }) => `${path} ${message}`,
      );
    expect(faults('stage-local', WEIGHED)).toEqual([
      '/applications have weights without effect, because stage-local does not weigh requests with these choices: name room-first or pard as the scheduler, or leave weights out',
    ]);
    expect(faults('pard', WEIGHED)).toEqual([]);
    expect(faults('stage-local', [{}, { weight: 1 }])).toEqual([]);
  });
});

describe('a plan with priorities', () => {
  it('lets its scheduler weigh requests, unless its policy says otherwise', () => {
    const levels = { kind: 'levels', margin: 0.25 };
    for (const scheduler of ['pard', 'pard-fcfs', 'room-first'])
      expect(weighingOf({ scheduler, priorities: PRIORITIES })).toEqual(levels);
    expect(weighingOf({ scheduler: 'pard' })).toEqual({ kind: 'none' });
    expect(weighingOf({ scheduler: 'pard', priorities: PRIORITIES, policy: { weighing: 'none' } })).toEqual({
      kind: 'none',
    });
    const own = { kind: 'levels', margin: 1 };
    expect(weighingOf({ scheduler: 'pard', priorities: PRIORITIES, policy: { weighing: own } })).toEqual(own);
  });

  it('is refused where its scheduler cannot weigh requests', () => {
    for (const scheduler of ['stage-local', 'reactive', 'nexus', 'reservation'])
      expect(faultsOf({ scheduler, priorities: PRIORITIES })).toEqual([
        `/serving/priorities has no effect, because ${scheduler} does not weigh requests with these choices: name room-first or pard as the scheduler, or leave priorities out`,
      ]);
    for (const scheduler of ['pard', 'room-first'])
      expect(faultsOf({ scheduler, priorities: PRIORITIES })).toEqual([]);
    expect(faultsOf({ scheduler: 'pard', priorities: PRIORITIES, policy: { weighing: 'none' } })).toEqual([]);
  });

  it('is refused where a more urgent priority weighs less', () => {
    expect(faultsOf({ scheduler: 'pard', priorities: { 2: 10, 10: 3, 1: 5 } })).toEqual([
      '/serving/priorities gives priority 2 the weight 10, and the more urgent priority 1 only 5: a lower number is more urgent',
    ]);
    expect(faultsOf({ scheduler: 'pard', priorities: { 1: 5, 2: 5 } })).toEqual([]);
  });

  it('is refused where its weights times those of the applications are more than a scheduler distinguishes', () => {
    const applications = [1, 3, 5, 7].map((weight, i) => ({ name: `a${i}`, sloMs: 50, share: 0.25, weight }));
    const planWith = (priorities: Record<string, number>) =>
      pipelineOf([{ name: 's', batch: 2 }], [['s']], {
        name: 'p',
        sloMs: 50,
        throughputRps: 100,
        applications,
        serving: { scheduler: 'room-first', priorities },
      });
    const faults = (priorities: Record<string, number>) => {
      const plan = planWith(priorities);
      return planOf(plan)
        .contradictions(plan)
        .filter(({ path }) => path === '/serving/priorities')
        .map(({ message }) => message);
    };
    // Requests of other priorities weigh 1, so that these are 4 times 4 weights, of which none is twice.
    expect(faults({ 1: 13, 2: 11, 3: 2 })).toEqual([]);
    expect(faults({ 1: 13, 2: 11, 3: 2, 4: 1 })).toEqual([]);
    expect(faults({ 1: 100, 2: 13, 3: 11, 4: 2 })).toEqual([
      'gives requests 20 different weights, times those of the applications: 1, 2, 3, 5, 6, 7, 10, 11, 13, 14, 33, 39, 55, 65, 77, 91, 100, 300, 500, 700; a scheduler tells 16 apart: give more of them the same',
    ]);
    // These are as many products, of which six are twice.
    expect(faults({ 1: 7, 2: 5, 3: 3, 4: 2 })).toEqual([]);
    expect(faultsOf({ scheduler: 'pard', priorities: Object.fromEntries(FIFTEEN) })).toEqual([]);
  });

  it('is refused exactly where a core would hear of more weights than it distinguishes', () => {
    const { uniform } = streamOf(7, 'weights');
    const drawn = (most: number) =>
      Array.from(
        { length: 1 + Math.floor(most * uniform()) },
        () => 2 ** Math.floor(8 * uniform()) + Math.floor(3 * uniform()),
      );
    let refused = 0;
    for (let round = 0; round < 300; round++) {
      const applications = drawn(8).map((weight) => ({ weight }));
      const weights = drawn(6).sort((a, b) => b - a);
      const priorities = Object.fromEntries(weights.map((weight, i) => [i + 1, weight]));
      const heard = new Set<number>();
      for (const { weight } of applications)
        for (let priority = 0; priority <= weights.length; priority++)
          heard.add(weight * (priority === 0 ? 1 : (weights[priority - 1] as number)));
      const told = servingFaults({ serving: { scheduler: 'pard', priorities }, applications });
      expect(told.length).toBe(heard.size > 16 ? 1 : 0);
      refused += told.length;
    }
    expect(refused).toBeGreaterThan(30);
    expect(refused).toBeLessThan(270);
  });
});

describe('priorityFaults()', () => {
  it('compares priorities in the order of their numbers, and not of their digits', () => {
    expect(priorityFaults({ 10: 1, 9: 2, 2: 3 })).toEqual([]);
    expect(priorityFaults({ 10: 3, 9: 2, 2: 4 }).map(({ path, message }) => `${path} ${message}`)).toEqual([
      '/serving/priorities gives priority 10 the weight 3, and the more urgent priority 9 only 2: a lower number is more urgent',
    ]);
    expect(priorityFaults({ 1: 2, 2: 2 })).toEqual([]);
    expect(priorityFaults({ '-1': 1, 1: 2 } as never).length).toBe(1);
    expect(priorityFaults()).toEqual([]);
  });
});
