import { describe, expect, it } from 'vitest';
import { pipelineTopologyOf } from '../../../../src/plans/index.js';
import { FIFO_POLICY, StageLocalCore, type StageLocalPolicy } from '../../../../src/serving/index.js';
import { edge, pipelineOf } from '../../../pipeline-plans.js';
import { comes, ends, isThere, starts, Told, up } from '../../told.js';

/** Two entries and an end, all on one device: stages 0 and 1 with batches of 4 and 2, and stage 2. */
const topology = pipelineTopologyOf(
  pipelineOf(
    [
      { name: 'a', batch: 4, next: [edge('c')] },
      { name: 'b', batch: 2 },
      { name: 'c', batch: 1 },
    ],
    [['a', 'b', 'c']],
  ),
);

const told = (sharing: StageLocalPolicy['sharing'], policy: Partial<StageLocalPolicy> = FIFO_POLICY) =>
  new Told((decisions) => new StageLocalCore(topology, decisions, { ...policy, sharing }));

/** The pools of the batches that are started, in order, while each takes a millisecond and nothing new comes. */
function poolsServed(core: ReturnType<typeof told>, first: readonly string[]): number[] {
  const served: number[] = [];
  let said = first;
  for (let ms = 10; said.length > 0 && ms < 40; ms++) {
    const running = /^run (\d+)/.exec(said.find((one) => one.startsWith('run')) ?? '')?.[1];
    if (running === undefined) return served;
    served.push(core.core.batchPool(Number(running)));
    said = core.at(ms, starts(Number(running)));
    said = core.at(ms + 0.5, ends(Number(running), 0.5));
    const moved = said.flatMap((one) => /^move (\d+)/.exec(one)?.[1] ?? []);
    if (moved.length > 0)
      said = [...said, ...core.at(ms + 0.5, ...moved.map((batch) => isThere(Number(batch))))];
  }
  return served;
}

describe('a device of several pools', () => {
  it('serves the pool whose first task has the earliest deadline, and of equal ones the first', () => {
    const core = told({ kind: 'oldest-deadline' }, { ...FIFO_POLICY, order: { kind: 'deadline' } });
    const first = core.at(0, up(0), comes(50), comes(20), comes(30));
    // The tasks of 20 and 30 fill the first batch of the second pool, whose last task then waits for the third's first.
    expect(poolsServed(core, first)).toEqual([0, 1, 2, 2, 1, 2]);
  });

  it('serves the pool with the most tasks per planned batch: 3 of 2 before 3 of 4', () => {
    const core = told({ kind: 'fullest' });
    const first = core.at(0, up(0), comes(50), comes(50), comes(50));
    expect(poolsServed(core, first)).toEqual([1, 0, 1, 2, 2, 2]);
  });

  it('serves the pools in turn: each before one that was served later', () => {
    const core = told({ kind: 'round-robin' });
    const first = core.at(0, up(0), comes(50), comes(50), comes(50));
    expect(poolsServed(core, first)).toEqual([0, 1, 2, 1, 2, 2]);
  });
});
