import { join } from 'node:path';
import { itemAt, largestOf, pushAll } from '../../collections/index.js';
import {
  type Bundle,
  type BundledComponent,
  type Fault,
  fault,
  firstFaults,
  InputError,
  type Loaded,
  NS_PER_MS,
  option,
  stageName,
  type WorkflowPlan,
} from '../../formats/index.js';
import { frequencyRowsOf, workflowTableOf, workflowTopologyOf } from '../../plans/index.js';
import type { CalledFace } from '../../programs/index.js';
import { calledFace, callFaults } from '../../protocol/index.js';
import type { FrequencyRow, Topology, WorkflowTable } from '../../serving/index.js';
import {
  type BundleParts,
  deviceFaults,
  differingTensors,
  placedFile,
  sentFaults,
} from '../bundle/bundle-parts.js';
import { manifestFaults } from '../bundle/manifest-faults.js';
import { type CheckedBundle, contradictionsOf, sizesOf, textFaults } from '../bundle/opened-bundle.js';
import type { LiveModel, PoolWork } from '../bundle/pool-work.js';

/** OpenedWorkflows is a checked bundle of a workflow plan. */
export interface OpenedWorkflows extends CheckedBundle {
  readonly plan: WorkflowPlan;
  readonly table: WorkflowTable;
  readonly frequencies: readonly FrequencyRow[];
  /** The components that programs may call, by name. */
  readonly faces: Readonly<Record<string, CalledFace>>;
  /** The paths of the programs, in the order of the workflows. */
  readonly programs: readonly string[];
}

/** WorkflowBundle is a bundle of a workflow plan whose files are what its manifest says. */
export interface WorkflowBundle {
  readonly folder: string;
  readonly manifest: Loaded<'bundle'>;
  readonly plan: WorkflowPlan;
}

/**
 * openWorkflows checks that a bundle's components, programs and models are those of its plan. It runs no program yet.
 * @param options.sloMs an SLO that replaces those of all workflows
 * @throws InputError with all that does not fit, and for what is not served: groups of devices with schedulers of
 *   their own, and a part of the devices
 */
export async function openWorkflows(
  { folder, manifest: loaded, plan }: WorkflowBundle,
  {
    task,
    sloMs,
    at,
  }: { readonly task: string; readonly sloMs?: number | undefined; readonly at?: string | undefined },
): Promise<OpenedWorkflows> {
  const contradictions = contradictionsOf(plan);
  if (contradictions.length > 0) throw new InputError(task, contradictions, 'Deploy the plan again.');
  const manifest = loaded.value;
  const topology = withSlo(workflowTopologyOf(plan), sloMs);
  const parts: BundleParts = { folder, manifest, topology, sizes: await sizesOf(folder, manifest) };
  const faults: Fault[] = [...firstFaults(manifestFaults(manifest))];
  if (at !== undefined)
    faults.push(fault('is given, and workflows are served by all devices of a plan', option('at')));
  if (plan.subclusters > 1)
    faults.push(
      fault(`has ${plan.subclusters} groups of devices; this server serves one`, 'plan: /subclusters'),
    );
  pushAll(faults, [
    ...namedFaults(plan, manifest),
    ...deviceFaults(parts),
    ...componentFaults(plan, manifest),
  ]);
  const work = poolWork(parts);
  const models = modelsOf(plan, parts);
  pushAll(faults, [
    ...models.flatMap(({ name, inputs, outputs }) => sentFaults(name, [...inputs, ...outputs])),
    ...(await textFaults(work)),
  ]);
  if (faults.length > 0) throw new InputError(task, faults, 'Deploy the plan again.');
  return {
    manifest: loaded,
    plan,
    topology,
    models,
    work,
    table: workflowTableOf(plan, plan.serving.scheduler === 'static' ? 'static' : 'moving'),
    frequencies: frequencyRowsOf(
      plan.workflows,
      plan.components.map(({ name }) => name),
    ),
    faces: Object.fromEntries((manifest.components ?? []).map((one) => [one.name, calledFace(one)])),
    programs: plan.workflows.map(({ name }) =>
      join(folder, manifest.programs?.find(({ workflow }) => workflow === name)?.file ?? ''),
    ),
  };
}

function withSlo(topology: Topology, sloMs: number | undefined): Topology {
  if (sloMs === undefined) return topology;
  return { ...topology, models: topology.models.map((model) => ({ ...model, sloNs: sloMs * NS_PER_MS })) };
}

/** namedFaults finds components, programs and models that the manifest or the plan has alone. */
function namedFaults(plan: WorkflowPlan, { components = [], programs = [], models }: Bundle): Fault[] {
  const workflows = plan.workflows.map(({ name }) => name);
  return [
    ...oneSided(
      '/components',
      components.map(({ name }) => name),
      plan.components.map(({ name }) => name),
    ),
    ...oneSided(
      '/programs',
      programs.map(({ workflow }) => workflow),
      workflows,
    ),
    ...oneSided(
      '/models',
      models.map(({ name }) => name),
      workflows,
    ),
  ];
}

function oneSided(path: string, bundled: readonly string[], planned: readonly string[]): Fault[] {
  return [
    ...bundled.flatMap((name, i) =>
      planned.includes(name)
        ? []
        : [fault(`is of ${JSON.stringify(name)}, which the plan has not`, `${path}/${i}`)],
    ),
    ...planned.flatMap((name) =>
      bundled.includes(name) ? [] : [fault(`has none of ${JSON.stringify(name)}, which the plan has`, path)],
    ),
  ];
}

/** componentFaults finds components whose tensors are not those of the plan, or whom programs cannot call. */
function componentFaults(plan: WorkflowPlan, { components = [] }: Bundle): Fault[] {
  return components.flatMap((bundled, i) => {
    const planned = plan.components.find(({ name }) => name === bundled.name);
    return [
      ...callFaults(bundled).map((message) => fault(message, `/components/${i}`)),
      ...(['inputs', 'outputs'] as const).flatMap((which) =>
        planned?.[which] === undefined
          ? []
          : differingTensors(which, { bundled: bundled[which], planned: planned[which] }, `/components/${i}`),
      ),
    ];
  });
}

/** poolWork gives the work of each pool: its component's file, which the driver feeds with outputs by name. */
function poolWork({ topology, manifest, folder, sizes }: BundleParts): PoolWork[] {
  return topology.pools.map(({ stage }): PoolWork => {
    const name = stageName(stage);
    const found: BundledComponent | undefined = manifest.components?.find((one) => one.name === name);
    const { inputs = [], outputs = [] } = found ?? {};
    return {
      ...placedFile({ folder, sizes }, found),
      carried: new Set(),
      inputs: inputs.map((spec) => ({ spec, from: [], isInner: false })),
      outputs: outputs.map((spec) => ({ spec, key: `${name}.${spec.name}` })),
    };
  });
}

function modelsOf(plan: WorkflowPlan, { topology, manifest }: BundleParts): LiveModel[] {
  const mostRows = Math.max(1, largestOf(topology.pools.map(({ batch }) => batch)));
  return plan.workflows.map(({ name, share }, m) => {
    const { inputs = [], outputs = [] } = manifest.models.find((model) => model.name === name) ?? {};
    const isOfRows = [...inputs, ...outputs].every(({ batchAxis }) => batchAxis === 0);
    return {
      name,
      inputs,
      outputs,
      sloNs: itemAt(topology.models, m).sloNs,
      inputKeys: inputs.map((one) => one.name),
      outputKeys: outputs.map((one) => one.name),
      mayLackOutputs: true,
      // Rows are put together and taken apart along the first axis alone.
      maxRows: isOfRows ? mostRows : 1,
      plannedRps: share * plan.rps,
      weight: 1,
    };
  });
}
