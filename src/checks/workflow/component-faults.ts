import {
  BYTES_PER_GIB,
  type ComponentOnClass,
  type Fault,
  fault,
  type PlannedComponent,
} from '../../formats/index.js';
import { faultOf } from '../figures.js';
import { type CheckedWorkflows, twiceFaults } from './checked-workflows.js';

/**
 * componentFaults finds what is wrong with components by themselves and on their classes, and those that no device of
 * the plan can execute.
 */
export function componentFaults(plan: CheckedWorkflows): Fault[] {
  return [
    ...twiceFaults(plan.components, '/components'),
    ...plan.components.flatMap((component, c) => oneFaults(component, plan, `/components/${c}`)),
  ];
}

function oneFaults(component: PlannedComponent, plan: CheckedWorkflows, at: string): Fault[] {
  const { memoryBytes, weightBytes = 0, classes } = component;
  const devices = classes.map(({ device }) => device);
  return [
    ...faultOf(
      memoryBytes >= weightBytes,
      `is ${memoryBytes}; its weights take ${weightBytes}`,
      `${at}/memoryBytes`,
    ),
    ...classes.flatMap((onClass, k) => [
      ...faultOf(
        devices.indexOf(onClass.device) === k,
        `is ${onClass.device}, as another is`,
        `${at}/classes/${k}/device`,
      ),
      ...classFaults(onClass, plan, `${at}/classes/${k}`),
    ]),
    ...placeFaults(component, plan, at),
  ];
}

function classFaults(
  { device, batch, latencyUsByBatch }: ComponentOnClass,
  { cluster }: CheckedWorkflows,
  at: string,
): Fault[] {
  const full = latencyUsByBatch[batch - 1];
  return [
    ...faultOf(
      Object.hasOwn(cluster.devices, device),
      `is ${device}, which is no class of the cluster`,
      `${at}/device`,
    ),
    ...faultOf(
      latencyUsByBatch.length === batch,
      `has ${latencyUsByBatch.length} latencies, and its largest batch is ${batch}`,
      `${at}/latencyUsByBatch`,
    ),
    ...faultOf(
      latencyUsByBatch.length !== batch || typeof full === 'number',
      `has no latency at its largest batch ${batch}`,
      `${at}/latencyUsByBatch`,
    ),
  ];
}

/** placeFaults finds a component that fits no device of the plan: a request that calls it could not be served. */
function placeFaults(
  { name, memoryBytes, classes }: PlannedComponent,
  { cluster, placement, serving }: CheckedWorkflows,
  at: string,
): Fault[] {
  const fitting = placement.filter((device) => {
    const { memoryGiB = Number.POSITIVE_INFINITY } = cluster.devices[device.class] ?? {};
    return (
      classes.some((onClass) => onClass.device === device.class) && memoryBytes <= memoryGiB * BYTES_PER_GIB
    );
  });
  if (fitting.length === 0) return [fault(`is ${name}, which fits no device of the plan that runs it`, at)];
  const isHeld = placement.some(({ holds, static: stays = holds }) => stays.includes(name));
  if (serving.scheduler !== 'static' || isHeld) return [];
  return [fault(`is ${name}, which no device holds, and the scheduler static loads nothing`, at)];
}
