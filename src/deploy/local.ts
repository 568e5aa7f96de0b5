import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  artifactText,
  BUNDLE_MANIFEST,
  type Bundle,
  type BundledDevice,
  emittedHead,
  fault,
  InputError,
  type InputFile,
  MissingError,
  makeFolderWhole,
  sha256Of,
} from '../artifacts/index.js';
import { checkDeviceCount, type ServedPlan } from '../plans/index.js';
import { othersThanBundle } from './bundle-folder.js';
import type { DeployedModel } from './model-file.js';
import { writePartitions } from './partitions.js';
import { writeStages } from './stages.js';

/** LocalBundle holds all that a bundle is written from. */
export interface LocalBundle {
  readonly plan: ServedPlan;
  /** The plan file's bytes, which are copied as they are. */
  readonly planBytes: Uint8Array;
  /** One entry per model of a pooled plan, or per stage of a pipeline plan, in the plan's order. */
  readonly models: readonly DeployedModel[];
  readonly inputs: InputFile[];
  /** A signal that stops the writing. */
  readonly signal?: AbortSignal | undefined;
}

/** WrittenBundle holds the manifest as written, and the size in bytes of the files of each of its partitions or stages. */
export interface WrittenBundle {
  readonly manifest: Bundle;
  readonly sizes: number[];
}

/**
 * writeLocalBundle writes the bundle that `plan serve` runs: `manifest.json`, `plan.json`, and under `models/` one
 * ONNX file per distinct partition of a pooled plan, or per model of a pipeline plan. The same inputs give the same
 * bytes. The folder appears whole or not at all. It may replace another bundle, and no other folder.
 * @throws InputError where plan, profile and model do not fit together, a model takes no single row, the plan has more
 *   than a million virtual GPUs, or the folder holds other files; MissingError where the profiles do not say which
 *   provider runs a class; the signal's reason on abort, with the folder as it was
 */
export async function writeLocalBundle(target: string, bundle: LocalBundle): Promise<WrittenBundle> {
  let written: WrittenBundle | undefined;
  await makeFolderWhole(target, othersThanBundle, async (folder) => {
    written = await fill(folder, bundle);
  });
  return written as WrittenBundle;
}

async function fill(folder: string, bundle: LocalBundle): Promise<WrittenBundle> {
  refuseFixedBatches(bundle);
  checkDeviceCount(bundle.plan);
  const devices = bundledDevices(bundle);
  const { plan, planBytes, inputs, signal } = bundle;
  const { sizes, ...parts } =
    plan.kind === 'pooled-plan'
      ? await writePartitions(folder, { ...bundle, plan })
      : await writeStages(folder, { ...bundle, plan });
  await writeFile(join(folder, 'plan.json'), planBytes);
  const manifest: Bundle = {
    ...emittedHead('bundle', inputs),
    target: 'local',
    plan: { path: 'plan.json', sha256: sha256Of(planBytes) },
    ...parts,
    devices,
  };
  await writeFile(join(folder, BUNDLE_MANIFEST), artifactText<'bundle'>(manifest));
  signal?.throwIfAborted();
  return { manifest, sizes };
}

/**
 * refuseFixedBatches refuses a graph that takes exactly b rows, because it cannot serve requests of one row
 * as they come.
 */
function refuseFixedBatches({ models }: LocalBundle): void {
  const faults = models.flatMap(({ profile: { model } }) =>
    model.fixedBatch === undefined || model.fixedBatch === 1
      ? []
      : [fault(`${model.name} runs at batch ${model.fixedBatch} only`)],
  );
  if (faults.length > 0)
    throw new InputError(
      'serve single requests',
      faults,
      'Export the model with batch 1 or a symbolic batch.',
    );
}

/** bundledDevices says how each class of the plan is run: in the way it was profiled. */
function bundledDevices({ plan, models }: LocalBundle): Record<string, BundledDevice> {
  const classes = [...new Set(plan.placement.map((placed) => placed.class))].sort();
  const faults = [];
  const devices: Record<string, BundledDevice> = {};
  for (const name of classes) {
    const profiled = models.map(({ profile }) => profile.devices[name]).find((device) => device?.provider);
    if (!profiled?.provider) {
      faults.push(fault(`the profiles do not say which provider runs class ${JSON.stringify(name)}`));
      continue;
    }
    const { provider, threads, deviceId, slowdown } = profiled;
    devices[name] = {
      provider,
      ...(threads === undefined ? {} : { threads }),
      ...(deviceId === undefined ? {} : { deviceId }),
      ...(slowdown === undefined ? {} : { slowdown, emulated: true as const }),
    };
  }
  if (faults.length > 0) {
    const advice =
      'A local bundle runs on the devices that `plan profile` measured here; imported profiles have none.';
    throw new MissingError('deploy the plan on this machine', faults, advice);
  }
  return devices;
}
