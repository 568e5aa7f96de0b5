import { largestOf } from '../collections/index.js';
import {
  type ComponentOnClass,
  classGbps,
  isReadIn,
  NS_PER_MS,
  type OpenCluster,
  type PlannedComponent,
  type Run,
} from '../formats/index.js';
import { filledLatencies } from '../serving/index.js';

const BITS_PER_BYTE = 8;
/** Shares of requests are counted no more exactly than this. */
const ROUNDING = 1e-9;

/** RequestsToBound are the requests of a sample, in the order in which they come. */
export interface RequestsToBound {
  readonly atNs: ArrayLike<number>;
  /** By request, the place of its workflow. */
  readonly workflows: ArrayLike<number>;
  /** By request, what it does. Requests that do the same may have one run. */
  readonly runs: readonly Run[];
  /** For how long requests may come. The time of devices is counted until then, if all is over before. */
  readonly spanNs?: number;
}

/** LeastTimes says what any plan needs at least for tasks, whatever its devices hold and whoever schedules them. */
export interface LeastTimes {
  /** The least time in which a batch with a given number of rows of a component, and maybe others, is executed. */
  executionNs(component: string, rows: number): number;
  /** The least part of a device's time that a given number of rows of a component take in any batch. */
  workNs(component: string, rows: number): number;
  /** The least time in which bytes pass between the front and a server. */
  frontNs(bytes: number): number;
}

/** leastTimes gives the least times over all classes of which a cluster has devices. */
export function leastTimes(components: readonly PlannedComponent[], cluster: OpenCluster): LeastTimes {
  const has = ({ device }: ComponentOnClass): boolean => (cluster.devices[device]?.count ?? 0) > 0;
  const tables = new Map(
    components.map(({ name, classes }) => [name, leastByRows(classes.filter(has))] as const),
  );
  const gbps = Object.keys(cluster.devices).map(
    (name) => classGbps(cluster, name) ?? Number.POSITIVE_INFINITY,
  );
  const bytesPerNs = largestOf(gbps) / BITS_PER_BYTE;
  const least = (component: string, rows: number, of: 'executionNs' | 'workPerRowNs'): number =>
    tables.get(component)?.[of][rows - 1] ?? Number.POSITIVE_INFINITY;
  return {
    executionNs: (component, rows) => least(component, rows, 'executionNs'),
    workNs: (component, rows) => rows * least(component, rows, 'workPerRowNs'),
    frontNs: (bytes) => Math.round(bytes / bytesPerNs),
  };
}

/**
 * leastByRows says of each number of rows that a task may have how long a batch with that task takes at least, and how
 * long for each row. The batch has as many rows as the task or more, so that both are least over those sizes and all
 * classes.
 */
function leastByRows(classes: readonly ComponentOnClass[]) {
  const most = largestOf([0, ...classes.map(({ batch }) => batch)]);
  const executionNs = new Float64Array(most).fill(Number.POSITIVE_INFINITY);
  const workPerRowNs = new Float64Array(most).fill(Number.POSITIVE_INFINITY);
  for (const { latencyUsByBatch, batch } of classes) {
    const latencyNs = filledLatencies(latencyUsByBatch, batch);
    let [least, leastPerRow] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    for (let rows = batch; rows >= 1; rows--) {
      const ns = latencyNs[rows - 1] as number;
      least = Math.min(least, ns);
      leastPerRow = Math.min(leastPerRow, ns / rows);
      executionNs[rows - 1] = Math.min(executionNs[rows - 1] as number, least);
      workPerRowNs[rows - 1] = Math.min(workPerRowNs[rows - 1] as number, leastPerRow);
    }
  }
  return { executionNs, workPerRowNs };
}

/**
 * leastLatencyNs is the time from arrival to answer that a request needs under every plan.
 *
 * A task is executed after it was called, after the tasks whose outputs it takes, and, where it takes the request,
 * after that has come from the front. It is called after the program has thought since its last read. A read brings an
 * output to the front, and so does the end, of each output that is returned. Executions take the least time of their
 * rows; loads, and transfers between devices, may take none.
 */
export function leastLatencyNs(run: Run, least: LeastTimes): number {
  const { requestBytes, tasks } = run;
  const endNs = new Float64Array(tasks.length);
  const readNs = new Float64Array(tasks.length);
  const bodyNs = least.frontNs(requestBytes);
  let latencyNs = 0;
  for (const [t, { component, rows, inputs, after, thinkMs = 0, outputBytes }] of tasks.entries()) {
    const lastReadNs = after.reduce((last, read) => Math.max(last, readNs[read] as number), 0);
    const calledNs = lastReadNs + Math.round(thinkMs * NS_PER_MS);
    let readyNs = 0;
    for (const input of inputs)
      readyNs = Math.max(readyNs, input === 'request' ? bodyNs : (endNs[input] as number));
    endNs[t] = Math.max(calledNs, readyNs) + least.executionNs(component, rows);
    readNs[t] = (endNs[t] as number) + least.frontNs(outputBytes);
    // A read that comes later is part of what it is read for.
    latencyNs = Math.max(latencyNs, endNs[t] as number);
  }
  for (const [t, isRead] of isReadIn(run).entries())
    if (isRead) latencyNs = Math.max(latencyNs, readNs[t] as number);
  return latencyNs;
}

/**
 * requestWorkNs is the time of devices that a request takes under every plan: each of its tasks is executed once, in
 * some batch.
 */
export function requestWorkNs({ tasks }: Run, { workNs }: LeastTimes): number {
  return tasks.reduce((sum, { component, rows }) => sum + workNs(component, rows), 0);
}

/** PromisedWorkflow is a workflow, with the time in which its requests are to be answered, if any. */
export interface PromisedWorkflow {
  readonly sloMs?: number | undefined;
}

/** BoundedSample says what no plan does better than on a sample. */
export interface BoundedSample {
  /** By request, its least latency. */
  readonly latencyNs: Float64Array;
  /** The mean of these: no plan that answers all requests has a smaller mean. */
  readonly meanMs: number;
  /**
   * Fewer devices cannot have as many requests of each workflow with an SLO in time as are asked for; undefined where no number of
   * devices can, as too many requests take longer by themselves.
   */
  readonly sloDevices: number | undefined;
  /**
   * Fewer devices cannot have done all of that work, and that of all other requests, as soon as no plan is sooner done
   * with the last.
   */
  readonly devices: number;
  /** By workflow with an SLO, how many requests must be in time, and the least SLO that they can meet; undefined of the others. */
  readonly promised: readonly (PromiseBound | undefined)[];
}

/**
 * PromiseBound says how many requests of a workflow must be in time, and at which SLO that many can be, with all
 * devices for each.
 */
export interface PromiseBound {
  readonly wanted: number;
  readonly leastSloMs: number;
}

/**
 * boundSample bounds what plans make of a sample.
 *
 * Work is conserved: a batch of R rows takes the time of R shares of it, and each share is no less than
 * `workPerRowNs` of a task with a given number of rows or fewer. So devices are busy for the least work of all tasks
 * that they execute, each in [first arrival, H], and n devices give n·(H − first arrival) of that time. The
 * work that must be executed by then is at least: of each workflow with an SLO, the least work of as many
 * requests as must be in time, out of those that can be; H is the last deadline. `devices` counts all work of
 * other workflows too: H is then the last instant at which one of these requests would end if it had all
 * devices for itself, so that with fewer devices something is left to do at H.
 * @param attainment the share of requests that must be in time, of each workflow with an SLO
 */
export function boundSample(
  requests: RequestsToBound,
  {
    workflows,
    attainment,
    least,
  }: {
    readonly workflows: readonly PromisedWorkflow[];
    readonly attainment: number;
    readonly least: LeastTimes;
  },
): BoundedSample {
  const latencyOf = onceEach((run) => leastLatencyNs(run, least));
  const workOf = onceEach((run) => requestWorkNs(run, least));
  const latencyNs = Float64Array.from(requests.runs, latencyOf);
  const workNs = Float64Array.from(requests.runs, workOf);
  const [inTime, atLast] = [new WorkBefore(requests.atNs), new WorkBefore(requests.atNs)];
  const promised = workflows.map(({ sloMs }, w) => {
    const own = [...latencyNs.keys()].filter((r) => requests.workflows[r] === w);
    if (sloMs === undefined) {
      atLast.add(own, { workNs, endNs: (r) => (requests.atNs[r] as number) + (latencyNs[r] as number) });
      return undefined;
    }
    const sloNs = Math.round(sloMs * NS_PER_MS);
    const wanted = Math.ceil(own.length * attainment - ROUNDING);
    const able = own.filter((r) => (latencyNs[r] as number) <= sloNs);
    const easiest = able.toSorted((a, b) => (workNs[a] as number) - (workNs[b] as number)).slice(0, wanted);
    const deadlineNs = largestOf(own.map((r) => (requests.atNs[r] as number) + sloNs));
    inTime.add(easiest, { workNs, endNs: () => deadlineNs });
    return { wanted, leastSloMs: nthLeast(own, latencyNs, wanted) / NS_PER_MS };
  });
  const isPossible = workflows.every(({ sloMs = 0 }, w) => (promised[w]?.leastSloMs ?? 0) <= sloMs);
  return {
    latencyNs,
    promised,
    meanMs: meanOf(latencyNs) / NS_PER_MS,
    sloDevices: isPossible ? inTime.devices() : undefined,
    devices: inTime.beside(atLast).devices(),
  };
}

/** nthLeast is the n-th smallest of some requests' latencies, 0 where none is wanted. */
function nthLeast(own: readonly number[], latencyNs: Float64Array, n: number): number {
  if (n === 0) return 0;
  return Float64Array.from(own, (r) => latencyNs[r] as number).sort()[n - 1] as number;
}

/** onceEach computes a figure of each run once, however many requests have it. */
function onceEach(of: (run: Run) => number): (run: Run) => number {
  const known = new Map<Run, number>();
  return (run) => {
    const before = known.get(run);
    if (before !== undefined) return before;
    const figure = of(run);
    known.set(run, figure);
    return figure;
  };
}

function meanOf(values: Float64Array): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** WorkBefore adds up work that must be done by an instant. */
class WorkBefore {
  private workNs = 0;
  private endNs = Number.NEGATIVE_INFINITY;

  constructor(private readonly atNs: ArrayLike<number>) {}

  /** add adds requests, of which each has its work done by its end. */
  add(
    requests: readonly number[],
    { workNs, endNs }: { readonly workNs: Float64Array; readonly endNs: (request: number) => number },
  ): void {
    this.workNs += requests.reduce((sum, r) => sum + (workNs[r] as number), 0);
    this.endNs = Math.max(this.endNs, largestOf(requests.map(endNs)));
  }

  beside({ workNs, endNs }: WorkBefore): WorkBefore {
    const both = new WorkBefore(this.atNs);
    both.workNs = this.workNs + workNs;
    both.endNs = Math.max(this.endNs, endNs);
    return both;
  }

  /** devices is how many devices have as much time from the first arrival to that instant. */
  devices(): number {
    if (this.workNs === 0) return 0;
    const firstNs = this.atNs[0] as number;
    return Math.max(1, Math.ceil((this.workNs / (this.endNs - firstNs)) * (1 - ROUNDING)));
  }
}
