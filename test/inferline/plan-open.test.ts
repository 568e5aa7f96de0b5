import { describe, expect, it } from 'vitest';
import type { PipelineSpec, PlanServing, Profile } from '../../src/formats/index.js';
import { estimatorOf } from '../../src/inferline/estimator.js';
import { type ChosenFor, planAsChosen, takenOver } from '../../src/inferline/plan-again.js';
import { planOpen } from '../../src/inferline/plan-open.js';
import { provedCost, provedForAll } from '../../src/inferline/planner.js';
import { planningProblemOf } from '../../src/inferline/planning.js';
import type { OpenPlanning, PlannedOpen, ServedBySimulator } from '../../src/inferline/planning-job.js';
import { resolveOpen } from '../../src/pipeline/index.js';
import type { PipelinePlanBody } from '../../src/plans/index.js';
import { tensor } from '../pipeline/example.js';

const MS = 1e6;

/** A CPU takes 10 ms for a row, and a GPU 2 ms, or 3 ms for two rows together. */
function profileOf(name: string, takes: string, gives: string): Profile {
  return {
    kind: 'profile',
    version: '1.0',
    model: { name, inputs: [tensor(takes)], outputs: [tensor(gives)] },
    blocks: [{ cutBytes: 16, weightBytes: 1 }],
    devices: {
      cpu: { blockLatencyUs: { '1': { '1': [10_000] } } },
      gpu: { blockLatencyUs: { '1': { '1': [2000], '2': [3000] } } },
    },
  };
}

/** A request comes every 4 ms, in each of two draws. */
const SAMPLE = { atNs: Float64Array.from({ length: 50 }, (_, i) => 4 * MS * (i + 1)), verdicts: [undefined] };

interface Asked {
  readonly spec?: Partial<PipelineSpec>;
  readonly stages?: PipelineSpec['stages'];
  readonly counts?: { readonly cpu?: number; readonly gpu?: number };
  readonly gpuCost?: number;
  readonly networkGbps?: number;
  readonly simulated?: ServedBySimulator;
}

/** By default, the simulator answers every request after 1 ms. */
const AT_ONCE: ServedBySimulator = () => (sample) => sample.atNs.map(() => MS);

function askedFor({ counts = {}, gpuCost = 3.5, networkGbps, simulated = AT_ONCE, ...asked }: Asked = {}) {
  const stages = asked.stages ?? [{ name: 's', profile: 's.json' }];
  const spec: PipelineSpec = {
    kind: 'pipeline',
    cluster: 'cluster.yaml',
    stages,
    sloMs: 12,
    attainment: 1,
    planner: { method: 'exact' },
    load: { arrivals: 'poisson', rps: 250, duration: '200ms' },
    serving: { scheduler: 'inferline' },
    ...asked.spec,
  };
  const files = {
    cluster: {
      devices: {
        cpu: { hourlyCost: 1, ...(counts.cpu === undefined ? {} : { count: counts.cpu }) },
        gpu: { hourlyCost: gpuCost, ...(counts.gpu === undefined ? {} : { count: counts.gpu }) },
      },
      ...(networkGbps === undefined ? {} : { networkGbps }),
    },
    profiles: stages.map(({ name }, i) => ({
      profile: profileOf(name, `t${i}`, `t${i + 1}`),
      path: `${name}.json`,
    })),
  };
  const { problem: open, faults } = resolveOpen(spec, files);
  if (open === undefined) throw new Error(JSON.stringify(faults));
  const sample = { ...SAMPLE, verdicts: stages.map(() => undefined) };
  const tools = { drawn: async () => [sample, sample], simulated };
  return { job: { open, spec, files }, tools };
}

async function planned(asked: Asked, more: Partial<OpenPlanning> = {}, stop = () => false) {
  const { job, tools } = askedFor(asked);
  return planOpen({ ...job, ...more }, tools, stop);
}

function feasible(answer: PlannedOpen) {
  if (answer.status !== 'feasible') throw new Error(JSON.stringify(answer));
  return answer;
}

/** The simulator answers after 1 ms with so many replicas and more, and drops a tenth with fewer. */
const heldFrom =
  (replicas: number, isAsked = (_: PlanServing) => true): ServedBySimulator =>
  (plan, _names, serving) =>
  (sample) =>
    sample.atNs.map((_, i) =>
      isAsked(serving) && plan.stages[0]!.replicas < replicas && i % 10 === 0 ? Number.POSITIVE_INFINITY : MS,
    );

describe('planOpen()', () => {
  it('makes the cheapest plan in order of arrival, with its proof, its sample and its envelope', async () => {
    const { plan, finished, ...rest } = feasible(await planned({}));
    // Three CPUs keep up with a request every 4 ms.
    expect(plan).toMatchObject({
      method: 'exact',
      serving: { scheduler: 'inferline' },
      status: 'optimal',
      hourlyCost: 3,
      objective: { kind: 'cost', value: 3, bound: 3, gap: 0 },
      stages: [{ name: 's', device: 'cpu', batch: 1, replicas: 3 }],
      sample: { requests: 100, draws: 2, seed: 1, attainment: 1, leastAttainment: 1, p50Ms: 10, p99Ms: 10 },
    });
    expect(plan.envelope![0]!.requests).toBeGreaterThan(0);
    expect(plan).not.toHaveProperty('reproducible');
    expect(plan).not.toHaveProperty('notes');
    expect(plan.sample).not.toHaveProperty('dropped');
    expect(finished).toBe(true);
    expect(rest).not.toHaveProperty('explanation');
  });

  it('explains what each change would bring where it is asked to', async () => {
    const { explanation } = feasible(await planned({}, { explain: true }));
    expect(explanation!.stages[0]!.classes).toEqual([
      { device: 'cpu', option: { device: 'cpu', batch: 1, replicas: 3 }, extraCost: 0 },
      { device: 'gpu', option: { device: 'gpu', batch: 1, replicas: 1 }, extraCost: 0.5 },
    ]);
  });

  it('says so where a person or a limit stopped the search', async () => {
    const stopped = feasible(await planned({ gpuCost: 2.5 }, {}, () => true));
    expect(stopped.plan).toMatchObject({ reproducible: false });
    expect(await planned({ counts: { cpu: 2, gpu: 0 } })).toMatchObject({ status: 'infeasible' });
  });

  it('serves by another scheduler with more replicas, until it holds the sample', async () => {
    const serving = { scheduler: 'stage-local' } as const;
    const { plan } = feasible(await planned({ spec: { serving }, simulated: heldFrom(5) }));
    expect(plan).toMatchObject({ serving, stages: [{ device: 'cpu', replicas: 5 }], hourlyCost: 5 });
    // In order of arrival three would do, which is told; of all plans it is not proved.
    expect(plan.notes!.join()).toContain('costs less than 3 per hour');
    expect(plan.objective!.bound).toBeLessThanOrEqual(3);
    const quick = feasible(
      await planned({
        spec: { serving, planner: { method: 'inferline' } },
        simulated: heldFrom(5),
        gpuCost: 9,
      }),
    );
    expect(quick.plan).not.toHaveProperty('notes');
    expect(quick.plan.stages[0]!.replicas).toBe(5);
  });

  it('has no plan that a named scheduler holds where replicas do not help', async () => {
    const serving = { scheduler: 'stage-local' } as const;
    const never = heldFrom(1e9);
    const answer = await planned({ spec: { serving }, simulated: never });
    expect(answer).toMatchObject({
      status: 'undecided',
      reasons: [{ code: 'other', text: expect.stringContaining('none that stage-local holds') }],
    });
    expect(answer).not.toHaveProperty('limit');
    const stopped = await planned({ spec: { serving }, simulated: never }, {}, () => true);
    expect(stopped).toMatchObject({ status: 'undecided', limit: 'time' });
  });

  it('is planned for a shorter SLO where replicas of the same class do not help', async () => {
    const onGpu: ServedBySimulator = (plan) => (sample) =>
      sample.atNs.map(() => (plan.stages[0]!.device === 'gpu' ? MS : 13 * MS));
    const serving = { scheduler: 'stage-local' } as const;
    // In three quarters of 12 ms, no CPU answers.
    const { plan } = feasible(await planned({ spec: { serving }, simulated: onGpu }));
    expect(plan.stages).toMatchObject([{ device: 'gpu', replicas: 1 }]);
  });

  it('serves by what holds the sample and loses least, where nobody names a scheduler', async () => {
    const unnamed = async (simulated: ServedBySimulator) =>
      feasible(await planned({ spec: { serving: undefined as never }, simulated })).plan;
    const byDefault = await unnamed(AT_ONCE);
    expect(byDefault.serving).toEqual({ scheduler: 'room-first' });
    expect(byDefault.notes!.join()).not.toContain('it is served by');
    const local = await unnamed(heldFrom(9, ({ scheduler }) => scheduler === 'room-first'));
    expect(local.serving).toEqual({ scheduler: 'stage-local' });
    expect(local.notes!.join()).toContain(
      'it is served by stage-local since room-first, the default, misses',
    );
    const inOrder = await unnamed(heldFrom(9, ({ scheduler }) => scheduler !== 'inferline'));
    expect(inOrder.serving).toEqual({ scheduler: 'inferline' });
    expect(inOrder.notes!.join()).toContain('inferline, in order of arrival and dropping nothing');
    for (const plan of [byDefault, local, inOrder]) expect(plan.hourlyCost).toBe(3);
  });

  it('takes the next scheduler where that loses less of the sample than the default', async () => {
    const dropped = async (drops: Readonly<Record<string, number>>, more: Partial<PipelineSpec> = {}) => {
      const simulated: ServedBySimulator =
        (_plan, _names, { scheduler }) =>
        (sample) =>
          sample.atNs.map((_, i) => (i < (drops[scheduler] ?? 0) ? Number.POSITIVE_INFINITY : MS));
      const spec = { serving: undefined as never, attainment: 0.9, ...more };
      return feasible(await planned({ spec, simulated })).plan.serving?.scheduler;
    };
    expect(await dropped({ 'room-first': 1 })).toBe('stage-local');
    expect(await dropped({ 'room-first': 2, 'stage-local': 1 })).toBe('stage-local');
    expect(await dropped({ 'room-first': 1, 'stage-local': 1 })).toBe('room-first');
    expect(await dropped({ 'room-first': 1, 'stage-local': 2 })).toBe('room-first');
    expect(await dropped({ 'room-first': 6, 'stage-local': 5 })).toBe('stage-local');
    expect(await dropped({ 'room-first': 6, 'stage-local': 6 })).toBe('inferline');
    // Two CPUs fall 1 ms behind with each request, so that 35 of 50 are in time in order of arrival too.
    const load = { arrivals: 'poisson', rps: 100, duration: '200ms' } as const;
    const late = { load, sloMs: 45, attainment: 0.7 };
    expect(await dropped({ 'room-first': 14 }, late)).toBe('room-first');
  });

  it('has the figures of each application', async () => {
    const applications = [
      { name: 'fast', share: 0.5, sloMs: 12 },
      { name: 'slow', share: 0.5, sloMs: 30 },
    ];
    const { job, tools } = askedFor({ spec: { applications, sloMs: undefined as never } });
    const drawn = async () =>
      (await tools.drawn()).map((sample) => ({
        ...sample,
        applications: Uint8Array.from(sample.atNs, (_, i) => i % 2),
      }));
    const { plan } = feasible(await planOpen(job, { ...tools, drawn }, () => false));
    const figures = { requests: 50, attainment: 1, leastAttainment: 1, p50Ms: 10, p95Ms: 10, p99Ms: 10 };
    expect(plan.applications).toEqual(applications.map((one) => ({ ...one, sample: figures })));
    const onlySlow = async () =>
      (await tools.drawn()).map((sample) => ({ ...sample, applications: new Uint8Array(50).fill(1) }));
    const other = feasible(await planOpen(job, { ...tools, drawn: onlySlow }, () => false));
    expect(other.plan.applications![0]!.sample).toEqual({ requests: 0, attainment: 1, leastAttainment: 1 });
    expect(other.plan.sample!.sha256).not.toBe(plan.sample!.sha256);
  });

  it('says of plans in order of arrival alone that there is none, where others may hold', async () => {
    const load = { arrivals: 'poisson', rps: 100, duration: '200ms' } as const;
    const asked = { load, sloMs: 45, attainment: 0.95 };
    const counts = { cpu: 2, gpu: 0 };
    const answer = await planned({ counts, spec: { ...asked, serving: { scheduler: 'stage-local' } } });
    expect(answer).toMatchObject({
      status: 'infeasible',
      isProved: false,
      reasons: [{ text: expect.stringMatching(/^no plan that is served in order of arrival .*: /) }],
    });
    expect(await planned({ counts, spec: asked })).toMatchObject({ status: 'infeasible', isProved: true });
    const few = { cpu: 1, gpu: 0 };
    const none = await planned({ counts: few, spec: { ...asked, serving: { scheduler: 'stage-local' } } });
    expect(none).toMatchObject({ status: 'infeasible', isProved: true });
  });

  it('counts what the scheduler drops and at which stage requests miss', async () => {
    const simulated: ServedBySimulator = () => (sample, _draw, misses) => {
      if (misses !== undefined) misses[0]! += 1;
      return sample.atNs.map((_, i) =>
        i === 0 ? Number.POSITIVE_INFINITY : i === 1 ? 13 * MS : (i % 5) * MS,
      );
    };
    const serving = { scheduler: 'stage-local' } as const;
    const spec = { serving, attainment: 0.9, objectives: [{ sloMs: 3, attainment: 0.5 }] };
    const { plan } = feasible(await planned({ spec, simulated }));
    expect(plan.sample).toMatchObject({
      requests: 100,
      dropped: 2,
      attainment: 0.96,
      leastAttainment: 0.96,
      missesByStage: [{ stage: 's', requests: 2 }],
      p50Ms: 2,
      p99Ms: 13,
    });
    // Of each five, those of 0 to 3 ms are within 3 ms: 40, less the dropped one and the one of 13 ms.
    expect(plan.objectives).toEqual([{ sloMs: 3, attainment: 0.5, sampleAttainment: 38 / 50 }]);
  });

  it('tells for whom a plan is none: for all schedulers, or in order of arrival alone', async () => {
    const short = { sloMs: 1.5 };
    const answer = await planned({ spec: short });
    expect(answer).toMatchObject({
      status: 'infeasible',
      isProved: true,
      smallestFeasibleSlosMs: [2],
      reasons: [{ code: 'slo-too-short', text: expect.stringContaining('an SLO of 2 ms can be met') }],
    });
    expect(await planned({ spec: short }, { tellsSlo: false })).not.toHaveProperty('smallestFeasibleSlosMs');
    const named = await planned({ spec: { ...short, serving: { scheduler: 'stage-local' } } });
    expect(named).not.toHaveProperty('smallestFeasibleSlosMs');
    expect(named).toMatchObject({ status: 'infeasible', isProved: true });
  });

  it('names the classes that are too small where a stage fits on none', async () => {
    const { job, tools } = askedFor();
    const tooSmall = [{ code: 'other' as const, text: 'it is too small' }];
    const open = { ...job.open, stages: [{ ...job.open.stages[0]!, candidates: [], tooSmall }] };
    expect(await planOpen({ ...job, open }, tools, () => false)).toEqual({
      status: 'infeasible',
      isProved: true,
      reasons: tooSmall,
      estimates: 0,
    });
  });

  it('plans as one black box by the coarse methods, without a proof', async () => {
    const coarse = (method: 'coarse-mean' | 'coarse-peak', more: Partial<PipelineSpec> = {}) =>
      planned({ spec: { planner: { method }, ...more } }, { explain: true });
    // GPUs in pairs serve 667 requests/s, and 250 come.
    const { plan, finished, estimates, explanation } = feasible(await coarse('coarse-mean'));
    expect(plan).toMatchObject({
      method: 'coarse-mean',
      stages: [{ device: 'gpu', batch: 2, replicas: 1 }],
    });
    expect(plan).not.toHaveProperty('objective');
    expect([finished, estimates, explanation!.path]).toEqual([true, 0, []]);
    // Within any 13 ms, four requests come, and 49 in 196 ms.
    const cpu = { stages: [{ name: 's', profile: 's.json', devices: ['cpu'] }], sloMs: 13 };
    const boxes = async (method: 'coarse-mean' | 'coarse-peak') => {
      const { stages, sloMs } = cpu;
      return feasible(await planned({ stages, spec: { planner: { method }, sloMs } })).plan.stages[0]!
        .replicas;
    };
    expect([await boxes('coarse-mean'), await boxes('coarse-peak')]).toEqual([3, 4]);
    expect(await coarse('coarse-peak', { sloMs: 1 })).toMatchObject({
      status: 'infeasible',
      reasons: [{ code: 'slo-too-short' }],
    });
  });
});

const TWO = [
  { name: 'a', profile: 'a.json', next: ['b'] },
  { name: 'b', profile: 'b.json' },
];

describe('planOpen() where batches may wait for links', () => {
  const linked = (
    simulated: ServedBySimulator,
    spec: Partial<PipelineSpec> = {},
    more: Partial<OpenPlanning> = {},
  ) => planned({ stages: TWO, spec: { sloMs: 40, ...spec }, networkGbps: 0.001, simulated }, more);

  it('plans again for longer transfers until the simulator holds the sample', async () => {
    const { plan, explanation } = feasible(await linked(AT_ONCE, {}, { explain: true }));
    // What a change brings is asked of the simulator too.
    expect(explanation!.stages.map(({ oneMore }) => oneMore)).toEqual([[1], [1]]);
    expect(plan.sample!.attainment).toBe(1);
    expect(plan.hourlyCost).toBeLessThanOrEqual(7);
    const least = plan.stages.reduce((sum, { replicas }) => sum + replicas, 0);
    const more: ServedBySimulator =
      ({ stages }) =>
      (sample) =>
        sample.atNs.map(() =>
          stages.reduce((sum, { replicas }) => sum + replicas, 0) > least ? MS : 41 * MS,
        );
    const answer = await linked(more);
    if (answer.status === 'feasible') {
      expect(answer.plan.stages.reduce((sum, { replicas }) => sum + replicas, 0)).toBeGreaterThan(least);
      expect(answer.plan.objective!.bound).toBeLessThan(answer.plan.hourlyCost!);
    } else expect(answer).toMatchObject({ status: 'undecided', reasons: [{ code: 'links-too-busy' }] });
  });

  it('has transfers that take the time of all rows of a batch on a link', () => {
    const { open } = askedFor({ stages: TWO, networkGbps: 0.001 }).job;
    const { transferNs, graph } = planningProblemOf(open);
    const sent = (rows: number, toDevice = 'gpu') =>
      transferNs?.({ from: 0, edge: graph.edges[0]![0]!, fromDevice: 'cpu', toDevice, rows });
    // A row has four floats, which take 128 µs at 1 Mbit/s.
    expect([sent(1), sent(2), sent(3, 'cpu')]).toEqual([128_000, 256_000, 384_000]);
    expect(
      planningProblemOf(askedFor({ stages: TWO }).job.open).transferNs?.({
        from: 0,
        edge: graph.edges[0]![0]!,
        fromDevice: 'cpu',
        toDevice: 'gpu',
        rows: 2,
      }),
    ).toBe(0);
  });

  it('names the link in the way where nothing holds it', async () => {
    const never: ServedBySimulator = () => (sample) => sample.atNs.map((_, i) => (i < 10 ? 41 * MS : MS));
    const answer = await linked(never);
    if (answer.status !== 'undecided') throw new Error(answer.status);
    expect(answer.reasons).toMatchObject([
      {
        code: 'links-too-busy',
        stages: ['a'],
        sloMs: 40,
        attainment: 1,
        text: expect.stringContaining(
          'requests/s, and 80 % of a draw of the load are in time, where 100 % must be',
        ),
      },
    ]);
    expect(answer).not.toHaveProperty('limit');
    expect(answer.reasons[0]!.text).toContain(
      'faster links (linkGbps, networkGbps) or a longer SLO would help',
    );
    const cut = await linked(never, {}, { work: 12 });
    expect(cut).toMatchObject({ status: 'undecided', limit: 'work' });
  });
});

describe('planAsChosen()', () => {
  async function again(
    change: (plan: PipelinePlanBody) => PipelinePlanBody,
    asked: Asked = {},
    proves = false,
  ) {
    const { plan } = feasible(await planned(asked));
    const { job, tools } = askedFor(asked);
    const chosen: ChosenFor = { ...job, ...tools };
    return planAsChosen(change(plan), chosen, { proves });
  }
  const withStage = (change: object) => (plan: PipelinePlanBody) => ({
    ...plan,
    stages: plan.stages.map((stage) => ({ ...stage, ...change })),
  });

  it('makes the same plan again, with its bound', async () => {
    const { plan } = feasible(await planned({}));
    const { envelope: _, ...body } = plan;
    expect(await again((one) => one)).toEqual({ status: 'feasible', plan: body });
    const dearer = await again(withStage({ replicas: 4 }));
    expect(dearer).toMatchObject({
      plan: {
        hourlyCost: 4,
        status: 'feasible',
        objective: { value: 4, bound: 3, gap: expect.closeTo(1 / 3, 9) },
      },
    });
  });

  it('proves the bound anew where the method can', async () => {
    // Two CPUs are busy for 480 of the 241 ms that 48 requests have, and three are needed in order of arrival.
    const load = { arrivals: 'poisson', rps: 100, duration: '200ms' } as const;
    const spec = { planner: { method: 'inferline' }, sloMs: 45, attainment: 0.95, load } as const;
    const untold = (plan: PipelinePlanBody) => ({ ...plan, objective: { ...plan.objective!, bound: 0.1 } });
    const kept = await again(untold, { spec });
    const anew = await again(untold, { spec }, true);
    if (kept.status !== 'feasible' || anew.status !== 'feasible') throw new Error('there is no plan');
    expect(kept.plan.objective!.bound).toBe(0.1);
    // At least one CPU is needed, and a GPU costs more.
    expect(anew.plan.objective!.bound).toBeGreaterThanOrEqual(1);
    expect(anew.plan.objective!.bound).toBeLessThanOrEqual(3);
    const { job, tools } = askedFor({ spec });
    const input = { problem: planningProblemOf(job.open), samples: await tools.drawn(), estimatorOf };
    const [inOrder, forAll] = [provedCost(input), provedForAll(input)];
    expect(anew.plan.objective!.bound).toBe(inOrder);
    // Plans that another scheduler serves, or that were made before, have the bound of all schedulers.
    const unnamed = { ...spec, serving: undefined as never };
    const boundOf = async (change: Partial<PipelinePlanBody>, asked: Partial<PipelineSpec>) => {
      const made = await again((plan) => ({ ...untold(plan), ...change }), { spec: asked }, true);
      return made.status === 'feasible' ? made.plan.objective!.bound : made.reasons;
    };
    const objective = { kind: 'cost', value: 3, gap: 0, bound: forAll } as const;
    expect(await boundOf({}, { ...spec, serving: { scheduler: 'stage-local' } })).toBe(forAll);
    expect(await boundOf({ serving: { scheduler: 'inferline' } }, unnamed)).toBe(inOrder);
    expect(await boundOf({ serving: { scheduler: 'inferline' }, objective }, unnamed)).toBe(forAll);
    expect(await boundOf({ objective }, spec)).toBe(inOrder);
    expect(forAll).toBeLessThan(inOrder);
    const exact = await again(untold, {}, true);
    expect(exact).toMatchObject({ plan: { objective: { bound: 0.1 } } });
  });

  it.each([
    [
      'another class',
      { device: 'tpu' },
      {},
      's is served by tpu in batches of 1, which its spec does not allow',
    ],
    ['another batch', { batch: 3 }, {}, 's is served by cpu in batches of 3, which its spec does not allow'],
    ['more than there are', { replicas: 6 }, { counts: { cpu: 5 } }, '6 cpu are used and 5 are free'],
  ])('refuses %s', async (_, change, asked, text) => {
    expect(await again(withStage(change), asked)).toEqual({ status: 'infeasible', reasons: [{ text }] });
  });

  it('refuses other replicas than the spec fixes, and what does not keep up', async () => {
    const stages = [{ name: 's', profile: 's.json', replicas: 4 }];
    expect(await again(withStage({ replicas: 5 }), { stages })).toEqual({
      status: 'infeasible',
      reasons: [{ text: 's has 5 replicas, and its spec fixes 4' }],
    });
    const busy = await again(withStage({ device: 'cpu', batch: 1, replicas: 3 }), {
      spec: { load: { arrivals: 'poisson', rps: 350, duration: '200ms' } },
    });
    expect(busy).toMatchObject({
      status: 'infeasible',
      reasons: [{ text: expect.stringMatching(/3 cpu can serve s for at most 300 .* 350/) }],
    });
    expect(await again(withStage({ replicas: 2 }))).toMatchObject({
      reasons: [
        { text: expect.stringMatching(/^2 cpu can serve s for at most 200 .* 250;/) },
        // Each pair of requests begins 2 ms later than the one before: the first four are in time.
        {
          text: "8 % of the sample's worst draw are answered within 12 ms, and the plan promises 100 %",
        },
      ],
    });
  });

  it('is taken over for another spec, by the first scheduler that holds its sample', async () => {
    const { plan } = feasible(await planned({}));
    const takenBy = async (asked: Asked, bound: number) => {
      const { job, tools } = askedFor(asked);
      return takenOver({ ...plan, serving: { scheduler: 'room-first' } }, { ...job, ...tools }, bound);
    };
    const unnamed = { serving: undefined as never };
    const onlyInOrder = heldFrom(9, ({ scheduler }) => scheduler !== 'inferline');
    expect(await takenBy({ spec: unnamed }, 2)).toMatchObject({
      serving: { scheduler: 'room-first' },
      objective: { value: 3, bound: 2, gap: 0.5 },
    });
    expect(await takenBy({ spec: unnamed, simulated: onlyInOrder }, 3)).toMatchObject({
      serving: { scheduler: 'inferline' },
      status: 'optimal',
    });
    expect(await takenBy({ spec: { serving: { scheduler: 'room-first' } }, simulated: onlyInOrder }, 3)).toBe(
      undefined,
    );
  });
});
