import type { DeviceClass, DeviceProfile, ObjectiveKind } from '../../../src/formats/index.js';
import type { PooledProblem, ProblemModel } from '../../../src/milp/index.js';
import { latencyUsOf } from './random-problem.js';

/** The virtual GPUs of one partition. `rps` is the rate of one of them. */
interface Pool {
  readonly device: number;
  readonly virtual: number;
  readonly position: number;
  readonly rps: number;
}

interface Taken {
  readonly pool: Pool;
  readonly count: number;
}

/**
 * BruteForce tries every multiset of pipelines and counts of every model, and finds the best value of every objective.
 * Its formulas are written from the data's README alone. It is only for problems of a few GPUs and blocks, of the
 * virtual sizes 1 and 2, with at most one class of which a model must use a share.
 */
export class BruteForce {
  private readonly cluster: Counting;
  /** For every model, its highest rate for every usage of the cluster. */
  private readonly served: readonly (readonly [Usage, number][])[];

  constructor(private readonly problem: PooledProblem) {
    this.cluster = new Counting(problem);
    this.served = problem.models.map((_, m) => [...servedByUsage(problem, m, this.cluster)]);
  }

  /** best gives the objective's best value, or undefined if there is no plan. */
  best(objective: ObjectiveKind): number | undefined {
    const { problem, cluster, served } = this;
    const maximised = objective === 'throughput';
    let best: number | undefined;
    const divide = (m: number, usage: Usage, least: number): void => {
      if (m === problem.models.length) {
        const value = maximised ? least : cluster.priceOf(usage, objective);
        if (maximised && value === 0) return;
        if (best === undefined || (maximised ? value > best : value < best)) best = value;
        return;
      }
      const { weight, rps: wanted = 0 } = problem.models[m] as ProblemModel;
      for (const [own, rps] of served[m] as [Usage, number][]) {
        if (!maximised && rps < wanted * (1 - 1e-12)) continue;
        if (!cluster.fits(usage + own)) continue;
        divide(m + 1, usage + own, weight > 0 ? Math.min(least, rps / weight) : least);
      }
    };
    divide(0, NOTHING, Number.POSITIVE_INFINITY);
    return best;
  }
}

/** formationOf gives the time per request that batches take to fill. */
function formationOf(formation: ProblemModel['batchFormation']): number {
  if (formation === 'none') return 0;
  return (formation.factor * 1e6) / (formation.estimatedRps as number);
}

/** For every usage of the cluster, the highest rate of one model. */
function servedByUsage(problem: PooledProblem, m: number, cluster: Counting): Map<Usage, number> {
  const { minShare, batchFormation } = problem.models[m] as ProblemModel;
  const [shared] = Object.keys(minShare);
  const mustUse = shared === undefined ? -1 : cluster.names.indexOf(shared);
  const share = shared === undefined ? 0 : (minShare[shared] as number);
  const pipelines = allPipelines(problem, m, formationOf(batchFormation));
  const best = new Map<Usage, number>([[NOTHING, 0]]);
  const taken: Taken[] = [];

  const choose = (from: number, using: number, others: number): void => {
    for (let p = from; p < pipelines.length; p++) counts(p, 0, Number.POSITIVE_INFINITY, using, others);
  };
  const counts = (p: number, d: number, rps: number, using: number, others: number): void => {
    const pools = pipelines[p] as Pool[];
    if (d === pools.length) {
      const uses = pools.some(({ device }) => device === mustUse);
      const [now, rest] = uses ? [using + rps, others] : [using, others + rps];
      // Where a class must take part, the other pipelines wait for it.
      const all = share === 0 ? now + rest : now + Math.min(rest, (now * (1 - share)) / share);
      const usage = cluster.usageOf(taken);
      if (all > (best.get(usage) ?? 0)) best.set(usage, all);
      choose(p + 1, now, rest);
      return;
    }
    const pool = pools[d] as Pool;
    for (let count = 1; ; count++) {
      taken.push({ pool, count });
      const room = cluster.fits(cluster.usageOf(taken));
      if (room) counts(p, d + 1, Math.min(rps, count * pool.rps), using, others);
      taken.pop();
      if (!room) return;
    }
  };
  choose(0, 0, 0);
  return best;
}

const SIZES = [1, 2];

/** The count of each class and virtual size, in a digit of its own, so that usages can be added. */
type Usage = number;

const NOTHING: Usage = 0;

/** The base is above the count of any class in these problems, and small enough for three classes of two sizes. */
const DIGIT = 128;

/**
 * Counting counts GPUs: whole GPUs where pools or positions fill them, and virtual GPUs where all models fill them
 * together.
 */
class Counting {
  readonly names: readonly string[];
  private readonly devices: readonly DeviceClass[];
  private readonly fitting = new Map<Usage, boolean>();

  constructor(private readonly problem: PooledProblem) {
    this.names = Object.keys(problem.cluster.devices);
    this.devices = Object.values(problem.cluster.devices);
  }

  usageOf(taken: readonly Taken[]): Usage {
    const { wholeGpusPer } = this.problem.planner;
    if (wholeGpusPer === 'position') return this.usageOfPositions(taken);
    let usage = NOTHING;
    for (const { pool, count } of taken)
      usage += counted(pool, wholeGpusPer === 'pool' ? whole(count / pool.virtual) : count);
    return usage;
  }

  private usageOfPositions(taken: readonly Taken[]): Usage {
    const groups = new Map<number, { readonly counts: Pick<Pool, 'device' | 'virtual'>; gpus: number }>();
    for (const { pool, count } of taken) {
      const { device, virtual, position } = pool;
      // Unlike sizes share a position's GPUs, except where a server has one size.
      const size = this.problem.planner.virtualPer === 'server' ? virtual : 1;
      const key = (position * this.names.length + device) * SIZES.length + size;
      const group = groups.get(key) ?? { counts: { device, virtual: size }, gpus: 0 };
      group.gpus += count / virtual;
      groups.set(key, group);
    }
    let usage = NOTHING;
    for (const { counts, gpus } of groups.values()) usage += counted(counts, whole(gpus));
    return usage;
  }

  /** The whole GPUs of a usage by class and size, or under one size where sizes may share GPUs. */
  private wholeGpus(usage: Usage, device: number): number[] {
    const own = SIZES.map((_, i) => Math.floor(usage / DIGIT ** (device * SIZES.length + i)) % DIGIT);
    const { wholeGpusPer, virtualPer } = this.problem.planner;
    if (wholeGpusPer !== 'class') return own;
    const gpus = own.map((n, i) => n / (SIZES[i] as number));
    return virtualPer === 'server' ? gpus.map(whole) : [whole(gpus.reduce((sum, n) => sum + n, 0))];
  }

  fits(usage: Usage): boolean {
    const known = this.fitting.get(usage);
    if (known !== undefined) return known;
    const fits = this.devices.every((device, k) => this.fitsClass(this.wholeGpus(usage, k), device));
    this.fitting.set(usage, fits);
    return fits;
  }

  private fitsClass(gpus: readonly number[], { count, taken = 0, perServer = 1 }: DeviceClass): boolean {
    const free = count - taken;
    if (this.problem.planner.virtualPer === 'gpu') return gpus.reduce((sum, n) => sum + n, 0) <= free;
    const small = free % perServer;
    const servers = (onSmall: number) =>
      gpus.reduce(
        (sum, n, i) => sum + Math.ceil(Math.max(0, n - (i === onSmall ? small : 0)) / perServer),
        0,
      );
    return gpus.some((_, i) => servers(i) <= Math.floor(free / perServer));
  }

  priceOf(usage: Usage, objective: Exclude<ObjectiveKind, 'throughput'>): number {
    const key = objective === 'cost' ? 'hourlyCost' : 'powerWatts';
    return this.devices.reduce(
      (sum, device, k) =>
        sum + (device[key] as number) * this.wholeGpus(usage, k).reduce((gpus, n) => gpus + n, 0),
      0,
    );
  }
}

function counted({ device, virtual }: Pick<Pool, 'device' | 'virtual'>, n: number): Usage {
  return n * DIGIT ** (device * SIZES.length + SIZES.indexOf(virtual));
}

function whole(gpus: number): number {
  return Math.ceil(gpus - 1e-9);
}

function allPipelines(problem: PooledProblem, m: number, formationUs: number): Pool[][] {
  const { profile, sloUs, sloMarginUs, classes } = problem.models[m] as ProblemModel;
  const { maxPartitions, unifiedBatch, linkThroughput } = problem.planner;
  const names = Object.keys(problem.cluster.devices);
  const blocks = profile.blocks.length;
  const batches = Object.keys(Object.values(profile.devices)[0]?.blockLatencyUs['1'] ?? {}).map(Number);
  const linkOf = (device: number) =>
    problem.cluster.devices[names[device] as string]?.linkGbps ?? problem.cluster.networkGbps ?? 1;
  const cross = (cut: number, gbps: number) => (8 * (profile.blocks[cut - 1]?.cutBytes ?? 0)) / (gbps * 1000);
  const found: Pool[][] = [];
  const extend = (first: number, latency: number, pools: Pool[], used: number[]): void => {
    const largest = Math.max(1, ...used);
    // Without a rate that fills batches, a batch of one still waits for nothing.
    const fillUs = largest === 1 ? 0 : formationUs * (largest - 1);
    if (latency + fillUs > sloUs - sloMarginUs) return;
    if (first === blocks) {
      found.push(pools);
      return;
    }
    if (pools.length === maxPartitions) return;
    names.forEach((name, device) => {
      if (!classes.includes(name)) return;
      const { perServer = 1, virtual: sizes = [1] } = problem.cluster.devices[name] as DeviceClass;
      const before = pools.at(-1)?.device;
      const arriveUs =
        before === undefined
          ? 0
          : (used.at(-1) ?? 0) * cross(first, Math.min(linkOf(before), linkOf(device)));
      for (const v of sizes)
        for (const batch of unifiedBatch && used.length > 0 ? [used[0] as number] : batches)
          for (let end = first + 1; end <= blocks; end++) {
            const us = latencyUsOf(profile.devices[name] as DeviceProfile, [v, batch], [first, end]);
            const link = linkOf(device);
            const linkUs = Math.max(first > 0 ? cross(first, link) : 0, end < blocks ? cross(end, link) : 0);
            const compute = (1e6 * batch) / us;
            const rps = linkThroughput ? Math.min(compute, 1e6 / (linkUs * v * perServer)) : compute;
            const pool = { device, virtual: v, position: pools.length, rps };
            extend(end, latency + arriveUs + us, [...pools, pool], [...used, batch]);
          }
    });
  };
  extend(0, 0, [], []);
  return found;
}
