import {
  type DeviceClass,
  type Fault,
  fault,
  type Placement,
  type PlannedPartition,
} from '../artifacts/index.js';
import type { PlanBody, PooledProblem } from './problem.js';

/** Whether every virtual GPU lies on a server and a GPU that there are, alone or in the company the rules allow. */
export function placementFaults(plan: PlanBody, problem: PooledProblem): Fault[] {
  return [
    ...countFaults(plan),
    ...seatFaults(plan, problem),
    ...companyFaults(plan, problem),
    ...classFaults(plan, problem),
  ];
}

function countFaults(plan: PlanBody): Fault[] {
  const left = new Map<string, number>();
  plan.models.forEach((model, m) => {
    model.pipelines.forEach((pipeline, i) => {
      pipeline.partitions.forEach((partition, d) => {
        left.set(`${m}/${i}/${d}`, partition.virtualGpus);
      });
    });
  });
  for (const { model, pipeline, partition } of plan.placement) {
    const at = `${model}/${pipeline}/${partition}`;
    left.set(at, (left.get(at) ?? 0) - 1);
  }
  return [...left].flatMap(([at, n]) =>
    n === 0
      ? []
      : [
          fault(
            `model/pipeline/partition ${at} has ${Math.abs(n)} virtual GPUs ${n > 0 ? 'unplaced' : 'too many placed'}`,
            '/placement',
          ),
        ],
  );
}

function partitionOf(
  plan: PlanBody,
  { model, pipeline, partition }: Placement,
): PlannedPartition | undefined {
  return plan.models[model]?.pipelines[pipeline]?.partitions[partition];
}

function seatFaults(plan: PlanBody, { cluster }: PooledProblem): Fault[] {
  return plan.placement.flatMap((seat, i) => {
    const at = `/placement/${i}`;
    const device = cluster.devices[seat.class];
    const partition = partitionOf(plan, seat);
    if (device === undefined) return [fault(`is on ${seat.class}, which the cluster has not`, at)];
    const told: Fault[] = [];
    if (partition !== undefined && (partition.device !== seat.class || partition.virtual !== seat.virtual))
      told.push(
        fault(
          `is ${seat.class} 1/${seat.virtual}; its partition is on ${partition.device} 1/${partition.virtual}`,
          at,
        ),
      );
    const server = seat.server.startsWith(`${seat.class}-`)
      ? Number(seat.server.slice(seat.class.length + 1))
      : Number.NaN;
    const perServer = device.perServer ?? 1;
    const number = server * perServer + seat.gpu;
    if (
      !(
        Number.isInteger(server) &&
        server >= 0 &&
        seat.gpu < perServer &&
        number < device.count - (device.taken ?? 0)
      )
    )
      told.push(fault(`is on ${seat.server} GPU ${seat.gpu}, which is not there or taken`, at));
    return told;
  });
}

/** Who shares a GPU, and which sizes share a server. */
function companyFaults(plan: PlanBody, { planner }: PooledProblem): Fault[] {
  const told: Fault[] = [];
  for (const [name, seats] of grouped(plan.placement, gpuOf)) {
    const used = seats.reduce((sum, s) => sum + 1 / s.virtual, 0);
    if (used > 1 + 1e-9) told.push(fault(`GPU ${name} holds ${used} GPUs' worth`, '/placement'));
    const owners = new Set(seats.map((s) => ownerOf(s, planner.wholeGpusPer)));
    if (owners.size > 1)
      told.push(fault(`GPU ${name} is shared by unlike ${planner.wholeGpusPer}s`, '/placement'));
  }
  const apart = planner.virtualPer === 'server' ? (s: Placement) => s.server : undefined;
  const alike = planner.wholeGpusPer === 'pool' ? gpuOf : apart;
  for (const rule of [apart, alike])
    if (rule !== undefined)
      for (const [name, seats] of grouped(plan.placement, rule))
        if (new Set(seats.map((s) => s.virtual)).size > 1)
          told.push(fault(`${name} has unlike virtual sizes`, '/placement'));
  return told;
}

function ownerOf({ model, pipeline, partition }: Placement, rule: string): string {
  if (rule === 'pool') return `${model}/${pipeline}/${partition}`;
  return rule === 'position' ? `${model}/${partition}` : '';
}

function gpuOf({ server, gpu }: Placement): string {
  return `${server}/${gpu}`;
}

function grouped(seats: readonly Placement[], by: (seat: Placement) => string): Map<string, Placement[]> {
  const groups = new Map<string, Placement[]>();
  for (const seat of seats) {
    const name = by(seat);
    const list = groups.get(name);
    if (list === undefined) groups.set(name, [seat]);
    else list.push(seat);
  }
  return groups;
}

function classFaults(plan: PlanBody, { cluster }: PooledProblem): Fault[] {
  return Object.entries(cluster.devices).flatMap(([name, device]: [string, DeviceClass]) => {
    const use = plan.classes[name];
    if (use === undefined) return [fault(`lacks ${name}`, '/classes')];
    const there = Math.max(0, device.count - (device.taken ?? 0));
    const used = new Set(plan.placement.filter((s) => s.class === name).map(gpuOf)).size;
    const told: Fault[] = [];
    if (use.count !== there) told.push(fault(`is ${use.count}; ${there} are free`, `/classes/${name}/count`));
    if (use.used !== used)
      told.push(fault(`is ${use.used}; the placement uses ${used}`, `/classes/${name}/used`));
    if (used > there) told.push(fault(`uses ${used} of ${there} GPUs`, `/classes/${name}`));
    return told;
  });
}
