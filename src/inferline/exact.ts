import { ClassCounts } from './class-counts.js';
import type { Configuration } from './problem.js';
import { isCheaper, type StageOption, setOption, type Trials } from './trials.js';

/** ExactSearch says what a search over all configurations found, and what it proved. */
export interface ExactSearch {
  /** The cheapest feasible configuration, where one is cheaper than the one that the search began with. */
  readonly configuration?: Configuration;
  /** No feasible configuration costs less; Infinity where it is proved that none is feasible. */
  readonly lowerBound: number;
  /** finished says whether the search came to its end. */
  readonly finished: boolean;
}

/**
 * searchExactly finds the cheapest feasible configuration by branch and bound. Stages are set one after
 * another in topological order, the cheapest options first, while the stages that are not yet set stay at
 * their floors. The stages behind a stage change nothing of it, so an estimate is exact for the stages that
 * are set and too good for the others: where it misses an objective, every completion does. Nothing is taken
 * from how attainment depends on replicas or batches, as queues that form batches answer some requests later
 * when they get a replica more.
 *
 * With `first`, it ends with the first feasible configuration.
 *
 * With `gap`, what costs less than the best known by no more than that is not looked into, and the bound says so.
 *
 * The bound on cost is what is set so far, and the cheapest option of each other stage with its proved least replicas.
 * Nothing is tried that leaves the other stages too few devices for these.
 */
export function searchExactly(
  trials: Trials,
  {
    incumbent,
    first = false,
    gap = 0,
  }: { readonly incumbent?: Configuration; readonly first?: boolean; readonly gap?: number } = {},
): ExactSearch {
  const mostCost = incumbent === undefined ? Number.POSITIVE_INFINITY : trials.hourlyCost(incumbent);
  const search = new Search(trials, { mostCost, first, gap });
  if (search.fitting) search.below();
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

/** This many numbers of replicas are tried without asking how many are ever busy. */
const FEW = 4;

class Search {
  best: Configuration | undefined;
  stopped = false;
  /** The least bound of what was left open, as the search was stopped or could have gained too little there. */
  open = Number.POSITIVE_INFINITY;
  private readonly order: readonly number[];
  private readonly options: readonly (readonly Option[])[];
  /** The least cost of the stages from each place of the order on. */
  private readonly restCost: Float64Array;
  private readonly current: Configuration;
  bestCost: number;
  private readonly first: boolean;
  private readonly gap: number;
  private readonly counts: ClassCounts;

  constructor(
    private readonly trials: Trials,
    { mostCost, first, gap }: { readonly mostCost: number; readonly first: boolean; readonly gap: number },
  ) {
    this.bestCost = mostCost;
    this.first = first;
    this.gap = gap;
    const { graph, stages } = trials.problem;
    this.order = graph.order;
    this.options = stages.map((_, stage) => sortedOptions(trials, stage));
    this.restCost = new Float64Array(this.order.length + 1);
    for (let at = this.order.length - 1; at >= 0; at--) {
      const first = this.options[this.order[at] as number]?.[0]?.firstCost ?? Number.POSITIVE_INFINITY;
      this.restCost[at] = first + (this.restCost[at + 1] as number);
    }
    this.current = trials.floor();
    this.counts = new ClassCounts(trials, this.order, (stage, candidate) =>
      (this.options[stage] ?? []).reduce(
        (fewest, option) => (option.candidate === candidate ? Math.min(fewest, option.least) : fewest),
        Number.POSITIVE_INFINITY,
      ),
    );
  }

  /** fitting says whether the classes have devices enough for all stages. */
  get fitting(): boolean {
    return this.counts.fits(0, this.counts.free);
  }

  /**
   * below searches all settings of the stages from one place of the order on, where those before it cost `spent` and
   * leave a given number of devices of each class.
   */
  below(at = 0, spent = 0, left = this.counts.free): void {
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
      if (!isCheaper(bound * (1 + this.gap), this.bestCost)) {
        this.open = Math.min(this.open, bound);
        break;
      }
      if (this.stopped || this.trials.stopped) {
        this.stopped = true;
        this.open = Math.min(this.open, bound);
        break;
      }
      const after = this.leftBy(stage, option, left);
      if (after === undefined || !this.counts.fits(at + 1, after)) continue;
      setOption(this.current, stage, option);
      if (this.trials.meetsAnew(this.current)) this.below(at + 1, cost, after);
    }
    setOption(this.current, stage, { ...floor, replicas: Math.max(1, this.trials.requests) });
  }

  /** leftBy counts the devices that an option leaves of each class; undefined where there are too few for it. */
  private leftBy(
    stage: number,
    { candidate, replicas }: StageOption,
    left: readonly number[],
  ): readonly number[] | undefined {
    const own = this.counts.classOf(this.trials.candidate(stage, candidate).device);
    if (own < 0) return left;
    const count = (left[own] as number) - replicas;
    return count < 0 ? undefined : left.with(own, count);
  }

  /**
   * mayDo is false where an option misses the objectives with any number of replicas: even where every request is served
   * at once and alone, it is too slow. Only so does a stage delay no request more than with any number of replicas: with a
   * replica for each, requests that come together are served together, where fewer replicas may make smaller batches
   * that take less time.
   */
  private mayDo(stage: number, { candidate, batch }: Option): boolean {
    const latencyNs = this.trials.candidate(stage, candidate).latencyNs.subarray(0, batch);
    // Where a larger batch is faster, requests that wait for others may be answered sooner.
    if (latencyNs.some((ns) => ns < (latencyNs[0] as number))) return true;
    return this.trials.meets(this.unlimited(stage, { candidate, batch: 1 }));
  }

  /**
   * withinUse lowers the most replicas of an option to as many as are busy at once where there is one for each request.
   * With that many, no request waits either, so that more of them change nothing.
   */
  private withinUse(stage: number, option: Option): Option {
    if (option.most <= option.least + FEW) return option;
    const mostBusy = this.trials.mostBusy(this.unlimited(stage, option), stage) ?? option.most;
    return { ...option, most: Math.min(option.most, Math.max(option.least, mostBusy)) };
  }

  /** unlimited sets a stage to an option with a replica for each request. */
  private unlimited(stage: number, { candidate, batch }: Omit<StageOption, 'replicas'>): Configuration {
    setOption(this.current, stage, { candidate, batch, replicas: Math.max(1, this.trials.requests) });
    return this.current;
  }

  /** cheapestFirst merges the replicas of all options of a stage by their cost. */
  private *cheapestFirst(stage: number): Generator<StageOption & { readonly hourlyCost: number }> {
    const own = this.options[stage] ?? [];
    // Where a configuration is known, its cost ends the list.
    const options =
      this.bestCost < Number.POSITIVE_INFINITY
        ? own
        : own.filter((one) => this.mayDo(stage, one)).map((one) => this.withinUse(stage, one));
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
