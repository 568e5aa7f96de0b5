import { largestOf, smallestOf } from '../collections/index.js';
import type { Asking } from './askings.js';
import { allowedLate, leastReplicas, type StageDemand } from './floors.js';
import { type FlowEdge, flowOf } from './flow.js';
import { senderOf, sentNs, windowNs } from './senders.js';
import { type Draw, type Trials, withOption } from './trials.js';

const ROUNDING = 1e-9;

/** More work than this, in visits of stages by routes, is not done; the bound is then 0. */
const MOST_WORK = 4_000_000;

/** This many estimates make the bound sharper at most, and fewer where they serve more requests than this. */
const MOST_ESTIMATES = 64;
const MOST_SERVED = 6_000_000;

/**
 * classBound gives a cost below which no configuration is feasible: the least over all choices of a class for
 * every stage. A choice bounds more than its stages alone. On its class, a stage takes at least its shortest
 * batch, so that the others have less of the SLO left; the requests of a route whose stages take longer than
 * the SLO together are all late, and may not be more than an objective allows. The remaining time bounds the
 * replicas of every stage (`leastReplicas`), and they may not be more than the cluster has.
 *
 * Then the Estimator is asked about the stages of the cheapest choice where requests begin: whether one with its
 * replicas, in batches of any size, meets the objectives beside stages that delay nothing. Where it does not, no
 * configuration does with this number of replicas on that class, as nothing behind such a stage changes it; the choices
 * are compared again, with one more. A number is only left when it and all smaller ones are excluded, as more replicas
 * can make a request later. Of other stages this would not be true: a stage before them that delays requests can let
 * them come together, in batches that are fewer and larger.
 *
 * These estimates are few, and no limit of a search counts them, so that the bound of a plan depends on its problem alone.
 * They are of service in order of arrival; without them, the bound holds whatever the scheduler.
 */
export function classBound(trials: Trials, asks: 'estimator' | 'nothing' = 'estimator'): number {
  const routes = routesOf(trials);
  const { stages } = trials.problem;
  const choices = stages.reduce((product, { candidates }) => product * candidates.length, 1);
  if (choices * routes.length * stages.length > MOST_WORK) return 0;
  const search = new ClassSearch(trials, routes);
  const { estimates } = trials;
  const served = trials.draws.reduce((sum, { requests }) => sum + requests, 0);
  const mostEstimates = estimates + Math.min(MOST_ESTIMATES, Math.floor(MOST_SERVED / Math.max(1, served)));
  let least = search.cheapest();
  if (asks === 'nothing') return least;
  while (least < Number.POSITIVE_INFINITY && search.raised(mostEstimates)) least = search.cheapest();
  trials.estimates = estimates;
  return least;
}

/** Route is a way through the pipeline that requests take. */
interface Route {
  /** The stages on it. */
  readonly isVisited: readonly boolean[];
  /** For each stage, the edges into it that are taken: where they begin, and the least time that they take. */
  readonly into: readonly (readonly { readonly from: number; readonly onWayNs: number }[])[];
  /** The number of requests that take it, in each draw and for each of its askings. */
  readonly counts: ReadonlyMap<Draw, readonly number[]>;
}

function routesOf(trials: Trials): Route[] {
  const { problem, draws, relaxed } = trials;
  const found = new Map<string, Omit<Route, 'counts'> & { readonly counts: Map<Draw, readonly number[]> }>();
  for (const draw of draws) {
    const { sample } = draw;
    const { into, visitors } = flowOf(problem.graph, sample);
    for (const { request, counts } of differing(into.flat(), draw)) {
      const key = into
        .flat()
        .map(({ isTaken }) => isTaken[request])
        .join('');
      const route = found.get(key) ?? {
        isVisited: visitors.map(({ isVisited }) => isVisited[request] === 1),
        into: into.map((edges) =>
          edges
            .filter(({ isTaken }) => isTaken[request] === 1)
            .map(({ from, edge }) => {
              const k = (problem.graph.edges[from] ?? []).indexOf(edge);
              return { from, onWayNs: relaxed.edgeNs[from]?.[k] as number };
            }),
        ),
        counts: new Map<Draw, readonly number[]>(),
      };
      route.counts.set(draw, counts);
      found.set(key, route);
    }
  }
  return [...found.values()];
}

/** differing groups requests by the edges that they take: the first of each group, with their number for each asking. */
function differing(
  edges: readonly FlowEdge[],
  { requests, askings }: Draw,
): { readonly request: number; readonly counts: readonly number[] }[] {
  let groups = new Int32Array(requests);
  let firsts = requests === 0 ? [] : [0];
  for (const { isTaken } of edges) {
    const places = new Map<number, number>();
    firsts = [];
    groups = groups.map((group, request) => {
      const key = 2 * group + (isTaken[request] as number);
      const known = places.get(key);
      if (known !== undefined) return known;
      places.set(key, firsts.length);
      return firsts.push(request) - 1;
    });
  }
  const counted = askings.map(({ isOne }) => {
    const counts = firsts.map(() => 0);
    groups.forEach((group, request) => {
      counts[group] = (counts[group] as number) + (isOne?.[request] ?? 1);
    });
    return counts;
  });
  return firsts.map((request, group) => ({ request, counts: counted.map((of) => of[group] as number) }));
}

class ClassSearch {
  private least = Number.POSITIVE_INFINITY;
  /** The classes that cost least. */
  private best = new Int32Array(0);
  /** For each stage and class, the replicas that it needs whatever the others are on. */
  private readonly alone: number[][];
  /** For each stage and class, its least time. */
  private readonly timesNs: readonly (readonly number[])[];
  /** The least cost of the stages from each on. */
  private readonly restCost: Float64Array;
  private readonly chosen: Int32Array;
  private readonly replicas = new Map<string, number>();

  constructor(
    private readonly trials: Trials,
    private readonly routes: readonly Route[],
  ) {
    const { stages } = trials.problem;
    this.chosen = new Int32Array(stages.length);
    this.restCost = new Float64Array(stages.length + 1);
    this.timesNs = stages.map(({ candidates }) =>
      candidates.map(({ batches, latencyNs }) => smallestOf(latencyNs.subarray(0, batches.at(-1)))),
    );
    this.alone = stages.map(({ candidates }, stage) =>
      candidates.map(({ batches }, candidate) => {
        const ofBatches = batches.map((batch) => trials.provedReplicas(stage, { candidate, batch }));
        return this.within(stage, candidate, smallestOf(ofBatches));
      }),
    );
  }

  /** cheapest finds the classes that cost least, and gives what they cost. */
  cheapest(): number {
    const { alone, restCost } = this;
    this.least = Number.POSITIVE_INFINITY;
    for (let i = alone.length - 1; i >= 0; i--) {
      const costs = (alone[i] ?? []).map((count, candidate) => this.priceOf(i, candidate, count));
      restCost[i] = (restCost[i + 1] as number) + smallestOf(costs);
    }
    this.below(0, 0);
    return this.least;
  }

  /** raised says whether a stage was found to need more replicas on the class that it has in the cheapest choice. */
  raised(mostEstimates: number): boolean {
    const { trials, best, alone } = this;
    for (const stage of trials.problem.graph.entries) {
      const candidate = best[stage] as number;
      const own = alone[stage] as number[];
      const replicas = own[candidate] as number;
      if (this.suffices(stage, { candidate, replicas }, mostEstimates)) continue;
      const isFixed = trials.problem.stages[stage]?.replicas !== undefined;
      own[candidate] = isFixed ? Number.POSITIVE_INFINITY : this.within(stage, candidate, replicas + 1);
      return true;
    }
    return false;
  }

  /** suffices says whether some batch size may do with a given number of replicas; where it is not known, it may. */
  private suffices(
    stage: number,
    { candidate, replicas }: { readonly candidate: number; readonly replicas: number },
    mostEstimates: number,
  ): boolean {
    const { trials } = this;
    return trials.candidate(stage, candidate).batches.some((batch) => {
      if (trials.provedReplicas(stage, { candidate, batch }) > replicas) return false;
      if (trials.estimates >= mostEstimates) return true;
      return trials.meets(withOption(trials.floor(), stage, { candidate, batch, replicas }));
    });
  }

  /** below tries all classes of the stages from one on, where those before it cost `spent` alone. */
  private below(stage: number, spent: number): void {
    if (!(spent + (this.restCost[stage] as number) < this.least)) return;
    const own = this.alone[stage];
    if (own === undefined) {
      const cost = this.cost();
      if (cost < this.least) [this.least, this.best] = [cost, this.chosen.slice()];
      return;
    }
    for (const [candidate, count] of own.entries()) {
      this.chosen[stage] = candidate;
      this.below(stage + 1, spent + this.priceOf(stage, candidate, count));
    }
  }

  private priceOf(stage: number, candidate: number, count: number): number {
    return count === Number.POSITIVE_INFINITY
      ? count
      : count * this.trials.candidate(stage, candidate).hourlyCost;
  }

  /** cost gives what the chosen classes cost at least; Infinity where no configuration with them is feasible. */
  private cost(): number {
    const { problem } = this.trials;
    const timesNs = this.timesNs.map((own, i) => own[this.chosen[i] as number] as number);
    const timed = this.routes.map((route) => ({ route, ...timesOf(route, problem.graph.order, timesNs) }));
    const needed = this.alone.map((own, i) => own[this.chosen[i] as number] as number);
    for (const [k, { objective }] of (this.trials.draws[0] as Draw).askings.entries()) {
      const inTime = timed.filter(({ wholeNs }) => wholeNs <= objective.sloNs);
      if (
        this.isMissed(
          k,
          timed.filter(({ wholeNs }) => wholeNs > objective.sloNs),
        )
      )
        return Number.POSITIVE_INFINITY;
      for (let i = 0; i < needed.length; i++) {
        const visiting = inTime.filter(({ route }) => route.isVisited[i]);
        const headNs = smallestOf(visiting.map((one) => one.headNs[i] as number));
        const tailNs = smallestOf(visiting.map((one) => one.tailNs[i] as number));
        if (visiting.length > 0)
          needed[i] = Math.max(needed[i] as number, this.replicasOf(i, { headNs, tailNs }, k));
      }
    }
    return this.isSendable() ? this.costOf(needed) : Number.POSITIVE_INFINITY;
  }

  /**
   * isSendable says whether the uplinks of the servers of each class have time for what the stages on it send of the
   * requests that are in time.
   */
  private isSendable(): boolean {
    const { problem, draws, isLinked } = this.trials;
    const { servers = {} } = problem;
    if (!isLinked) return true;
    const senders = problem.stages.map((_, stage) =>
      senderOf(problem, { stage, candidate: this.chosen[stage] as number }, this.chosen),
    );
    return Object.entries(servers).every(([name, count]) =>
      draws.every(({ askings }) =>
        askings.every(({ objective, demands, atNs }) => {
          const late = allowedLate(objective, atNs.length);
          const busyNs = senders.reduce(
            (sum, sender) =>
              sender.device === name ? sum + sentNs(sender, demands[sender.stage] as StageDemand, late) : sum,
            0,
          );
          return busyNs <= count * windowNs(atNs, objective) * (1 + ROUNDING);
        }),
      ),
    );
  }

  /** isMissed says whether more requests of an asking of a draw are surely late than its objective allows. */
  private isMissed(k: number, late: readonly { readonly route: Route }[]): boolean {
    return this.trials.draws.some((draw) => {
      const { objective, requests } = draw.askings[k] as Asking;
      const surely = late.reduce((sum, { route }) => sum + (route.counts.get(draw)?.[k] ?? 0), 0);
      return surely > allowedLate(objective, requests);
    });
  }

  /** replicasOf bounds the replicas of a stage where requests that are in time spend so long before and after it. */
  private replicasOf(
    stage: number,
    { headNs, tailNs }: Pick<StageDemand, 'headNs' | 'tailNs'>,
    k: number,
  ): number {
    const { draws } = this.trials;
    const candidate = this.chosen[stage] as number;
    const key = `${stage} ${candidate} ${headNs} ${tailNs} ${k}`;
    const known = this.replicas.get(key);
    if (known !== undefined) return known;
    const batch = this.trials.candidate(stage, candidate).batches.at(-1) as number;
    const capacity = this.trials.capacity(stage, { candidate, batch });
    const ofDraws = draws.map(({ askings }) => {
      const { demands, requests, objective } = askings[k] as Asking;
      const demand = { ...(demands[stage] as StageDemand), headNs, tailNs };
      return leastReplicas(demand, { capacity, requests, objective, byBatch: true });
    });
    const found = largestOf(ofDraws);
    this.replicas.set(key, found);
    return found;
  }

  private costOf(needed: readonly number[]): number {
    const { problem } = this.trials;
    const used = new Map<string, number>();
    let cost = 0;
    for (const [stage, least] of needed.entries()) {
      const { device, hourlyCost } = this.trials.candidate(stage, this.chosen[stage] as number);
      const count = this.within(stage, this.chosen[stage] as number, least);
      const inUse = (used.get(device) ?? 0) + count;
      if (!(inUse <= (problem.counts[device] ?? Number.MAX_VALUE))) return Number.POSITIVE_INFINITY;
      used.set(device, inUse);
      cost += count * hourlyCost;
    }
    return cost;
  }

  /** within gives the replicas that a stage has at least where it needs so many; Infinity where it cannot have them. */
  private within(stage: number, candidate: number, least: number): number {
    const { problem } = this.trials;
    const count = Math.max(problem.stages[stage]?.replicas ?? 1, least);
    const { device } = this.trials.candidate(stage, candidate);
    const most = Math.min(this.trials.mostReplicas(stage), problem.counts[device] ?? Number.MAX_VALUE);
    return count <= most ? count : Number.POSITIVE_INFINITY;
  }
}

/** timesOf gives how long requests of a route take before and after each stage at least, and as a whole. */
function timesOf(
  { isVisited, into }: Route,
  order: readonly number[],
  timesNs: readonly number[],
): { readonly headNs: readonly number[]; readonly tailNs: readonly number[]; readonly wholeNs: number } {
  const headNs = timesNs.map(() => 0);
  const tailNs = timesNs.map(() => 0);
  let wholeNs = 0;
  for (const i of order) {
    if (!isVisited[i]) continue;
    for (const { from, onWayNs } of into[i] ?? [])
      headNs[i] = Math.max(
        headNs[i] as number,
        (headNs[from] as number) + (timesNs[from] as number) + onWayNs,
      );
    wholeNs = Math.max(wholeNs, (headNs[i] as number) + (timesNs[i] as number));
  }
  for (const i of order.toReversed())
    for (const { from, onWayNs } of into[i] ?? [])
      tailNs[from] = Math.max(
        tailNs[from] as number,
        onWayNs + (timesNs[i] as number) + (tailNs[i] as number),
      );
  return { headNs, tailNs, wholeNs };
}
