import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { median } from 'simple-statistics';
import { resnet18 } from '../../examples/models/resnet18.js';
import { deployPlan, partitionModelFile, solveSpec } from '../../src/api/index.js';
import { loadArtifact } from '../../src/artifacts/index.js';
import { BUNDLE_MANIFEST, type PooledPlan, type Profile } from '../../src/formats/index.js';

/** What runs the stages: something that sleeps for the planned times, or emulated devices that compute on a CPU. */
export type ExecutorKind = 'sleeper' | 'cpu';

/** An image of three planes of 8 × 8 floats is a body of 768 bytes. */
const PIXELS = 8;
export const MODEL = 'whole';
/** How many devices there are of each class. */
export const DEVICES = { fast: 2, slow: 2 } as const;
export type ClassName = keyof typeof DEVICES;
const CLASSES = Object.keys(DEVICES) as ClassName[];
/** The second half of the model is much slower on the slow class, so that the best plan begins there and ends on the fast one. */
const BLOCK_MS: Readonly<Record<ClassName, Readonly<Record<number, readonly number[]>>>> = {
  fast: { 1: [300, 400], 2: [450, 600] },
  slow: { 1: [400, 1000], 2: [600, 1500] },
};
const BATCH = 2;
const SLO_MS = 2200;
/** An emulated device takes so little of a core that all of them and Ray fit on two. */
const SLOWDOWN = 40;
/** A model runs slower after a pause than in a loop, and the engine gives it pauses. */
const NONE_SLOWER: Slowdowns = { fast: SLOWDOWN, slow: SLOWDOWN };
const PAUSE_MS = 200;
const TIMED_RUNS = 12;

function byBatch(ms: (batch: number) => readonly number[]): Record<number, readonly number[]> {
  return Object.fromEntries([1, 2].map((batch) => [batch, ms(batch)]));
}

/** PlannedBundles is one plan, as a bundle for Ray Serve and as one for our own server. */
export interface PlannedBundles {
  readonly ray: string;
  readonly own: string;
  readonly plannedRps: number;
  readonly sloMs: number;
  readonly slowdowns: Slowdowns;
  /** The milliseconds of a stage by its file in the bundle, for batches of 1, 2, … rows. */
  readonly stageMs: ReadonlyMap<string, readonly number[]>;
}

/** wholeMs gives how long the uncut model takes on a class, for batches of 1, 2, … rows. */
export function wholeMs(deviceClass: ClassName): number[] {
  return Object.values(BLOCK_MS[deviceClass]).map((blocks) => blocks.reduce((sum, ms) => sum + ms, 0));
}

/** Slowdowns says how much slower each class is than a core. */
type Slowdowns = Readonly<Record<ClassName, number>>;

/** Executed is how long the stage of each class took on an engine, so much slower than a core, for batches of 1, 2, … rows. */
export interface Executed {
  readonly slowdowns: Slowdowns;
  readonly ms: Readonly<Record<ClassName, readonly number[]>>;
}

/**
 * plannedBundles makes the plan of a chain of two stages, the first on the slow class and the second on the fast one.
 * @param executed how long stages took on an engine; without it, cores are slowed down by what they take in a loop of one process,
 *   in which they are faster or slower than among others
 */
export async function plannedBundles(
  folder: string,
  executor: ExecutorKind,
  executed?: Executed,
): Promise<PlannedBundles> {
  const model = join(folder, `${MODEL}.onnx`);
  const profile = join(folder, `${MODEL}.json`);
  await writeFile(model, resnet18({ image: PIXELS, classes: 5, widthMultiplier: 1, seed: 1 }));
  await partitionModelFile(model, {
    devices: ['cpu:1'],
    blocks: 2,
    method: 'greedy',
    boundary: 'exact',
    output: profile,
  });
  const sleeping = emulatedDevices({ fast: SLOWDOWN, slow: SLOWDOWN }, BLOCK_MS);
  await setDevices(profile, sleeping);
  const asPlanned = await deployed(folder, 'sleeper');
  if (executor === 'sleeper') return asPlanned;
  const { slowdowns, ms } = executed ?? (await inLoop(asPlanned));
  const factors = {
    slow: BLOCK_MS.slow[BATCH]![0]! / ms.slow[BATCH - 1]!,
    fast: BLOCK_MS.fast[BATCH]![1]! / ms.fast[BATCH - 1]!,
  };
  const asSlow = { fast: factors.fast * slowdowns.fast, slow: factors.slow * slowdowns.slow };
  await setDevices(
    profile,
    emulatedDevices(asSlow, {
      fast: byBatch((batch) => [BLOCK_MS.fast[batch]![0]!, factors.fast * ms.fast[batch - 1]!]),
      slow: byBatch((batch) => [factors.slow * ms.slow[batch - 1]!, BLOCK_MS.slow[batch]![1]!]),
    }),
  );
  return { ...(await deployed(folder, 'cpu')), slowdowns: asSlow };
}

type BlockMs = Readonly<Record<ClassName, Readonly<Record<number, readonly number[]>>>>;

/** emulatedDevices gives the classes of a profile. */
function emulatedDevices(
  slowdowns: Readonly<Record<ClassName, number>>,
  blockMs: BlockMs,
): Profile['devices'] {
  return Object.fromEntries(
    CLASSES.map((name) => [
      name,
      {
        provider: 'cpu',
        threads: 1,
        slowdown: slowdowns[name],
        emulated: true,
        blockLatencyUs: {
          1: Object.fromEntries(
            Object.entries(blockMs[name]).map(([batch, blocks]) => [batch, blocks.map((ms) => 1e3 * ms)]),
          ),
        },
      },
    ]),
  );
}

/** inLoop times both stages on a core. */
async function inLoop({ own, stageMs }: PlannedBundles): Promise<Executed> {
  const [first, second] = await Promise.all(
    [...stageMs.keys()].sort().map((file) => opened(join(own, file))),
  );
  return { slowdowns: { fast: 1, slow: 1 }, ms: { slow: await cpuMs(first!), fast: await cpuMs(second!) } };
}

function opened(file: string): Promise<InferenceSession> {
  return InferenceSession.create(file, { intraOpNumThreads: 1 });
}

/** cpuMs gives the CPU time of a run for batches of 1, 2, … rows, each run after a pause. */
async function cpuMs(session: InferenceSession): Promise<number[]> {
  const all: number[] = [];
  for (let batch = 1; batch <= BATCH; batch++) {
    const feeds = Object.fromEntries(
      session.inputMetadata.map((input) => {
        const shape = ('shape' in input ? input.shape : []).map((size, axis) =>
          axis === 0 ? batch : Number(size),
        );
        const size = shape.reduce((product, one) => product * one, 1);
        return [input.name, new Tensor('float32', new Float32Array(size).fill(0.5), shape)];
      }),
    );
    const times: number[] = [];
    for (let run = 0; run < TIMED_RUNS; run++) {
      await sleep(PAUSE_MS);
      const before = process.cpuUsage();
      await session.run(feeds);
      const { user, system } = process.cpuUsage(before);
      times.push((user + system) / 1e3);
    }
    all.push(median(times));
  }
  return all;
}

async function setDevices(path: string, devices: Profile['devices']): Promise<void> {
  const profile = JSON.parse(await readFile(path, 'utf8')) as Profile;
  await writeFile(path, JSON.stringify({ ...profile, devices }));
}

/** deployed solves the spec and writes both bundles. @throws Error where the plan is not the chain that is to be measured */
async function deployed(folder: string, name: string): Promise<PlannedBundles> {
  const at = (file: string) => join(folder, file);
  const counts = CLASSES.map((one) => `${one}: { count: ${DEVICES[one]} }`).join(', ');
  await writeFile(
    at(`${name}.yaml`),
    `kind: pooled
cluster: { devices: { ${counts} }, networkGbps: 10 }
models: [{ profile: ${MODEL}.json, sloMs: ${SLO_MS} }]
planner: { maxPartitions: 2 }
`,
  );
  const path = at(`${name}.plan.json`);
  await solveSpec(at(`${name}.yaml`), { output: path });
  const { value: plan } = await loadArtifact(path, ['pooled-plan']);
  const [ray, own] = [at(`${name}-ray`), at(`${name}-own`)];
  await deployPlan(path, { output: ray, target: 'ray-serve' });
  await deployPlan(path, { output: own });
  const { plannedRps, partitions } = chainOf(plan);
  const { value: manifest } = await loadArtifact(join(own, BUNDLE_MANIFEST), ['bundle']);
  const stageMs = new Map(
    manifest.partitions.map(({ file, from }) => {
      const part = partitions.find(({ blocks }) => blocks?.[0] === from);
      return [file, part?.latencyUsByBatch.map((us) => Number(us) / 1e3) ?? []];
    }),
  );
  return { ray, own, plannedRps, sloMs: SLO_MS, slowdowns: NONE_SLOWER, stageMs };
}

function chainOf({ models: [model] }: PooledPlan) {
  const [pipeline, ...more] = model?.pipelines ?? [];
  const classes = pipeline?.partitions.map(({ device }) => device).join();
  if (model === undefined || pipeline === undefined || more.length > 0 || classes !== 'slow,fast')
    throw new Error(
      `the plan is no chain from the slow class to the fast one, but ${JSON.stringify(model?.pipelines)}`,
    );
  return { plannedRps: model.throughputRps, partitions: pipeline.partitions };
}
