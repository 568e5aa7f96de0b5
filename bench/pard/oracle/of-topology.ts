import type { Edge, Pool, Topology } from '../../../src/serving/index.js';
import type { VerdictOf } from '../../../src/simulator/index.js';
import {
  alwaysWorkers,
  type OfflineEdge,
  type OfflineProblem,
  type OfflineRoute,
  type WorkerSteps,
} from './problem.js';

/** OfflineLoad is what came to a topology, and how its world differs from its plan. */
export interface OfflineLoad {
  /** The arrivals of the one application, ascending. */
  readonly arrivalNs: Float64Array;
  /** What the models of stages say of requests; nothing where absent, as in a simulation. */
  readonly verdict?: VerdictOf | undefined;
  /** Executions take this multiple of the planned time; 1 where absent. */
  readonly slow?: number;
  /** The workers of each pool over time; where absent, all its devices all the time, those on standby too. */
  readonly workers?: readonly WorkerSteps[];
}

/**
 * offlineProblem makes the offline problem of a topology of one application whose requests have one row each. A device
 * of several pools counts in each of them.
 * @throws RangeError where requests could be served by one of several pipelines
 */
export function offlineProblem(topology: Topology, load: OfflineLoad): OfflineProblem {
  const { models, pools, devices } = topology;
  const { arrivalNs, verdict = () => 0, slow = 1 } = load;
  const [model] = models;
  if (model === undefined || models.length !== 1 || model.entries.length !== 1)
    throw new RangeError('Cannot bound what can be in time: only plans of one application and pipeline are');
  const asks = pools.map(({ edges }) => edges.some(({ when }) => when.kind !== 'always'));
  const found = new Map<string, number>();
  const routes: OfflineRoute[] = [];
  const routeOf = Int32Array.from(arrivalNs, (_, order) => {
    const verdicts = pools.map((_pool, stage) => (asks[stage] ? verdict(order, 0, stage) : 0));
    const key = verdicts.join();
    const known = found.get(key);
    if (known !== undefined) return known;
    found.set(key, routes.length);
    return routes.push(routeOfVerdicts(pools, verdicts)) - 1;
  });
  return {
    stages: pools.map(({ latencyNs, devices: own }, pool) => ({
      latencyNs: latencyNs.map((ns) => (slow === 1 ? ns : Math.max(1, Math.round(slow * ns)))),
      workers: load.workers?.[pool] ?? alwaysWorkers(own.filter((device) => devices[device]).length),
    })),
    routes,
    routeOf,
    arrivalNs,
    deadlineNs: arrivalNs.map((ns) => ns + model.sloNs),
  };
}

/** routeOfVerdicts follows the edges that are taken by what models say, from all stages that no edge leads to. */
function routeOfVerdicts(pools: readonly Pool[], verdicts: readonly number[]): OfflineRoute {
  const led = new Set(pools.flatMap(({ edges }) => edges.map(({ to }) => to)));
  const reached = new Set(pools.flatMap((_, stage) => (led.has(stage) ? [] : [stage])));
  const edges: OfflineEdge[] = [];
  pools.forEach((pool, stage) => {
    if (!reached.has(stage)) return;
    for (const edge of pool.edges) {
      if (!isTaken(pool, edge, verdicts[stage]!)) continue;
      reached.add(edge.to);
      edges.push({ from: stage, to: edge.to, leastNs: Math.min(...edge.transferNs) });
    }
  });
  return { stages: [...reached].sort((a, b) => a - b), edges };
}

function isTaken({ edges }: Pool, edge: Edge, verdict: number): boolean {
  switch (edge.when.kind) {
    case 'always':
      return true;
    case 'unsure':
      return verdict < edge.when.below;
    case 'verdict': {
      const bit = edges.filter(({ when }) => when.kind === 'verdict').indexOf(edge);
      return ((verdict >> bit) & 1) === 1;
    }
  }
}
