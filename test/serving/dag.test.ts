import { describe, expect, it } from 'vitest';
import { streamOf } from '../../src/random/index.js';
import { Decisions, FIFO_POLICY, ReservationCore } from '../../src/serving/index.js';
import { cases, inWholeRun, whole } from '../cases.js';
import { bitsOf, fatesOf, surviveDagStorm } from './dag-storm.js';
import { longestNs, randomDag, visitsOf } from './dags.js';
import { randomPolicy } from './random-policies.js';
import { type Ended, runVirtual } from './virtual-driver.js';

const MS = 1e6;
const CASES = cases(whole(25, 70), 2000);

describe('a DAG of stages', () => {
  inWholeRun(
    'takes as long as the longest path that its verdicts leave, where nothing else is served',
    () => {
      for (let seed = 1; seed <= CASES; seed++) {
        const topology = randomDag(streamOf(seed, 'dag'), { most: seed % 10 === 0 ? 30 : 10 });
        const fate = fatesOf(seed);
        const verdict = (arrival: number, row: number, stage: number) =>
          bitsOf(topology, fate(arrival, row, stage), stage);
        const arrivals = Array.from({ length: 8 }, (_, i) => ({ at: i * 10_000 * MS }));
        const { ended } = runVirtual({ topology, arrivals, policy: FIFO_POLICY, verdict });
        for (const { arrival, arrivedAt, at } of ended) {
          const visits = visitsOf(topology.pools, (stage) => verdict(arrival, 0, stage));
          expect([seed, arrival, at - arrivedAt]).toEqual([seed, arrival, longestNs(topology.pools, visits)]);
        }
      }
    },
  );

  inWholeRun(
    'executes every stage that a row comes to once, after its inputs, and no other, under any policy and any trouble',
    () => {
      const outcomes = new Map<Ended['outcome'], number>();
      for (let seed = 1; seed <= CASES; seed++)
        for (const { outcome } of surviveDagStorm(seed, randomPolicy(streamOf(seed, 'policy'))))
          outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      expect([...outcomes.keys()].sort()).toEqual(['cancelled', 'dropped', 'failed', 'inTime', 'late']);
    },
  );

  it('is refused by the reservation scheduler, which says all that it cannot serve', () => {
    const topology = randomDag(streamOf(2, 'dag'), { shares: true, standby: true });
    expect(() => new ReservationCore(topology, new Decisions())).toThrow(
      expect.objectContaining({
        message: expect.stringMatching(/Cannot serve the plan by reservation/),
        faults: [
          { path: '', message: 'dag is a DAG of stages, but reservations are made for chains' },
          {
            path: '',
            message: 'some devices serve several stages, but a reservation needs devices of one stage',
          },
          { path: '', message: 'some devices are on standby, but a reservation needs devices that stay' },
        ],
      }),
    );
  });
});
