import {
  distinctFaults,
  type Fault,
  fault,
  type GivenDevices,
  listed,
  type OpenCluster,
  type WorkflowSpec,
  workflowMethodOf,
} from '../formats/index.js';
import { freeGpus } from '../pipeline/index.js';

/** Shares that are written in decimals sum to 1 no more exactly than this. */
const ROUNDING = 1e-6;

/** A plan lists its devices, and each decision looks at those of its subcluster. */
const MOST_DEVICES = 4096;

/** workflowSpecFaults reports every fault of a spec that can be seen without the files that it names. */
export function workflowSpecFaults(spec: WorkflowSpec): Fault[] {
  return distinctFaults([
    ...nameFaults(spec),
    ...sourceFaults(spec),
    ...rateFaults(spec),
    ...objectiveFaults(spec),
    ...placementFaults(spec),
  ]);
}

function nameFaults({ components, workflows }: WorkflowSpec): Fault[] {
  return [
    ...twice(components.map(({ name }) => name)).map(([name, c]) =>
      fault(`is ${name}, as another component is; programs call them by name`, `/components/${c}/name`),
    ),
    ...twice(workflows.map(({ name }) => name)).map(([name, w]) =>
      fault(`is ${name}, as another workflow is; clients call them by name`, `/workflows/${w}/name`),
    ),
  ];
}

/** twice lists the names that stood before, with their places. */
function twice(names: readonly string[]): [string, number][] {
  return names.flatMap((name, i) => (names.indexOf(name) === i ? [] : [[name, i]]));
}

/** sourceFaults reports where requests of a workflow come from nowhere, or from two places. */
function sourceFaults({ workflows }: WorkflowSpec): Fault[] {
  return workflows.flatMap(({ name, runs, chain, program }, w) => {
    const at = `/workflows/${w}`;
    if (runs !== undefined && chain !== undefined)
      return [fault('stands beside runs, which say what requests do; leave one of them out', `${at}/chain`)];
    if (runs !== undefined || chain !== undefined) return [];
    const what = program === undefined ? '' : ' of its program';
    return [fault(`${name} lacks requests to plan for: give runs${what}, or a chain`, at)];
  });
}

/** rateFaults reports where the load is said twice or not at all, and where shares do not divide it. */
function rateFaults({ workflows, load, rps }: WorkflowSpec): Fault[] {
  const own = workflows.filter((one) => one.rps !== undefined).length;
  const shared = workflows.filter(({ share }) => share !== undefined).length;
  const sum = workflows.reduce((all, { share = 0 }) => all + share, 0);
  const isPart = (count: number) => count > 0 && count < workflows.length;
  return [
    ...(load !== undefined && rps !== undefined
      ? [fault('stands beside a load, which has a rate of its own; leave one of them out', '/rps')]
      : []),
    ...(load !== undefined && 'cv' in load && load.cv !== undefined && load.arrivals !== 'gamma'
      ? [fault(`is for gamma arrivals, and these are ${load.arrivals}`, '/load/cv')]
      : []),
    ...(load === undefined && rps === undefined && own === 0
      ? [fault('is needed, or rps, or the rps of each workflow', '/load')]
      : []),
    ...workflows.flatMap((one, w) => [
      ...(one.rps !== undefined && (load ?? rps) !== undefined
        ? [
            fault(
              'stands beside the rate of all workflows; give shares of it, or leave that out',
              `/workflows/${w}/rps`,
            ),
          ]
        : []),
      ...(one.rps !== undefined && one.share !== undefined
        ? [fault('stands beside its rps; leave one of them out', `/workflows/${w}/share`)]
        : []),
      ...(one.rps === undefined && isPart(own)
        ? [fault('is needed, as other workflows have their own', `/workflows/${w}/rps`)]
        : []),
      ...(one.share === undefined && isPart(shared) && own === 0
        ? [
            fault(
              'is needed, as other workflows have one; leave it out of all for equal shares',
              `/workflows/${w}/share`,
            ),
          ]
        : []),
    ]),
    ...(shared === workflows.length && Math.abs(sum - 1) > ROUNDING
      ? [fault(`have shares that sum to ${Number(sum.toPrecision(8))}; all of the load is 1`, '/workflows')]
      : []),
  ];
}

function objectiveFaults({ workflows, planner }: WorkflowSpec): Fault[] {
  const hasSlo = workflows.some(({ sloMs }) => sloMs !== undefined);
  const method = workflowMethodOf({ planner });
  return [
    ...(planner?.attainment !== undefined && !hasSlo
      ? [fault('is the share of requests in time, and no workflow has an sloMs', '/planner/attainment')]
      : []),
    ...(planner?.objective === 'devices' && !hasSlo
      ? [fault('is devices, of which one is enough where no workflow has an sloMs', '/planner/objective')]
      : []),
    ...(planner?.objective === 'devices' && method === 'given'
      ? [fault('is devices, and given placements name theirs', '/planner/objective')]
      : []),
  ];
}

function placementFaults({ placement, planner, components }: WorkflowSpec): Fault[] {
  const method = workflowMethodOf({ planner });
  if (method === 'given' && placement === undefined)
    return [fault('is needed: planner.method is given', '/placement')];
  if (placement === undefined) return [];
  const names = components.map(({ name }) => name);
  return [
    ...(method === 'given'
      ? []
      : [fault(`is for planner.method given, and this is ${method}`, '/placement')]),
    ...placement.flatMap(({ holds }, p) =>
      holds.flatMap((name, h) => {
        const at = `/placement/${p}/holds/${h}`;
        if (!names.includes(name))
          return [fault(`is ${name}, which is no component; there are ${listed(names)}`, at)];
        return holds.indexOf(name) === h ? [] : [fault(`is ${name}, as before; leave one of them out`, at)];
      }),
    ),
  ];
}

/** workflowClusterFaults reports what a cluster lacks for workflows, and what of it contradicts itself or the spec. */
export function workflowClusterFaults(cluster: OpenCluster, { planner, placement }: WorkflowSpec): Fault[] {
  const free = Object.values(cluster.devices).reduce((sum, device) => sum + (freeGpus(device) ?? 0), 0);
  const { subclusters = 1 } = planner ?? {};
  const isCounted = Object.values(cluster.devices).every(({ count }) => count !== undefined);
  return [
    ...Object.entries(cluster.devices).flatMap(([name, device]) => {
      const { count, taken = 0, memoryGiB, hostMemoryGiB, diskGBps } = device;
      const at = `/cluster/devices/${name}`;
      return [
        ...(count === undefined
          ? [fault('is needed: workflows are planned for so many devices', `${at}/count`)]
          : []),
        ...(count !== undefined && taken > count
          ? [fault(`${taken} GPUs are taken and there are ${count}`, `${at}/taken`)]
          : []),
        ...(memoryGiB === undefined
          ? [fault('is needed: it says which components a device holds together', `${at}/memoryGiB`)]
          : []),
        ...(hostMemoryGiB !== undefined && diskGBps === undefined
          ? [
              fault(
                'is needed: components that hostMemoryGiB does not keep come from the disk',
                `${at}/diskGBps`,
              ),
            ]
          : []),
      ];
    }),
    ...(isCounted && free === 0 ? [fault('has no device that is free', '/cluster')] : []),
    ...(free > MOST_DEVICES
      ? [
          fault(
            `leaves ${free} devices free; a plan of workflows has at most ${MOST_DEVICES}: give fewer`,
            '/cluster',
          ),
        ]
      : []),
    ...(isCounted && free > 0 && subclusters > free
      ? [
          fault(
            `is ${subclusters}, and there are ${free} devices; each group has at least one`,
            '/planner/subclusters',
          ),
        ]
      : []),
    ...givenFaults(placement ?? [], cluster, subclusters),
  ];
}

/** givenFaults reports where a given placement asks for classes or devices that there are not. */
function givenFaults(
  placement: readonly GivenDevices[],
  { devices }: OpenCluster,
  subclusters: number,
): Fault[] {
  const asked = new Map<string, number>();
  const faults = placement.flatMap(({ device, count }, p) => {
    const at = `/placement/${p}`;
    const known = Object.hasOwn(devices, device) ? devices[device] : undefined;
    if (known === undefined)
      return [
        fault(
          `is ${device}, which is no class of the cluster; it has ${listed(Object.keys(devices))}`,
          `${at}/device`,
        ),
      ];
    const before = asked.get(device) ?? 0;
    asked.set(device, before + count);
    const free = freeGpus(known) ?? Number.POSITIVE_INFINITY;
    return before + count <= free
      ? []
      : [
          fault(
            `is ${count}${before === 0 ? '' : `, beside ${before} before`}, and ${free} ${device} are free`,
            `${at}/count`,
          ),
        ];
  });
  const all = [...asked.values()].reduce((sum, count) => sum + count, 0);
  return placement.length > 0 && faults.length === 0 && subclusters > all
    ? [
        fault(
          `is ${subclusters}, and ${all} devices are given; each group has at least one`,
          '/planner/subclusters',
        ),
      ]
    : faults;
}
