import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { WorkflowSpec } from '../../src/formats/index.js';
import { memoryOfComponent } from './component-memory.js';
import { PHOTO_COMPONENTS, writePhotoModels } from './photo-models.js';
import { planCommand } from './plan-commands.js';
import { photosFile } from './sample-photos.js';

const PROGRAM = fileURLToPath(new URL('../../../examples/workflows/programs/photos.mjs', import.meta.url));
const BYTES_PER_GIB = 2 ** 30;
const LARGEST_BATCH = 2;
/** Loads and batches go through sockets of this machine, which take about 1 GB a second. */
const LOCAL_GBPS = 8;
/** So much memory holds all components. */
const AMPLE_GIB = 4;
/** Each cell of the profiles is measured for half a second at most. */
const MEASURING = ['--blocks', '1', '--min-runs', '5', '--min-ms', '100', '--max-ms', '500'];

/** WORKFLOW is what clients call. */
export const WORKFLOW = 'photos';
export const PLAN_FILE = 'plan.json';
export const BUNDLE_FOLDER = 'bundle';
export const RUNS_FILE = 'photos.runs.jsonl';
const SPEC_FILE = 'spec.json';

/** PlannedPhotos says how much memory the plan gives devices, and what components take of it, in bytes. */
export interface PlannedPhotos {
  readonly deviceBytes: number;
  readonly componentBytes: Readonly<Record<string, number>>;
}

/** PhotoLoad says for which load the workflow is planned, and which part of all components' memory a device has. */
export interface PhotoLoad {
  readonly rps: number;
  readonly memoryShare: number;
}

/**
 * planPhotos writes models, program and sample photos into a folder, and goes the way of a user there: profile, solve,
 * simulate, deploy. What components take is measured with the models of a first bundle, whose devices have ample
 * memory.
 */
export async function planPhotos(
  folder: string,
  photos: readonly Float32Array[],
  { rps, memoryShare }: PhotoLoad,
): Promise<PlannedPhotos> {
  await writePhotoModels(folder);
  await copyFile(PROGRAM, join(folder, 'photos.mjs'));
  await writeFile(join(folder, 'photos.npy'), photosFile(photos));
  const save = (spec: WorkflowSpec) => writeFile(join(folder, SPEC_FILE), JSON.stringify(spec, undefined, 1));
  await save(specOf({ rps, deviceBytes: AMPLE_GIB * BYTES_PER_GIB }));
  const batches = Array.from({ length: LARGEST_BATCH }, (_, i) => 1 + i).join();
  const devices = ['--device', 'cpu=cpu:1', '--batch', batches];
  await planCommand(folder, 'profile', SPEC_FILE, '--samples', 'photos.npy', ...devices, ...MEASURING);
  const deployed = async () => {
    await planCommand(folder, 'solve', SPEC_FILE, '--output', PLAN_FILE);
    await planCommand(folder, 'deploy', PLAN_FILE, '--output', BUNDLE_FOLDER);
  };
  await deployed();
  const componentBytes: Record<string, number> = {};
  for (const name of PHOTO_COMPONENTS)
    componentBytes[name] = await memoryOfComponent(join(folder, BUNDLE_FOLDER, 'models', `${name}.onnx`), {
      profile: join(folder, profileOf(name)),
      rows: LARGEST_BATCH,
    });
  const allBytes = Object.values(componentBytes).reduce((sum, bytes) => sum + bytes, 0);
  const deviceBytes = memoryShare * allBytes;
  await save(specOf({ rps, deviceBytes, componentBytes }));
  await deployed();
  await planCommand(folder, 'simulate', PLAN_FILE);
  return { deviceBytes, componentBytes };
}

function profileOf(component: string): string {
  return `${component}.profile.json`;
}

function specOf({
  rps,
  deviceBytes,
  componentBytes = {},
}: {
  readonly rps: number;
  readonly deviceBytes: number;
  readonly componentBytes?: PlannedPhotos['componentBytes'];
}): WorkflowSpec {
  const memory = (bytes: number | undefined) =>
    bytes === undefined ? {} : { memoryGiB: bytes / BYTES_PER_GIB };
  const ways = { gpuLinkGbps: LOCAL_GBPS, loadGBps: LOCAL_GBPS / 8, diskGBps: LOCAL_GBPS / 8 };
  return {
    kind: 'workflow',
    cluster: {
      networkGbps: LOCAL_GBPS,
      devices: { cpu: { count: 2, perServer: 2, memoryGiB: deviceBytes / BYTES_PER_GIB, ...ways } },
    },
    components: PHOTO_COMPONENTS.map((name) => ({
      name,
      profile: profileOf(name),
      maxBatch: LARGEST_BATCH,
      ...memory(componentBytes[name]),
    })),
    workflows: [{ name: WORKFLOW, program: 'photos.mjs', runs: RUNS_FILE }],
    load: { rps, arrivals: 'poisson', duration: '1m' } as WorkflowSpec['load'] & object,
  };
}
