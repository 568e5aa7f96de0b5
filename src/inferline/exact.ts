import type { Configuration } from './problem.js';
import { isCheaper, type StageOption, setOption, type Trials } from './trials.js';

/** ExactSearch says what a search over all configurations found, and what it proved. */
export interface ExactSearch {
  /** The cheapest feasible configuration, where one is cheaper than the one that the search began with. */
  readonly configuration?: Configuration;
  /** No feasible configuration costs less; Infinity where it is proved that none is feasible. */
  readonly lowerBound: number;
  /** Whether the search came to its end. */
  readonly finished: boolean;
}

/**
 * searchExactly finds the cheapest feasible configuration by branch and bound. Stages are set one after another in
 * topological order, the cheapest options first, while the stages that are not yet set stay at their floors. What comes
 * behind a stage changes nothing of it, so an estimate is exact for the stages that are set and too good for the others:
 * where it misses an objective, every completion does. Nothing is taken from how attainment depends on replicas or
 * batches, as queues that form batches answer some requests later when they get a replica more.
 *
 * With `first`, it ends with the first feasible configuration.
 *
 * The bound on cost is what is set so far, and the cheapest option of each other stage with its proved least replicas.
 */
export function searchExactly(
  trials: Trials,
  { incumbent, first = false }: { readonly incumbent?: Configuration; readonly first?: boolean } = {},
): ExactSearch {
  const mostCost = incumbent === undefined ? Number.POSITIVE_INFINITY : trials.hourlyCost(incumbent);
  const search = new Search(trials, { mostCost, first });
  search.below(0, 0);
  const { best, stopped } = search;
  const lowerBound = Math.min(search.open, search.bestCost);
  return { ...(best === undefined ? {} : { configuration: best }), lowerBound, finished: !stopped };
}

/** costBound gives a cost below which no configuration is feasible, without asking the Estimator. */
export function costBound(trials: Trials): number {
  return trials.problem.stages.reduce(
    (sum, _, stage) => sum + (sortedOptions(trials, stage)[0]?.firstCost ?? Number.POSITIVE_INFINITY),
    0,
  );
}

/** Option is a class and a batch of a stage, with the range of its replicas. */
interface Option {
  readonly candidate: number;
  readonly batch: number;
  readonly least: number;
  readonly most: number;
  readonly hourlyCost: number;
  /** The cost with the least replicas. */
  readonly firstCost: number;
}

function sortedOptions(trials: Trials, stage: number): Option[] {
  const { problem } = trials;
  const fixed = problem.stages[stage]?.replicas;
  return (problem.stages[stage]?.candidates ?? [])
    .flatMap(({ batches, device, hourlyCost }, candidate) =>
      batches.map((batch): Option => {
        const least = Math.max(fixed ?? 1, trials.provedReplicas(stage, { candidate, batch }));
        const most = Math.min(trials.mostReplicas(stage), problem.counts[device] ?? Number.POSITIVE_INFINITY);
        return { candidate, batch, least, most, hourlyCost, firstCost: least * hourlyCost };
      }),
    )
    .filter(({ least, most }) => least <= most)
    .sort((a, b) => a.firstCost - b.firstCost);
}

class Search {
  best: Configuration | undefined;
  stopped = false;
  /** The least bound of what was left open when the search was stopped. */
  open = Number.POSITIVE_INFINITY;
  private readonly order: readonly number[];
  private readonly options: readonly (readonly Option[])[];
  /** The least cost of the stages from each place of the order on. */
  private readonly restCost: Float64Array;
  private readonly current: Configuration;
  bestCost: number;
  private readonly first: boolean;

  constructor(
    private readonly trials: Trials,
    { mostCost, first }: { readonly mostCost: number; readonly first: boolean },
  ) {
    this.bestCost = mostCost;
    this.first = first;
    const { graph, stages } = trials.problem;
    this.order = graph.order;
    this.options = stages.map((_, stage) => sortedOptions(trials, stage));
    this.restCost = new Float64Array(this.order.length + 1);
    for (let at = this.order.length - 1; at >= 0; at--) {
      const first = this.options[this.order[at] as number]?.[0]?.firstCost ?? Number.POSITIVE_INFINITY;
      this.restCost[at] = first + (this.restCost[at + 1] as number);
    }
    this.current = trials.floor();
  }

  /** below searches all settings of the stages from one place of the order on, where those before it cost `spent`. */
  below(at: number, spent: number): void {
    const stage = this.order[at];
    if (stage === undefined) {
      this.best = {
        candidate: this.current.candidate.slice(),
        batch: this.current.batch.slice(),
        replicas: this.current.replicas.slice(),
      };
      this.bestCost = spent;
      if (this.first) this.stopped = true;
      return;
    }
    const floor = { candidate: this.trials.problem.stages[stage]?.candidates.length as number, batch: 1 };
    for (const option of this.cheapestFirst(stage)) {
      const cost = spent + option.hourlyCost;
      const bound = cost + (this.restCost[at + 1] as number);
      if (!isCheaper(bound, this.bestCost)) break;
      if (this.stopped || this.trials.stopped) {
        this.stopped = true;
        this.open = Math.min(this.open, bound);
        break;
      }
      if (option.replicas > this.free(stage, option)) continue;
      setOption(this.current, stage, option);
      if (this.trials.meetsAnew(this.current)) this.below(at + 1, cost);
    }
    setOption(this.current, stage, { ...floor, replicas: Math.max(1, this.trials.requests) });
  }

  private free(stage: number, { candidate }: StageOption): number {
    return this.trials.free(this.current, stage, this.trials.candidate(stage, candidate).device);
  }

  /**
   * mayDo is false where an option misses the objectives with any number of replicas: even a replica for each request is
   * too slow. It is asked only while no configuration is known, where no cost ends the list of replicas.
   */
  private mayDo(stage: number, { candidate, batch }: Option): boolean {
    const latencyNs = this.trials.candidate(stage, candidate).latencyNs.subarray(0, batch);
    // Where a larger batch is faster, requests that wait for others may be answered sooner.
    if (this.bestCost < Number.POSITIVE_INFINITY || latencyNs.some((ns, i) => ns < (latencyNs[i - 1] ?? 0)))
      return true;
    setOption(this.current, stage, { candidate, batch, replicas: Math.max(1, this.trials.requests) });
    return this.trials.meetsAnew(this.current);
  }

  /** cheapestFirst merges the replicas of all options of a stage by their cost. */
  private *cheapestFirst(stage: number): Generator<StageOption & { readonly hourlyCost: number }> {
    const options = (this.options[stage] ?? []).filter((option) => this.mayDo(stage, option));
    const left = options.map((option) => ({ ...option, replicas: option.least }));
    for (;;) {
      let next: (typeof left)[number] | undefined;
      for (const option of left) {
        if (option.replicas > option.most) continue;
        if (next === undefined || option.replicas * option.hourlyCost < next.replicas * next.hourlyCost)
          next = option;
      }
      if (next === undefined) return;
      const { candidate, batch, replicas, hourlyCost } = next;
      yield { candidate, batch, replicas, hourlyCost: replicas * hourlyCost };
      next.replicas++;
    }
  }
}
