import { type DeployTarget, fault, InputError, option, shown } from '../../formats/index.js';
import { KSERVE } from './kserve/kserve.js';
import { KUBERAY } from './kuberay/kuberay.js';
import { KUBERNETES } from './kubernetes/kubernetes.js';
import { LOCAL } from './local.js';
import { RAY_SERVE } from './ray-serve/ray-serve.js';
import type { TargetOf } from './target.js';
import { TRITON } from './triton/triton.js';

/** TARGETS says of each target how its bundles are written. */
const TARGETS: { readonly [T in DeployTarget]: TargetOf<T> } = {
  local: LOCAL,
  'ray-serve': RAY_SERVE,
  triton: TRITON,
  kuberay: KUBERAY,
  kubernetes: KUBERNETES,
  kserve: KSERVE,
};

/**
 * targetNamed gives the target of a name.
 * @param task what cannot be done without it
 * @throws InputError where there is no such target, with those there are
 */
export function targetNamed(name: string, task: string): TargetOf<DeployTarget> {
  const found = Object.entries<TargetOf<DeployTarget>>(TARGETS).find(([target]) => target === name);
  if (found !== undefined) return found[1];
  const known = Object.keys(TARGETS).join(', ');
  throw new InputError(task, [fault(`is ${shown(name)}; the targets are ${known}`, option('target'))]);
}
