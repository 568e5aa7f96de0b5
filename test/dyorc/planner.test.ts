import { describe, expect, it } from 'vitest';
import { fewestDevices } from '../../src/dyorc/fewest-devices.js';
import {
  planWorkflows,
  type SampleFigures,
  type ToSimulate,
  type WorkflowAnswer,
  type WorkflowQuestion,
} from '../../src/dyorc/index.js';
import type { WorkflowSpec } from '../../src/formats/index.js';
import { streamOf } from '../../src/random/index.js';
import { requestsOfLoad } from '../../src/specs/workflow/requests.js';
import { simulatedSample } from '../../src/specs/workflow/simulated-sample.js';
import { inWholeRun } from '../cases.js';
import { CHAT, CHAT_PROFILES, chatSpec, resolvedSpec } from './made-specs.js';

interface Asked {
  readonly profiles?: typeof CHAT_PROFILES;
  readonly interrupted?: () => boolean;
  readonly seen?: ToSimulate[];
}

function planned(
  spec: WorkflowSpec,
  { profiles = CHAT_PROFILES, interrupted = () => false, seen = [] }: Asked = {},
): WorkflowAnswer {
  const resolved = resolvedSpec(spec, profiles);
  return planWorkflows({
    resolved,
    interrupted,
    tell: () => undefined,
    requestsOf: (seed) => requestsOfLoad({ resolved }, seed),
    simulate: (asked) => {
      seen.push(asked);
      return simulatedSample(asked);
    },
  });
}

function planOf(answer: WorkflowAnswer) {
  if (answer.status === 'planned') return answer.plan;
  throw new Error(JSON.stringify(answer.reasons));
}

describe('planWorkflows()', () => {
  inWholeRun('makes the mean latency small on all devices, and says how near it is to the bound', () => {
    const seen: ToSimulate[] = [];
    const plan = planOf(planned(chatSpec(), { seen }));
    const { objective, sample, placement, bounds, status } = plan;
    expect(placement).toHaveLength(4);
    expect(objective).toEqual({
      kind: 'latency',
      value: sample.meanMs,
      bound: bounds.meanMs,
      gap: sample.meanMs / bounds.meanMs - 1,
    });
    expect(objective.gap).toBeLessThan(0.2);
    expect(status).toBe('feasible');
    // Both what work asks for and what devices held longest were tried, and the better one is the plan.
    const means = seen.map((asked) => simulatedSample(asked).figures.meanMs);
    expect(sample.meanMs).toBe(Math.min(...means));
    // The plan is what its own placement makes of the sample.
    const again = simulatedSample({ ...(seen[0] as ToSimulate), plan: { ...plan, placement } });
    expect(again.figures).toEqual(sample);
  });

  it('leaves out devices of a cheap class that cannot execute everything, where others suffice', () => {
    const A800 = { memoryGiB: 20, loadGBps: 10 };
    const spec = chatSpec({
      cluster: {
        devices: {
          cheap: { ...A800, count: 10, hourlyCost: 1 },
          A800: { ...A800, count: 4, hourlyCost: 5 },
        },
        networkGbps: 10,
      },
      rps: 0.5,
      planner: { objective: 'devices', attainment: 0.9 },
    });
    const { load: _, ...rest } = spec;
    const [vision, ...others] = CHAT_PROFILES as [(typeof CHAT_PROFILES)[number], ...typeof CHAT_PROFILES];
    const onBoth = { ...vision, devices: { ...vision.devices, cheap: vision.devices.A800 as never } };
    const { placement, objective } = planOf(planned(rest, { profiles: [onBoth, ...others] }));
    expect(placement.filter((device) => device.class === 'cheap')).toEqual([]);
    expect(objective.value).toBe(placement.length);
    expect(placement.length).toBeLessThanOrEqual(2);
  });

  inWholeRun(
    'has what devices held longest, and room for all of it, where it is served as static whatever its method',
    () => {
      const serving = { scheduler: 'static' };
      const cluster = (count: number) => ({
        devices: { A800: { count, memoryGiB: 14, loadGBps: 10 } },
        networkGbps: 10,
      });
      const fits = planned(chatSpec({ serving, cluster: cluster(2), rps: 1, load: undefined as never }));
      expect(planOf(fits).placement.flatMap(({ holds }) => holds)).toEqual(
        expect.arrayContaining(['vision', 'language', 'image']),
      );
      const one = planned(chatSpec({ serving, cluster: cluster(1), rps: 1, load: undefined as never }));
      expect(one).toMatchObject({
        status: 'infeasible',
        reasons: [{ code: 'weights-exceed-memory', neededGiB: 20, memoryGiB: 14 }],
      });
    },
  );

  it('is no optimum where requests are dropped, and says which SLO no request can meet', () => {
    const answer = planned(chatSpec({ workflows: [{ name: 'chat', chain: CHAT, sloMs: 20 }] }));
    const { status, objective, sample } = planOf(answer);
    expect([status, objective, sample.dropped]).toEqual([
      ...['feasible', { kind: 'latency', value: 0, bound: 0 }, sample.requests],
    ]);
    expect(answer).toMatchObject({ notes: [expect.stringContaining('and its SLO is 20 ms')] });
  });

  it('asks for room for the inputs of a task beside its component', () => {
    const GIB = 1024 ** 3;
    const alone = (memoryGiB: number) =>
      planned(
        chatSpec({
          cluster: { devices: { A800: { count: 1, memoryGiB, loadGBps: 10 } }, networkGbps: 10 },
          components: chatSpec().components.slice(0, 1),
          workflows: [
            {
              name: 'see',
              chain: {
                requestBytes: GIB,
                start: 'x',
                steps: [{ name: 'x', calls: [{ component: 'vision', inputs: ['request'], outputBytes: 1 }] }],
              },
            },
          ],
          load: { arrivals: 'uniform', rps: 0.5, duration: '4s' },
        }),
        { profiles: CHAT_PROFILES.slice(0, 1) },
      );
    // Vision takes 2 GiB, and what each request sends 1.
    expect(alone(2.999)).toMatchObject({
      status: 'infeasible',
      reasons: [{ code: 'weights-exceed-memory' }],
    });
    expect(alone(3)).toMatchObject({ status: 'planned' });
  });

  inWholeRun('uses no device of a class on which no component runs', () => {
    const { cluster } = chatSpec();
    const { devices } = cluster as Exclude<WorkflowSpec['cluster'], string>;
    const more = { ...devices, idle: { count: 5, memoryGiB: 80, hourlyCost: 1 } };
    const spec = (planner: WorkflowSpec['planner'] = {}) =>
      chatSpec({ planner, cluster: { networkGbps: 10, devices: more } });
    expect(resolvedSpec(spec()).notes).toContain('no component runs on idle: 5 devices of it are not used');
    for (const planner of [{}, { objective: 'devices', attainment: 0.5 } as const]) {
      const plan = planOf(planned(spec(planner)));
      expect(Object.keys(plan.cluster.devices)).toEqual(['A800']);
      expect(plan.placement.every(({ class: name }) => name === 'A800')).toBe(true);
    }
  });

  it('refuses to plan replicas of which each keeps its memory where they do not all fit', () => {
    const spec = chatSpec({
      cluster: { devices: { A800: { count: 1, memoryGiB: 13, loadGBps: 10 } }, networkGbps: 10 },
      planner: { method: 'ray-like' },
    });
    expect(planned(spec)).toMatchObject({
      status: 'infeasible',
      reasons: [{ code: 'weights-exceed-memory' }],
    });
  });

  it('is proved optimal where nothing waits', () => {
    const spec = chatSpec({
      cluster: { devices: { A800: { count: 1, memoryGiB: 40, loadGBps: 10 } } },
      workflows: [
        {
          name: 'see',
          chain: {
            requestBytes: 5,
            start: 'x',
            steps: [{ name: 'x', calls: [{ component: 'vision', inputs: ['request'], outputBytes: 5 }] }],
          },
        },
      ],
      load: { arrivals: 'uniform', rps: 5, duration: '4s' },
    });
    expect(planOf(planned(spec))).toMatchObject({
      status: 'optimal',
      objective: { kind: 'latency', value: 10, bound: 10, gap: 0 },
      sample: { requests: 20, tasks: 20, dropped: 0, loads: 0 },
    });
  });

  inWholeRun(
    'finds the fewest devices that hold every SLO, also on requests by which nothing was chosen',
    () => {
      const spec = (rps: number) =>
        chatSpec({
          planner: { objective: 'devices', attainment: 0.95 },
          workflows: [{ ...(chatSpec().workflows[0] as WorkflowSpec['workflows'][number]), sloMs: 700 }],
          load: { arrivals: 'poisson', rps, duration: '10s' },
        });
      for (const rps of [4, 16]) {
        const seen: ToSimulate[] = [];
        const plan = planOf(planned(spec(rps), { seen }));
        const { value, bound } = plan.objective;
        expect(value).toBe(plan.placement.length);
        expect(plan.cluster.devices.A800?.count).toBe(value);
        expect(value).toBeGreaterThanOrEqual(bound);
        expect(plan.sample.workflows[0]?.attainment).toBeGreaterThanOrEqual(0.95);
        const confirmed = seen.filter(
          ({ seed, plan: { placement } }) => seed !== 1 && placement.length === value,
        );
        expect(confirmed.map(({ seed }) => seed)).toEqual([2, 3, 4]);
        const shares = confirmed.map((asked) => simulatedSample(asked).figures.workflows[0]?.attainment ?? 0);
        expect(shares.reduce((a, b) => a + b) / 3).toBeGreaterThanOrEqual(0.95);
        // One device fewer holds it on none of both.
        const fewer = seen.filter(({ plan: { placement } }) => placement.length === value - 1);
        if (value > bound)
          expect(
            fewer.some((asked) => (simulatedSample(asked).figures.workflows[0]?.attainment ?? 0) < 0.95),
          ).toBe(true);
      }
    },
  );

  it('says that no devices can hold an SLO only where a bound proves it', () => {
    const spec = (sloMs: number, rps: number) =>
      chatSpec({
        planner: { objective: 'devices' },
        workflows: [{ ...(chatSpec().workflows[0] as WorkflowSpec['workflows'][number]), sloMs }],
        load: { arrivals: 'poisson', rps, duration: '5s' },
      });
    expect(planned(spec(60, 5))).toMatchObject({
      status: 'infeasible',
      reasons: [{ code: 'slo-too-short', model: 'chat', sloMs: 60 }],
      simulations: 0,
    });
    expect(planned(spec(400, 400))).toMatchObject({
      status: 'infeasible',
      reasons: [{ code: 'too-few-gpus' }],
    });
    expect(planned(spec(400, 40))).toMatchObject({
      status: 'undecided',
      reasons: [{ code: 'not-held', model: 'chat', attainment: 0.99 }],
    });
  });

  it('places for ever what devices held longest, for the scheduler static', () => {
    const plan = planOf(planned(chatSpec({ planner: { method: 'static' } })));
    expect(plan.serving).toEqual({ scheduler: 'static' });
    expect(plan.sample).toMatchObject({ loads: 0, evictions: 0, dropped: 0 });
    const held = new Set(plan.placement.flatMap(({ holds }) => holds));
    expect([...held].toSorted()).toEqual(['image', 'language', 'vision']);
    for (const { holds, static: stays } of plan.placement) expect(stays ?? holds).toEqual(holds);
  });

  it('has no static plan where memory is too little for all that is called, and others have one', () => {
    const cluster = { devices: { A800: { count: 1, memoryGiB: 19, loadGBps: 10 } }, networkGbps: 10 };
    const load = { arrivals: 'poisson' as const, rps: 1, duration: '10s' };
    expect(planned(chatSpec({ cluster, load, planner: { method: 'static' } }))).toMatchObject({
      status: 'infeasible',
      reasons: [{ code: 'weights-exceed-memory', neededGiB: 20, memoryGiB: 19 }],
    });
    expect(planOf(planned(chatSpec({ cluster, load }))).sample.loads).toBeGreaterThan(0);
  });

  it('serves by the scheduler of its method, from what is given where that says so', () => {
    for (const method of ['greedy', 'round-robin'] as const) {
      const plan = planOf(planned(chatSpec({ planner: { method } })));
      expect(plan).toMatchObject({ method, serving: { scheduler: method } });
      expect(plan.placement.every((device) => device.static !== undefined)).toBe(true);
    }
    const plan = planOf(
      planned(
        chatSpec({
          planner: { method: 'given' },
          placement: [{ device: 'A800', count: 2, holds: ['language', 'vision', 'image'] }],
        }),
      ),
    );
    expect(plan).toMatchObject({ method: 'given', serving: { scheduler: 'static' }, sample: { loads: 0 } });
    expect(plan.placement.map(({ holds }) => holds)).toEqual(
      [1, 2].map(() => ['language', 'vision', 'image']),
    );
  });

  it('divides devices into subclusters, each of which holds what is called', () => {
    const plan = planOf(planned(chatSpec({ planner: { subclusters: 2, method: 'static' } })));
    for (const group of [0, 1]) {
      const own = plan.placement.filter(({ subcluster }) => subcluster === group);
      expect([...new Set(own.flatMap(({ holds }) => holds))].toSorted()).toEqual([
        'image',
        'language',
        'vision',
      ]);
    }
    expect(plan.sample.requests).toBe(planOf(planned(chatSpec())).sample.requests);
  });

  it('has the same answer again, and says where an interruption cut it short', () => {
    expect(planned(chatSpec())).toEqual(planned(chatSpec()));
    const plan = planOf(planned(chatSpec(), { interrupted: () => true }));
    expect(plan.reproducible).toBe(false);
    expect(plan.placement.every((device) => device.static === undefined)).toBe(true);
    const devices = chatSpec({ planner: { objective: 'devices' } });
    expect(planned(devices, { interrupted: () => true })).toMatchObject({ status: 'undecided', reasons: [] });
  });
});

describe('planWorkflows() with simulations that are made up', () => {
  const figures = (meanMs: number, attainment = 1): SampleFigures => ({
    requests: 100,
    tasks: 100,
    meanMs,
    p50Ms: meanMs,
    p95Ms: meanMs,
    p99Ms: meanMs,
    dropped: 0,
    workflows: [{ name: 'chat', requests: 100, attainment }],
    deviceTime: { executing: 0, loading: 0, both: 0, idle: 1 },
    loads: 0,
    evictions: 0,
  });
  const withSimulations = (spec: WorkflowSpec, simulate: WorkflowQuestion['simulate']) => {
    const resolved = resolvedSpec(spec);
    return planWorkflows({
      resolved,
      simulate,
      interrupted: () => false,
      tell: () => undefined,
      requestsOf: (seed) => requestsOfLoad({ resolved }, seed),
    });
  };
  /** All devices are said to have held language and image alone, but the last, which held vision. */
  const heldNs = (device: number, component: number) => (component === 0 ? Number(device === 3) : 2);

  it('begins with what was held longest only where that is better', () => {
    for (const [first, second, isSecond] of [
      [900, 800, true],
      [800, 900, false],
      [800, 800, false],
    ] as const) {
      const placements: string[] = [];
      const answer = withSimulations(chatSpec(), ({ plan: { placement } }) => {
        placements.push(JSON.stringify(placement.map(({ holds }) => holds)));
        return { figures: figures(placements.length === 1 ? first : second), heldNs };
      });
      const { placement, sample } = planOf(answer);
      expect(sample.meanMs).toBe(isSecond ? second : first);
      expect(placements[0]).not.toBe(placements[1]);
      expect(JSON.stringify(placement.map(({ holds }) => holds))).toBe(placements[isSecond ? 1 : 0]);
    }
  });

  it('prefers a plan that drops fewer requests, however long the others take', () => {
    let calls = 0;
    const answer = withSimulations(chatSpec(), () => {
      calls += 1;
      return { figures: { ...figures(calls === 1 ? 800 : 900), dropped: calls === 1 ? 3 : 0 }, heldNs };
    });
    expect(planOf(answer).sample).toMatchObject({ meanMs: 900, dropped: 0 });
  });

  it('adds devices until the seeds confirm them by which nothing was chosen', () => {
    const spec = chatSpec({ planner: { objective: 'devices', attainment: 0.9 } });
    const enough = (onSample: number, onOthers: number) =>
      withSimulations(spec, ({ seed, plan: { placement } }) => ({
        figures: figures(200, placement.length >= (seed === 1 ? onSample : onOthers) ? 0.95 : 0.8),
        heldNs,
      }));
    expect(planOf(enough(1, 1)).placement).toHaveLength(1);
    expect(planOf(enough(2, 1)).placement).toHaveLength(2);
    expect(planOf(enough(2, 4)).placement).toHaveLength(4);
    expect(enough(2, 5)).toMatchObject({
      status: 'undecided',
      reasons: [{ code: 'not-held', heldShare: expect.closeTo(0.8, 9) }],
    });
    expect(enough(5, 1)).toMatchObject({
      status: 'undecided',
      reasons: [{ code: 'not-held', heldShare: expect.closeTo(0.8, 9) }],
    });
  });
});

describe('fewestDevices()', () => {
  it('finds the least number that holds, with few trials, where all larger ones hold too', () => {
    for (let seed = 1; seed <= 200; seed++) {
      const stream = streamOf(seed, 'fewest');
      const [least, most] = [1 + stream.integer(20), 128];
      const first = least + stream.integer(130 - least);
      const tried: number[] = [];
      const found = fewestDevices(least, most, (count) => {
        tried.push(count);
        return count >= first;
      });
      expect({ seed, found }).toEqual({ seed, found: first > most ? undefined : first });
      expect(tried.length).toBeLessThanOrEqual(18);
      expect(tried.every((count) => count >= least && count <= most)).toBe(true);
    }
  });
});
