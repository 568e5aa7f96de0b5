import { describe, expect, it } from 'vitest';
import { streamOf } from '../../../src/random/index.js';
import {
  DYORC_POLICY,
  DynamicCore,
  GREEDY_POLICY,
  ROUND_ROBIN_POLICY,
  type WorkflowPolicy,
} from '../../../src/serving/index.js';
import { cases } from '../../cases.js';
import { randomTroubles, type Trial, tried } from './trial.js';
import { randomRun, randomShape } from './workflows.js';

const POLICIES: Readonly<Record<string, WorkflowPolicy>> = {
  dyorc: DYORC_POLICY,
  exact: { ...DYORC_POLICY, placing: { kind: 'dynamic-program' }, prediction: { kind: 'sampled', most: 2 } },
  likeliest: { ...DYORC_POLICY, prediction: { kind: 'likeliest', most: 8 } },
  greedy: GREEDY_POLICY,
  'round-robin': ROUND_ROBIN_POLICY,
};

/** coreOf makes the core of a policy. */
function coreOf(policy: WorkflowPolicy): Trial['coreOf'] {
  return (topology, { decisions, table, streams }) =>
    new DynamicCore(topology, decisions, { table, policy, streams });
}

describe('a core of dynamic workflows', () => {
  it.each(Object.keys(POLICIES))('ends every request once and breaks no rule, as %s', (name) => {
    for (let seed = 0; seed < cases(40, 300); seed++) {
      const stream = streamOf(seed, 'shape');
      const shape = randomShape(stream);
      const runs = Array.from({ length: 30 }, () => randomRun(stream, shape));
      const { summary, broken, core } = tried({
        ...{ shape, runs, coreOf: coreOf(POLICIES[name]!), gaps: streamOf(seed, 'gaps') },
      });
      expect({ seed, broken: broken.slice(0, 3) }).toEqual({ seed, broken: [] });
      const { requests, inTime, late, dropped, failed } = summary;
      expect({ seed, requests, ended: inTime + late }).toEqual({ seed, requests: 30, ended: 30 });
      expect([dropped, failed]).toEqual([0, 0]);
      expect(core.inUse).toEqual({ requests: 0, tasks: 0, batches: 0, fetches: 0 });
    }
  });

  it.each(Object.keys(POLICIES))('ends every request once whatever goes wrong, as %s', (name) => {
    const all = { dropped: 0, failed: 0, left: 0 };
    for (let seed = 0; seed < cases(40, 300); seed++) {
      const stream = streamOf(seed, 'shape');
      const shape = randomShape(stream);
      const runs = Array.from({ length: 30 }, () => randomRun(stream, shape));
      const troubles = randomTroubles(stream, shape.devices.length);
      const failing = streamOf(seed, 'failing');
      const { summary, broken, core } = tried({
        ...{ shape, runs, coreOf: coreOf(POLICIES[name]!), gaps: streamOf(seed, 'gaps') },
        ...{ troubles, fails: () => failing.uniform() < 0.03 },
      });
      expect({ seed, broken: broken.slice(0, 3) }).toEqual({ seed, broken: [] });
      const { requests, inTime, late, dropped, failed, left } = summary;
      expect({ seed, requests, ended: inTime + late + dropped + failed + left }).toEqual({
        seed,
        requests: 30,
        ended: 30,
      });
      expect({ seed, ...core.inUse }).toEqual({ seed, requests: 0, tasks: 0, batches: 0, fetches: 0 });
      all.dropped += dropped;
      all.failed += failed;
      all.left += left;
    }
    for (const count of Object.values(all)) expect(count).toBeGreaterThan(20);
  });

  it('does the same again, with the same seeds', () => {
    const stream = streamOf(3, 'shape');
    const shape = randomShape(stream);
    const runs = Array.from({ length: 60 }, () => randomRun(stream, shape));
    const [one, other] = [1, 2].map(() =>
      tried({ shape, runs, coreOf: coreOf(DYORC_POLICY), gaps: streamOf(3, 'gaps') }),
    );
    expect(one!.ends).toEqual(other!.ends);
    expect(one!.summary).toEqual(other!.summary);
  });
});
