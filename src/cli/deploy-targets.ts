import type { DeployTarget } from '../formats/index.js';

/** The keys are the targets, in the order in which helps list them. */
const TARGETS: { readonly [T in DeployTarget]: true } = {
  local: true,
  'ray-serve': true,
  kuberay: true,
  kubernetes: true,
  triton: true,
  kserve: true,
};

/** DEPLOY_TARGETS lists what `--target` takes. */
export const DEPLOY_TARGETS: readonly string[] = Object.keys(TARGETS);
