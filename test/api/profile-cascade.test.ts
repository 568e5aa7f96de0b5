import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { resnet18 } from '../../examples/models/resnet18.js';
import { partitionModelFile, profileCascade, refuseLabels, specKind } from '../../src/api/index.js';
import { sha256OfFile } from '../../src/artifacts/index.js';
import { InputError, MissingError, type Profile } from '../../src/formats/index.js';
import { streamOf } from '../../src/random/index.js';
import { certaintyOf, predictionOf } from '../../src/records/index.js';
import { solveSpec } from '../../src/specs/index.js';
import { inWholeRun } from '../cases.js';
import { npy } from '../samples/numpy-files.js';

const PIXELS = 32;
const IMAGES = 12;
const ROW = 3 * PIXELS ** 2;
const CLASSES = 5;
const NAMES = ['small', 'large'] as const;

let folder: string;
const at = (file: string): string => join(folder, file);
/** What each model says of each image, run by hand. */
const scores: Float32Array[][] = [];
let labels: number[];
const profiles: Record<string, string> = {};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-profile-cascade-'));
  const { uniform } = streamOf(3, 'images');
  const images = Float32Array.from({ length: IMAGES * ROW }, () => 2 * uniform() - 1);
  await writeFile(at('images.npy'), npy('<f4', [IMAGES, 3, PIXELS, PIXELS], { data: images }));
  for (const [i, name] of NAMES.entries()) {
    const made = resnet18({ image: PIXELS, widthMultiplier: 0.125 * 2 ** i, classes: CLASSES, seed: 1 + i });
    await writeFile(at(`${name}.onnx`), made);
    scores.push(await byHand(name, images));
    profiles[name] = await profileText(name);
  }
  // Every third label is wrong for the large model.
  labels = (scores[1] as Float32Array[]).map(
    (row, i) => (predictionOf(row) + (i % 3 === 0 ? 1 : 0)) % CLASSES,
  );
});
beforeEach(async () => {
  for (const name of NAMES) await writeProfile(name);
  await writeFile(at('labels.csv'), `${labels.join('\n')}\n`);
  await rm(at('records.csv'), { force: true });
  await writeSpec();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function byHand(name: string, images: Float32Array): Promise<Float32Array[]> {
  const session = await InferenceSession.create(at(`${name}.onnx`), { intraOpNumThreads: 1 });
  const rows: Float32Array[] = [];
  for (let i = 0; i < IMAGES; i++) {
    const image = new Tensor('float32', images.slice(i * ROW, (i + 1) * ROW), [1, 3, PIXELS, PIXELS]);
    const answer = await session.run({ [session.inputNames[0] as string]: image });
    rows.push(answer[session.outputNames[0] as string]?.data as Float32Array);
  }
  return rows;
}

/** profileText is the profile of a model as one block, with made-up latencies. */
async function profileText(name: string): Promise<string> {
  const output = at(`${name}.json`);
  const options = { devices: ['cpu:1'], blocks: 1, method: 'greedy', boundary: 'exact', output } as const;
  await partitionModelFile(at(`${name}.onnx`), options);
  const made = JSON.parse(await readFile(output, 'utf8')) as Profile;
  made.devices = { cpu: { provider: 'cpu', threads: 1, blockLatencyUs: { 1: { 1: [2000] } } } };
  return JSON.stringify(made);
}

/** writeProfile writes a model's profile, changed as a test wants it. */
async function writeProfile(
  name: (typeof NAMES)[number],
  change: (profile: Profile) => void = () => {},
): Promise<void> {
  const made = JSON.parse(profiles[name] as string) as Profile;
  change(made);
  await writeFile(at(`${name}.json`), JSON.stringify(made));
}

interface Asked {
  readonly certainty?: string;
  readonly outputs?: readonly (string | undefined)[];
}

async function writeSpec({ certainty, outputs = [] }: Asked = {}): Promise<void> {
  const models = NAMES.map((name, i) => ({ name, profile: `${name}.json`, output: outputs[i] }));
  const spec = {
    kind: 'cascade',
    name: 'looks',
    cluster: { devices: { cpu: { count: 1 } } },
    models,
    certainty,
    records: 'records.csv',
    slo: { latencyMs: 100 },
    load: { maxRps: 20, ranges: 2 },
    planner: { method: 'gears', thresholds: 3 },
  };
  await writeFile(at('spec.json'), JSON.stringify(spec));
}

/** recordsByHand are the records that the models should have. */
function recordsByHand(measure: 'top-2' | 'entropy'): string {
  const lines = NAMES.flatMap((name, model) =>
    (scores[model] as Float32Array[]).map(
      (row, sample) =>
        `${sample},${name},${predictionOf(row)},${labels[sample]},${certaintyOf(row, measure)}`,
    ),
  );
  return ['sample,model,prediction,label,certainty', ...lines, ''].join('\n');
}

/** rounded splits records into words and numbers, the latter to five digits: executors may round otherwise. */
const rounded = (text: string): string[] =>
  text
    .split(/[,\n]/)
    .map((cell) => (cell === '' || Number.isNaN(Number(cell)) ? cell : Number(cell).toPrecision(5)));

const profiled = (options: Parameters<typeof profileCascade>[1] = {}) =>
  profileCascade(at('spec.json'), options);
const labelled = () => ({ samples: [at('images.npy')], labels: at('labels.csv') });

async function faultsOf(work: Promise<unknown>): Promise<string[]> {
  const error = await work.catch((thrown: unknown) => thrown);
  if (!(error instanceof InputError)) throw new Error(`no InputError: ${String(error)}`);
  return error.faults.map(({ path, message }) =>
    `${path} ${message}`.replaceAll(/\S*\/(?=\w+\.(csv|json|npy|onnx))/g, ''),
  );
}

const exists = (file: string): Promise<boolean> =>
  stat(at(file)).then(
    () => true,
    () => false,
  );

describe('profileCascade()', () => {
  inWholeRun(
    'records what each model says of each sample where the spec looks for it, and how well certainty distinguishes them',
    async () => {
      const told: string[] = [];
      const document = await profiled({ ...labelled(), onProgress: ({ doing }) => told.push(doing) });
      const text = await readFile(at('records.csv'), 'utf8');
      expect(rounded(text)).toEqual(rounded(recordsByHand('top-2')));
      expect(told).toEqual(['1 of 2 models', '2 of 2 models']);
      const rightBy = (model: number) =>
        (scores[model] as Float32Array[]).filter((row, i) => predictionOf(row) === labels[i]).length / IMAGES;
      expect(document).toMatchObject({
        kind: 'pipeline-profile',
        name: 'looks',
        profiles: [{ measured: false }, { measured: false }],
        family: { samples: IMAGES, models: [{ accuracy: rightBy(0) }, { accuracy: rightBy(1) }] },
      });
      expect(rightBy(1)).toBe(8 / 12);
      expect(resolve(document.family?.records ?? '')).toBe(at('records.csv'));
      expect(document.inputs?.map(({ role }) => role)).toEqual([
        ...['spec', 'profile', 'profile', 'samples', 'samples'],
      ]);
      const digests = ['spec.json', 'small.json', 'large.json', 'images.npy', 'labels.csv'].map((file) =>
        sha256OfFile(at(file)),
      );
      expect(document.inputs?.map(({ sha256 }) => sha256)).toEqual(await Promise.all(digests));
      // The records are those that the spec is planned with.
      expect((await solveSpec(at('spec.json'))).outcome).toBe('gear-plan');
    },
  );

  it('writes the records where the option says, by the certainty that the spec asks for', async () => {
    await writeSpec({ certainty: 'entropy' });
    await profiled({ ...labelled(), output: at('other.csv') });
    expect(rounded(await readFile(at('other.csv'), 'utf8'))).toEqual(rounded(recordsByHand('entropy')));
    expect(await exists('records.csv')).toBe(false);
  });

  it('refuses models that do not answer alike before any of them is measured', async () => {
    await rm(at('large.json'));
    const other = resnet18({ image: PIXELS, widthMultiplier: 0.125, classes: CLASSES + 1, seed: 1 });
    const before = await readFile(at('large.onnx'));
    await writeFile(at('large.onnx'), other);
    try {
      expect(await faultsOf(profiled({ devices: ['cpu:1'] }))).toEqual([
        expect.stringMatching(
          /^\/models\/1 outputs are \S+ float32\[\*, 6\], and those of small are \S+ float32\[\*, 5\]: all models of a cascade must be alike$/,
        ),
      ]);
      expect(await exists('large.json')).toBe(false);
    } finally {
      await writeFile(at('large.onnx'), before);
    }
  });

  it('asks for samples where nothing is to be measured', async () => {
    expect(await faultsOf(profiled())).toEqual([
      ' all of its profiles exist; give `samples` to record what the models say',
    ]);
  });

  it('records nothing with profiles that an interrupted run began, and goes on with them where it is asked to', async () => {
    for (const name of NAMES)
      await writeProfile(name, (profile) => {
        profile.measurement = { complete: false };
      });
    const told = NAMES.map(
      (name) => `${name}.json is not complete: measuring it was interrupted; give \`resume\` to go on`,
    );
    expect(await faultsOf(profiled(labelled()))).toEqual(told);
    expect(await exists('records.csv')).toBe(false);
  });

  it('says which profiles were kept where it is interrupted', async () => {
    for (const name of NAMES) await rm(at(`${name}.json`));
    const interrupt = new AbortController();
    const work = profiled({
      ...labelled(),
      devices: ['cpu:1'],
      batch: [1],
      minMs: 1,
      maxMs: 1,
      minRuns: 1,
      signal: interrupt.signal,
      onProgress: ({ doing }) => {
        if (doing.includes('large.onnx')) interrupt.abort();
      },
    });
    await expect(work).rejects.toMatchObject({
      name: 'AbortError',
      message: expect.stringMatching(
        /^interrupted: what was measured is in .*small\.json.*; `resume` goes on$/,
      ),
    });
    expect(await exists('small.json')).toBe(true);
    expect(await exists('records.csv')).toBe(false);
  });

  it('reports all options that do not go together at once', async () => {
    expect(
      await faultsOf(profiled({ labels: at('labels.csv'), output: at('o.csv'), verdicts: at('v.csv') })),
    ).toEqual([
      '`verdicts` is for pipelines',
      '`labels` is for samples: give them',
      '`output` is for records of samples: give these',
    ]);
    expect(await faultsOf(profiled({ samples: [at('images.npy')], verdicts: at('v.csv') }))).toEqual([
      '`verdicts` is for pipelines',
      '`labels` is needed: the records say which answers are right',
    ]);
  });

  it('replaces none of its inputs', async () => {
    for (const file of ['spec.json', 'small.json', 'large.onnx', 'images.npy', 'labels.csv']) {
      const before = await readFile(at(file));
      expect(await faultsOf(profiled({ ...labelled(), output: at(file) })), file).toHaveLength(1);
      expect((await readFile(at(file))).equals(before), file).toBe(true);
    }
  });

  it('reports all files that are missing at once', async () => {
    const work = profiled({ samples: [at('lost.npy'), at('images.npy')], labels: at('lost.csv') });
    await expect(work).rejects.toBeInstanceOf(MissingError);
    expect((await faultsOf(work)).map((fault) => fault.split(' ')[0])).toEqual(['lost.npy', 'lost.csv']);
    await rm(at('small.json'));
    await writeSpec();
    await writeFile(
      at('spec.json'),
      (await readFile(at('spec.json'), 'utf8')).replace('small.json', 'gone.json'),
    );
    expect(await faultsOf(profiled(labelled()))).toEqual([
      expect.stringMatching(/^gone\.json does not exist, and neither does its model gone\.onnx/),
    ]);
  });

  it('reports all that is wrong with the models at once', async () => {
    await writeSpec({ outputs: [undefined, 'lost'] });
    await writeProfile('small', ({ model }) => {
      model.outputs = [
        ...(model.outputs ?? []),
        { name: 'more', dtype: 'float32', shape: [1, 2], batchAxis: 0 },
      ];
    });
    await writeProfile('large', ({ model }) => {
      model.inputs = model.inputs?.map((input) => ({ ...input, name: 'picture' })) ?? [];
    });
    const [input] = (JSON.parse(await readFile(at('small.json'), 'utf8')) as Profile).model.inputs ?? [];
    const [first] = (JSON.parse(await readFile(at('large.json'), 'utf8')) as Profile).model.outputs ?? [];
    const tensor = `${input?.name} float32[*, ${input?.shape.slice(1).join(', ')}]`;
    expect(await faultsOf(profiled(labelled()))).toEqual([
      `/models/0/output is needed: the model has ${first?.name}, more`,
      `/models/1/output is lost, and the model has ${first?.name}`,
      `/models/1 inputs are ${tensor.replace(input?.name ?? '', 'picture')}, and those of small are ${tensor}: all models must be alike`,
      expect.stringMatching(
        /^\/models\/1 outputs are .*, and those of small are .*, more float32\[\*, 2\]: /,
      ),
    ]);
    expect(await exists('records.csv')).toBe(false);
  });

  it('needs the tensors of the models, and scores that are numbers', async () => {
    await writeProfile('small', ({ model }) => {
      model.outputs = [{ name: 'words', dtype: 'string', shape: [1, 2], batchAxis: 0 }];
    });
    await writeProfile('large', ({ model }) => {
      delete model.outputs;
    });
    expect(await faultsOf(profiled(labelled()))).toEqual([
      '/models/0/output is words, which is text; certainty follows from numbers',
      "/models/1/profile large: its profile does not say the model's inputs and outputs",
    ]);
  });

  it('reports labels that are no class, are too few or no numbers', async () => {
    await writeFile(at('labels.csv'), '1\n2\n');
    expect(await faultsOf(profiled(labelled()))).toEqual([
      `images.npy image makes ${IMAGES} samples, and labels.csv has 2 labels`,
    ]);
    await writeFile(
      at('labels.csv'),
      `${labels.map((label, i) => (i === 4 ? CLASSES : label)).join('\n')}\n`,
    );
    expect(await faultsOf(profiled(labelled()))).toEqual([
      `labels.csv label 5 is ${CLASSES}, and small has the classes 0 to ${CLASSES - 1}`,
    ]);
    expect(await exists('records.csv')).toBe(false);
    await writeFile(at('labels.csv'), `${labels.map((label, i) => (i === 4 ? 'cat' : label)).join('\n')}\n`);
    await writeFile(at('small.npy'), npy('<f4', [1, 3, 2, 2], { data: new Float32Array(12) }));
    const told = await faultsOf(profiled({ ...labelled(), samples: [at('small.npy')] }));
    expect(told).toEqual([
      expect.stringMatching(/^labels\.csv label 5 is cat;/),
      expect.stringMatching(/^small\.npy /),
    ]);
  });
});

describe('Labels', () => {
  it('are for the specs of cascades', async () => {
    expect(() => refuseLabels('x.yaml', {})).not.toThrow();
    expect(() => refuseLabels('x.yaml', { labels: 'y.csv' })).toThrow(
      /`labels`: is for the spec of a cascade, and x\.yaml is none/,
    );
    expect(await specKind(at('spec.json'))).toBe('cascade');
    await expect(specKind(at('small.json'))).rejects.toBeInstanceOf(InputError);
  });
});
