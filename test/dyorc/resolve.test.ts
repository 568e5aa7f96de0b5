import { describe, expect, it } from 'vitest';
import { resolveWorkflows } from '../../src/dyorc/index.js';
import type { Profile, Run, WorkflowSpec } from '../../src/formats/index.js';
import {
  CHAT,
  CHAT_PROFILES,
  chatSpec,
  faultsOfSpec,
  filesFor,
  madeProfile,
  resolvedSpec,
} from './made-specs.js';

const [entry] = chatSpec().workflows as [WorkflowSpec['workflows'][number]];
const A800 = { count: 4, perServer: 2, memoryGiB: 20, loadGBps: 10 };

describe('resolveWorkflows()', () => {
  it('gives components their batches, memory and loads on each class', () => {
    const { components, rps, serving, attainment } = resolvedSpec(chatSpec());
    expect({ rps, serving, attainment }).toEqual({
      rps: 10,
      serving: { scheduler: 'dyorc' },
      attainment: 0.99,
    });
    expect(components).toMatchObject([
      {
        name: 'vision',
        model: 'vit',
        memoryBytes: 2 * 1024 ** 3,
        weightBytes: 2 * 1024 ** 3,
        classes: [
          {
            device: 'A800',
            batch: 8,
            diskUs: 0,
            latencyUsByBatch: [10_000, 12_000, null, 16_000, null, null, null, 30_000],
          },
        ],
      },
      { name: 'language', classes: [{ batch: 8 }] },
      { name: 'image', classes: [{ batch: 2 }] },
    ]);
    // 2 GiB at 10 GB/s.
    expect(components[0]?.classes[0]?.loadUs).toBeCloseTo((2 * 1024 ** 3) / 1e4, 6);
  });

  it('takes the time of a load from the spec, else from the profile, else from the weights', () => {
    const profile = madeProfile({ ms: { A800: { 1: 10 } }, weightGiB: 2, loadMs: 77 });
    const loadUs = (loadMs?: number) => {
      const components = [{ name: 'one', profile: 'one.json', ...(loadMs === undefined ? {} : { loadMs }) }];
      const chain = {
        requestBytes: 0,
        start: 'x',
        steps: [{ name: 'x', calls: [{ component: 'one', inputs: [], outputBytes: 0 }] }],
      };
      const cluster = { devices: { A800: { ...A800, diskGBps: 2, hostMemoryGiB: 9 } } };
      const spec = chatSpec({ cluster, components, workflows: [{ name: 'w', chain }] });
      return resolvedSpec(spec, [profile]).components[0]?.classes[0];
    };
    expect(loadUs(5)).toMatchObject({ loadUs: 5_000 });
    expect(loadUs()).toMatchObject({ loadUs: 77_000 });
    expect(loadUs()?.diskUs).toBeCloseTo((2 * 1024 ** 3) / 2e3, 6);
  });

  it('takes maxBatch for the largest batch, as far as the profile goes, and lets no call be larger than a batch', () => {
    const batches = (more: object, rows = 1) => {
      const [see, speak, paint] = CHAT.steps as [
        (typeof CHAT.steps)[number],
        (typeof CHAT.steps)[number],
        (typeof CHAT.steps)[number],
      ];
      const chain = {
        ...CHAT,
        steps: [see, speak, { ...paint, calls: [{ ...paint.calls[0], rows }] }],
      } as typeof CHAT;
      const components = chatSpec().components.map((one) => ({
        ...one,
        ...(one.name === 'image' ? more : {}),
      }));
      const spec = chatSpec({ components, workflows: [{ ...entry, chain }] });
      return { spec, batch: () => resolvedSpec(spec, FLAT).components[2]?.classes[0]?.batch };
    };
    // Of image, no batch has more rows a second than one alone.
    const FLAT = [
      ...CHAT_PROFILES.slice(0, 2),
      madeProfile({ ms: { A800: { 1: 100, 2: 200, 4: 400 } }, weightGiB: 6 }),
    ];
    expect(batches({}).batch()).toBe(1);
    expect(batches({ maxBatch: 2 }).batch()).toBe(2);
    expect(batches({ maxBatch: 9 }).batch()).toBe(4);
    expect(batches({}, 3).batch()).toBe(3);
    expect(faultsOfSpec(batches({ maxBatch: 2 }, 3).spec, FLAT)).toEqual([
      '/workflows/0/chain/steps/2/calls/0/rows is 3, and image has batches of at most 2: its profile ends there, or its maxBatch',
    ]);
    expect(faultsOfSpec(batches({}, 5).spec, FLAT)).toHaveLength(1);
  });

  it('leaves out a class on which a component does not execute all of its calls, and one that it does not fit into', () => {
    const devices = { A800: A800, small: { ...A800, memoryGiB: 5 }, slow: A800 };
    const both = { 1: 10, 2: 11, 4: 12 };
    const profiles = [
      madeProfile({ ms: { A800: both, small: both, slow: { 1: 10, 2: 11 } }, weightGiB: 6 }),
      ...CHAT_PROFILES.slice(1),
    ];
    const steps = CHAT.steps.map((step) =>
      step.name === 'see' ? { ...step, calls: step.calls.map((call) => ({ ...call, rows: 4 })) } : step,
    );
    const spec = chatSpec({ cluster: { devices }, workflows: [{ ...entry, chain: { ...CHAT, steps } }] });
    const { components, notes } = resolvedSpec(spec, profiles);
    expect(components[0]?.classes.map(({ device }) => device)).toEqual(['A800']);
    expect(notes).toContain(
      'vision is called with 4 rows, and executes at most 2 on slow: it is not used there',
    );
    expect(notes).toContain('vision takes 6 GiB and does not fit into a small');
  });

  it('reports all that is wrong with a spec and its cluster at once', () => {
    const spec = chatSpec({
      cluster: {
        devices: {
          A800: { count: 2, taken: 3, memoryGiB: 1, hostMemoryGiB: 100 },
          B: { perServer: 2 },
        },
      },
      components: [...chatSpec().components.slice(0, 2), { name: 'vision', profile: 'again.json' }],
      workflows: [
        { ...entry, share: 0.5, rps: 3, runs: 'runs.jsonl' },
        { name: 'chat', program: 'talk.js' },
      ],
      rps: 5,
      placement: [{ device: 'C', count: 1, holds: ['vision', 'ear', 'vision'] }],
      planner: { objective: 'devices', subclusters: 9 },
    });
    const told = faultsOfSpec(spec);
    for (const one of [
      '/components/2/name is vision, as another component is; programs call them by name',
      '/workflows/1/name is chat, as another workflow is; clients call them by name',
      '/workflows/0/chain stands beside runs, which say what requests do; leave one of them out',
      '/workflows/1 chat lacks requests to plan for: give runs of its program, or a chain',
      '/rps stands beside a load, which has a rate of its own; leave one of them out',
      '/workflows/0/rps stands beside the rate of all workflows; give shares of it, or leave that out',
      '/workflows/0/share stands beside its rps; leave one of them out',
      '/workflows/1/rps is needed, as other workflows have their own',
      '/placement is for planner.method given, and this is dyorc',
      '/placement/0/holds/1 is ear, which is no component; there are vision, language, vision',
      '/placement/0/holds/2 is vision, as before; leave one of them out',
      '/placement/0/device is C, which is no class of the cluster; it has A800, B',
      '/cluster/devices/A800/taken 3 GPUs are taken and there are 2',
      '/cluster/devices/A800/diskGBps is needed: components that hostMemoryGiB does not keep come from the disk',
      '/cluster/devices/B/count is needed: workflows are planned for so many devices',
      '/cluster/devices/B/memoryGiB is needed: it says which components a device holds together',
      '/components/0 vision takes 2 GiB and fits into no device: A800 has 1',
    ])
      expect(told).toContain(one);
  });

  it('asks for loadGBps where nothing says how long a component is loaded', () => {
    const spec = chatSpec({ cluster: { devices: { A800: { count: 4, memoryGiB: 20 } } } });
    expect(faultsOfSpec(spec)).toEqual(
      ['vision', 'language', 'image'].map(
        (name) =>
          `/cluster/devices/A800/loadGBps is needed: neither the spec nor the profile says how long ${name} takes to load; give it, or loadMs of ${name}`,
      ),
    );
  });

  it('asks for shares of all workflows or of none, which sum to 1', () => {
    const of = (...shares: (number | undefined)[]) =>
      chatSpec({
        workflows: shares.map((share, w) => ({
          ...entry,
          name: `w${w}`,
          ...(share === undefined ? {} : { share }),
        })),
      });
    expect(resolvedSpec(of(undefined, undefined)).workflows.map(({ share }) => share)).toEqual([0.5, 0.5]);
    expect(resolvedSpec(of(0.25, 0.75)).workflows.map(({ share }) => share)).toEqual([0.25, 0.75]);
    expect(faultsOfSpec(of(0.25, 0.7))).toEqual([
      '/workflows have shares that sum to 0.95; all of the load is 1',
    ]);
    expect(faultsOfSpec(of(0.25, undefined))).toEqual([
      '/workflows/1/share is needed, as other workflows have one; leave it out of all for equal shares',
    ]);
  });

  it('takes the rates of workflows for their shares', () => {
    const { load: _, ...spec } = chatSpec({
      workflows: [
        { ...entry, rps: 1 },
        { ...entry, name: 'other', rps: 3 },
      ],
    });
    const { rps, workflows } = resolvedSpec(spec);
    expect({ rps, shares: workflows.map(({ share }) => share) }).toEqual({ rps: 4, shares: [0.25, 0.75] });
    expect(faultsOfSpec({ ...spec, workflows: [entry] })).toEqual([
      '/load is needed, or rps, or the rps of each workflow',
    ]);
  });

  it('asks what goes with SLOs only where there is one', () => {
    const { sloMs: _, ...untimed } = entry;
    const spec = chatSpec({ workflows: [untimed], planner: { attainment: 0.9, objective: 'devices' } });
    expect(faultsOfSpec(spec)).toEqual([
      '/planner/attainment is the share of requests in time, and no workflow has an sloMs',
      '/planner/objective is devices, of which one is enough where no workflow has an sloMs',
    ]);
  });

  it('takes a coefficient of variation for gamma arrivals alone', () => {
    const load = { rps: 10, duration: '20s', cv: 2 };
    const poisson = chatSpec({
      load: { ...load, arrivals: 'poisson' },
    });
    expect(faultsOfSpec(poisson)).toEqual(['/load/cv is for gamma arrivals, and these are poisson']);
    expect(faultsOfSpec(chatSpec({ load: { ...load, arrivals: 'gamma' } }))).toEqual([]);
    expect(faultsOfSpec(chatSpec({ load: { arrivals: 'gamma', rps: 10, duration: '20s' } }))).toEqual([]);
  });

  it('refuses fewer devices than subclusters, none, and more than a plan lists, each at its limit', () => {
    const of = (count: number, more: Partial<WorkflowSpec> = {}) =>
      faultsOfSpec(chatSpec({ cluster: { devices: { A800: { ...A800, count } } }, ...more }));
    expect(of(4, { planner: { subclusters: 4 } })).toEqual([]);
    expect(of(4, { planner: { subclusters: 5 } })).toEqual([
      '/planner/subclusters is 5, and there are 4 devices; each group has at least one',
    ]);
    expect(of(0)).toContain('/cluster has no device that is free');
    expect(of(4096)).toEqual([]);
    expect(of(4097)).toEqual([
      '/cluster leaves 4097 devices free; a plan of workflows has at most 4096: give fewer',
    ]);
  });

  it('refuses given devices that are fewer than subclusters, or for which the fewest are asked', () => {
    const holds = ['vision', 'language', 'image'];
    const of = (subclusters: number, objective: 'latency' | 'devices' = 'latency') =>
      faultsOfSpec(
        chatSpec({
          placement: [{ device: 'A800', count: 2, holds }],
          planner: { method: 'given', subclusters, objective },
        }),
      );
    expect(of(2)).toEqual([]);
    expect(of(3)).toEqual([
      '/planner/subclusters is 3, and 2 devices are given; each group has at least one',
    ]);
    expect(of(1, 'devices')).toEqual(['/planner/objective is devices, and given placements name theirs']);
  });

  it('notes that no batch is larger than those that were measured, whatever maxBatch says', () => {
    const notesOf = (maxBatch: number) => {
      const components = chatSpec().components.map((one) => ({ ...one, maxBatch }));
      return resolvedSpec(chatSpec({ components })).notes.filter((note) => note.includes('measured up to'));
    };
    expect(notesOf(2)).toEqual([]);
    expect(notesOf(8)).toEqual([
      'image was measured up to batch 2 on A800: no batch is larger there, whatever maxBatch says',
    ]);
    expect(notesOf(9)).toHaveLength(3);
  });

  it('asks for the memory of a component whose profile does not say how large its weights are', () => {
    const profiles = [madeProfile({ ms: { A800: { 1: 10 } } }), ...CHAT_PROFILES.slice(1)];
    expect(faultsOfSpec(chatSpec(), profiles)).toEqual([
      '/components/0/memoryGiB is needed: vision.json does not say how large the weights of vision are',
    ]);
    const components = chatSpec().components.map((one, c) => (c === 0 ? { ...one, memoryGiB: 3 } : one));
    expect(resolvedSpec(chatSpec({ components }), profiles).components[0]).toMatchObject({
      memoryBytes: 3 * 1024 ** 3,
    });
  });

  it('takes over what a profile says of the tensors of a component, and of how its rows may differ', () => {
    const said = {
      inputs: [{ name: 'x', dtype: 'float32' as const, shape: [1, 3] }],
      outputs: [{ name: 'y', dtype: 'float32' as const, shape: [1, 2] }],
      batchTolerance: 0.01,
      trustBatch: 'measured by hand',
      unservedOutputs: ['z'],
    };
    const [vision, ...others] = CHAT_PROFILES as [Profile, ...Profile[]];
    const profiles = [{ ...vision, model: { ...vision.model, ...said } }, ...others];
    const { components } = resolvedSpec(chatSpec(), profiles);
    expect(components[0]).toMatchObject(said);
    for (const key of Object.keys(said)) expect(components[1]).not.toHaveProperty(key);
  });

  it('refuses a trace in which a workflow has no requests', () => {
    const files = filesFor(chatSpec(), CHAT_PROFILES);
    const told = (share: number) => {
      const outcome = resolveWorkflows(chatSpec(), { ...files, traceShares: [share] });
      return 'faults' in outcome ? outcome.faults : [];
    };
    expect(told(0)).toEqual([
      {
        path: '/workflows/0/share',
        message: 'is needed: no request of the trace is of a function of this workflow',
      },
    ]);
    expect(told(0.1)).toEqual([]);
  });

  it('refuses a given device whose class does not run what it holds, and notes a class on which nothing runs', () => {
    const devices = { A800, T4: { ...A800, count: 1 } };
    const holds = ['vision', 'language', 'image'];
    const given = (device: string) =>
      chatSpec({
        cluster: { devices },
        placement: [
          { device: 'A800', count: 1, holds },
          { device, count: 1, holds: ['vision'] },
        ],
        planner: { method: 'given' },
      });
    expect(faultsOfSpec(given('T4'))).toEqual(['/placement/1/holds has vision, which T4 does not run']);
    expect(faultsOfSpec(given('A800'))).toEqual([]);
    expect(resolvedSpec(chatSpec({ cluster: { devices } })).notes).toContain(
      'no component runs on T4: 1 device of it is not used',
    );
  });

  it('has no devices where all are taken, which is no contradiction', () => {
    expect(faultsOfSpec(chatSpec({ cluster: { devices: { A800: { ...A800, taken: 4 } } } }))).toEqual([
      '/cluster has no device that is free',
    ]);
  });

  it('refuses memory below the weights, and given placements that do not fit, or do not hold what is called in each group', () => {
    const given = (holds: string[], count = 1) =>
      faultsOfSpec(chatSpec({ planner: { method: 'given' }, placement: [{ device: 'A800', count, holds }] }));
    expect(given(['vision', 'language', 'image'])).toEqual([]);
    expect(given(['vision', 'language'])).toEqual([
      '/placement has no device for image, which requests call',
    ]);
    expect(given(['vision', 'language', 'image'], 5)).toEqual([
      '/placement/0/count is 5, and 4 A800 are free',
    ]);
    expect(faultsOfSpec(chatSpec({ planner: { method: 'given' } }))).toEqual([
      '/placement is needed: planner.method is given',
    ]);
    // Two servers of two devices: each group of devices has to hold all.
    const halves = (['vision', 'language'] as const).map((own) => ({
      device: 'A800',
      count: 2,
      holds: ['image', own],
    }));
    const inGroups = chatSpec({ planner: { method: 'given', subclusters: 2 }, placement: halves });
    expect(faultsOfSpec(inGroups)).toEqual([
      '/placement has no device for language, which requests call in subcluster 0, which has A800-0/gpu0, A800-0/gpu1',
      '/placement has no device for vision, which requests call in subcluster 1, which has A800-1/gpu0, A800-1/gpu1',
    ]);
    const light = chatSpec();
    light.components[1]!.memoryGiB = 11.5;
    expect(faultsOfSpec(light)).toEqual([
      '/components/1/memoryGiB is 11.5, and the weights of language alone take 12 GiB by language.json',
    ]);
    const small = { devices: { A800: { ...A800, memoryGiB: 18 } } };
    expect(
      faultsOfSpec(
        chatSpec({
          cluster: small,
          planner: { method: 'given' },
          placement: [{ device: 'A800', count: 1, holds: ['vision', 'language', 'image'] }],
        }),
      ),
    ).toEqual(['/placement/0/holds takes 20 GiB, and A800 has 18']);
  });

  it('reports what recorded runs call that there is not, with the line', () => {
    const task = { inputs: [], after: [], outputBytes: 1, rows: 1 };
    const runs: Run[] = [
      {
        kind: 'run',
        version: '1.0',
        application: 'other',
        requestBytes: 1,
        tasks: [{ ...task, component: 'ear' }],
      },
      {
        kind: 'run',
        version: '1.0',
        application: 'chat',
        requestBytes: 1,
        tasks: [
          { ...task, component: 'ear' },
          { ...task, component: 'image', rows: 9 },
        ],
      },
    ];
    const recorded = chatSpec({ workflows: [{ name: 'chat', runs: 'runs.jsonl' }] });
    expect(faultsOfSpec(recorded, CHAT_PROFILES, runs)).toEqual([
      'runs.jsonl:2 /tasks/0/component is ear, which is no component of the spec; there are vision, language, image',
      'runs.jsonl:2 /tasks/1/rows is 9, and image has batches of at most 2: its profile ends there, or its maxBatch',
    ]);
    expect(faultsOfSpec(recorded, CHAT_PROFILES, runs.slice(0, 1))).toEqual([
      '/workflows/0/runs is runs.jsonl, which has no run of chat; it has runs of other',
    ]);
  });

  it('notes what nothing calls, and links that count no time', () => {
    const steps = CHAT.steps
      .slice(0, 2)
      .map((step) => (step.name === 'speak' ? { name: 'speak', calls: step.calls } : step));
    const spec = chatSpec({
      cluster: { devices: { A800 } },
      workflows: [{ ...entry, chain: { ...CHAT, steps: [...steps, { name: 'mute', calls: [] as never }] } }],
    });
    expect(resolvedSpec(spec).notes).toEqual([
      'mute is a step of chat that no request comes to',
      'no request calls image',
      'the cluster does not name the rate of the links of A800, so transfers over those count no time',
    ]);
  });
});
