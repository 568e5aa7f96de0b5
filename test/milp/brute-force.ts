import type { DeviceClass } from '../../src/artifacts/index.js';
import type { PooledProblem } from '../../src/milp/index.js';

/** The virtual GPUs of one partition: rps is that of one of them. */
interface Pool {
  readonly device: number;
  readonly virtual: number;
  readonly position: number;
  readonly rps: number;
}

/**
 * The objective's best value, by trying every multiset of pipelines and counts of every model. Its formulas are written from
 * the data's README alone. Only for problems of a few GPUs and blocks, of the virtual sizes 1 and 2, with at most one class
 * of which a model must use a share.
 * @param formationUs time per request that batches take to fill, by model
 * @returns undefined where there is no plan
 */
export function bruteForce(
  problem: PooledProblem,
  formationUs: readonly number[] = problem.models.map(({ batchFormation }) => formationOf(batchFormation)),
): number | undefined {
  const cluster = new Counting(problem);
  const served = problem.models.map((_, m) => servedByUsage(problem, m, cluster, formationUs[m] as number));
  const maximised = problem.planner.objective === 'throughput';
  let best: number | undefined;
  const divide = (m: number, usage: readonly number[], least: number): void => {
    if (m === problem.models.length) {
      const value = maximised ? least : cluster.priceOf(usage);
      if (maximised && value === 0) return;
      if (best === undefined || (maximised ? value > best : value < best)) best = value;
      return;
    }
    const { weight, rps: wanted = 0 } = problem.models[m] as PooledProblem['models'][number];
    for (const [own, rps] of served[m] as Map<string, number>) {
      if (!maximised && rps < wanted * (1 - 1e-12)) continue;
      const all = usage.map((n, i) => n + (JSON.parse(own) as number[])[i]!);
      if (!cluster.fits(all)) continue;
      divide(m + 1, all, weight > 0 ? Math.min(least, rps / weight) : least);
    }
  };
  divide(0, cluster.nothing(), Number.POSITIVE_INFINITY);
  return best;
}

function formationOf(formation: PooledProblem['models'][number]['batchFormation']): number {
  if (formation === 'none') return 0;
  return (formation.factor * 1e6) / (formation.estimatedRps as number);
}

/** For every usage of the cluster the most that one model is served with. */
function servedByUsage(
  problem: PooledProblem,
  m: number,
  cluster: Counting,
  formationUs: number,
): Map<string, number> {
  const { minShare } = problem.models[m] as PooledProblem['models'][number];
  const [shared] = Object.keys(minShare);
  const mustUse = shared === undefined ? -1 : cluster.names.indexOf(shared);
  const share = shared === undefined ? 0 : (minShare[shared] as number);
  const pipelines = allPipelines(problem, m, formationUs);
  const best = new Map<string, number>([[JSON.stringify(cluster.nothing()), 0]]);
  const taken: { pool: Pool; count: number }[] = [];

  const choose = (from: number, using: number, others: number): void => {
    for (let p = from; p < pipelines.length; p++) counts(p, 0, Number.POSITIVE_INFINITY, using, others);
  };
  const counts = (p: number, d: number, rps: number, using: number, others: number): void => {
    const pools = pipelines[p] as Pool[];
    if (d === pools.length) {
      const uses = pools.some(({ device }) => device === mustUse);
      const [now, rest] = uses ? [using + rps, others] : [using, others + rps];
      // Where a class must take part, the others wait for it.
      const all = share === 0 ? now + rest : now + Math.min(rest, (now * (1 - share)) / share);
      const key = JSON.stringify(cluster.usageOf(taken));
      if (all > (best.get(key) ?? 0)) best.set(key, all);
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

/**
 * How GPUs are counted: a usage is a number per class and virtual size. Whole GPUs where pools or positions fill them; virtual
 * GPUs where all models fill them together.
 */
class Counting {
  readonly names: readonly string[];
  private readonly devices: readonly DeviceClass[];

  constructor(private readonly problem: PooledProblem) {
    this.names = Object.keys(problem.cluster.devices);
    this.devices = Object.values(problem.cluster.devices);
  }

  nothing(): number[] {
    return this.names.flatMap(() => SIZES.map(() => 0));
  }

  usageOf(taken: readonly { pool: Pool; count: number }[]): number[] {
    const { wholeGpusPer, virtualPer } = this.problem.planner;
    const usage = this.nothing();
    const add = (device: number, virtual: number, n: number) => {
      const at = device * SIZES.length + SIZES.indexOf(virtual);
      usage[at] = (usage[at] as number) + n;
    };
    if (wholeGpusPer === 'class') {
      for (const { pool, count } of taken) add(pool.device, pool.virtual, count);
      return usage;
    }
    const groups = new Map<string, { device: number; virtual: number; gpus: number }>();
    taken.forEach(({ pool, count }, i) => {
      const { device, virtual, position } = pool;
      // Unlike sizes share a position's GPUs, but not where a server has one size.
      const size = virtualPer === 'server' ? virtual : 1;
      const key = wholeGpusPer === 'pool' ? `${i}` : `${position}/${device}/${size}`;
      const group = groups.get(key) ?? { device, virtual: wholeGpusPer === 'pool' ? virtual : size, gpus: 0 };
      group.gpus += count / virtual;
      groups.set(key, group);
    });
    for (const { device, virtual, gpus } of groups.values()) add(device, virtual, Math.ceil(gpus - 1e-9));
    return usage;
  }

  /** Whole GPUs by class and size of a usage; under one size where sizes may share GPUs. */
  private wholeGpus(usage: readonly number[], device: number): number[] {
    const own = SIZES.map((_, i) => usage[device * SIZES.length + i] as number);
    const { wholeGpusPer, virtualPer } = this.problem.planner;
    if (wholeGpusPer !== 'class') return own;
    const gpus = own.map((n, i) => n / (SIZES[i] as number));
    return virtualPer === 'server'
      ? gpus.map((n) => Math.ceil(n - 1e-9))
      : [Math.ceil(gpus.reduce((sum, n) => sum + n, 0) - 1e-9)];
  }

  fits(usage: readonly number[]): boolean {
    return this.devices.every(({ count, taken = 0, perServer = 1 }, k) => {
      const whole = this.wholeGpus(usage, k);
      const free = count - taken;
      if (this.problem.planner.virtualPer === 'gpu') return whole.reduce((sum, n) => sum + n, 0) <= free;
      const small = free % perServer;
      const servers = (onSmall: number) =>
        whole.reduce(
          (sum, n, i) => sum + Math.ceil(Math.max(0, n - (i === onSmall ? small : 0)) / perServer),
          0,
        );
      return whole.some((_, i) => servers(i) <= Math.floor(free / perServer));
    });
  }

  priceOf(usage: readonly number[]): number {
    const key = this.problem.planner.objective === 'cost' ? 'hourlyCost' : 'powerWatts';
    return this.devices.reduce(
      (sum, device, k) =>
        sum + (device[key] as number) * this.wholeGpus(usage, k).reduce((gpus, n) => gpus + n, 0),
      0,
    );
  }
}

function allPipelines(problem: PooledProblem, m: number, formationUs: number): Pool[][] {
  const { profile, sloUs, sloMarginUs, classes } = problem.models[m] as PooledProblem['models'][number];
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
    // Where no rate fills batches, one request does not wait.
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
            const row = profile.devices[name]?.blockLatencyUs[v]?.[batch] ?? [];
            const us = row.slice(first, end).reduce<number>((sum, x) => sum + Math.max(1, x ?? 0), 0);
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
