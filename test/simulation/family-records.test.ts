import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { simulatePlan } from '../../src/api/index.js';
import { inputFile, loadArtifact, sha256OfFile } from '../../src/artifacts/index.js';
import { type GearPlan, InputError, type Loaded, MissingError, ToldFaults } from '../../src/formats/index.js';
import { certaintiesOf, familyRecords } from '../../src/simulation/family-records.js';
import { gearPlan } from '../gear-plans.js';
import { affine, planOf } from '../serving/plans.js';

/** The models stand in another order than in the plan, and there is one more. */
const RECORDS = `sample,model,prediction,label,certainty
a,m1,cat,cat,0.9
a,m0,dog,cat,0.25
b,m1,dog,dog,0.8
b,m0,dog,dog,0.75
a,other,dog,cat,1
b,other,dog,dog,1
`;

let folder: string;
const at = (file: string): string => join(folder, file);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-records-'));
  await writeFile(at('records.csv'), RECORDS);
  await writeFile(at('bad.csv'), RECORDS.replace('0.75', 'NaN').replace('a,m1,cat,cat,0.9\n', ''));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** plan writes a plan of two models that was made from these records, if any, and reads it. */
async function plan(records?: string, sha256?: string): Promise<Loaded<'gear-plan'>> {
  const made: GearPlan = gearPlan({
    latencyUs: [[1000], [2000]],
    held: [[0, 1]],
    gears: [{ toRps: 100, steps: [{ model: 0, threshold: 0.5 }, { model: 1 }] }],
  });
  // What its records give, as far as these are read without a fault.
  Object.assign(made.stages[1]!, { accuracy: 1 });
  Object.assign(made.gears[0]!, { accuracy: 1 });
  Object.assign(made.gears[0]!.cascade[1]!, { visits: 0.5 });
  Object.assign(made, { accuracy: 1, requestAccuracy: 1 });
  Object.assign(made.objective, { value: 1, bound: 1 });
  if (records !== undefined) {
    const file = { path: at(records), sha256: sha256 ?? (await sha256OfFile(at(records))) };
    made.inputs = [inputFile('records', file, at('plan.json'))];
  }
  await writeFile(at('plan.json'), JSON.stringify(made));
  return loadArtifact(at('plan.json'), ['gear-plan']);
}

/** read gives the records, or the error with the faults that were told. */
async function read(of: Loaded<'gear-plan'>, named?: string) {
  const told = new ToldFaults();
  const found = await familyRecords({ ...of, stages: of.value.stages }, named, told);
  if (told.count > 0) expect(found).toBeUndefined();
  return { found, error: told.count > 0 ? told.error('simulate') : undefined };
}

const told = (error: InputError | undefined) =>
  error?.faults.map(({ path, message }) => `${path} ${message}`.replaceAll(/\S*\/(?=\w+\.(csv|json))/g, ''));

describe('familyRecords()', () => {
  it("reads the plan's own records, model by model in the order of its stages", async () => {
    const { found } = await read(await plan('records.csv'));
    expect(found?.records).toEqual({
      samples: 2,
      models: ['m0', 'm1'],
      correct: [Uint8Array.of(0, 1), Uint8Array.of(1, 1)],
      certainty: [Float64Array.of(0.25, 0.75), Float64Array.of(0.9, 0.8)],
    });
    expect(resolve(found?.file.path ?? '')).toBe(at('records.csv'));
    expect(found?.file.sha256).toBe(await sha256OfFile(at('records.csv')));
  });

  it('reads records that are named in place of these, which may have changed or be lost', async () => {
    await writeFile(at('others.csv'), RECORDS.replace('0.25', '0.5'));
    for (const own of [
      await plan('records.csv', 'f'.repeat(64)),
      await plan('lost.csv', 'f'.repeat(64)),
      await plan(),
    ]) {
      const { found } = await read(own, at('others.csv'));
      expect(found?.records.certainty[0]).toEqual(Float64Array.of(0.5, 0.75));
      expect(found?.file.path).toBe(at('others.csv'));
    }
  });

  it('refuses records that have changed since the plan was made', async () => {
    const { error } = await read(await plan('records.csv', 'f'.repeat(64)));
    const is = (await sha256OfFile(at('records.csv'))).slice(0, 12);
    expect(told(error)).toEqual([
      `records.csv are not the records the plan was made from: their digest is ${is}…, not ffffffffffff…; solve again, or name them with \`records\``,
    ]);
  });

  it('reports every fault of the records, with that of their digest', async () => {
    const { error } = await read(await plan('bad.csv', 'f'.repeat(64)));
    expect(error).toBeInstanceOf(InputError);
    expect(told(error)).toEqual([
      expect.stringMatching(/^bad\.csv are not the records/),
      'bad.csv line 4 the certainty is "NaN", which is no finite decimal number',
      'bad.csv line 2 m1 has no answer to sample a, which other lines name',
    ]);
  });

  it('refuses labels that are no class of the models', async () => {
    const of = await plan();
    of.value.stages.forEach((stage, i) => {
      stage.outputs = [{ name: 'scores', dtype: 'float32', shape: [1, 10 - i], batchAxis: 0 }];
    });
    await writeFile(at('numbers.csv'), RECORDS.replaceAll('cat', '8').replaceAll('dog', '9'));
    const { error } = await read(of, at('numbers.csv'));
    expect(told(error)?.filter((one) => one.includes('label'))).toEqual([
      'numbers.csv line 4 the label is 9, and m1 tells 9 classes, from 0 on',
      'numbers.csv line 5 the label is 9, and m1 tells 9 classes, from 0 on',
      'numbers.csv line 7 the label is 9, and m1 tells 9 classes, from 0 on',
    ]);
  });

  it('misses records where the plan names none, or they are not there', async () => {
    const none = await read(await plan());
    expect(none.error).toBeInstanceOf(MissingError);
    expect(told(none.error)?.join()).toMatch(
      /plan\.json names no records, by which requests are answered: give them$/,
    );
    const lost = await read(await plan('lost.csv', 'f'.repeat(64)));
    expect(lost.error).toBeInstanceOf(MissingError);
    expect(told(lost.error)?.join()).toMatch(/lost\.csv/);
  });

  it('are asked again from the first sample on after the last', async () => {
    const { found } = await read(await plan('records.csv'));
    const certainty = certaintiesOf(found!.records);
    expect([0, 1, 2, 3, 101].map((request) => certainty(request, 0, 0))).toEqual([
      0.25, 0.75, 0.25, 0.75, 0.75,
    ]);
    expect([0, 1, 2].map((request) => certainty(request, 0, 1))).toEqual([0.9, 0.8, 0.9]);
  });
});

describe('plan simulate of a gear plan', () => {
  it('answers by its records, and names them among the inputs of its report', async () => {
    await plan('records.csv');
    const { report } = await simulatePlan(at('plan.json'), {
      rps: ['20'],
      duration: 30,
      arrivals: 'uniform',
    });
    // Of two samples in turn, the first is sent on and answered rightly, and the second is answered rightly at once.
    expect(report.cascade).toMatchObject({ accuracy: 1, samples: 2 });
    expect(report.cascade?.answeredBy.map(({ share }) => share)).toEqual([0.5, 0.5]);
    expect(report.inputs?.map(({ role }) => role)).toEqual(['plan', 'records']);
    await writeFile(at('sure.csv'), RECORDS.replace('0.25', '0.5'));
    const sure = await simulatePlan(at('plan.json'), {
      rps: ['20'],
      duration: 30,
      arrivals: 'uniform',
      records: at('sure.csv'),
    });
    // A certainty of just the threshold is enough, and the first model is wrong about the first sample.
    expect(sure.report.cascade?.answeredBy[0]).toEqual({ stage: 'm0', share: 1, accuracy: 0.5 });
    expect(sure.report.inputs?.map(({ path }) => path.split('/').at(-1))).toEqual(['plan.json', 'sure.csv']);
  });

  it('is refused with all faults of records and options at once', async () => {
    await plan('bad.csv', 'f'.repeat(64));
    const error = (await simulatePlan(at('plan.json'), { slow: -1 }).catch((thrown) => thrown)) as InputError;
    expect(error.faults.map(({ path }) => path.replaceAll(/^.*\//g, ''))).toEqual([
      ...['bad.csv', 'bad.csv line 4', 'bad.csv line 2', '`slow`'],
    ]);
  });

  it('is the only simulation that takes records', async () => {
    const parts = [{ batch: 1, virtualGpus: 1, latencyUs: affine(1000, 1000) }];
    const pooled = planOf([{ sloMs: 80, pipelines: [{ throughputRps: 30, parts }] }], 10);
    await writeFile(at('pooled.json'), JSON.stringify(pooled));
    await expect(simulatePlan(at('pooled.json'), { records: at('records.csv') })).rejects.toThrow(
      /`records`.* is for gear plans/,
    );
    expect(await readFile(at('records.csv'), 'utf8')).toBe(RECORDS);
  });
});
