import type { PooledProblem } from '../../src/milp/index.js';

interface Pool {
  readonly device: number;
  readonly virtual: number;
  readonly position: number;
  readonly rps: number;
}

/**
 * The most requests per second of one model's best plan, by trying every multiset of pipelines and counts. Its formulas are
 * written from the data's README alone. Only for problems of a few GPUs and blocks.
 */
export function bruteForce(problem: PooledProblem): number {
  const model = problem.models[0] as PooledProblem['models'][number];
  const names = Object.keys(problem.cluster.devices);
  const free = names.map((name) => problem.cluster.devices[name]?.count ?? 0);
  const pipelines = allPipelines(problem);
  let best = 0;
  const taken: { pool: Pool; count: number }[] = [];

  const fits = (): boolean => {
    const rule = problem.planner.wholeGpusPer;
    const groups = new Map<string, { device: number; gpus: number }>();
    taken.forEach(({ pool, count }, i) => {
      const key =
        rule === 'pool' ? `${i}` : rule === 'position' ? `${pool.position}/${pool.device}` : `${pool.device}`;
      const group = groups.get(key) ?? { device: pool.device, gpus: 0 };
      group.gpus += count / pool.virtual;
      groups.set(key, group);
    });
    const used = names.map(() => 0);
    for (const { device, gpus } of groups.values())
      used[device] = (used[device] as number) + Math.ceil(gpus - 1e-9);
    return used.every((n, k) => n <= (free[k] as number));
  };

  const counts = (p: number, d: number, rps: number, total: number): void => {
    const pools = pipelines[p] as Pool[];
    if (d === pools.length) {
      best = Math.max(best, total + rps);
      choose(p + 1, total + rps);
      return;
    }
    const pool = pools[d] as Pool;
    for (let count = 1; ; count++) {
      taken.push({ pool, count });
      const room = fits();
      if (room) counts(p, d + 1, Math.min(rps, count * pool.rps), total);
      taken.pop();
      if (!room) return;
    }
  };
  const choose = (from: number, total: number): void => {
    for (let p = from; p < pipelines.length; p++) counts(p, 0, Infinity, total);
  };
  choose(0, 0);
  if (pipelines.length === 0 || model === undefined) return 0;
  return best / model.weight;
}

function allPipelines(problem: PooledProblem): Pool[][] {
  const { profile, sloUs, sloMarginUs } = problem.models[0] as PooledProblem['models'][number];
  const names = Object.keys(problem.cluster.devices);
  const blocks = profile.blocks.length;
  const batches = Object.keys(profile.devices[names[0] as string]?.blockLatencyUs['1'] ?? {}).map(Number);
  const gbps = problem.cluster.networkGbps ?? 1;
  const found: Pool[][] = [];
  const cross = (cut: number) => (8 * (profile.blocks[cut - 1]?.cutBytes ?? 0)) / (gbps * 1000);
  const extend = (first: number, latency: number, pools: Pool[], batch: number): void => {
    if (first === blocks) {
      found.push(pools);
      return;
    }
    if (pools.length === problem.planner.maxPartitions) return;
    for (let device = 0; device < names.length; device++) {
      const name = names[device] as string;
      const perServer = problem.cluster.devices[name]?.perServer ?? 1;
      for (const [v, table] of Object.entries(profile.devices[name]?.blockLatencyUs ?? {}))
        for (let end = first + 1; end <= blocks; end++) {
          const us = (table[batch] ?? [])
            .slice(first, end)
            .reduce<number>((sum, x) => sum + Math.max(1, x ?? 0), 0);
          const inUs = first > 0 ? cross(first) : 0;
          const outUs = end < blocks ? cross(end) : 0;
          const all = latency + us + batch * outUs;
          if (all > sloUs - sloMarginUs) continue;
          const share = Number(v) * perServer;
          const rps = Math.min((1e6 * batch) / us, 1e6 / (inUs * share), 1e6 / (outUs * share));
          extend(end, all, [...pools, { device, virtual: Number(v), position: pools.length, rps }], batch);
        }
    }
  };
  for (const batch of batches) extend(0, 0, [], batch);
  return found;
}
