import { loadArtifact } from '../../artifacts/index.js';
import { itemAt } from '../../collections/index.js';
import {
  commandText,
  type DeployTarget,
  type Fault,
  fault,
  InputError,
  type Loaded,
} from '../../formats/index.js';

/** RunBy says what runs the bundles of a target: this server, or what a person is to start instead. */
type RunBy = 'this server' | { readonly program: string };

const RUN_BY: { readonly [T in DeployTarget]: RunBy } = {
  local: 'this server',
  'ray-serve': { program: 'Ray Serve' },
  triton: { program: 'Triton' },
  kuberay: { program: 'KubeRay' },
  // The pods of these run this server.
  kubernetes: 'this server',
  kserve: 'this server',
};

/**
 * loadManifest loads the manifest of a bundle.
 * @throws what `loadArtifact` throws; of a target that is not known, also with what to do
 */
export async function loadManifest(path: string): Promise<Loaded<'bundle'>> {
  try {
    return await loadArtifact(path, ['bundle']);
  } catch (error) {
    if (!(error instanceof InputError) || !error.faults.some((one) => one.path === '/target')) throw error;
    throw new InputError(error.task, error.faults, targetAdvice());
  }
}

/**
 * refuseTarget refuses a bundle of a target that this server does not run.
 * @param task what cannot be done with the bundle
 * @throws InputError with the target's name, what runs it, and what to do
 */
export function refuseTarget(
  target: DeployTarget,
  task: string,
  runBy: Readonly<Record<DeployTarget, RunBy>> = RUN_BY,
): void {
  const by = runBy[target];
  if (by === 'this server') return;
  const told: Fault = fault(
    `is ${JSON.stringify(target)}, which ${by.program} runs, and not this server`,
    '/target',
  );
  throw new InputError(task, [told], targetAdvice());
}

function targetAdvice(): string {
  const here = Object.entries<RunBy>(RUN_BY).flatMap(([target, by]) =>
    by === 'this server' ? [target] : [],
  );
  const deploy = ['deploy', 'plan.json', '--target', itemAt(here, 0), '-o', 'bundle'];
  return `Make a bundle for this server from its plan, as with ${commandText(deploy)}, or run this one with what it was made for.`;
}
