import { describe, expect, it } from 'vitest';
import type { RequestsToBound } from '../../../src/dyorc/index.js';
import { RecordedRuns, simulatedWorkflows } from '../../../src/simulation/index.js';
import { requestsOfLoad } from '../../../src/specs/workflow/requests.js';
import { simulatedSample } from '../../../src/specs/workflow/simulated-sample.js';
import { chatSpec, resolvedSpec } from '../../dyorc/made-specs.js';

/** sampleOn makes a sample, and a plan on one device that holds vision and language at the start. */
function sampleOn(memoryGiB: number, rps: number) {
  const devices = { A800: { count: 1, memoryGiB, loadGBps: 10 } };
  const load = { arrivals: 'poisson' as const, rps, duration: '20s' };
  const resolved = resolvedSpec(chatSpec({ cluster: { devices }, load }));
  const { cluster, components } = resolved;
  const placement = [{ server: 'A800-0', gpu: 0, class: 'A800', holds: ['vision', 'language'] }];
  const workflows = [{ name: 'chat', sloMs: 2000, share: 1, frequencies: [] }];
  const plan = { cluster, rps, components, placement, workflows, serving: { scheduler: 'greedy' } };
  return { plan, requests: requestsOfLoad({ resolved }, 1), names: components.map(({ name }) => name) };
}

describe('simulatedSample()', () => {
  it('says for how long devices held each component, as its loads and evictions say', () => {
    const { plan, requests, names } = sampleOn(19, 1);
    const { figures, heldNs } = simulatedSample({ plan, requests, seed: 1 });
    const recorded = new RecordedRuns(names);
    const events: { readonly atNs: number; readonly pool: number; readonly isHeld: boolean }[] = [];
    let next = -1;
    const { endNs } = simulatedWorkflows(plan, {
      scheduler: 'greedy',
      seed: 1,
      spanNs: () => requests.spanNs as number,
      arrivals: {
        next: () => ++next < requests.runs.length,
        get atNs() {
          return requests.atNs[next] as number;
        },
        model: 0,
      },
      runOf: (order) => recorded.of(requests.runs[order] as RequestsToBound['runs'][number]),
      observers: () => [
        {
          loaded: (atNs, _, pool) => events.push({ atNs, pool, isHeld: true }),
          evicted: (atNs, _, pool) => events.push({ atNs, pool, isHeld: false }),
        },
      ],
    });
    expect(figures.loads).toBeGreaterThanOrEqual(4);
    for (const [pool, name] of names.entries()) {
      // From each event to the next, and to the end, the component was there or not.
      const own = [{ atNs: 0, isHeld: name !== 'image' }, ...events.filter((one) => one.pool === pool)];
      const held = own.reduce(
        (sum, one, i) => sum + (one.isHeld ? (own[i + 1]?.atNs ?? endNs) - one.atNs : 0),
        0,
      );
      expect({ name, heldNs: heldNs(0, pool) }).toEqual({ name, heldNs: held });
      expect(held).toBeGreaterThan(0);
    }
  });

  it('adds up requests of workflows to those of all', () => {
    const { plan, requests } = sampleOn(40, 5);
    const { figures, heldNs } = simulatedSample({ plan, requests, seed: 1 });
    expect(figures).toMatchObject({ requests: requests.runs.length, dropped: 0, loads: 1, evictions: 0 });
    expect(figures.tasks).toBe(requests.runs.reduce((sum, run) => sum + run.tasks.length, 0));
    expect(figures.workflows[0]).toMatchObject({
      name: 'chat',
      requests: figures.requests,
      meanMs: figures.meanMs,
    });
    const { executing, loading, both, idle } = figures.deviceTime;
    expect(executing + loading + both + idle).toBeCloseTo(1, 9);
    // Vision and language were there all the time.
    expect(heldNs(0, 0)).toBe(heldNs(0, 1));
    expect(heldNs(0, 2)).toBeLessThan(heldNs(0, 0));
  });
});
