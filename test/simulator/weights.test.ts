import { describe, expect, it } from 'vitest';
import { topologyOf } from '../../src/plans/index.js';
import { type Decisions, type LogEntry, recorded, StageLocalCore } from '../../src/serving/index.js';
import { type SimulatorOptions, simulate } from '../../src/simulator/index.js';
import { arrivalsAt } from '../../src/workload/index.js';
import { affine, planOf } from '../serving/plans.js';

const topology = topologyOf(
  planOf([
    {
      sloMs: 100,
      pipelines: [
        { throughputRps: 100, parts: [{ batch: 2, virtualGpus: 1, latencyUs: affine(2000, 1000) }] },
      ],
    },
  ]),
);

function arrivedIn(options: Partial<SimulatorOptions>): LogEntry[] {
  const log: LogEntry[] = [];
  simulate({
    topology,
    arrivals: arrivalsAt([1, 2, 2, 5], 0),
    makeCore: (decisions: Decisions) =>
      recorded(new StageLocalCore(topology, decisions), decisions, (entry) => log.push(entry)),
    ...options,
  });
  return log.filter(([word]) => word === 'arrived');
}

describe('simulate() of requests with weights', () => {
  it('gives the core the weight of each request, by how many came before it', () => {
    const weights = arrivedIn({ weight: (order) => 10 * (order + 1) }).map((entry) => entry[5]);
    expect(weights).toEqual([10, 20, 30, 40]);
  });

  it('reports the same as without weights where all weigh 1', () => {
    expect(arrivedIn({ weight: () => 1 })).toEqual(arrivedIn({}));
  });
});
