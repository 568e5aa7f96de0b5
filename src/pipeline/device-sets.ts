import { pushAll } from '../collections/index.js';
import { type Fault, fault, listed, type PipelineSpec, type PipelineStage } from '../formats/index.js';
import type { DeviceSet } from './problem.js';

/** DeviceSets holds the sets of devices that a spec fixes. */
export interface DeviceSets {
  readonly sets: readonly (DeviceSet & {
    /** Where the spec has the class, for faults. */
    readonly path: string;
  })[];
  /** The set of each stage; undefined where the spec does not fix it. */
  readonly ofStage: readonly (number | undefined)[];
  /** The faults of the spec: devices that it lacks, or gives twice. */
  readonly faults: readonly Fault[];
}

/** deviceSets lists the shared devices of a spec, then the devices of each stage that shares none. */
export function deviceSets(spec: PipelineSpec): DeviceSets {
  const faults: Fault[] = [];
  const sets: (DeviceSet & { path: string })[] = [];
  const ofStage: (number | undefined)[] = spec.stages.map(() => undefined);
  const names = spec.stages.map(({ name }) => name);
  const sharing = new Set<number>();
  (spec.shared ?? []).forEach(({ device, stages, replicas, virtual = 1, standby = 0 }, k) => {
    const path = `/shared/${k}`;
    const members = membersOf(stages, names, { path: `${path}/stages`, faults, sharing });
    for (const i of members) ofStage[i] = sets.length;
    sets.push({ device, virtual, stages: members, replicas, standby, shared: true, path: `${path}/device` });
  });
  spec.stages.forEach((stage, i) => {
    const { virtual = 1, standby = 0 } = stage;
    pushAll(faults, stageFaults(stage, i, sharing.has(i)));
    const counts = sharing.has(i) ? [] : countsOf(stage, i);
    if (counts.length > 0) ofStage[i] = sets.length;
    pushAll(
      sets,
      counts.map((one) => ({ ...one, virtual, stages: [i], standby, shared: false })),
    );
  });
  return { sets, ofStage, faults };
}

/** setsOf lists the sets of devices that serve a stage: one for each class of its replicas. */
export function setsOf<Set extends Pick<DeviceSet, 'stages'>>(sets: readonly Set[], stage: number): Set[] {
  return sets.filter(({ stages }) => stages.includes(stage));
}

/** isUnequal returns whether a stage has replicas of several classes. */
export function isUnequal({ replicas }: Pick<PipelineStage, 'replicas'>): boolean {
  return typeof replicas === 'object' && Object.values(replicas).filter((count) => count > 0).length > 1;
}

/** replicaCount is how many replicas a spec gives a stage, of all classes together; undefined where it gives none. */
export function replicaCount({ replicas }: Pick<PipelineStage, 'replicas'>): number | undefined {
  return typeof replicas === 'object'
    ? Object.values(replicas).reduce((sum, count) => sum + count, 0)
    : replicas;
}

/** CountOf is how many replicas of a class a stage has. */
interface CountOf {
  readonly device: string;
  readonly replicas: number;
  readonly path: string;
}

/** countsOf lists the classes of a stage's replicas, in the order in which the spec names them, with how many there are of each. */
function countsOf({ device, replicas }: Pick<PipelineStage, 'device' | 'replicas'>, i: number): CountOf[] {
  if (typeof replicas === 'object')
    return Object.entries(replicas).flatMap(([name, count]) =>
      count === 0 ? [] : [{ device: name, replicas: count, path: `/stages/${i}/replicas/${name}` }],
    );
  return device === undefined ? [] : [{ device, replicas: replicas ?? 1, path: `/stages/${i}/device` }];
}

function membersOf(
  stages: readonly string[],
  names: readonly string[],
  {
    path,
    faults,
    sharing,
  }: { readonly path: string; readonly faults: Fault[]; readonly sharing: Set<number> },
): number[] {
  if (stages.length === 0) faults.push(fault('names no stage', path));
  return stages.flatMap((name) => {
    const i = names.indexOf(name);
    if (i < 0) faults.push(fault(`names ${name}, and there is no such stage`, path));
    else if (sharing.has(i)) faults.push(fault(`names ${name}, which shares devices already`, path));
    else {
      sharing.add(i);
      return [i];
    }
    return [];
  });
}

const OF_DEVICES = ['device', 'devices', 'virtual', 'replicas', 'standby'] as const;

function stageFaults(stage: PipelineStage, i: number, isShared: boolean): Fault[] {
  const byClass = typeof stage.replicas === 'object' && !isShared;
  const needed = (['device', 'batch', 'replicas'] as const).filter(
    (key) => stage[key] === undefined && (key === 'batch' || !isShared) && !(key === 'device' && byClass),
  );
  const { device, devices = [] } = stage;
  return [
    ...(byClass ? classCountFaults(stage, i) : []),
    ...needed.map((key) => fault(`lacks "${key}", which planner.method given needs`, `/stages/${i}`)),
    ...(isShared ? OF_DEVICES.filter((key) => stage[key] !== undefined) : []).map((key) =>
      fault('is given by the shared devices of the stage; leave it out', `/stages/${i}/${key}`),
    ),
    ...(device !== undefined && devices.length > 0 && !devices.includes(device)
      ? [fault(`is ${device}, which its devices leave out: ${listed(devices)}`, `/stages/${i}/device`)]
      : []),
  ];
}

/** classCountFaults reports what is wrong where a stage gives the number of its replicas for each class. */
function classCountFaults(
  { replicas = {}, device, devices, standby = 0 }: PipelineStage,
  i: number,
): Fault[] {
  const at = `/stages/${i}`;
  const classes = countsOf({ replicas }, i).length;
  return [
    ...(classes === 0
      ? [fault('has no replica of any class; give at least one class a number above 0', `${at}/replicas`)]
      : []),
    ...(device === undefined
      ? []
      : [fault('stands beside replicas that name their classes; leave it out', `${at}/device`)]),
    ...(devices === undefined
      ? []
      : [fault('stands beside replicas that name their classes; leave it out', `${at}/devices`)]),
    ...(standby === 0 || !isUnequal({ replicas })
      ? []
      : [
          fault(
            `is ${standby}; the replicas are of several classes, and standby devices are of one: leave it out, or name one class`,
            `${at}/standby`,
          ),
        ]),
  ];
}
