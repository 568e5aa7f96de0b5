import {
  BYTES_PER_GIB,
  counted,
  type Fault,
  fault,
  type OpenDeviceClass,
  type WorkflowDevice,
} from '../../formats/index.js';
import { faultOf } from '../figures.js';
import type { CheckedWorkflows } from './checked-workflows.js';

/**
 * workflowDeviceFaults finds devices that are there twice, or are not in the cluster, servers of several classes, more
 * devices of a class than are free, devices that hold what they cannot, and groups without devices.
 */
export function workflowDeviceFaults(plan: CheckedWorkflows): Fault[] {
  const { placement, subclusters } = plan;
  const groups = new Set(placement.map(({ subcluster = 0 }) => subcluster));
  const empty = Array.from({ length: Math.min(subclusters, placement.length + 1) }, (_, g) => g).filter(
    (group) => !groups.has(group),
  );
  return [
    ...placement.flatMap((device, i) => deviceFaults(device, plan, `/placement/${i}`)),
    ...seatFaults(placement),
    ...countFaults(plan),
    ...(empty.length === 0
      ? []
      : [fault(`is ${subclusters}, and no device is in group ${empty[0]}`, '/subclusters')]),
  ];
}

function deviceFaults(device: WorkflowDevice, plan: CheckedWorkflows, at: string): Fault[] {
  const { class: name, gpu, holds, static: stays, subcluster = 0 } = device;
  const { cluster, subclusters, components } = plan;
  if (!Object.hasOwn(cluster.devices, name))
    return [fault(`is ${name}, which is no class of the cluster`, `${at}/class`)];
  const { perServer = 1, memoryGiB } = cluster.devices[name] as OpenDeviceClass;
  const isRun = components.some(({ classes }) => classes.some((onClass) => onClass.device === name));
  return [
    ...faultOf(isRun, `is ${name}, which runs no component`, `${at}/class`),
    ...faultOf(memoryGiB !== undefined, `is ${name}, whose memoryGiB the cluster lacks`, `${at}/class`),
    ...faultOf(gpu < perServer, `is ${gpu}; a server of ${name} has ${perServer}, from 0 on`, `${at}/gpu`),
    ...faultOf(
      subcluster < subclusters,
      `is ${subcluster}; there are ${subclusters}, from 0 on`,
      `${at}/subcluster`,
    ),
    ...heldFaults(holds, { device, plan, at: `${at}/holds` }),
    ...(stays === undefined ? [] : heldFaults(stays, { device, plan, at: `${at}/static` })),
  ];
}

/** heldFaults finds components that a device cannot hold, and more of them than its memory. */
function heldFaults(
  held: readonly string[],
  {
    device,
    plan: { components, cluster },
    at,
  }: { readonly device: WorkflowDevice; readonly plan: CheckedWorkflows; readonly at: string },
): Fault[] {
  const faults = held.flatMap((name, i) => {
    const component = components.find((one) => one.name === name);
    if (component === undefined) return [fault(`is ${name}, which is no component`, `${at}/${i}`)];
    const isRun = component.classes.some((onClass) => onClass.device === device.class);
    return [
      ...faultOf(held.indexOf(name) === i, `is ${name}, as before`, `${at}/${i}`),
      ...faultOf(isRun, `is ${name}, which does not run on ${device.class}`, `${at}/${i}`),
    ];
  });
  if (faults.length > 0) return faults;
  const bytes = held.reduce(
    (sum, name) => sum + (components.find((one) => one.name === name)?.memoryBytes ?? 0),
    0,
  );
  const { memoryGiB = Number.POSITIVE_INFINITY } = cluster.devices[device.class] ?? {};
  return faultOf(
    bytes <= memoryGiB * BYTES_PER_GIB,
    `take ${Number((bytes / BYTES_PER_GIB).toPrecision(6))} GiB, and the device has ${memoryGiB}`,
    at,
  );
}

/** seatFaults finds a device that stands twice, and a server of several classes. */
function seatFaults(placement: readonly WorkflowDevice[]): Fault[] {
  const seats = new Set<string>();
  const classes = new Map<string, string>();
  return placement.flatMap(({ server, gpu, class: name }, i) => {
    const seat = `${server}/gpu${gpu}`;
    const isTwice = seats.has(seat);
    seats.add(seat);
    const before = classes.get(server) ?? name;
    classes.set(server, before);
    return [
      ...faultOf(!isTwice, `is ${seat}, as another is`, `/placement/${i}`),
      ...faultOf(before === name, `is ${name}; ${server} has devices of ${before}`, `/placement/${i}/class`),
    ];
  });
}

/** countFaults finds more devices, or more servers, of a class than are free. */
function countFaults({ placement, cluster }: CheckedWorkflows): Fault[] {
  return Object.entries(cluster.devices).flatMap(([name, { count, taken = 0 }]) => {
    const used = placement.filter((device) => device.class === name).length;
    if (used === 0) return [];
    if (count === undefined) return [fault('lacks "count"', `/cluster/devices/${name}`)];
    const free = Math.max(0, count - taken);
    return faultOf(
      used <= free,
      `has ${counted(used, 'device')} of ${name}, and ${free} are free`,
      '/placement',
    );
  });
}
