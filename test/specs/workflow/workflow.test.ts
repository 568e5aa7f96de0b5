import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { simulatePlan, validateFiles } from '../../../src/api/index.js';
import { loadArtifact, loadSpec } from '../../../src/artifacts/index.js';
import {
  InputError,
  MissingError,
  type Run,
  type WorkflowPlan,
  type WorkflowSpec,
} from '../../../src/formats/index.js';
import { compareSpec, solveSpec } from '../../../src/specs/index.js';
import { digestOfRequests, requestsOfLoad } from '../../../src/specs/workflow/requests.js';
import { loadWorkflows } from '../../../src/specs/workflow/workflow.js';
import { fewOf, inWholeRun, WHOLE, whole } from '../../cases.js';
import { CHAT, CHAT_PROFILES, chatSpec } from '../../dyorc/made-specs.js';

let folder: string;
const at = (name: string): string => join(folder, name);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-workflows-'));
  for (const [i, name] of ['vision', 'language', 'image'].entries())
    await writeFile(at(`${name}.json`), JSON.stringify(CHAT_PROFILES[i]));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function written(spec: object, name = 'spec.json'): Promise<string> {
  await writeFile(at(name), JSON.stringify(spec));
  return at(name);
}

async function loaded(spec: object) {
  return loadWorkflows(await loadSpec(await written(spec), ['workflow']));
}

const [entry] = chatSpec().workflows as [WorkflowSpec['workflows'][number]];

const seeing = (application: string, requestBytes: number): Run => ({
  kind: 'run',
  version: '1.0',
  application,
  requestBytes,
  tasks: [{ component: 'vision', inputs: ['request'], after: [], outputBytes: 10, rows: 1 }],
});

/** A trace of four functions: requests of each in the first, second and third minute. */
const FUNCTIONS = [
  'HashOwner,HashApp,HashFunction,Trigger,1,2,3',
  ...['60,0,0', '0,120,0', '0,0,30', '0,30,0'].map((counts, f) => `o,a,f${f},http,${counts}`),
].join('\n');

function rpsOf({
  workload,
}: {
  readonly workload: { readonly models: readonly { readonly rps: number }[] };
}): number {
  return workload.models.reduce((sum, { rps }) => sum + rps, 0);
}

async function refusalOf(promise: Promise<unknown>): Promise<InputError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof InputError) return error;
  throw new Error(`was not refused: ${error}`);
}

describe('loadWorkflows()', () => {
  it('reads what a spec names, and lists it as the inputs of a plan', async () => {
    await writeFile(
      at('cluster.json'),
      JSON.stringify({ kind: 'cluster', ...(chatSpec().cluster as object) }),
    );
    await writeFile(
      at('runs.jsonl'),
      [seeing('see', 1), seeing('other', 2), seeing('see', 3)].map((one) => JSON.stringify(one)).join('\n'),
    );
    await writeFile(at('see.js'), 'export default async () => {};\n');
    const { resolved, read, inputs } = await loaded(
      chatSpec({
        cluster: 'cluster.json',
        workflows: [entry, { name: 'see', runs: 'runs.jsonl', program: 'see.js' }],
      }),
    );
    const roles = ['spec', 'cluster', 'profile', 'profile', 'profile', 'runs', 'program'];
    expect(inputs(at('plan.json')).map(({ role }) => role)).toEqual(roles);
    expect(inputs(at('plan.json'), ['vision']).filter(({ role }) => role === 'profile')).toHaveLength(1);
    expect(read.map(({ path }) => basename(path))).toEqual(expect.arrayContaining(['runs.jsonl', 'see.js']));
    const { source } = resolved.workflows[1] as (typeof resolved.workflows)[number];
    expect('runs' in source && source.runs.map(({ requestBytes }) => requestBytes)).toEqual([1, 3]);
  });

  it('reports what is missing together with what is wrong in the spec itself', async () => {
    const error = await refusalOf(
      loaded(
        chatSpec({
          rps: 3,
          workflows: [
            { ...entry, chain: { ...CHAT, start: 'nowhere' } },
            { name: 'see', runs: 'none.jsonl', program: 'none.js' },
          ],
        }),
      ),
    );
    const told = error.faults.map(({ path, message }) => `${path} ${message}`).join('\n');
    expect(told).toContain('none.jsonl');
    expect(told).toContain('none.js');
    expect(told).toContain('/rps stands beside a load');
    expect(
      await refusalOf(loaded(chatSpec({ workflows: [{ name: 'see', runs: 'none.jsonl' }] }))),
    ).toBeInstanceOf(MissingError);
  });

  it("names the spec's place of what is wrong in a chain", async () => {
    const { faults } = await refusalOf(
      loaded(chatSpec({ workflows: [{ ...entry, chain: { ...CHAT, start: 'nowhere' } }] })),
    );
    expect(faults.map(({ path }) => path)).toEqual(['/workflows/0/chain/start']);
  });

  it('refuses schedulers that serve no workflows', async () => {
    const { message } = await refusalOf(loaded(chatSpec({ serving: { scheduler: 'room-first' } })));
    expect(message).toContain('room-first');
  });
});

describe('requestsOfLoad()', () => {
  it('draws requests of workflows by their shares, the same ones with the same seed', async () => {
    const workflows = [
      { ...entry, share: 0.8 },
      { ...entry, name: 'other', share: 0.2 },
    ];
    const { resolved } = await loaded(
      chatSpec({ workflows, load: { arrivals: 'poisson', rps: 100, duration: '20s' } }),
    );
    const requests = requestsOfLoad({ resolved }, 1);
    const others = [...(requests.workflows as Int32Array)].filter((w) => w === 1).length;
    expect(Math.abs(requests.runs.length - 2000)).toBeLessThan(5 * Math.sqrt(2000));
    expect(Math.abs(others - 400)).toBeLessThan(5 * Math.sqrt(400));
    expect(digestOfRequests(requestsOfLoad({ resolved }, 1))).toBe(digestOfRequests(requests));
    expect(digestOfRequests(requestsOfLoad({ resolved }, 2))).not.toBe(digestOfRequests(requests));
    // A request of a chain takes 1.8 calls in the mean: one of two sees, all speak, three of ten paint.
    const tasks = requests.runs.reduce((sum, run) => sum + run.tasks.length, 0);
    expect(Math.abs(tasks / requests.runs.length - 1.8)).toBeLessThan(0.1);
  });

  it('gives functions of a trace to workflows in turn, where these have no shares', async () => {
    await writeFile(at('functions.csv'), FUNCTIONS);
    const workflows = [entry, { ...entry, name: 'other' }];
    const spec = chatSpec({ workflows, load: { trace: 'functions.csv' } });
    const { resolved, trace } = await loaded(spec);
    expect(resolved.rps).toBeCloseTo(240 / 180, 9);
    expect(resolved.workflows.map(({ share }) => share)).toEqual([90 / 240, 150 / 240]);
    const requests = requestsOfLoad({ resolved, trace }, 1);
    const minutes = [0, 1].map((w) => {
      const counts = [0, 0, 0];
      for (const [r, ns] of (requests.atNs as Float64Array).entries())
        if (requests.workflows[r] === w) counts[Math.floor(ns / 60e9)]! += 1;
      return counts;
    });
    // Functions 0 and 2 are of the first workflow, and come in the first and third minute; the others in the second.
    expect(minutes[0]?.[1]).toBe(0);
    expect([minutes[1]?.[0], minutes[1]?.[2]]).toEqual([0, 0]);
    expect(Math.abs((minutes[1]?.[1] ?? 0) - 150)).toBeLessThan(60);
    // With shares, functions are not told apart.
    const shared = await loaded({ ...spec, workflows: workflows.map((one) => ({ ...one, share: 0.5 })) });
    expect(shared.trace?.grouped).toBeUndefined();
    expect(shared.resolved.workflows.map(({ share }) => share)).toEqual([0.5, 0.5]);
    // A workflow without a function has no requests.
    const many = [0, 1, 2, 3, 4].map((w) => ({ ...entry, name: `w${w}` }));
    const { faults } = await refusalOf(loaded({ ...spec, workflows: many }));
    expect(faults.map(({ path }) => path)).toEqual(['/workflows/4/share']);
  });
});

describe('solveSpec() of workflows', () => {
  inWholeRun(
    'writes a plan that its spec confirms, and whose sample a simulation of the plan gives again',
    async () => {
      const path = await written(chatSpec(), 'solved.json');
      const solved = await solveSpec(path, { output: at('plan.json') });
      expect(solved).toMatchObject({ outcome: 'workflow-plan', limitReached: false });
      const { value: plan } = await loadArtifact(at('plan.json'), ['workflow-plan']);
      expect(await validateFiles([path, at('plan.json')])).toMatchObject([
        { ok: true, what: 'workflow spec of chat over 3 components' },
        {
          ok: true,
          what: 'workflow plan of chat; recomputed from its spec and profiles',
          checks: [{ held: true }],
        },
      ]);
      const { report } = await simulatePlan(at('plan.json'), { seed: 1 });
      const { overall } = report;
      expect([overall.arrived, overall.latencyMs?.mean]).toEqual([plan.sample.requests, plan.sample.meanMs]);
      // Quantiles of a simulation come of a histogram.
      expect((overall.latencyMs?.p95 ?? 0) / plan.sample.p95Ms).toBeCloseTo(1, 2);
      if (!WHOLE) return;
      const again = await solveSpec(path, { output: at('again.json') });
      expect('plan' in again && again.plan).toEqual('plan' in solved && solved.plan);
    },
  );

  const TRACES: [string, NonNullable<WorkflowSpec['load']>, number | undefined][] = [
    ['its whole trace', { trace: 'functions.csv' }, undefined],
    ['a window of its trace', { trace: 'functions.csv', from: '1min', to: '3min' }, undefined],
    ['a trace with shares', { trace: 'functions.csv' }, 0.5],
  ];
  it.each(fewOf(TRACES, 1))(
    'writes a plan whose sample is of %s, which a simulation of the plan serves again',
    async (_, load, share) => {
      await writeFile(at('functions.csv'), FUNCTIONS);
      const workflows = ['even', 'odd'].map((name) => ({ ...entry, name, ...(share ? { share } : {}) }));
      await solveSpec(await written(chatSpec({ workflows, load })), { output: at('in-turn.json') });
      const { value: plan } = await loadArtifact(at('in-turn.json'), ['workflow-plan']);
      expect(plan.functionsInTurn).toBe(share === undefined ? true : undefined);
      expect(await validateFiles([at('in-turn.json')])).toMatchObject([{ ok: true }]);
      const { report } = await simulatePlan(at('in-turn.json'), { seed: 1, exact: true });
      expect(report.inputs?.map(({ role }) => role)).toEqual(['plan', 'trace']);
      const { sample } = plan;
      expect(report.workflows).toMatchObject({ tasks: sample.tasks, deviceTime: sample.deviceTime });
      expect(
        report.models.map(({ name, requests: { arrived, latencyMs } }) => [name, arrived, latencyMs?.p99]),
      ).toEqual(sample.workflows.map(({ name, requests, p99Ms }) => [name, requests, p99Ms]));
      // Another rate keeps the parts of the workflows.
      const { report: half } = await simulatePlan(at('in-turn.json'), { seed: 1, load: 0.5 });
      for (const [w, { rps }] of half.workload.models.entries())
        expect(rps / (report.workload.models[w]?.rps as number)).toBeCloseTo(
          (0.5 * plan.rps) / rpsOf(report),
          6,
        );
    },
  );

  inWholeRun('refuses a plan for functions where its trace counts none', async () => {
    await writeFile(at('functions.csv'), FUNCTIONS);
    const workflows = ['even', 'odd'].map((name) => ({ ...entry, name }));
    const spec = chatSpec({ workflows, load: { trace: 'functions.csv' } });
    await solveSpec(await written(spec), { output: at('in-turn.json') });
    const { inputs: _, ...plan } = JSON.parse(await readFile(at('in-turn.json'), 'utf8')) as WorkflowPlan;
    await writeFile(at('functions.csv'), '0\n100\n200\n');
    await writeFile(at('moved.json'), JSON.stringify(plan));
    const { faults } = await refusalOf(simulatePlan(at('moved.json')));
    expect(faults.map(({ path, message }) => `${basename(path)} ${message}`)).toEqual([
      'functions.csv counts no functions, and the plan deals them to its workflows (functionsInTurn)',
    ]);
  });

  inWholeRun(
    'writes a plan for a rate alone, whose sample a simulation of the plan serves again',
    async () => {
      const { load: _, ...spec } = chatSpec({ rps: 5 });
      await solveSpec(await written(spec), { output: at('rate.json') });
      const { value: plan } = await loadArtifact(at('rate.json'), ['workflow-plan']);
      const { report } = await simulatePlan(at('rate.json'), { seed: 1, exact: true });
      expect(report.workload.durationS).toBe(60);
      expect([report.overall.arrived, report.overall.latencyMs?.p99]).toEqual([
        plan.sample.requests,
        plan.sample.p99Ms,
      ]);
    },
  );

  inWholeRun('is refuted where a plan is edited', async () => {
    await solveSpec(await written(chatSpec(), 'edited-spec.json'), { output: at('whole.json') });
    const plan = JSON.parse(await readFile(at('whole.json'), 'utf8')) as WorkflowPlan;
    const edits: [string, WorkflowPlan][] = [
      ['/rps', { ...plan, rps: 11 }],
      ['/attainment', { ...plan, attainment: 0.5 }],
      ['/bounds/devices', { ...plan, bounds: { ...plan.bounds, devices: plan.bounds.devices + 1 } }],
      ['/sample/sha256', { ...plan, sample: { ...plan.sample, sha256: 'a'.repeat(64) } }],
      ['/sample/loads', { ...plan, sample: { ...plan.sample, loads: plan.sample.loads + 1 } }],
      [
        '/components/0/classes/0/loadUs',
        {
          ...plan,
          components: plan.components.map((one, c) =>
            c > 0 ? one : { ...one, classes: one.classes.map((on) => ({ ...on, loadUs: 1 })) },
          ),
        },
      ],
    ];
    for (const [pointer, edited] of edits) {
      await writeFile(at('edited.json'), JSON.stringify(edited));
      const [validated] = await validateFiles([at('edited.json')]);
      expect({ pointer, ok: validated?.ok }).toEqual({ pointer, ok: false });
      if (pointer !== '/rps') expect(validated).toMatchObject({ message: expect.stringContaining(pointer) });
    }
  });

  inWholeRun(
    'is refuted where an edit changes what follows from its spec or from what devices hold, though no search is repeated',
    async () => {
      const spec = chatSpec({ load: { arrivals: 'poisson', rps: 40, duration: '5s' } });
      await solveSpec(await written(spec, 'placed-spec.json'), { output: at('whole.json') });
      const text = await readFile(at('whole.json'), 'utf8');
      const edited = async (edit: (plan: WorkflowPlan) => void): Promise<string> => {
        const plan = JSON.parse(text) as WorkflowPlan;
        edit(plan);
        await writeFile(at('edited.json'), JSON.stringify(plan));
        return at('edited.json');
      };
      const untouched = await edited((plan) => (plan.reproducible = false));
      expect(await validateFiles([untouched])).toMatchObject([
        { ok: true, what: expect.stringContaining('its search was interrupted') },
      ]);
      const ofSpec: readonly [string, (plan: WorkflowPlan) => void][] = [
        ['/components/1/memoryBytes', (plan) => (plan.components[1]!.memoryBytes += 2 ** 20)],
        ['/components/0/classes/0/loadUs', (plan) => (plan.components[0]!.classes[0]!.loadUs *= 2)],
        ['/workflows/0/sloMs', (plan) => (plan.workflows[0]!.sloMs = 2001)],
        ['/workflows/0/chain/requestBytes', (plan) => (plan.workflows[0]!.chain!.requestBytes += 1)],
        ['/workflows/0/frequencies/0/rows', (plan) => (plan.workflows[0]!.frequencies[0]!.rows = 1.5)],
        ['/cluster/networkGbps', (plan) => (plan.cluster.networkGbps = 100)],
        ['/placement/0/server', (plan) => (plan.placement[0]!.server = 'elsewhere')],
        ['/sample/seed', (plan) => (plan.sample.seed = 2)],
        ['/sample/sha256', (plan) => (plan.sample.sha256 = 'a'.repeat(64))],
        ['/bounds/devices', (plan) => (plan.bounds.devices += 1)],
        ['/load/duration', (plan) => Object.assign(plan.load as object, { duration: '6s' })],
      ];
      for (const [pointer, edit] of fewOf(ofSpec, 4)) {
        const refusal = await refusalOf(simulatePlan(await edited(edit), { duration: 1 }));
        expect({ pointer, told: refusal.faults.map(({ path }) => path) }).toEqual({
          pointer,
          told: [pointer],
        });
      }
      const ofSample: readonly [string, (plan: WorkflowPlan) => void][] = [
        ['/sample/p95Ms', (plan) => (plan.sample.p95Ms *= 1.001)],
        ['/sample/loads', (plan) => (plan.sample.loads += 1)],
        ['/sample/workflows/0/p50Ms', (plan) => (plan.sample.workflows[0]!.p50Ms! *= 1.001)],
      ];
      for (const [pointer, edit] of fewOf(ofSample, 1)) {
        const path = await edited((plan) => {
          plan.reproducible = false;
          edit(plan);
        });
        const [validated] = await validateFiles([path]);
        expect({ pointer, told: validated }).toMatchObject({
          pointer,
          told: { ok: false, faults: [{ path: pointer }] },
        });
      }
    },
  );

  it('says why there is no plan: proved, or not found', async () => {
    const devices = (sloMs: number, rps: number) =>
      chatSpec({
        planner: { objective: 'devices' },
        workflows: [{ ...entry, sloMs }],
        load: { arrivals: 'poisson', rps, duration: '5s' },
      });
    expect(await solveSpec(await written(devices(60, 5)))).toMatchObject({
      outcome: 'infeasible',
      document: { kind: 'no-plan', models: [{ name: 'chat', sloMs: 60 }] },
    });
    expect(await solveSpec(await written(devices(400, 40)))).toMatchObject({
      outcome: 'no-plan-in-time',
      document: { reasons: [{ code: 'not-held' }] },
    });
  });

  it('ends without a plan where it is aborted before it has one', async () => {
    const controller = new AbortController();
    const solving = solveSpec(
      await written(chatSpec({ load: { arrivals: 'poisson', rps: 60, duration: '300s' } })),
      {
        signal: controller.signal,
        onProgress: (doing) => {
          if (doing === 'simulating the sample') controller.abort(new Error('stopped'));
        },
      },
    );
    expect(await solving).toMatchObject({ outcome: 'no-plan-in-time', document: { limit: 'interrupted' } });
  });

  it('refuses options that say nothing of workflows, all at once', async () => {
    const { faults } = await refusalOf(
      solveSpec(await written(chatSpec()), {
        work: 3,
        explain: true,
        hold: 0.9,
        frontier: true,
        measure: true,
      }),
    );
    expect(faults.map(({ message }) => message)).toEqual([
      'is not for specs of kind workflow',
      'is not for specs of kind workflow',
      'is for specs of kind pooled',
      'is for specs of kind pooled',
      'is for specs of kind cascade',
    ]);
  });
});

describe('compareSpec() of workflows', () => {
  const rowsOf = async (spec: WorkflowSpec, options: Parameters<typeof compareSpec>[1]) =>
    (await compareSpec(await written(spec), { threads: 1, ...options })).document.rows;

  it('plans each mix, with fewer devices no faster', async () => {
    const rows = await rowsOf(chatSpec(), { mixes: whole([1, 2], [1, 2, 4]).map((n) => `A800=${n}`) });
    expect(rows.map(({ mix, used, status }) => [mix.A800, used?.A800, status])).toEqual([
      [1, 1, 'feasible'],
      [2, 2, 'feasible'],
      ...whole([], [[4, 4, 'feasible']]),
    ]);
    const means = rows.map(({ meanMs = 0 }) => meanMs);
    expect(means).toEqual(means.toSorted((a, b) => b - a));
  });

  inWholeRun(
    'sweeps the SLO of the one workflow that has any, also in multiples of its least mean latency',
    async () => {
      const spec = chatSpec({
        planner: { objective: 'devices', attainment: 0.9 },
        load: { arrivals: 'poisson', rps: 10, duration: '5s' },
      });
      const rows = await rowsOf(spec, { sweeps: ['slo=300ms..900ms:3'] });
      expect(rows.map(({ sloMs }) => sloMs)).toEqual([[300], [600], [900]]);
      const counts = rows.map(({ objective }) => objective?.value ?? Number.POSITIVE_INFINITY);
      expect(counts).toEqual(counts.toSorted((a, b) => b - a));
      // The mean is 5 + 80 + 0.3 × 200 ms of execution, and some for transfers.
      const [times] = await rowsOf(spec, { sweeps: ['slo=10x'] });
      expect(Math.abs((times?.sloMs[0] ?? 0) - 1450)).toBeLessThan(100);
    },
  );

  it('refuses what workflows are not compared by', async () => {
    const faultsFor = async (spec: WorkflowSpec, options: Parameters<typeof compareSpec>[1]) =>
      (await refusalOf(compareSpec(await written(spec), options))).faults.map(({ message }) => message);
    expect(await faultsFor(chatSpec(), {})).toEqual([
      'nothing to compare: name mixes (--mix) or a sweep (--sweep)',
    ]);
    const two = chatSpec({ workflows: [entry, { ...entry, name: 'other' }] });
    expect(await faultsFor(two, { sweeps: ['slo=1s', 'margin=0.1'], hold: 0.9 })).toEqual([
      'is not for specs of kind workflow',
      'sweeps one SLO, and 2 workflows have their own',
      'sweeps margins, which only pooled specs have',
    ]);
  });
});
