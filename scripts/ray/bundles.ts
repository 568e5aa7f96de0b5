/** This folder makes the bundles that Ray Serve is tried with, and knows what each must answer. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { resnet18 } from '../../examples/models/resnet18.js';
import { deployPlan, partitionModelFile, solveSpec } from '../../src/api/index.js';
import type { TensorData } from '../../src/execution/index.js';
import type { GearPlan, Profile } from '../../src/formats/index.js';
import { streamOf } from '../../src/random/index.js';
import { certaintyOf, predictionOf } from '../../src/records/index.js';

const PIXELS = 32;
const IMAGES = 12;
const MS = 1000;

/** RightAnswer is what a request must be answered with. */
export interface RightAnswer {
  readonly outputs: Readonly<Record<string, ArrayLike<number>>>;
  /** The model that answers, of a cascade. */
  readonly answeredBy?: string;
}

/** Tried is a bundle for Ray Serve and what it must answer for each image. */
export interface Tried {
  readonly name: string;
  readonly bundle: string;
  readonly images: readonly TensorData[];
  readonly right: readonly RightAnswer[];
}

/** BundleMaker makes bundles in a folder. */
export class BundleMaker {
  readonly images: readonly TensorData[];

  constructor(private readonly folder: string) {
    const { uniform } = streamOf(3, 'images');
    this.images = Array.from({ length: IMAGES }, () => ({
      dtype: 'float32',
      dims: [1, 3, PIXELS, PIXELS],
      data: Float32Array.from({ length: 3 * PIXELS ** 2 }, () => 2 * uniform() - 1),
    }));
  }

  /** chain makes a pooled plan of one pipeline whose two partitions are on two classes. */
  async chain(): Promise<Tried> {
    const session = await this.model('whole', 0.25, { blocks: 2 });
    const profile = await this.profile('whole');
    const costs = (us: number[]) => ({ 1: us, 2: us.map((one) => 1.5 * one) });
    profile.devices = {
      first: { provider: 'cpu', threads: 1, blockLatencyUs: { 1: costs([20 * MS, 200 * MS]) } },
      second: { provider: 'cpu', threads: 1, blockLatencyUs: { 1: costs([200 * MS, 20 * MS]) } },
    };
    await writeFile(this.at('whole.json'), JSON.stringify(profile));
    await this.deploy(
      'chain',
      `kind: pooled
cluster: { devices: { first: { count: 1 }, second: { count: 1 } }, networkGbps: 10 }
models: [{ profile: whole.json, sloMs: 8000 }]
planner: { maxPartitions: 2 }
`,
    );
    const right = await Promise.all(
      this.images.map(async (image) => ({
        outputs: { [session.outputNames[0]!]: await scores(session, image) },
      })),
    );
    return { name: 'chain', bundle: this.at('chain'), images: this.images, right };
  }

  /** branches makes a pipeline in which the first model says which of two others a row goes to, on two devices. */
  async branches(): Promise<Tried> {
    const names = ['look', 'high', 'low'] as const;
    const sessions = await Promise.all(names.map((name, i) => this.stage(name, 2 ** i)));
    const [look, high, low] = sessions as [InferenceSession, InferenceSession, InferenceSession];
    const seen = await Promise.all(this.images.map((image) => scores(look, image)));
    const bound = seen.map((one) => one[0] as number).sort((a, b) => a - b)[IMAGES / 2]!;
    const when = `when: { output: ${look.outputNames[0]}, index: 0, atLeast: ${bound} }`;
    await this.deploy(
      'branches',
      `kind: pipeline
cluster: { devices: { cpu: { count: 3, memoryGiB: 1 } } }
stages:
  - { name: look, profile: look.json, batch: 2, device: cpu, replicas: 1,
      next: [{ to: high, probability: 0.5, ${when} }, { to: low, probability: 0.5 }] }
  - { name: high, profile: high.json, batch: 2, inputs: { image: request.image } }
  - { name: low, profile: low.json, batch: 2, inputs: { image: request.image } }
exclusive: [[high, low]]
shared: [{ device: cpu, stages: [high, low], replicas: 2 }]
sloMs: 8000
rps: 10
planner: { method: given }
`,
    );
    const right = await Promise.all(
      this.images.map(async (image, i) => {
        const [stage, session] =
          (seen[i]![0] as number) >= bound ? (['high', high] as const) : (['low', low] as const);
        return { outputs: { [`${stage}.${session.outputNames[0]}`]: await scores(session, image) } };
      }),
    );
    return { name: 'branches', bundle: this.at('branches'), images: this.images, right };
  }

  /** cascade makes a gear plan of two models; `second` is what its gear for the highest load answers. */
  async cascade(): Promise<Tried & { readonly second: readonly RightAnswer[] }> {
    const [small, large] = await Promise.all([this.stage('small', 1), this.stage('large', 4)]);
    const rows = await Promise.all(
      this.images.map(async (image) => [await scores(small, image), await scores(large, image)] as const),
    );
    const records = rows.flatMap(([a, b], i) =>
      [a, b].map(
        (one, m) =>
          `${i},${['small', 'large'][m]},${predictionOf(one)},${predictionOf(b)},${certaintyOf(one, 'top-2')}`,
      ),
    );
    await writeFile(
      this.at('records.csv'),
      ['sample,model,prediction,label,certainty', ...records, ''].join('\n'),
    );
    await this.deploy(
      'cascade',
      `kind: cascade
name: looks
cluster: { devices: { cpu: { count: 2, memoryGiB: 1 } } }
models: [{ name: small, profile: small.json }, { name: large, profile: large.json }]
records: records.csv
slo: { latencyMs: 2000 }
load: { maxRps: 400, ranges: 3 }
planner: { method: gears, thresholds: 4 }
`,
    );
    const plan = JSON.parse(await readFile(this.at('cascade.plan.json'), 'utf8')) as GearPlan;
    const output = small.outputNames[0]!;
    const answers = (cascade: GearPlan['gears'][number]['cascade']): RightAnswer[] =>
      rows.map(([a, b]) => {
        for (const { stage, threshold = Number.NEGATIVE_INFINITY } of cascade) {
          const one = stage === 'small' ? a : b;
          if (certaintyOf(one, plan.certainty) >= threshold)
            return { outputs: { [output]: one }, answeredBy: stage };
        }
        throw new Error('no model answers');
      });
    const right = answers(plan.gears[0]!.cascade);
    const second = answers(plan.gears.at(-1)!.cascade);
    if (right.every(({ answeredBy }, i) => answeredBy === second[i]?.answeredBy))
      throw new Error(
        'the gears for the lowest and the highest load answer alike, so that no change would be seen',
      );
    return { name: 'looks', bundle: this.at('cascade'), images: this.images, right, second };
  }

  private at(file: string): string {
    return join(this.folder, file);
  }

  private async stage(name: string, cost: number): Promise<InferenceSession> {
    const session = await this.model(name, 0.125 * cost ** 0.5, { blocks: 1 });
    const profile = await this.profile(name);
    const us = (batch: number) => [cost * (4 + batch) * MS];
    profile.devices = {
      cpu: { provider: 'cpu', threads: 1, blockLatencyUs: { 1: { 1: us(1), 2: us(2), 4: us(4) } } },
    };
    await writeFile(this.at(`${name}.json`), JSON.stringify(profile));
    return session;
  }

  private async model(
    name: string,
    widthMultiplier: number,
    { blocks }: { readonly blocks: number },
  ): Promise<InferenceSession> {
    const bytes = resnet18({ image: PIXELS, classes: 5, widthMultiplier, seed: name.length });
    await writeFile(this.at(`${name}.onnx`), bytes);
    await partitionModelFile(this.at(`${name}.onnx`), {
      devices: ['cpu:1'],
      blocks,
      method: 'greedy',
      boundary: 'exact',
      output: this.at(`${name}.json`),
    });
    return InferenceSession.create(this.at(`${name}.onnx`), { intraOpNumThreads: 1 });
  }

  private async profile(name: string): Promise<Profile> {
    return JSON.parse(await readFile(this.at(`${name}.json`), 'utf8')) as Profile;
  }

  private async deploy(name: string, spec: string): Promise<void> {
    await writeFile(this.at(`${name}.yaml`), spec);
    const plan = this.at(`${name}.plan.json`);
    const solved = await solveSpec(this.at(`${name}.yaml`), { output: plan });
    if (!solved.outcome.endsWith('plan')) throw new Error(`${name} has no plan: ${JSON.stringify(solved)}`);
    await deployPlan(plan, { output: this.at(name), target: 'ray-serve' });
  }
}

async function scores(session: InferenceSession, image: TensorData): Promise<Float32Array> {
  const feeds = { [session.inputNames[0]!]: new Tensor('float32', image.data as Float32Array, image.dims) };
  return (await session.run(feeds))[session.outputNames[0]!]!.data as Float32Array;
}
