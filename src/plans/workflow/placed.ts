import type {
  ComponentOnClass,
  PlannedComponent,
  PlannedWorkflow,
  WorkflowDevice,
  WorkflowPlan,
} from '../../formats/index.js';

/**
 * PlacedWorkflows is the part of a workflow plan that says what serves which programs. A planner has it before it knows
 * what becomes of its sample.
 */
export interface PlacedWorkflows extends Readonly<Pick<WorkflowPlan, 'cluster' | 'rps'>> {
  readonly components: readonly Readonly<Pick<PlannedComponent, 'name' | 'memoryBytes' | 'classes'>>[];
  readonly workflows: readonly Readonly<Pick<PlannedWorkflow, 'name' | 'sloMs' | 'share'>>[];
  readonly placement: readonly Readonly<WorkflowDevice>[];
}

/** PlacedPool is a component on a class that the placement has devices of. */
export interface PlacedPool {
  /** Its component, by its place in the plan. */
  readonly component: number;
  readonly name: string;
  readonly memoryBytes: number;
  readonly onClass: ComponentOnClass;
}

/** placedPools lists the pools of a plan: those of the first component first, and its classes as they stand there. */
export function placedPools({ components, placement }: PlacedWorkflows): PlacedPool[] {
  const placed = new Set(placement.map((device) => device.class));
  return components.flatMap(({ name, memoryBytes, classes }, component) =>
    classes.flatMap((onClass) =>
      placed.has(onClass.device) ? [{ component, name, memoryBytes, onClass }] : [],
    ),
  );
}
