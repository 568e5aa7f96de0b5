import { describe, expect, it } from 'vitest';
import { streamOf } from '../../../src/random/index.js';
import {
  DROP_REASONS,
  DYORC_POLICY,
  DynamicCore,
  GREEDY_POLICY,
  ROUND_ROBIN_POLICY,
  WORKFLOW_SCHEDULERS,
  type WorkflowParts,
  type WorkflowScheduler,
  workflowCore,
} from '../../../src/serving/index.js';
import type { Trouble } from '../../../src/simulator/index.js';
import { call, story, type Told } from './story.js';
import { tried } from './trial.js';
import { randomRun, randomShape, type Shape } from './workflows.js';

const DROPPING = { kind: 'end-to-end', quantile: 0.1, draws: 32 } as const;
const POLICIES = {
  dyorc: { ...DYORC_POLICY, dropping: DROPPING },
  greedy: GREEDY_POLICY,
  'round-robin': ROUND_ROBIN_POLICY,
} as const;

/** one is a cluster with a device that holds a component, which takes 100 ns a batch. */
const one: Shape = {
  applications: 1,
  components: [{ bytes: 1, loadNs: 1, latencyNs: [[100]] }],
  holds: [[0]],
  devices: [{ class: 0, server: 0, bytes: 100 }],
  hostBytes: 10,
  linkBytesPerNs: 1,
  networkBytesPerNs: 1,
  sloNs: 1000,
};

/** ended tells when requests of one call ended that came at times, and how. */
function ended(
  scheduler: WorkflowScheduler,
  atNs: readonly number[],
  given: { readonly policy?: WorkflowParts['policy']; readonly troubles?: readonly Trouble[] },
): { atNs: number; on: number; what: number; reason: number | undefined }[] {
  const { policy = {}, troubles = [] } = given;
  const coreOf: Told['coreOf'] = (topology, parts) => workflowCore(scheduler, topology, { ...parts, policy });
  const requests = atNs.map((at) => ({ atNs: at, run: { requestBytes: 0, calls: [call(0)] } }));
  return story({ shape: one, requests, coreOf, troubles }).flatMap(({ event, atNs: at, on, what, reason }) =>
    event === 'end' ? [{ atNs: at, on, what, reason }] : [],
  );
}

const [IN_TIME, LATE, DROPPED, FAILED, NONE] = [0, 1, 2, 3, -1];

describe('workflowCore', () => {
  it.each(Object.keys(POLICIES) as (keyof typeof POLICIES)[])('makes the core of %s', (name) => {
    const stream = streamOf(5, 'shape');
    const shape = randomShape(stream);
    const runs = Array.from({ length: 40 }, () => randomRun(stream, shape));
    const [made, meant] = [
      tried({ shape, runs, gaps: streamOf(5, 'gaps'), coreOf: (t, parts) => workflowCore(name, t, parts) }),
      tried({
        shape,
        runs,
        gaps: streamOf(5, 'gaps'),
        coreOf: (t, { decisions, ...parts }) =>
          new DynamicCore(t, decisions, { ...parts, policy: POLICIES[name] }),
      }),
    ];
    expect(made.ends).toEqual(meant.ends);
    expect(made.summary).toEqual(meant.summary);
  });

  it.each(WORKFLOW_SCHEDULERS)('refuses requests beyond its tasks, and all once it drains, as %s', (name) => {
    const queueFull = DROP_REASONS.indexOf('queue-full');
    expect(ended(name, [0, 10, 20, 250], { policy: { mostTasks: 2 } })).toEqual([
      { atNs: 20, on: 2, what: DROPPED, reason: queueFull },
      { atNs: 100, on: 0, what: IN_TIME, reason: NONE },
      { atNs: 200, on: 1, what: IN_TIME, reason: NONE },
      { atNs: 350, on: 3, what: IN_TIME, reason: NONE },
    ]);
    const draining = DROP_REASONS.indexOf('draining');
    expect(ended(name, [0, 10], { troubles: [{ kind: 'drains', atNs: 5 }] })).toEqual([
      { atNs: 10, on: 1, what: DROPPED, reason: draining },
      { atNs: 100, on: 0, what: IN_TIME, reason: NONE },
    ]);
  });

  it.each(WORKFLOW_SCHEDULERS)(
    'drops a request whose task was lost as often as the policy says, as %s',
    (name) => {
      const troubles: Trouble[] = [
        { kind: 'down', atNs: 50, device: 0 },
        { kind: 'up', atNs: 60, device: 0 },
        { kind: 'down', atNs: 90, device: 0 },
        { kind: 'up', atNs: 95, device: 0 },
      ];
      const deviceDown = DROP_REASONS.indexOf('device-down');
      // The device has loaded its component again after 1 ns.
      expect(ended(name, [0], { troubles })).toEqual([
        { atNs: 90, on: 0, what: DROPPED, reason: deviceDown },
      ]);
      expect(ended(name, [0], { troubles, policy: { mostTries: 3 } })).toEqual([
        { atNs: 196, on: 0, what: IN_TIME, reason: NONE },
      ]);
    },
  );

  it.each(WORKFLOW_SCHEDULERS)(
    'drops a request that no device that is up executes at its deadline, as %s',
    (name) => {
      const troubles: Trouble[] = [{ kind: 'down', atNs: 5, device: 0 }];
      const deviceDown = DROP_REASONS.indexOf('device-down');
      expect(ended(name, [10], { troubles })).toEqual([
        { atNs: 1011, on: 0, what: DROPPED, reason: deviceDown },
      ]);
    },
  );

  it.each(WORKFLOW_SCHEDULERS)(
    'executes nothing more of a request that is dropped with a device, as %s',
    (name) => {
      const run = { requestBytes: 0, calls: [call(0), call(0)] };
      const happened = story({
        shape: one,
        requests: [{ atNs: 0, run }],
        coreOf: (topology, parts) => workflowCore(name, topology, { ...parts, policy: { mostTries: 1 } }),
        troubles: [
          { kind: 'down', atNs: 50, device: 0 },
          { kind: 'up', atNs: 60, device: 0 },
        ],
      });
      const seen = happened.filter(({ event }) => event === 'execute' || event === 'end');
      expect(seen.map(({ event, atNs }) => [event, atNs])).toEqual([
        ['execute', 0],
        ['end', 50],
      ]);
    },
  );

  it.each(WORKFLOW_SCHEDULERS)('gives up a request that would be late, as dyorc alone: %s', (name) => {
    // Each takes 100 ns, one after the other, so that the eleventh would end 100 ns late.
    const ends = ended(
      name,
      Array.from({ length: 11 }, () => 0),
      {},
    );
    const deadline = DROP_REASONS.indexOf('deadline');
    const last = ends.find(({ on }) => on === 10);
    if (name !== 'dyorc') expect(last).toMatchObject({ atNs: 1100, what: LATE, on: 10 });
    else {
      expect(ends.filter(({ what }) => what === LATE)).toEqual([]);
      expect(last).toMatchObject({ what: DROPPED, reason: deadline, on: 10 });
      // While it has seen no request end, it expects that more is called.
      expect(ends.filter(({ what }) => what === IN_TIME).length).toBeGreaterThan(7);
    }
  });

  it.each(WORKFLOW_SCHEDULERS)('tries the tasks of a failed batch alone, as %s', (name) => {
    const shape = { ...one, components: [{ bytes: 1, loadNs: 1, latencyNs: [[100, 150]] }] };
    const request = { atNs: 0, run: { requestBytes: 0, calls: [call(0)] } };
    const coreOf: Told['coreOf'] = (topology, parts) => workflowCore(name, topology, parts);
    const ends = (failing: number) =>
      story({ shape, requests: [request, request], coreOf, failing }).flatMap(({ event, atNs, what }) =>
        event === 'end' ? [[atNs, what]] : [],
      );
    expect(ends(1)).toEqual([
      [250, IN_TIME],
      [350, IN_TIME],
    ]);
    expect(ends(2)).toEqual([
      [250, FAILED],
      [350, IN_TIME],
    ]);
  });

  it.each(WORKFLOW_SCHEDULERS)('counts no tasks of requests whose clients have left, as %s', (name) => {
    const troubles: Trouble[] = [{ kind: 'leaves', atNs: 10, order: 0 }];
    expect(ended(name, [0, 20], { troubles, policy: { mostTasks: 1 } })).toEqual([
      { atNs: 200, on: 1, what: IN_TIME, reason: NONE },
    ]);
  });
});
