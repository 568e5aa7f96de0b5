import { describe, expect, it } from 'vitest';
import { streamOf } from '../../src/random/index.js';
import { StageLocalCore, topologyOf } from '../../src/serving/index.js';
import { simulate } from '../../src/simulator/index.js';
import { arrivals, arrivalsAt } from '../../src/workload/index.js';
import { planOf } from '../serving/plans.js';

describe('simulate()', () => {
  it('matches M/D/1', () => {
    const topology = topologyOf(
      planOf([
        { sloMs: 1e6, pipelines: [{ throughputRps: 1, parts: [{ batch: 1, latencyUs: () => 1000 }] }] },
      ]),
    );
    let sum = 0;
    const summary = simulate({
      topology,
      makeCore: (decisions) =>
        new StageLocalCore(topology, decisions, { drop: { kind: 'never' }, formation: { kind: 'eager' } }),
      arrivals: arrivalsAt(
        arrivals({ process: 'poisson', rps: 800, durationS: 1000, stream: streamOf(1, 'arrivals') }),
      ),
      observers: [{ ended: (at, _m, _r, arrivedAt) => (sum += at - arrivedAt) }],
    });
    expect(Math.abs(sum / summary.requests / 1e6 / 3 - 1)).toBeLessThan(0.01);
  });
});
