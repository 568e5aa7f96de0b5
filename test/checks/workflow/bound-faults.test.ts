import { describe, expect, it } from 'vitest';
import { workflowBoundFaults } from '../../../src/checks/index.js';
import { boundSample, leastTimes } from '../../../src/dyorc/bounds.js';
import { requestsOfLoad } from '../../../src/specs/workflow/requests.js';
import { cases } from '../../cases.js';
import { randomSpec, resolvedSpec } from '../../dyorc/made-specs.js';

/** bounded gives the bounds that the planner finds for a random spec, and what they are of. */
function bounded(seed: number) {
  const { spec, profiles } = randomSpec(seed);
  const resolved = resolvedSpec(spec, profiles);
  const { components, cluster, workflows, attainment } = resolved;
  const { workflows: workflowOf, atNs, runs } = requestsOfLoad({ resolved }, seed);
  const { meanMs, devices, sloDevices } = boundSample(
    { workflows: workflowOf, atNs, runs },
    { workflows, attainment, least: leastTimes(components, cluster) },
  );
  return {
    workflows,
    attainment,
    meanMs,
    devices,
    sloDevices,
    load: { components, cluster, workflowOf, atNs, runs },
  };
}

describe('workflowBoundFaults()', () => {
  it('finds what the planner finds of random samples, though another way, and nothing else', () => {
    let promised = 0;
    for (let seed = 1; seed <= cases(40, 1500); seed++) {
      const { workflows, attainment, meanMs, devices, sloDevices, load } = bounded(seed);
      const faultsOf = (
        bounds: { readonly meanMs: number; readonly devices: number },
        bound = sloDevices,
      ) => {
        const objective =
          bound === undefined
            ? { kind: 'latency' as const, value: meanMs, bound: meanMs }
            : { kind: 'devices' as const, value: 9, bound: Math.max(1, bound) };
        const planned = workflows.map(({ name, sloMs }) => ({
          name,
          share: 1,
          frequencies: [],
          ...(sloMs === undefined ? {} : { sloMs }),
        }));
        const plan = { workflows: planned, attainment, subclusters: 1, objective, bounds };
        return workflowBoundFaults(plan, load).map(({ path }) => path);
      };
      expect({ seed, faults: faultsOf({ meanMs, devices }) }).toEqual({ seed, faults: [] });
      expect(faultsOf({ meanMs: meanMs * 1.0001, devices })).toEqual(['/bounds/meanMs']);
      expect(faultsOf({ meanMs, devices: devices + 1 })).toEqual(['/bounds/devices']);
      if (sloDevices === undefined) continue;
      promised += 1;
      expect(faultsOf({ meanMs, devices }, Math.max(1, sloDevices) + 1)).toEqual(['/objective/bound']);
    }
    expect(promised).toBeGreaterThan(5);
  });
});
