import { dirname } from 'node:path';
import { type InputPath, loadArtifact, manifestIn, partFault, pathFrom } from '../artifacts/index.js';
import {
  type BundledDevice,
  bundledPartFiles,
  type DeployTarget,
  fault,
  InputError,
  type Loaded,
} from '../formats/index.js';
import {
  PLAN_KINDS,
  type PlanKind,
  STAGE_PLAN_KINDS,
  type StagePlanKind,
  type TopologyOptions,
} from '../plans/index.js';

/** SimulatedPlan is a plan that is simulated. */
export interface SimulatedPlan<K extends PlanKind = StagePlanKind> {
  readonly plan: Loaded<K>;
  /** The file whose folder the inputs that the plan names are relative to. */
  readonly madeAt: string;
  /**
   * transfers says whether transfers take the time of the cluster's links, or none, as in a server that runs
   * all devices.
   */
  readonly transfers: NonNullable<TopologyOptions['transfers']>;
  /** The files of a bundle beside the plan: its manifest, and what it executes. */
  readonly bundled?: readonly InputPath[];
  /** How the devices of a bundle are started, by class. */
  readonly devices?: Readonly<Record<string, BundledDevice>>;
}

/** TRANSFERS says what the transfers of a bundle take, by its target: none where one process holds all tensors. */
const TRANSFERS: { readonly [T in DeployTarget]: SimulatedPlan['transfers'] } = {
  local: 'none',
  'ray-serve': 'links',
  // A Triton server holds all stages of a pipeline.
  triton: 'none',
  kuberay: 'links',
  kubernetes: 'none',
  kserve: 'none',
};

/**
 * planAt reads the plan that a path leads to: a plan, whose transfers take the time of its cluster's links, or a bundle,
 * which its server runs on one machine. A bundle is named by its folder or its manifest. Errors say that the `task` could not
 * be done.
 * @throws InputError where the file is neither, or has faults; MissingError where it is missing
 */
export async function planAt(path: string, task = `simulate ${path}`): Promise<SimulatedPlan<PlanKind>> {
  const loaded = await loadArtifact(await manifestIn(path), [...PLAN_KINDS, 'bundle']);
  if (loaded.kind !== 'bundle') return { plan: loaded, madeAt: loaded.path, transfers: 'links' };
  const wrong = await partFault(dirname(loaded.path), loaded.value.plan.path);
  if (wrong !== undefined && !wrong.isMissing)
    throw new InputError(task, [fault(wrong.message, loaded.value.plan.path)], 'Deploy the plan again.');
  const plan = await loadArtifact(pathFrom(loaded.path, loaded.value.plan.path), PLAN_KINDS);
  if (plan.sha256 !== loaded.value.plan.sha256)
    throw new InputError(
      task,
      [fault('is not the file that was deployed: its bytes have changed', plan.path)],
      'Deploy the plan again.',
    );
  const deployed = loaded.value.inputs?.find(({ role }) => role === 'plan');
  const madeAt = deployed === undefined ? plan.path : pathFrom(loaded.path, deployed.path);
  const bundled = [
    { what: 'the manifest of the bundle', path: loaded.path },
    ...bundledPartFiles(loaded.value).map((file) => ({
      what: 'a file of the bundle',
      path: pathFrom(loaded.path, file.path),
    })),
  ];
  const { target, devices } = loaded.value;
  return { plan, madeAt, transfers: TRANSFERS[target], devices, bundled };
}

/**
 * ofStages gives a plan of stages as it was read.
 * @param cannot what cannot be done with other plans yet
 * @throws InputError where it is a plan of workflows
 */
export function ofStages(
  found: SimulatedPlan<PlanKind>,
  { task, cannot }: { readonly task: string; readonly cannot: string },
): SimulatedPlan {
  if (isOfStages(found)) return found;
  const { path } = found.plan;
  throw new InputError(task, [fault(`is a workflow plan, and workflow plans cannot ${cannot} yet`, path)]);
}

/** isWorkflowsPlan returns whether a plan is one of workflows. */
export function isWorkflowsPlan(found: SimulatedPlan<PlanKind>): found is SimulatedPlan<'workflow-plan'> {
  return !isOfStages(found);
}

function isOfStages(found: SimulatedPlan<PlanKind>): found is SimulatedPlan {
  return (STAGE_PLAN_KINDS as readonly PlanKind[]).includes(found.plan.kind);
}
