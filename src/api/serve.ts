import { join } from 'node:path';
import { InputError, loadArtifact } from '../artifacts/index.js';
import type { RunningServer, ServeOptions } from '../runtime/index.js';
import { confirmBundledPlan } from './confirm-plan.js';

/**
 * serveBundle serves a bundle until it is closed.
 * @throws InputError where bundle, devices or port cannot be used (with every fault of the bundle at once)
 */
export async function serveBundle(folder: string, options: ServeOptions = {}): Promise<RunningServer> {
  const runtime = await import('../runtime/index.js');
  await confirm(folder);
  return runtime.startServer(folder, options);
}

/** confirm recomputes the bundle's plan where it can; what is wrong with the files is told when all are checked. */
async function confirm(folder: string): Promise<void> {
  const opened = await manifestAndPlan(folder);
  if (opened !== undefined) await confirmBundledPlan(opened.plan.value, opened.manifest);
}

async function manifestAndPlan(folder: string) {
  try {
    const manifest = await loadArtifact(join(folder, 'manifest.json'), ['bundle']);
    const plan = await loadArtifact(join(folder, manifest.value.plan.path), ['pooled-plan']);
    return { manifest, plan };
  } catch (error) {
    if (error instanceof InputError) return undefined;
    throw error;
  }
}
