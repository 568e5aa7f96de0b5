import { type Fault, fault, listed, type PipelineSpec, type PipelineStage } from '../artifacts/index.js';
import type { DeviceSet } from './problem.js';

/** DeviceSets holds the sets of devices that a spec fixes. */
export interface DeviceSets {
  readonly sets: readonly (DeviceSet & {
    /** Where the spec has the class, for faults. */
    readonly path: string;
  })[];
  /** The set of each stage; undefined where the spec does not fix it. */
  readonly ofStage: readonly (number | undefined)[];
  /** What the spec lacks, or gives twice. */
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
    const { device, replicas, virtual = 1, standby = 0 } = stage;
    faults.push(...stageFaults(stage, i, sharing.has(i)));
    if (sharing.has(i) || device === undefined) return;
    ofStage[i] = sets.length;
    const path = `/stages/${i}/device`;
    sets.push({ device, virtual, stages: [i], replicas: replicas ?? 1, standby, shared: false, path });
  });
  return { sets, ofStage, faults };
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
  const needed = (['device', 'batch', 'replicas'] as const).filter(
    (key) => stage[key] === undefined && (key === 'batch' || !isShared),
  );
  const { device, devices = [] } = stage;
  return [
    ...needed.map((key) => fault(`lacks "${key}", which planner.method given needs`, `/stages/${i}`)),
    ...(isShared ? OF_DEVICES.filter((key) => stage[key] !== undefined) : []).map((key) =>
      fault('is given by the shared devices of the stage; leave it out', `/stages/${i}/${key}`),
    ),
    ...(device !== undefined && devices.length > 0 && !devices.includes(device)
      ? [fault(`is ${device}, which its devices leave out: ${listed(devices)}`, `/stages/${i}/device`)]
      : []),
  ];
}
