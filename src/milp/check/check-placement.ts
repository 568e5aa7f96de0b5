import { type Cluster, type Fault, fault, type Placement } from '../../artifacts/index.js';
import type { PlanBody, PooledProblem, WholeGpusPer } from '../problem.js';

/** The entries that share a GPU or a server: the first of them, and whether all others are like it. */
interface Company {
  readonly first: Placement;
  /** Their sum in GPUs: Σ 1/v. */
  worth: number;
  isOneSize: boolean;
  isOneOwner: boolean;
}

/**
 * placementFaults checks that every virtual GPU is on a server and a GPU that exist, alone or with others that the
 * rules allow. It takes one pass over the entries, of which a large cluster has hundreds of thousands.
 */
export function placementFaults(plan: PlanBody, { cluster, planner }: PooledProblem): Fault[] {
  const { wholeGpusPer, virtualPer } = planner;
  const gpus = companies(plan.placement, gpuOf, wholeGpusPer);
  const servers =
    virtualPer === 'server' ? companies(plan.placement, (seat) => seat.server, wholeGpusPer) : undefined;
  return [
    ...countFaults(plan),
    ...seatFaults(plan, cluster),
    ...companyFaults(gpus, wholeGpusPer),
    ...(servers === undefined ? [] : sizeFaults(servers)),
    ...(wholeGpusPer === 'pool' ? sizeFaults(gpus) : []),
    ...classFaults(plan, gpus, cluster),
  ];
}

function countFaults({ models, placement }: PlanBody): Fault[] {
  const left = models.map(({ pipelines }) =>
    pipelines.map(({ partitions }) => partitions.map(({ virtualGpus }) => virtualGpus)),
  );
  const told: Fault[] = [];
  for (const [i, { model, pipeline, partition }] of placement.entries()) {
    const counts = left[model]?.[pipeline];
    if (counts?.[partition] === undefined)
      told.push(fault(`is of ${model}/${pipeline}/${partition}, which the plan has not`, `/placement/${i}`));
    else counts[partition] -= 1;
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

function seatFaults({ models, placement }: PlanBody, { devices }: Cluster): Fault[] {
  const told: Fault[] = [];
  for (const [i, seat] of placement.entries()) {
    const at = `/placement/${i}`;
    const device = devices[seat.class];
    if (device === undefined) {
      told.push(fault(`is on ${seat.class}, which the cluster has not`, at));
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
  }
  return told;
}

function companies(
  placement: readonly Placement[],
  by: (seat: Placement) => string,
  rule: WholeGpusPer,
): Map<string, Company> {
  const found = new Map<string, Company>();
  for (const seat of placement) {
    const name = by(seat);
    const known = found.get(name);
    if (known === undefined) {
      found.set(name, { first: seat, worth: 1 / seat.virtual, isOneSize: true, isOneOwner: true });
      continue;
    }
    known.worth += 1 / seat.virtual;
    known.isOneSize &&= seat.virtual === known.first.virtual;
    known.isOneOwner &&= haveOneOwner(seat, known.first, rule);
  }
  return found;
}

function gpuOf({ server, gpu }: Placement): string {
  return `${server}/${gpu}`;
}

/** This says whether two entries may share a GPU. */
function haveOneOwner(a: Placement, b: Placement, rule: WholeGpusPer): boolean {
  switch (rule) {
    case 'pool':
      return a.model === b.model && a.pipeline === b.pipeline && a.partition === b.partition;
    case 'position':
      return a.model === b.model && a.partition === b.partition;
    case 'class':
      return true;
  }
}

function companyFaults(gpus: Map<string, Company>, rule: WholeGpusPer): Fault[] {
  const told: Fault[] = [];
  for (const [name, { worth, isOneOwner }] of gpus) {
    if (worth > 1 + 1e-9) told.push(fault(`GPU ${name} holds ${worth} GPUs' worth`, '/placement'));
    if (!isOneOwner) told.push(fault(`GPU ${name} is shared by unlike ${rule}s`, '/placement'));
  }
  return told;
}

function sizeFaults(places: Map<string, Company>): Fault[] {
  const told: Fault[] = [];
  for (const [name, { isOneSize }] of places)
    if (!isOneSize) told.push(fault(`${name} has unlike virtual sizes`, '/placement'));
  return told;
}

function classFaults({ classes }: PlanBody, gpus: Map<string, Company>, { devices }: Cluster): Fault[] {
  const usedOf = new Map<string, number>();
  for (const { first } of gpus.values()) usedOf.set(first.class, (usedOf.get(first.class) ?? 0) + 1);
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
