import { largestOf, smallestOf } from '../../collections/index.js';
import type {
  ComponentOnClass,
  Fault,
  OpenCluster,
  PlannedComponent,
  Run,
  WorkflowPlan,
} from '../../formats/index.js';
import { NS_PER_MS, NS_PER_US } from '../../formats/index.js';
import { addedUp, givenFaults } from '../figures.js';

const BITS_PER_BYTE = 8;
/** Times and shares are compared up to this. */
const ROUNDING = 1e-9;

/** BoundedPlan is what the bounds of a plan are of. */
export type BoundedPlan = Pick<
  WorkflowPlan,
  'workflows' | 'attainment' | 'subclusters' | 'objective' | 'bounds'
>;

/** BoundedLoad is the sample of a plan, with all that any plan may serve it by. */
export interface BoundedLoad {
  /** The components, on every class that has room for them. */
  readonly components: readonly Pick<PlannedComponent, 'name' | 'classes'>[];
  /** The cluster with the devices that are free. */
  readonly cluster: OpenCluster;
  /** By request, when it comes, its workflow by its place, and what it does. */
  readonly atNs: ArrayLike<number>;
  readonly workflowOf: ArrayLike<number>;
  readonly runs: readonly Run[];
}

/**
 * workflowBoundFaults finds bounds of a plan that are not those of its sample: the mean of the longest paths, and the
 * devices that have time for the work. Paths are found by putting instants off until none moves, and devices by adding
 * one after the other.
 */
export function workflowBoundFaults(plan: BoundedPlan, load: BoundedLoad): Fault[] {
  const { latencyNs, workNs } = leastOf(load);
  const slos = plan.workflows.map(({ sloMs }) => sloMs && Math.round(sloMs * NS_PER_MS));
  const promised = slos.flatMap((sloNs, w) =>
    sloNs === undefined ? [] : [promisedWork(w, sloNs, { plan, load, latencyNs, workNs })],
  );
  const others = placesOf(load, (w) => slos[w] === undefined);
  const all = [
    ...promised,
    ...others.map((r) => ({
      workNs: workNs[r] as number,
      byNs: (load.atNs[r] as number) + (latencyNs[r] as number),
    })),
  ];
  const { objective, subclusters, bounds } = plan;
  return [
    ...givenFaults(bounds.meanMs, addedUp(latencyNs) / latencyNs.length / NS_PER_MS, '/bounds/meanMs'),
    ...givenFaults(bounds.devices, devicesFor(all, load), '/bounds/devices'),
    ...(objective.kind === 'devices'
      ? givenFaults(objective.bound, Math.max(1, subclusters, devicesFor(promised, load)), '/objective/bound')
      : []),
  ];
}

/** Work is what must be done by an instant. */
interface Work {
  readonly workNs: number;
  readonly byNs: number;
}

/** promisedWork is the least work of as many requests of a workflow as must be in time, all of it before the last deadline. */
function promisedWork(
  workflow: number,
  sloNs: number,
  {
    plan: { attainment },
    load,
    latencyNs,
    workNs,
  }: {
    readonly plan: BoundedPlan;
    readonly load: BoundedLoad;
    readonly latencyNs: readonly number[];
    readonly workNs: readonly number[];
  },
): Work {
  const own = placesOf(load, (w) => w === workflow);
  const wanted = Math.ceil(own.length * attainment - ROUNDING);
  const able = own.filter((r) => (latencyNs[r] as number) <= sloNs).map((r) => workNs[r] as number);
  return {
    workNs: addedUp(able.sort((a, b) => a - b).slice(0, wanted)),
    byNs: largestOf(own.map((r) => (load.atNs[r] as number) + sloNs)),
  };
}

function placesOf({ runs, workflowOf }: BoundedLoad, isOf: (workflow: number) => boolean): number[] {
  return [...runs.keys()].filter((r) => isOf(workflowOf[r] as number));
}

/** devicesFor is the fewest devices that have as much time from the first arrival to the last instant as the work takes. */
function devicesFor(works: readonly Work[], { atNs }: BoundedLoad): number {
  const workNs = addedUp(works.map((one) => one.workNs));
  if (workNs === 0) return 0;
  const timeNs = largestOf(works.map(({ byNs }) => byNs)) - (atNs[0] as number);
  let devices = 1;
  while (devices * timeNs < workNs * (1 - ROUNDING)) devices += 1;
  return devices;
}

/** leastOf gives of each request the least latency and the least time of devices, once for requests that do the same. */
function leastOf({ components, cluster, runs }: BoundedLoad) {
  const rates = Object.values(cluster.devices).map(
    ({ linkGbps = cluster.networkGbps ?? Number.POSITIVE_INFINITY }) => linkGbps,
  );
  const frontNs = (bytes: number): number => Math.round(bytes / (largestOf(rates) / BITS_PER_BYTE));
  const batches = new Map(
    components.map(({ name, classes }) => [
      name,
      classes.filter(({ device }) => (cluster.devices[device]?.count ?? 0) > 0).flatMap(batchesOn),
    ]),
  );
  const known = new Map<Run, { readonly latencyNs: number; readonly workNs: number }>();
  const each = runs.map((run) => {
    const found = known.get(run) ?? leastOfRun(run, { batches, frontNs });
    known.set(run, found);
    return found;
  });
  return { latencyNs: each.map((one) => one.latencyNs), workNs: each.map((one) => one.workNs) };
}

/** Batch is a batch that a class executes. */
interface Batch {
  readonly rows: number;
  readonly ns: number;
}

/** batchesOn lists the batches that a class was measured for. */
function batchesOn({ latencyUsByBatch }: ComponentOnClass): Batch[] {
  return latencyUsByBatch.flatMap((us, i) =>
    us === null ? [] : [{ rows: i + 1, ns: Math.round(us * NS_PER_US) }],
  );
}

/** Least says what no plan needs less of. */
interface Least {
  readonly batches: ReadonlyMap<string, readonly Batch[]>;
  readonly frontNs: (bytes: number) => number;
}

function leastOfRun({ requestBytes, tasks, reads }: Run, { batches, frontNs }: Least) {
  const holding = ({ component, rows }: Run['tasks'][number]): Batch[] =>
    (batches.get(component) ?? []).filter((batch) => batch.rows >= rows);
  const executionNs = tasks.map((task) => smallestOf(holding(task).map(({ ns }) => ns)));
  const endNs = tasks.map((_, t) => executionNs[t] as number);
  const frontOf = (t: number): number => (endNs[t] as number) + frontNs(tasks[t]?.outputBytes ?? 0);
  const bodyNs = frontNs(requestBytes);
  // Instants are only put off, each once for every task before it on its path at most.
  for (let isMoved = true; isMoved; ) {
    isMoved = false;
    for (const [t, { after, inputs, thinkMs = 0 }] of tasks.entries()) {
      const made = inputs.filter((input) => input !== 'request');
      const begun = largestOf([
        largestOf([0, ...after.map(frontOf)]) + Math.round(thinkMs * NS_PER_MS),
        ...(inputs.includes('request') ? [bodyNs] : []),
        ...made.map((input) => endNs[input] as number),
      ]);
      const end = begun + (executionNs[t] as number);
      if (end === endNs[t]) continue;
      endNs[t] = end;
      isMoved = true;
    }
  }
  const taken = new Set(tasks.flatMap(({ inputs }) => inputs));
  // An output that was read before a call comes to the front in any case; it is part of the latency of that
  // call.
  const comesBack = (t: number): boolean => (reads === undefined ? !taken.has(t) : reads.includes(t));
  return {
    latencyNs: largestOf(tasks.map((_, t) => (comesBack(t) ? frontOf(t) : (endNs[t] as number)))),
    workNs: addedUp(
      tasks.map((task) => task.rows * smallestOf(holding(task).map(({ rows, ns }) => ns / rows))),
    ),
  };
}
