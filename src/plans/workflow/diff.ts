import { largestOf } from '../../collections/index.js';
import {
  byName,
  changeOf,
  classChanges,
  differs,
  type FieldChange,
  type PlanDifference,
  planChanges,
  type SampleOfWorkflow,
  type StageDifference,
  sidesOf,
  type WorkflowDevice,
  type WorkflowPlan,
} from '../../formats/index.js';

/** WorkflowDiff is a difference without the head of its file. */
export type WorkflowDiff = Omit<PlanDifference, '$schema' | 'kind' | 'version' | 'tool' | 'inputs'>;

/**
 * diffWorkflows compares two workflow plans, `a` before and `b` after: what was made least, the rate, SLO and latencies
 * of each workflow, the components by the devices that hold them at the start, the devices by class, and how many hold
 * others than before.
 */
export function diffWorkflows(a: WorkflowPlan, b: WorkflowPlan): WorkflowDiff {
  const [kindBefore, kind] = [a.objective.kind, b.objective.kind];
  const models = namesOf(a.workflows, b.workflows).map((name) => workflowChange(name, a, b));
  const stages = componentDifferences(a, b);
  const classes = classChanges(usesOf(a), usesOf(b));
  const gpusMoved = movedDevices(a.placement, b.placement);
  return {
    objective: {
      kind,
      ...(kind === kindBefore ? {} : { kindBefore }),
      ...changeOf(a.objective.value, b.objective.value),
    },
    models,
    stages,
    classes,
    gpusMoved,
    same:
      stages.length + classes.length + gpusMoved === 0 &&
      models.every(
        ({ throughputRps, sloMs, meanMs, p95Ms }) => ![throughputRps, sloMs, meanMs, p95Ms].some(differs),
      ),
  };
}

/** What `diffWorkflows` tells; SLOs and shares of workflows that only one plan has are among their rates. */
const TOLD: readonly RegExp[] = [
  /^\/objective\/(kind|value)$/,
  /^\/rps$/,
  /^\/workflows\/[^/]+\/(sloMs|share)$/,
  /^\/sample\/workflows\/[^/]+\/(meanMs|p95Ms)$/,
];

/** workflowFieldChanges lists all other fields in which two workflow plans differ. */
export function workflowFieldChanges(a: WorkflowPlan, b: WorkflowPlan): FieldChange[] {
  return planChanges(
    [a, b],
    ({ workflows, components, sample }) => ({
      workflows: byName(workflows),
      components: byName(components),
      sample: { ...sample, workflows: byName(sample.workflows) },
    }),
    TOLD,
  );
}

function workflowChange(name: string, a: WorkflowPlan, b: WorkflowPlan) {
  const [before, after] = [a, b].map(({ workflows, sample, rps }) => {
    const workflow = workflows.find((one) => one.name === name);
    const found: Partial<SampleOfWorkflow> = sample.workflows.find((one) => one.name === name) ?? {};
    return { ...workflow, rps: workflow && workflow.share * rps, meanMs: found.meanMs, p95Ms: found.p95Ms };
  });
  return {
    name,
    throughputRps: changeOf(before?.rps, after?.rps),
    sloMs: sidesOf(before?.sloMs, after?.sloMs),
    meanMs: sidesOf(before?.meanMs, after?.meanMs),
    p95Ms: sidesOf(before?.p95Ms, after?.p95Ms),
    pipelines: [],
  };
}

/** componentDifferences tells components of other largest batches, or that other devices hold at the start, by their classes. */
function componentDifferences(a: WorkflowPlan, b: WorkflowPlan): StageDifference[] {
  return namesOf(a.components, b.components)
    .map((name) => {
      const [before, after] = [a, b].map((plan) => heldAs(name, plan));
      return {
        name,
        devices: sidesOf(before?.words, after?.words),
        batch: changeOf(before?.batch, after?.batch),
        replicas: changeOf(before?.count, after?.count),
      };
    })
    .filter(
      ({ devices, batch, replicas }) =>
        devices.before !== devices.after || differs(batch) || differs(replicas),
    );
}

/** HeldAs says how many devices hold a component at the start, by class, and its largest batch on any. */
interface HeldAs {
  readonly words: string;
  readonly batch: number;
  readonly count: number;
}

function heldAs(name: string, { components, placement }: WorkflowPlan): HeldAs | undefined {
  const component = components.find((one) => one.name === name);
  if (component === undefined) return undefined;
  const held = placement.filter(({ holds }) => holds.includes(name));
  const words = component.classes.flatMap(({ device }) => {
    const count = held.filter((one) => one.class === device).length;
    return count === 0 ? [] : [`${count} × ${device}`];
  });
  return {
    words: words.length === 0 ? 'none' : words.join(' + '),
    batch: largestOf(component.classes.map(({ batch }) => batch)),
    count: held.length,
  };
}

/** movedDevices counts the devices that hold other components than before, or are in use no more, or for the first time. */
function movedDevices(a: readonly WorkflowDevice[], b: readonly WorkflowDevice[]): number {
  const [before, after] = [a, b].map(
    (placement) =>
      new Map(placement.map((device) => [`${device.server}/gpu${device.gpu}`, dutiesOf(device)])),
  );
  const seats = new Set([...(before?.keys() ?? []), ...(after?.keys() ?? [])]);
  return [...seats].filter((seat) => before?.get(seat) !== after?.get(seat)).length;
}

function dutiesOf({ class: name, holds, static: stays, subcluster = 0 }: WorkflowDevice): string {
  return JSON.stringify([
    name,
    [...holds].sort(),
    stays === undefined ? null : [...stays].sort(),
    subcluster,
  ]);
}

/** usesOf counts the devices of each class. */
export function usesOf({ placement }: Pick<WorkflowPlan, 'placement'>): Record<string, { used: number }> {
  const used: Record<string, { used: number }> = {};
  for (const { class: name } of placement) used[name] = { used: (used[name]?.used ?? 0) + 1 };
  return used;
}

function namesOf(...lists: readonly (readonly { readonly name: string }[])[]): string[] {
  return [...new Set(lists.flatMap((list) => list.map(({ name }) => name)))];
}
