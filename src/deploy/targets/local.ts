import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { artifactText, emittedHead, makeFolderWhole } from '../../artifacts/index.js';
import {
  BUNDLE_MANIFEST,
  type Bundle,
  type BundledDevice,
  fault,
  InputError,
  MissingError,
  measuredAs,
  sha256Of,
  shown,
} from '../../formats/index.js';
import { checkDeviceCount, isOfStages } from '../../plans/index.js';
import { othersThanBundle } from '../bundle-folder.js';
import { partsOf } from '../parts.js';
import type { Deployment, TargetOf, WrittenBundle } from './target.js';

/**
 * LOCAL writes the bundle that `plan serve` runs: `manifest.json`, `plan.json`, under `models/` one ONNX file per
 * distinct partition of a pooled plan, or per model of another plan, and under `programs/` those of a workflow plan.
 */
export const LOCAL: TargetOf<'local'> = { write: writeLocal };

/**
 * writeLocal writes a bundle as `TargetOf.write` does.
 * @throws InputError also where a model takes no single row, or the plan has more than a million virtual GPUs;
 *   MissingError where the profiles do not say which provider runs a class
 */
async function writeLocal(folder: string, deployment: Deployment): Promise<WrittenBundle<'local'>> {
  let written: WrittenBundle<'local'> | undefined;
  await makeFolderWhole(folder, othersThanBundle, async (fresh) => {
    written = await fill(fresh, deployment);
  });
  return written as WrittenBundle<'local'>;
}

async function fill(folder: string, deployment: Deployment): Promise<WrittenBundle<'local'>> {
  refuseFixedBatches(deployment);
  // The devices of workflows are listed one by one.
  if (isOfStages(deployment.plan)) checkDeviceCount(deployment.plan);
  const devices = bundledDevices(deployment);
  const { plan, planBytes, inputs, checks, signal } = deployment;
  const { sizes, ...parts } = await partsOf(plan).write(folder, plan, deployment);
  await writeFile(join(folder, 'plan.json'), planBytes);
  const manifest = {
    ...emittedHead('bundle', inputs),
    ...checks,
    target: 'local' as const,
    plan: { path: 'plan.json', sha256: sha256Of(planBytes) },
    ...parts,
    devices,
  } satisfies Bundle;
  await writeFile(join(folder, BUNDLE_MANIFEST), artifactText<'bundle'>(manifest));
  signal?.throwIfAborted();
  return { manifest, sizes };
}

/**
 * refuseFixedBatches refuses a graph that takes exactly b rows, because our server cannot serve requests of one row
 * as they come.
 * @throws InputError with each model
 */
export function refuseFixedBatches({ models }: Deployment): void {
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

/** bundledDevices says how each class of the plan is run: in the way it was profiled, or the class that it is an alias of. */
function bundledDevices({ plan, models }: Deployment): Record<string, BundledDevice> {
  const classes = [...new Set(plan.placement.map((placed) => placed.class))].sort();
  const faults = [];
  const devices: Record<string, BundledDevice> = {};
  for (const name of classes) {
    const as = measuredAs(plan.cluster, name);
    const profiled = models.map(({ profile }) => profile.devices[as]).find((device) => device?.provider);
    if (!profiled?.provider) {
      faults.push(fault(`the profiles do not say which provider runs class ${shown(as)}`));
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
