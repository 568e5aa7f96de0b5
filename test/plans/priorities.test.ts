import { describe, expect, it } from 'vitest';
import { type PlanServing, ToldFaults } from '../../src/artifacts/index.js';
import { plannedScheduler, servingFaults } from '../../src/plans/index.js';

const PRIORITIES = { 1: 10, 2: 2 };

const weighingOf = (serving: PlanServing) =>
  plannedScheduler(serving, { options: {}, leastSloNs: 1e8 }, new ToldFaults())?.policy.weighing;
const faultsOf = (serving: PlanServing) =>
  servingFaults({ serving }).map(({ path, message }) => `${path} ${message}`);

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
});
