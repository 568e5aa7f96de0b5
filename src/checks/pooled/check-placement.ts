import { itemAt } from '../../collections/index.js';
import {
  type Cluster,
  type Fault,
  fault,
  type GpuRun,
  gpuNumber,
  type Placement,
  type PlannerOptions,
  runsOf,
  type Spanned,
} from '../../formats/index.js';
import type { AskedPlanner, CheckedPlan } from './question.js';

/** SharingRules say which virtual GPUs may be together on a GPU and on a server. */
type SharingRules = Pick<PlannerOptions, 'wholeGpusPer' | 'virtualPer'>;

/**
 * placementFaults checks that every virtual GPU is placed once, on a server and a GPU that exist and are free, alone or
 * with others that the rules allow, and that the plan counts the GPUs of each class right. Its cost grows with the
 * entries, not with the GPUs: a row of like GPUs is checked once.
 */
export function placementFaults(
  plan: CheckedPlan,
  { cluster, planner }: { readonly cluster: Cluster; readonly planner: SharingRules },
): Fault[] {
  return [
    ...countFaults(plan),
    ...seatFaults(plan, cluster),
    ...sharingFaults(plan, { cluster, planner }),
    ...classFaults(plan, gpuRows(plan, cluster), cluster),
  ];
}

/**
 * sharingFaults checks that no GPU holds more than its virtual GPUs are of it, and only such together as the planner's
 * rules allow. It looks at GPUs that the cluster has.
 */
export function sharingFaults(
  plan: Pick<CheckedPlan, 'placement'>,
  rules: { readonly cluster: Cluster; readonly planner: SharingRules },
): Fault[] {
  const { wholeGpusPer = 'pool', virtualPer } = rules.planner;
  const gpus = gpuRows(plan, rules.cluster);
  return [
    ...companyFaults(gpus, wholeGpusPer),
    ...(virtualPer === 'server' ? sizeFaults(serverRows(plan, rules.cluster)) : []),
    ...(wholeGpusPer === 'pool' ? sizeFaults(gpus) : []),
  ];
}

function gpuRows({ placement }: Pick<CheckedPlan, 'placement'>, { devices }: Cluster): Row[] {
  return Object.entries(devices).flatMap(([name, { perServer = 1 }]) =>
    runsOf(name, spannedGpus(placement, name, perServer)).map(
      (run): Row => ({ ...run, name: gpuRowName(run, perServer) }),
    ),
  );
}

function serverRows({ placement }: Pick<CheckedPlan, 'placement'>, { devices }: Cluster): Row[] {
  return Object.entries(devices).flatMap(([name, { perServer = 1 }]) =>
    runsOf(name, spannedServers(placement, name, perServer)).map((run) => ({
      ...run,
      name: rowName(`${name}-${run.first}`, run),
    })),
  );
}

/** Row is a run of like GPUs or servers, with a name for messages. */
type Row = GpuRun & { readonly name: string };

function spannedGpus(placement: readonly Placement[], name: string, perServer: number): Spanned[] {
  return placement.flatMap((place) => {
    const from = place.class === name ? gpuNumber(place, perServer) : Number.NaN;
    return Number.isNaN(from) ? [] : [{ place, from, to: from + (place.count ?? 1) }];
  });
}

function spannedServers(placement: readonly Placement[], name: string, perServer: number): Spanned[] {
  return spannedGpus(placement, name, perServer).map(({ place, from, to }) => ({
    place,
    from: Math.floor(from / perServer),
    to: Math.floor((to - 1) / perServer) + 1,
  }));
}

function gpuRowName(run: GpuRun, perServer: number): string {
  const gpu = run.first % perServer;
  return rowName(`${run.class}-${(run.first - gpu) / perServer}/${gpu}`, run);
}

function rowName(first: string, { count }: GpuRun): string {
  return count === 1 ? first : `${first} and each of the ${count - 1} after it`;
}

function countFaults({ models, placement }: CheckedPlan): Fault[] {
  const left = models.map(({ pipelines }) =>
    pipelines.map(({ partitions }) => partitions.map(({ virtualGpus }) => virtualGpus)),
  );
  const told: Fault[] = [];
  for (const [i, { model, pipeline, partition, count = 1 }] of placement.entries()) {
    const counts = left[model]?.[pipeline];
    if (counts?.[partition] === undefined)
      told.push(
        fault(`is of ${model}/${pipeline}/${partition}, which the plan does not have`, `/placement/${i}`),
      );
    else counts[partition] -= count;
  }
  left.forEach((pipelines, m) => {
    pipelines.forEach((partitions, i) => {
      partitions.forEach((n, d) => {
        const how = `has ${Math.abs(n)} virtual GPUs ${n > 0 ? 'unplaced' : 'too many placed'}`;
        if (n !== 0) told.push(fault(`model/pipeline/partition ${m}/${i}/${d} ${how}`, '/placement'));
      });
    });
  });
  return told;
}

function seatFaults({ models, placement }: CheckedPlan, { devices }: Cluster): Fault[] {
  const told: Fault[] = [];
  for (const [i, seat] of placement.entries()) {
    const at = `/placement/${i}`;
    const device = devices[seat.class];
    if (device === undefined) {
      told.push(fault(`is on ${seat.class}, which the cluster does not have`, at));
      continue;
    }
    const partition = models[seat.model]?.pipelines[seat.pipeline]?.partitions[seat.partition];
    if (partition !== undefined && (partition.device !== seat.class || partition.virtual !== seat.virtual))
      told.push(
        fault(
          `is ${seat.class} 1/${seat.virtual}; its partition is on ${partition.device} 1/${partition.virtual}`,
          at,
        ),
      );
    const { perServer = 1, count, taken = 0 } = device;
    const first = gpuNumber(seat, perServer);
    const beyond = first + (seat.count ?? 1) - (count - taken);
    if (Number.isNaN(first) || seat.gpu >= perServer || beyond >= (seat.count ?? 1))
      told.push(fault(`is on ${seat.server} GPU ${seat.gpu}, which does not exist or is taken`, at));
    else if (beyond > 0)
      told.push(fault(`is on ${seat.count} GPUs, of which the last ${beyond} do not exist or are taken`, at));
  }
  return told;
}

/** haveOneOwner says whether two entries may share a GPU. */
function haveOneOwner(a: Placement, b: Placement, rule: AskedPlanner['wholeGpusPer']): boolean {
  switch (rule) {
    case 'pool':
      return a.model === b.model && a.pipeline === b.pipeline && a.partition === b.partition;
    case 'position':
      return a.model === b.model && a.partition === b.partition;
    case 'class':
      return true;
  }
}

function companyFaults(gpus: readonly Row[], rule: AskedPlanner['wholeGpusPer']): Fault[] {
  const told: Fault[] = [];
  for (const { name, places } of gpus) {
    const worth = places.reduce((sum, { virtual }) => sum + 1 / virtual, 0);
    if (worth > 1 + 1e-9) told.push(fault(`GPU ${name} holds ${worth} GPUs' worth`, '/placement'));
    if (!places.every((place) => haveOneOwner(place, itemAt(places, 0), rule)))
      told.push(fault(`GPU ${name} is shared by unlike ${rule}s`, '/placement'));
  }
  return told;
}

function sizeFaults(rows: readonly Row[]): Fault[] {
  const told: Fault[] = [];
  for (const { name, places } of rows)
    if (!places.every(({ virtual }) => virtual === itemAt(places, 0).virtual))
      told.push(fault(`${name} has unlike virtual sizes`, '/placement'));
  return told;
}

function classFaults({ classes }: CheckedPlan, gpus: readonly Row[], { devices }: Cluster): Fault[] {
  const usedOf = new Map<string, number>();
  for (const { class: name, count } of gpus) usedOf.set(name, (usedOf.get(name) ?? 0) + count);
  return Object.entries(devices).flatMap(([name, device]) => {
    const use = classes[name];
    if (use === undefined) return [fault(`lacks ${name}`, '/classes')];
    const there = Math.max(0, device.count - (device.taken ?? 0));
    const used = usedOf.get(name) ?? 0;
    const told: Fault[] = [];
    if (use.count !== there) told.push(fault(`is ${use.count}; ${there} are free`, `/classes/${name}/count`));
    if (use.used !== used)
      told.push(fault(`is ${use.used}; the placement uses ${used}`, `/classes/${name}/used`));
    if (used > there) told.push(fault(`uses ${used} of ${there} GPUs`, `/classes/${name}`));
    return told;
  });
}
