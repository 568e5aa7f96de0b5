import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { diffPlanFiles, profileCascade, simulatePlan, validateFiles } from '../../../src/api/index.js';
import { sha256OfFile } from '../../../src/artifacts/index.js';
import {
  type CascadeSpec,
  type GearPlan,
  InputError,
  MissingError,
  PLANNED_GEARS,
  type Profile,
} from '../../../src/formats/index.js';
import { solveSpec } from '../../../src/specs/index.js';
import { FAMILY, FAMILY_SPEC, familyProfile, writeFamily } from '../../cascade-specs.js';
import { inWholeRun, WHOLE, whole } from '../../cases.js';
import { plan } from '../../cli/plan.js';

const folders: string[] = [];
let folder: string;
const at = (file: string): string => join(folder, file);

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-cascade-'));
  folders.push(folder);
});
afterAll(() => Promise.all(folders.map((one) => rm(one, { recursive: true, force: true }))));

/** The faults of work on the spec, without the folder. */
async function faultsOf(work: Promise<unknown>): Promise<string[]> {
  const error = await work.catch((thrown: unknown) => thrown);
  if (!(error instanceof InputError)) throw new Error(`no InputError: ${String(error)}`);
  return error.faults.map(({ path, message }) => `${path}: ${message}`.replaceAll(`${folder}/`, ''));
}

async function solved(change: Partial<CascadeSpec>, options: Parameters<typeof solveSpec>[1] = {}) {
  return solveSpec(await writeFamily(folder, { ...FEW_RANGES, ...change }), options);
}

/** planned is the plan of a spec that has one. */
async function planned(change: Partial<CascadeSpec>, options: Parameters<typeof solveSpec>[1] = {}) {
  const answer = await solved(change, options);
  if (answer.outcome !== 'gear-plan') throw new Error(JSON.stringify(answer));
  return answer;
}

/** Each range of a plan is confirmed by simulations of its own: fewer are as good where nothing is asked of them. */
const FEW_RANGES = whole({ load: { maxRps: 400, ranges: 1 } }, {});

/** One model without a cascade is planned in half of the time. */
const PLAIN: Partial<CascadeSpec> = whole({ planner: { method: 'dynba' } }, {});

let plainPlan: Awaited<ReturnType<typeof planned>> | undefined;

/** plain is the plan of the unchanged spec, written as `plan.json` beside it. It is searched once for all tests of this file. */
async function plain() {
  plainPlan ??= await planned(PLAIN, { output: at('plan.json') });
  await writeFamily(folder, { ...FEW_RANGES, ...PLAIN });
  await writeFile(at('plan.json'), JSON.stringify(plainPlan.plan));
  return plainPlan;
}

const exists = (file: string): Promise<boolean> =>
  stat(at(file)).then(
    () => true,
    () => false,
  );

inWholeRun(
  'diffPlanFiles() of gear plans shows what a shorter latency changes, and nothing between equal plans',
  async () => {
    const { plan: before } = await plain();
    const { plan } = await planned({ slo: { latencyMs: 30 } }, { output: at('after.json') });
    const diff = await diffPlanFiles(at('plan.json'), at('after.json'));
    expect(diff.inputs?.map(({ role }) => role)).toEqual(['before', 'after']);
    expect(diff.objective).toEqual({ kind: 'accuracy', before: before.accuracy, after: plan.accuracy });
    expect(plan.accuracy).toBeLessThan(before.accuracy);
    expect(diff.gears?.length).toBeGreaterThan(0);
    expect(await diffPlanFiles(at('after.json'), at('after.json'))).toMatchObject({ same: true, gears: [] });
  },
);

describe('models of a cascade that do not answer alike', () => {
  const answering = (size: number) => ({
    inputs: [{ name: 'image', dtype: 'float32', shape: [1, 8], batchAxis: 0 }],
    outputs: [{ name: 'scores', dtype: 'float32', shape: [1, size], batchAxis: 0 }],
  });
  const written = async (sizes: readonly (number | undefined)[]): Promise<string> => {
    const path = await writeFamily(folder, FEW_RANGES);
    for (const [i, size] of sizes.entries()) {
      const profile = familyProfile(i);
      const model = { ...profile.model, ...(size === undefined ? {} : answering(size)) };
      await writeFile(at(`${FAMILY[i]}.json`), JSON.stringify({ ...profile, model }));
    }
    return path;
  };
  const told =
    'outputs are scores float32[*, 7], and those of middle are scores float32[*, 5]: all models must be alike';

  it('are refused where the spec is solved, validated or profiled, beside what else is wrong', async () => {
    const path = await written([undefined, 5, 7]);
    expect(await faultsOf(solveSpec(path))).toEqual([`/models/2: ${told}`]);
    const [validated] = await validateFiles([path]);
    expect(validated).toMatchObject({ ok: false, faults: [{ path: '/models/2', message: told }] });
    expect(await faultsOf(profileCascade(path, {}))).toEqual([
      `/models/2: ${told.replace('all models', 'all models of a cascade')}`,
    ]);
  });

  inWholeRun('are planned where what profiles say of tensors is alike or missing', async () => {
    expect(await solveSpec(await written([undefined, 5, 5]))).toMatchObject({ outcome: 'gear-plan' });
  });
});

describe('solveSpec() of a cascade', () => {
  inWholeRun('plans gears where the spec says nothing of a planner or of its method', async () => {
    const path = await writeFamily(folder);
    for (const planner of whole([undefined], [undefined, { thresholds: 6 }])) {
      const { planner: _, ...spec } = FAMILY_SPEC;
      await writeFile(path, JSON.stringify({ ...spec, ...FEW_RANGES, ...(planner && { planner }) }));
      expect(await solveSpec(path)).toMatchObject({ outcome: 'gear-plan', plan: { method: 'gears' } });
    }
  });

  inWholeRun(
    'writes the plan, valid and the same each time, with the digests of the files of the models that it uses',
    async () => {
      const one = { planner: { method: 'dynba' } } as const;
      const { plan, document } = await planned(one, { output: at('plan.json') });
      const bytes = await readFile(at('plan.json'), 'utf8');
      expect(JSON.parse(bytes)).toEqual(plan);
      const { solver, ...printed } = document;
      expect(printed).toEqual(plan);
      expect(solver).toMatchObject({ columns: 0, rounds: 0, nodes: expect.any(Number) });
      expect(solver.ms).toBeGreaterThan(0);
      const used = plan.stages.map(({ name }) => name);
      expect(used).toHaveLength(1);
      const files = [
        ['spec', 'spec.json'],
        ['cluster', 'cluster.yaml'],
        ['records', 'records.csv'],
        ['profile', `${used[0]}.json`],
      ] as const;
      const inputs = files.map(async ([role, path]) => ({
        role,
        path,
        sha256: await sha256OfFile(at(path)),
      }));
      expect(plan.inputs).toEqual(await Promise.all(inputs));
      if (WHOLE) {
        await planned(one, { output: at('again.json') });
        expect(await readFile(at('again.json'), 'utf8')).toBe(bytes);
      }
      expect((await validateFiles([at('plan.json'), at('spec.json')])).map(({ ok }) => ok)).toEqual([
        true,
        true,
      ]);
    },
  );

  inWholeRun(
    'keeps the serving that the spec asks for, and names gears with their drop rule else',
    async () => {
      expect((await plain()).plan.serving).toEqual(PLANNED_GEARS);
      const serving = { scheduler: 'gears', policy: { drop: 'expired' } };
      expect((await planned({ serving })).plan.serving).toEqual(serving);
    },
  );

  it('is refused without the drop rule that it was made with, and is served as it was where it is older', async () => {
    const { plan: written } = await plain();
    const undropped = { ...written, serving: { scheduler: 'gears' } };
    await writeFile(at('plan.json'), JSON.stringify(undropped));
    const run = () => simulatePlan(at('plan.json'), { duration: 1 });
    expect(await faultsOf(run())).toEqual([
      expect.stringMatching(/serving\/policy: is absent; its spec gives/),
    ]);
    await writeFile(at('plan.json'), JSON.stringify({ ...undropped, version: '1.3' }));
    expect((await run()).report.checked).toContain('spec');
  });

  inWholeRun('takes a cluster in the spec, and a distribution of loads from a file', async () => {
    await writeFile(at('loads.csv'), 'rps,share\n90,3\n290,1\n');
    const cluster = { devices: { V100: { count: 1 } } };
    const load = { maxRps: 400, ranges: whole(3, 4), distribution: 'loads.csv' };
    const { plan } = await planned({ cluster, load }, { output: at('plan.json') });
    expect(plan.gears.map(({ share }) => share)).toEqual([0.75, 0, 0.25, ...whole([], [0])]);
    expect(plan.cluster).toEqual(cluster);
    expect(plan.placement).toHaveLength(1);
    expect(plan.inputs?.map(({ role, path }) => `${role} ${path}`).slice(0, 3)).toEqual([
      'spec spec.json',
      'records records.csv',
      'distribution loads.csv',
    ]);
  });

  inWholeRun('takes batches that were not measured to last as long as the next larger ones', async () => {
    const { plan } = await planned(
      { planner: { method: 'gears', thresholds: 6, batch: 3 } },
      { output: at('plan.json') },
    );
    expect(plan.stages.length).toBeGreaterThan(0);
    for (const { batch, latencyUsByBatch, name } of plan.stages) {
      const us = 4 ** (FAMILY as readonly string[]).indexOf(name);
      expect({ batch, latencyUsByBatch }).toEqual({
        batch: 3,
        latencyUsByBatch: [us * 800, us * 1000, us * 1400],
      });
    }
    expect(await validateFiles([at('plan.json')])).toMatchObject([{ ok: true }]);
  });

  it('plans with no batch that an interrupted run did not measure, and without a class where it measured none', async () => {
    const path = await writeFamily(folder, FEW_RANGES);
    const profile = JSON.parse(await readFile(at('large.json'), 'utf8')) as Profile;
    const byBatch = profile.devices.V100?.blockLatencyUs[1] as Record<string, (number | null)[]>;
    byBatch[4] = [null];
    await writeFile(at('large.json'), JSON.stringify(profile));
    if (WHOLE) {
      const answer = await solveSpec(path, {});
      if (answer.outcome !== 'gear-plan') throw new Error(JSON.stringify(answer));
      expect(answer.plan.stages.map(({ batch }) => batch)).toEqual(answer.plan.stages.map(() => 2));
    }
    const K80 = structuredClone(profile.devices.V100) as Profile['devices'][string];
    byBatch[1] = byBatch[2] = [null];
    await writeFile(at('large.json'), JSON.stringify({ ...profile, devices: { ...profile.devices, K80 } }));
    expect(await faultsOf(solveSpec(path, {}))).toEqual([
      expect.stringContaining('large were not profiled on it'),
    ]);
  });

  it('refuses records of a class that a model does not report', async () => {
    const path = await writeFamily(folder, FEW_RANGES);
    const telling = async (classes: number) => {
      const profile = JSON.parse(await readFile(at('large.json'), 'utf8')) as Profile;
      profile.model.outputs = [{ name: 'scores', dtype: 'float32', shape: [1, classes], batchAxis: 0 }];
      await writeFile(at('large.json'), JSON.stringify(profile));
    };
    await telling(2);
    if (WHOLE) expect(await solveSpec(path, {})).toMatchObject({ outcome: 'gear-plan' });
    const text = await readFile(at('records.csv'), 'utf8');
    await writeFile(at('records.csv'), `${text.replace(/^5,small,\d/m, '5,small,2')}0,other,12,1,\n`);
    expect(await faultsOf(solveSpec(path, {}))).toEqual([
      'line 7: the prediction is 2, and large tells 2 classes, from 0 on',
    ]);
    await telling(3);
    if (WHOLE) expect(await solveSpec(path, {})).toMatchObject({ outcome: 'gear-plan' });
  });

  inWholeRun('says how it searches, and adds only the explanations that are asked for', async () => {
    expect(await plain()).not.toHaveProperty('explanation');
    const told: string[] = [];
    const explained = await planned({}, { explain: true, onProgress: (doing) => told.push(doing) });
    expect(told).toEqual(['searching gears', 'planning with other devices and latencies']);
    expect(Object.keys(explained.explanation ?? {})).toEqual(['oneMoreDevice']);
    const { oneMoreDevice } = explained.explanation ?? {};
    expect(oneMoreDevice?.devices).toBe(3);
    expect(oneMoreDevice?.accuracy).toBeGreaterThan(explained.plan.accuracy);
    const { low, high, samples } = oneMoreDevice?.accuracyInterval ?? {};
    expect(samples).toBe(explained.plan.accuracyInterval?.samples);
    expect(oneMoreDevice?.accuracy).toBeGreaterThan(low as number);
    expect(oneMoreDevice?.accuracy).toBeLessThan(high as number);
    const { explanation, document } = await planned({}, { frontier: true });
    expect(Object.keys(explanation ?? {})).toEqual(['frontier']);
    expect(document.explanation).toEqual(explanation);
    const own = explanation?.frontier?.find((point) => point.devices === 2 && point.latencyMs === 60);
    expect(own?.accuracy).toBeCloseTo(explained.plan.accuracy, 12);
    expect(own?.accuracyInterval).toEqual(explained.plan.accuracyInterval);
    expect(explanation?.frontier?.every((one) => !('accuracy' in one) || 'accuracyInterval' in one)).toBe(
      true,
    );
  });

  inWholeRun('gives the reasons where there is no plan, and writes nothing', async () => {
    const answer = await solved({ load: { maxRps: 40_000, ranges: 4 } }, { output: at('plan.json') });
    expect(answer.outcome).toBe('infeasible');
    if (answer.outcome !== 'infeasible') return;
    const text =
      'from 30000 to 40000 requests/s, 2 V100 have no time for even the cheapest of cascades of up to 3 models in any order, with any thresholds, most of all for small; 15 V100 would do';
    expect(answer.reasons).toEqual([text]);
    expect(answer.document).toMatchObject({
      kind: 'no-plan',
      status: 'infeasible',
      reasons: [{ code: 'rate-too-high', text }],
      models: [{ name: 'family', sloMs: 60 }],
    });
    expect(answer.document.inputs?.map(({ role }) => role)).toEqual([
      ...['spec', 'cluster', 'records'],
      ...FAMILY.map(() => 'profile'),
    ]);
    expect(await exists('plan.json')).toBe(false);
  });

  it('gives the reasons where no device is free, or none has the memory for every model', async () => {
    const cluster = { devices: { V100: { count: 0, memoryGiB: 1 } } };
    const reasonsOf = async (devices: typeof cluster.devices | Record<string, object>, outcome: string) => {
      const answer = await solved({ cluster: { devices } as typeof cluster });
      expect(answer.outcome).toBe(outcome);
      return 'reasons' in answer.document ? answer.document.reasons : [];
    };
    const none = 'V100: none of its devices is free';
    expect(await reasonsOf(cluster.devices, 'infeasible')).toEqual([
      { code: 'too-few-gpus', class: 'V100', text: none },
    ]);
    const small = 'V100: large takes more memory than it has, and plans without are not looked for';
    expect(await reasonsOf({ V100: { count: 2, memoryGiB: 0.01 } }, 'no-plan-in-time')).toEqual([
      { code: 'weights-exceed-memory', class: 'V100', text: small },
    ]);
    // What was not profiled is missing in the files, and there may be a plan.
    const path = await writeFamily(folder, { cluster: { devices: { P4: { count: 2 } } } });
    expect(await faultsOf(solveSpec(path, {}))).toEqual([expect.stringContaining('were not profiled on it')]);
    if (!WHOLE) return;
    // It proves nothing: there is a plan of the others.
    const [, ...others] = FAMILY_SPEC.models.toReversed();
    const fewer = await solved({
      cluster: { devices: { V100: { count: 2, memoryGiB: 0.01 } } } as unknown as typeof cluster,
      models: others.toReversed(),
    });
    expect(fewer.outcome).toBe('gear-plan');
  });

  inWholeRun('gives the least latency with which there would be a plan', async () => {
    const answer = await solved({ slo: { latencyMs: 0.5 } });
    expect(answer.outcome).toBe('infeasible');
    const [model] = answer.outcome === 'infeasible' ? answer.document.models : [];
    expect(model).toMatchObject({ name: 'family', sloMs: 0.5, feasibleSloMs: 0.8 });
  });

  it('is undecided, and says why, where the work ended the search before it had looked', async () => {
    const answer = await solved({}, { work: 0, output: at('plan.json') });
    expect(answer).toMatchObject({
      outcome: 'no-plan-in-time',
      advice: 'allow more with `work`, or let planner.method: exhaustive try every cascade',
    });
    expect(answer.document).toMatchObject({
      status: 'no-plan-in-time',
      limit: 'work',
      reasons: [],
      models: [{ name: 'family', sloMs: 60 }],
    });
    const aborted = solved({}, { signal: AbortSignal.abort(), output: at('plan.json') });
    await expect(aborted).rejects.toMatchObject({ name: 'AbortError' });
    expect(await exists('plan.json')).toBe(false);
  });

  it('is undecided where the time is over at once, and says nothing of a time that was not over', async () => {
    const answer = await solved({}, { timeLimit: 1e-9 });
    expect(answer).toMatchObject({ outcome: 'no-plan-in-time', advice: 'allow more with `timeLimit`' });
    expect(answer.document).toMatchObject({ status: 'no-plan-in-time', limit: 'time' });
    if (!WHOLE) return;
    const { plan, limitReached } = await planned({}, { timeLimit: 1e6 });
    expect(plan).not.toHaveProperty('reproducible');
    expect(limitReached).toBe(false);
  });

  inWholeRun(
    'says that a plan is not reproducible where the time ended a long search (exit 4; 5 before it has a plan)',
    async () => {
      // Each placement of so many devices is tried with each cascade, which takes far longer than a plan.
      const cluster = { devices: { V100: { count: 60, memoryGiB: 0.0155 } } };
      const load = { maxRps: 20_000, ranges: 2 };
      const planner = { method: 'exhaustive' } as const;
      const path = await writeFamily(folder, { cluster, load, planner, slo: { latencyMs: 25 } });
      let code: number | null = 5;
      for (let limitS = 2; code === 5; limitS *= 2)
        code = (await plan(['solve', path, '-o', at('plan.json'), '--time-limit', String(limitS)])).code;
      expect(code).toBe(4);
      const written = JSON.parse(await readFile(at('plan.json'), 'utf8')) as GearPlan;
      expect(written).toMatchObject({ status: 'feasible', reproducible: false });
      expect(await validateFiles([at('plan.json')])).toMatchObject([{ ok: true }]);
    },
  );

  inWholeRun(
    'is undecided about an accuracy where the time is over amid the counting of its cascades',
    async () => {
      const answer = await solved({ slo: { latencyMs: 60, accuracy: 0.999 } }, { timeLimit: 1e-9 });
      expect(answer.outcome).toBe('no-plan-in-time');
      expect((await solved({ slo: { latencyMs: 60, accuracy: 0.999 } })).outcome).toBe('infeasible');
    },
  );

  inWholeRun('has reached its limit where it did all its work and proved nothing', async () => {
    expect(await planned({}, { work: 1 })).toMatchObject({
      limitReached: true,
      plan: { status: 'feasible' },
    });
    expect(await planned({}, { work: 1e6 })).toMatchObject({ limitReached: false });
    expect(await planned({})).toMatchObject({ limitReached: false });
    const { plan } = await planned({});
    const { gap = 0 } = plan.objective;
    expect(gap).toBeGreaterThan(0);
    expect(await planned({}, { gap: gap / 2 })).toMatchObject({
      limitReached: true,
      plan: { accuracy: plan.accuracy },
    });
    expect(await planned({}, { gap })).toMatchObject({ limitReached: false });
    const proved = await planned({ load: { maxRps: 1, ranges: 1 } }, { work: 1 });
    expect(proved).toMatchObject({ limitReached: false, plan: { status: 'optimal' } });
  });
});

describe('The files of a cascade', () => {
  it('are refused with all that is wrong with them at once, with what is wrong with the spec', async () => {
    const models = [
      ...FAMILY_SPEC.models,
      { name: 'lost', profile: 'lost.json' },
      { name: 'small', profile: 'small.json' },
    ];
    const load = { maxRps: 400, distribution: 'loads.csv' };
    const path = await writeFamily(folder, { models, load, serving: { scheduler: 'lifo' } });
    await writeFile(at('cluster.yaml'), 'devices: { V100: { count: -1 } }\n');
    await writeFile(at('records.csv'), 'sample,model,prediction,label\n0,small,1,1\n');
    await writeFile(at('loads.csv'), 'rps,share\nmany,1\n');
    const told = (await faultsOf(solveSpec(path))).join('\n');
    for (const part of [
      /cluster\.yaml \/devices\/V100\/count/,
      /records\.csv line 1: lacks a column certainty/,
      /loads\.csv.*line 2/,
      /lost\.json/,
      /\/models\/4\/name: small is the name of another model too/,
      /serving\/scheduler/,
    ])
      expect(told).toMatch(part);
  });

  it('are refused with what does not fit together, along with the faults of the spec itself', async () => {
    await writeFile(at('loads.csv'), 'rps,share\n900,1\n');
    const path = await writeFamily(folder, {
      slo: { accuracy: 0.7, quantile: 0.9 },
      serving: { scheduler: 'lifo' },
      load: { maxRps: 400, distribution: 'loads.csv' },
      cluster: { devices: { K80: { count: 1 } } },
    });
    const told = await faultsOf(solveSpec(path));
    expect(told.map((fault) => fault.split(':')[0])).toEqual([
      ...['/slo/quantile', '/load/distribution', '/cluster', '/serving/scheduler'],
    ]);
  });

  it('count the devices of each class, but where the fewest are searched', async () => {
    const cluster = { devices: { V100: {} } };
    const slo = { latencyMs: 60, accuracy: 0.7 };
    for (const objective of ['accuracy', 'latency'] as const) {
      const path = await writeFamily(folder, { cluster, slo, planner: { method: 'gears', objective } });
      expect(await faultsOf(solveSpec(path))).toEqual([
        `/cluster/devices/V100/count: is needed: the objective is ${objective}`,
      ]);
    }
    const planner = { method: 'gears', objective: 'devices', thresholds: 6 } as const;
    if (WHOLE) expect((await planned({ cluster, slo, planner })).plan.placement.length).toBeLessThan(5);
  });

  it('are refused where the shares of loads add up to no number', async () => {
    await writeFile(at('loads.csv'), 'rps,share\n90,1e308\n190,1e308\n');
    const path = await writeFamily(folder, { load: { maxRps: 400, distribution: 'loads.csv' } });
    expect(await faultsOf(solveSpec(path))).toEqual([
      '/load/distribution: has shares whose sum is too large for a number',
    ]);
  });

  it('are only missing where nothing else is wrong', async () => {
    const path = await writeFamily(folder);
    await rm(at('records.csv'));
    await rm(at('large.json'));
    await expect(solveSpec(path)).rejects.toBeInstanceOf(MissingError);
    const told = await faultsOf(solveSpec(path));
    expect(told).toEqual([expect.stringContaining('records.csv'), expect.stringContaining('large.json')]);
  });

  it('are not replaced by the plan', async () => {
    await writeFile(at('loads.csv'), 'rps,share\n90,1\n');
    const path = await writeFamily(folder, { load: { maxRps: 400, distribution: 'loads.csv' } });
    for (const file of ['spec.json', 'cluster.yaml', 'records.csv', 'loads.csv', 'small.json']) {
      const before = await readFile(at(file), 'utf8');
      expect(await faultsOf(solveSpec(path, { output: at(file) })), file).toHaveLength(1);
      expect(await readFile(at(file), 'utf8')).toBe(before);
    }
  });

  inWholeRun('are planned from as they are: other records, another plan', async () => {
    const { plan } = await plain();
    const path = at('spec.json');
    const text = await readFile(at('records.csv'), 'utf8');
    await writeFile(at('records.csv'), text.replaceAll(',large,0,1,', ',large,1,1,'));
    const answer = await solveSpec(path);
    const { accuracy } = (answer as unknown as { plan: GearPlan }).plan;
    expect(accuracy).toBeGreaterThan(plan.accuracy);
  });
});
