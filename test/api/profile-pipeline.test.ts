import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { vitExported } from '../../examples/models/exported-vit.js';
import { mobilenetv2 } from '../../examples/models/mobilenetv2.js';
import { resnet18 } from '../../examples/models/resnet18.js';
import { unet } from '../../examples/models/unet.js';
import { partitionModelFile, profilePipeline, refuseSamples, simulatePlan } from '../../src/api/index.js';
import { loadArtifact } from '../../src/artifacts/index.js';
import type { PipelineProfile, Profile } from '../../src/formats/index.js';
import { streamOf } from '../../src/random/index.js';
import { solveSpec } from '../../src/specs/index.js';
import { inWholeRun } from '../cases.js';
import { plan } from '../cli/plan.js';
import { npy, npz } from '../samples/numpy-files.js';

const PIXELS = 32;
const IMAGES = 90;
const ROW = 3 * PIXELS ** 2;

const MODELS: Record<string, () => Uint8Array> = {
  detect: () => vitExported({ image: PIXELS, classes: 4 }),
  clean: () => unet({ image: PIXELS, widthMultiplier: 0.25, classes: 3, seed: 1 }),
  sharpen: () => unet({ image: PIXELS, widthMultiplier: 0.25, classes: 3, seed: 2 }),
  count: () => resnet18({ image: PIXELS, widthMultiplier: 0.25, classes: 5 }),
  tag: () => mobilenetv2({ image: PIXELS, widthMultiplier: 0.25, classes: 5 }),
};

let folder: string;
const at = (file: string): string => join(folder, file);
const sessions: Record<string, InferenceSession> = {};
let images: Float32Array;
/** The ways of the images through the models, run by hand: which edges each takes. */
let ways: { clean: boolean; tag: boolean; more: boolean }[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-profile-pipeline-'));
  for (const [name, make] of Object.entries(MODELS)) {
    await writeFile(at(`${name}.onnx`), make());
    sessions[name] = await InferenceSession.create(at(`${name}.onnx`), { intraOpNumThreads: 1 });
    await profile(name);
  }
  const { uniform } = streamOf(3, 'images');
  images = Float32Array.from({ length: IMAGES * ROW }, () => 2 * uniform() - 1);
  await writeFile(at('images.npy'), npy('<f4', [IMAGES, 3, PIXELS, PIXELS], { data: images }));
  ways = [];
  const bounds = await boundsByHand();
  await writeFile(at('spec.yaml'), spec(bounds));
  for (let i = 0; i < IMAGES; i++) ways.push(await wayOf(i, bounds));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** profile writes a profile of the model as one block, with made-up latencies. */
async function profile(name: string): Promise<void> {
  const output = at(`${name}.json`);
  const options = { devices: ['cpu:1'], blocks: 1, method: 'greedy', boundary: 'exact', output } as const;
  await partitionModelFile(at(`${name}.onnx`), options);
  const made = JSON.parse(await readFile(output, 'utf8')) as Profile;
  made.devices = { cpu: { provider: 'cpu', threads: 1, blockLatencyUs: { 1: { 1: [4000] } } } };
  await writeFile(output, JSON.stringify(made));
}

async function byHand(name: string, data: Float32Array): Promise<Float32Array> {
  const session = sessions[name]!;
  const feeds = { [session.inputNames[0]!]: new Tensor('float32', data, [1, 3, PIXELS, PIXELS]) };
  return (await session.run(feeds))[session.outputNames[0]!]!.data as Float32Array;
}

const imageOf = (i: number): Float32Array => images.slice(i * ROW, (i + 1) * ROW);

interface Bounds {
  readonly clean: number;
  readonly tag: number;
  readonly more: number;
}

/** boundsByHand gives values of the models that a half, a third and a half of the images reach. */
async function boundsByHand(): Promise<Bounds> {
  const logits: Float32Array[] = [];
  const counts: number[] = [];
  for (let i = 0; i < IMAGES; i++) {
    logits.push(await byHand('detect', imageOf(i)));
    counts.push((await byHand('count', await byHand('clean', imageOf(i))))[2]!);
  }
  const reached = (values: number[], share: number): number =>
    values.sort((a, b) => b - a)[Math.floor(share * values.length)]!;
  return {
    clean: reached(
      logits.map((row) => row[0]!),
      0.5,
    ),
    tag: reached(
      logits.map((row) => row[1]!),
      0.3,
    ),
    more: reached(counts, 0.5),
  };
}

async function wayOf(i: number, bounds: Bounds) {
  const logits = await byHand('detect', imageOf(i));
  const clean = logits[0]! >= bounds.clean;
  const better = await byHand(clean ? 'clean' : 'sharpen', imageOf(i));
  const counted = await byHand('count', better);
  return { clean, tag: logits[1]! >= bounds.tag, more: counted[2]! < bounds.more };
}

const input = (name: string): string => sessions[name]!.inputNames[0]!;
const output = (name: string): string => sessions[name]!.outputNames[0]!;

function spec(bounds: Bounds): string {
  const image = `request.${input('detect')}`;
  const stage = (name: string, from: string, next = '') =>
    `  - { name: ${name}, profile: ${name}.json, batch: 1, inputs: { '${input(name)}': ${from} }${next} }`;
  const better = `[clean.${output('clean')}, sharpen.${output('sharpen')}]`;
  return `kind: pipeline
name: looks
cluster: { devices: { cpu: { count: 2, memoryGiB: 1 } } } # two of them
stages:
${stage(
  'detect',
  image,
  `, next: [ { to: clean, when: { output: ${output('detect')}, index: 0, atLeast: ${bounds.clean} } }, sharpen,
      { to: tag, probability: 0.5, when: { output: ${output('detect')}, index: 1, atLeast: ${bounds.tag} } } ]`,
)}
${stage('clean', image, ', next: [count]')}
${stage('sharpen', image, ', next: [count]')}
${stage('count', better, `, next: [ { to: more, when: { output: ${output('count')}, index: 2, below: ${bounds.more} } } ]`)}
${stage('tag', image)}
  - { name: more, profile: tag.json, batch: 1, inputs: { '${input('tag')}': ${image} } }
exclusive: [[clean, sharpen]]
shared:
  - { device: cpu, stages: [detect, clean, sharpen], replicas: 1 }
  - { device: cpu, stages: [count, tag, more], replicas: 1 }
sloMs: 4000
rps: 20
planner: { method: given }
`;
}

const countOf = (is: (way: (typeof ways)[number]) => boolean): number => ways.filter(is).length;
const six = (share: number): number => Math.round(share * 1e6) / 1e6;

describe('profilePipeline()', () => {
  inWholeRun('counts the edges that the models take when they are run by hand', async () => {
    const before = await readFile(at('spec.yaml'), 'utf8');
    const [planned, verdicts] = [at('planned.yaml'), at('verdicts.csv')];
    const { document, text } = await profilePipeline(at('spec.yaml'), {
      samples: [at('images.npy')],
      output: planned,
      verdicts,
    });
    const [clean, tag, more] = [
      countOf((way) => way.clean),
      countOf((way) => way.tag),
      countOf((way) => way.more),
    ];
    expect(
      document.samples?.stages.flatMap(({ name, visits, edges }) => [
        [name, visits],
        ...edges.map(({ to, taken, of, probability }) => [`${name}>${to}`, taken, of, probability]),
      ]),
    ).toEqual([
      ['detect', IMAGES],
      ['detect>clean', clean, IMAGES, six(clean / IMAGES)],
      ['detect>sharpen', IMAGES - clean, IMAGES, six(1 - clean / IMAGES)],
      ['detect>tag', tag, IMAGES, six(tag / IMAGES)],
      ['clean', clean],
      ['sharpen', IMAGES - clean],
      ['count', IMAGES],
      ['count>more', more, IMAGES, six(more / IMAGES)],
      ['tag', tag],
      ['more', more],
    ]);
    expect(await readFile(verdicts, 'utf8')).toBe(
      [
        'detect>clean,detect>sharpen,detect>tag,count>more',
        ...ways.map((way) => [way.clean, !way.clean, way.tag, way.more].map(Number).join(',')),
        '',
      ].join('\n'),
    );
    expect(await readFile(planned, 'utf8')).toBe(text);
    expect(await readFile(at('spec.yaml'), 'utf8')).toBe(before);
    expect(text).toContain('# two of them');
  });

  it('writes a spec and verdicts that are planned and simulated as they are', async () => {
    const [planned, verdicts] = [at('again/planned.yaml'), at('again/verdicts.csv')];
    await mkdir(at('again'), { recursive: true });
    await profilePipeline(at('spec.yaml'), { samples: [at('images.npy')], output: planned, verdicts });
    const solved = await solveSpec(planned, { output: at('again/plan.json') });
    if (solved.outcome !== 'pipeline-plan') throw new Error(JSON.stringify(solved));
    const factor = solved.plan.stages.find(({ name }) => name === 'tag')?.scaleFactor;
    expect(factor).toBe(six(countOf((way) => way.tag) / IMAGES));
    const [simulated] = [await simulatePlan(at('again/plan.json'), { verdicts, duration: 2 })];
    expect(JSON.stringify(simulated)).toContain(`"recordedRequests":${IMAGES}`);
  });

  it('reports every edge of which the samples say too little, and writes nothing', async () => {
    const few = images.slice(0, 3 * ROW);
    await writeFile(
      at('few.npz'),
      npz({ [`${input('detect')}.npy`]: npy('<f4', [3, 3, PIXELS, PIXELS], { data: few }) }),
    );
    const output = at('few.yaml');
    const counted = profilePipeline(at('spec.yaml'), { samples: [at('few.npz')], output });
    await expect(counted).rejects.toMatchObject({
      name: 'InputError',
      faults: [
        {
          path: '/stages/0/next/0',
          message: expect.stringContaining('detect>clean was decided for 3 samples'),
        },
        { path: '/stages/0/next/1' },
        { path: '/stages/0/next/2' },
        { path: '/stages/3/next/0' },
      ],
    });
    expect(existsSync(output)).toBe(false);
  });

  it('refuses samples of another shape, and files that it would replace', async () => {
    await writeFile(at('small.npy'), npy('<f4', [1, 3, 8, 8], { data: new Float32Array(192) }));
    await expect(profilePipeline(at('spec.yaml'), { samples: [at('small.npy')] })).rejects.toThrow(
      `its shape is [1, 3, 8, 8]; it must be [-1, 3, ${PIXELS}, ${PIXELS}]`,
    );
    const samples = [at('images.npy')];
    for (const name of ['spec.yaml', 'tag.json', 'tag.onnx', 'images.npy']) {
      const counted = profilePipeline(at('spec.yaml'), { samples, verdicts: at(name) });
      await expect(counted).rejects.toThrow('an input that would be replaced');
    }
    await expect(profilePipeline(at('spec.yaml'), { samples, output: at('spec.json') })).rejects.toThrow(
      'YAML',
    );
    await expect(profilePipeline(at('spec.yaml'), { output: at('new.yaml') })).rejects.toThrow(
      'give `samples` too',
    );
    await expect(profilePipeline(at('spec.yaml'), {})).rejects.toThrow('all of its profiles exist');
    expect(() => refuseSamples('x.onnx', { samples })).toThrow('x.onnx is a model');
  });

  it('refuses a model that is not the one that was profiled', async () => {
    const original = await readFile(at('detect.onnx'));
    await writeFile(at('detect.onnx'), MODELS.tag!());
    const counted = profilePipeline(at('spec.yaml'), { samples: [at('images.npy')] });
    await expect(counted).rejects.toThrow('is not the file that was profiled');
    await writeFile(at('detect.onnx'), original);
  });
});

describe('plan profile of a pipeline', () => {
  inWholeRun('measures the models whose profiles are missing, and says what it counted as JSON', async () => {
    const part = at('part');
    await mkdir(part);
    await writeFile(join(part, 'first.onnx'), MODELS.detect!());
    const one = (await readFile(at('spec.yaml'), 'utf8')).match(/atLeast: (\S+)/)?.[1];
    await writeFile(
      join(part, 'spec.yaml'),
      `kind: pipeline
cluster: { devices: { cpu: { hourlyCost: 1 } } }
stages:
  - { name: a, profile: first.profile.json, next: [{ to: b, when: { output: ${output('detect')}, index: 0, atLeast: ${one} } }] }
  - { name: b, profile: ../tag.json, inputs: { '${input('tag')}': 'request.${input('detect')}' } }
sloMs: 100
load: { arrivals: poisson, rps: 1, duration: 10s }
planner: { method: inferline }
`,
    );
    const fast = ['--batch', '1', '--warmup', '1', '--min-runs', '1', '--min-ms', '1', '--max-ms', '1'];
    const args = [
      'profile',
      'spec.yaml',
      '--samples',
      '../images.npy',
      '-o',
      'planned.yaml',
      '--json',
      ...fast,
    ];
    const ran = await plan(args, { cwd: part });
    expect({ code: ran.code, stderr: ran.code === 0 ? '' : ran.stderr }).toEqual({ code: 0, stderr: '' });
    const document = JSON.parse(ran.stdout) as PipelineProfile;
    expect(document.profiles).toEqual([
      { path: 'first.profile.json', measured: true },
      { path: '../tag.json', measured: false },
    ]);
    expect(document.samples?.stages[0]?.edges[0]?.taken).toBe(countOf((way) => way.clean));
    const { value } = await loadArtifact(join(part, 'first.profile.json'), ['profile']);
    expect(value.blocks).toHaveLength(1);
    expect((await readdir(part)).sort()).toEqual(
      ['first.onnx', 'first.profile.json', 'planned.yaml', 'spec.yaml'].sort(),
    );
  });

  it('names the models that are missing together with their profiles', async () => {
    const text = (await readFile(at('spec.yaml'), 'utf8'))
      .replace('tag.json', 'gone.json')
      .replace('count.json', 'lost.json');
    await writeFile(at('gone.yaml'), text);
    const ran = await plan(['profile', 'gone.yaml', '--samples', 'images.npy'], { cwd: folder });
    expect(ran.code).toBe(7);
    expect(ran.stderr).toMatch(/lost\.json: does not exist, and neither does its model lost\.onnx/);
    expect(ran.stderr).toMatch(/gone\.json: does not exist, and neither does its model gone\.onnx/);
  });
});
