import { itemAt, largestOf, smallestOf } from '../collections/index.js';
import { type Asking, askingsOf } from './askings.js';
import { ownLatencies } from './attainments.js';
import {
  allowedLate,
  demandsOf,
  leastReplicas,
  type Relaxed,
  ReplicaCapacity,
  type StageDemand,
  withFloors,
} from './floors.js';
import { keepingUp } from './keeping-up.js';
import type {
  Configuration,
  PipelineEstimator,
  PlanningProblem,
  Sample,
  StageCandidate,
  TailObjective,
} from './problem.js';
import { isLinked, leastSenders, senderOf, sendingReplicas, sendingUp } from './senders.js';

/** PlannerInput is what a plan is made from. */
export interface PlannerInput {
  readonly problem: PlanningProblem;
  /** Draws of the load, at least one. Every objective is to be met on each. */
  readonly samples: readonly Sample[];
  /** The Estimator. It is asked for a problem that has one more candidate for each stage. */
  readonly estimatorOf: (problem: PlanningProblem, sample: Sample) => PipelineEstimator;
  /** The planner asks it between estimates, and ends with what it has where the answer is true. */
  readonly stop?: (estimates: number) => boolean;
  /**
   * Serves a draw with the links of servers, and gives the latency of each request. Where batches may wait for links, what
   * the Estimator finds is judged by it; where it is absent, by the Estimator alone.
   */
  readonly serve?: (configuration: Configuration, draw: number) => Float64Array;
  /**
   * tellsSlo says whether an answer that there is no plan names an SLO that can be met, which takes as much
   * work again; true if absent.
   */
  readonly tellsSlo?: boolean;
  /** The number of estimates after which the planner ends with what it has. */
  readonly mostEstimates?: number;
  /** An exact search ends once its plan is proved to cost at most this share more than any; 0 where absent. */
  readonly gap?: number;
}

/** StageOption is what may be set for one stage. */
export interface StageOption {
  readonly candidate: number;
  readonly batch: number;
  readonly replicas: number;
}

/** PlanningAction is one step of a search, as `--explain` tells it. */
export interface PlanningAction {
  readonly action: 'remove-replicas' | 'add-replicas' | 'change-batch' | 'change-class';
  readonly stage: number;
  readonly from: StageOption;
  readonly to: StageOption;
  /** The cost of the whole configuration afterwards. */
  readonly hourlyCost: number;
}

const ROUNDING = 1e-9;

/** isCheaper compares costs that were summed in any order. */
export function isCheaper(one: number, other: number): boolean {
  if (other === Number.POSITIVE_INFINITY) return one < other;
  return one < other - ROUNDING * Math.max(1, Math.abs(other));
}

/** Draw is one sample with its Estimator, and with what it asks of each stage. */
export interface Draw {
  readonly sample: Sample;
  readonly requests: number;
  readonly estimator: PipelineEstimator;
  readonly demands: readonly StageDemand[];
  /** The sets of requests by which the objectives bound what serves the sample; alike in all draws. */
  readonly askings: readonly Asking[];
}

/** Trials asks the Estimator about configurations of one problem, counts its answers, and knows what bounds them. */
export class Trials {
  readonly problem: PlanningProblem;
  readonly relaxed: Relaxed;
  /** The number of requests in the largest sample. */
  readonly requests: number;
  /** The number of configurations that were estimated. */
  estimates = 0;
  /** The draw that missed an objective last is first: it is likely to miss the next one, too. */
  readonly draws: Draw[];
  private readonly known = new Map<string, boolean>();
  private readonly least = new Map<string, number>();
  private readonly proved = new Map<string, number>();
  private readonly capacities = new Map<string, ReplicaCapacity>();
  private readonly alone = new Map<string, number | undefined>();
  private readonly senders = new Map<string, number>();
  /** isLinked says whether batches may wait for links, of which the Estimator knows nothing. */
  readonly isLinked: boolean;

  constructor(private readonly input: PlannerInput) {
    this.problem = input.problem;
    const { problem, serve } = input;
    this.isLinked = (serve !== undefined || problem.stretch !== undefined) && isLinked(problem);
    this.relaxed = withFloors(input.problem);
    this.draws = input.samples.map((sample) => {
      const estimator = input.estimatorOf(this.relaxed.problem, sample);
      const demands = demandsOf(this.relaxed, sample);
      const askings = askingsOf(this.relaxed, sample, demands);
      return { sample, requests: sample.atNs.length, estimator, demands, askings };
    });
    this.requests = largestOf(this.draws.map(({ requests }) => requests));
  }

  get stopped(): boolean {
    return (
      this.estimates >= (this.input.mostEstimates ?? Number.POSITIVE_INFINITY) ||
      this.input.stop?.(this.estimates) === true
    );
  }

  /** attainments gives the share of requests within each objective's SLO, in the draw where it is least. */
  attainments(configuration: Configuration): number[] {
    this.estimates++;
    const ofDraws = this.draws.map(({ estimator }) => estimator.estimate(configuration).attainments);
    return this.problem.objectives.map((_, k) => smallestOf(ofDraws.map((shares) => shares[k] as number)));
  }

  /** leastSloNs gives the shortest SLO that every draw meets at an objective's attainment. */
  leastSloNs(configuration: Configuration, objective: TailObjective): number {
    this.estimates++;
    return this.tailNs(configuration, objective);
  }

  /** usedShare is the largest share of an objective's SLO that its requests take. */
  usedShare(configuration: Configuration): number {
    this.estimates++;
    const shares = this.problem.objectives.map(
      (objective) => this.tailNs(configuration, objective) / objective.sloNs,
    );
    return largestOf(shares);
  }

  private tailNs(configuration: Configuration, objective: TailObjective): number {
    const ofDraws = this.draws.map(({ estimator, sample }) => {
      const latencyNs = ownLatencies(
        estimator.estimate(configuration).latencyNs,
        sample,
        objective.application,
      );
      const rank = latencyNs.length - allowedLate(objective, latencyNs.length);
      return rank === 0 ? 0 : (latencyNs.toSorted()[rank - 1] as number);
    });
    return largestOf(ofDraws);
  }

  /** meets says whether every draw is served within all objectives. It remembers its answers. */
  meets(configuration: Configuration): boolean {
    const key = `${configuration.candidate} ${configuration.batch} ${configuration.replicas}`;
    const known = this.known.get(key);
    if (known !== undefined) return known;
    const met = this.meetsAnew(configuration);
    this.known.set(key, met);
    return met;
  }

  /** meetsAnew is `meets` without a memory, for a search that asks about nothing twice. */
  meetsAnew(configuration: Configuration): boolean {
    this.estimates++;
    const { objectives } = this.problem;
    const missing = this.draws.findIndex(({ estimator }) =>
      estimator
        .estimate(configuration)
        .attainments.some((share, k) => share < (objectives[k]?.attainment as number)),
    );
    const [draw] = this.draws.splice(Math.max(0, missing), missing > 0 ? 1 : 0);
    if (draw !== undefined) this.draws.unshift(draw);
    return missing < 0;
  }

  /**
   * mostBusy says how many replicas of a stage are busy at once, at most, where it has one for each request; undefined
   * where the Estimator does not know.
   */
  mostBusy(configuration: Configuration, stage: number): number | undefined {
    this.estimates++;
    const ofDraws = this.draws.map(({ estimator }) => estimator.estimate(configuration).mostBusy?.(stage));
    const known = ofDraws.filter((busy) => busy !== undefined);
    return known.length === ofDraws.length ? largestOf(known) : undefined;
  }

  candidate(stage: number, candidate: number): StageCandidate {
    return this.problem.stages[stage]?.candidates[candidate] as StageCandidate;
  }

  /**
   * leastReplicas is a number of replicas below which no configuration with this batch on this candidate is feasible:
   * the sample asks for so many, or the mean rate of the load (`keepingUp`). The greedy search tries first what may
   * save most by it; by `provedReplicas` it ends dearer on one of the examples.
   */
  leastReplicas(stage: number, option: Omit<StageOption, 'replicas'>): number {
    const key = `${stage} ${option.candidate} ${option.batch}`;
    const known = this.least.get(key) ?? this.replicasOf(stage, option, false);
    this.least.set(key, known);
    return known;
  }

  /** provedReplicas is such a number too, and no smaller. */
  provedReplicas(stage: number, option: Omit<StageOption, 'replicas'>): number {
    const key = `${stage} ${option.candidate} ${option.batch}`;
    const known = this.proved.get(key) ?? this.replicasOf(stage, option, true);
    this.proved.set(key, known);
    return known;
  }

  private replicasOf(
    stage: number,
    { candidate, batch }: Omit<StageOption, 'replicas'>,
    byBatch: boolean,
  ): number {
    const capacity = this.capacity(stage, { candidate, batch });
    const ofDraws = this.draws.flatMap(({ askings }) =>
      askings.map(({ demands, objective, requests }) =>
        leastReplicas(itemAt(demands, stage), { capacity, objective, requests, byBatch }),
      ),
    );
    const sending = this.sending(stage, candidate);
    return Math.max(this.keepingUp(stage, { candidate, batch }), sending, largestOf(ofDraws));
  }

  private keepingUp(stage: number, { candidate, batch }: Omit<StageOption, 'replicas'>): number {
    return keepingUp(this.problem, { stage, candidate: this.candidate(stage, candidate), batch });
  }

  /** sending is the number of replicas that a stage needs on a class, as each sends over the uplink of one server. */
  private sending(stage: number, candidate: number): number {
    if (!this.isLinked) return 1;
    const { problem } = this;
    const key = `${stage} ${candidate}`;
    const known = this.senders.get(key);
    if (known !== undefined) return known;
    const sender = senderOf(problem, { stage, candidate });
    const isAlways = (problem.graph.edges[stage] ?? []).map(({ bit }) => bit === undefined);
    const ofDraws = this.draws.flatMap(({ askings }) =>
      askings.map(({ demands, atNs, objective }) =>
        leastSenders(sender, itemAt(demands, stage), { atNs, objective, isAlways }),
      ),
    );
    const least = Math.max(sendingUp(problem, sender), largestOf(ofDraws));
    const found = sendingReplicas(problem, sender.device, least);
    this.senders.set(key, found);
    return found;
  }

  /** capacity bounds what a replica can serve with batches of this size at most. */
  capacity(stage: number, { candidate, batch }: Omit<StageOption, 'replicas'>): ReplicaCapacity {
    const key = `${stage} ${candidate} ${batch}`;
    const latencyNs = this.candidate(stage, candidate).latencyNs.subarray(0, batch);
    const capacity = this.capacities.get(key) ?? new ReplicaCapacity(latencyNs, this.visits(stage));
    this.capacities.set(key, capacity);
    return capacity;
  }

  /**
   * aloneReplicas is how many replicas a stage needs when every other is at its floor: the fewest that were found by
   * halving. Beside stages that delay requests it hardly ever needs fewer.
   */
  aloneReplicas(stage: number, { candidate, batch }: Omit<StageOption, 'replicas'>): number | undefined {
    const key = `${stage} ${candidate} ${batch}`;
    if (this.alone.has(key)) return this.alone.get(key);
    const floor = this.floor();
    const count = this.problem.counts[this.candidate(stage, candidate).device] ?? Number.POSITIVE_INFINITY;
    const found = fewest(
      {
        least: this.leastReplicas(stage, { candidate, batch }),
        most: Math.min(count, this.mostReplicas(stage)),
        fixed: this.problem.stages[stage]?.replicas,
      },
      (replicas) => this.meets(withOption(floor, stage, { candidate, batch, replicas })),
    );
    this.alone.set(key, found);
    return found;
  }

  /**
   * mostReplicas is the number beyond which replicas of a stage only idle, in the sample and at its mean rate, or the
   * number that the spec fixes.
   */
  mostReplicas(stage: number): number {
    return this.problem.stages[stage]?.replicas ?? Math.max(this.visits(stage), this.mostKeepingUp(stage));
  }

  private mostKeepingUp(stage: number): number {
    const counts = this.problem.stages[stage]?.candidates.flatMap(({ batches }, candidate) =>
      batches.map((batch) => this.keepingUp(stage, { candidate, batch })),
    );
    return Math.max(1, largestOf(counts ?? []));
  }

  /** visits is the number of requests that visit a stage, in the draw where that is most. */
  private visits(stage: number): number {
    return largestOf(this.draws.map(({ demands }) => demands[stage]?.visits as number));
  }

  /** free is the number of replicas that a class has for a stage, when the others have theirs. */
  free(configuration: Configuration, stage: number, device: string): number {
    let free = this.problem.counts[device] ?? Number.POSITIVE_INFINITY;
    configuration.candidate.forEach((candidate, i) => {
      if (i === stage || this.candidate(i, candidate)?.device !== device) return;
      free -= configuration.replicas[i] as number;
    });
    return free;
  }

  /** fits says whether the classes have the devices that a configuration uses, replicas that the spec fixes included. */
  fits({ candidate, replicas }: Configuration): boolean {
    const left = new Map(Object.entries(this.problem.counts));
    candidate.forEach((one, i) => {
      const { device } = this.candidate(i, one);
      const count = left.get(device);
      if (count !== undefined) left.set(device, count - (replicas[i] as number));
    });
    return [...left.values()].every((count) => count >= 0);
  }

  /** floor is the configuration in which every stage is at its floor: it delays no request more than any other does. */
  floor(): Configuration {
    const { stages } = this.problem;
    return {
      candidate: Int32Array.from(stages, ({ candidates }) => candidates.length),
      batch: new Int32Array(stages.length).fill(1),
      replicas: new Int32Array(stages.length).fill(Math.max(1, this.requests)),
    };
  }

  hourlyCost({ candidate, replicas }: Configuration): number {
    return candidate.reduce(
      (sum, c, i) => sum + this.candidate(i, c).hourlyCost * (replicas[i] as number),
      0,
    );
  }
}

export function optionOf({ candidate, batch, replicas }: Configuration, stage: number): StageOption {
  return {
    candidate: candidate[stage] as number,
    batch: batch[stage] as number,
    replicas: replicas[stage] as number,
  };
}

/** withOption copies a configuration with one stage set otherwise. */
export function withOption(from: Configuration, stage: number, option: StageOption): Configuration {
  const copy = {
    candidate: from.candidate.slice(),
    batch: from.batch.slice(),
    replicas: from.replicas.slice(),
  };
  setOption(copy, stage, option);
  return copy;
}

/** setOption sets one stage of a configuration that its caller owns. */
export function setOption(
  to: Configuration,
  stage: number,
  { candidate, batch, replicas }: StageOption,
): void {
  to.candidate[stage] = candidate;
  to.batch[stage] = batch;
  to.replicas[stage] = replicas;
}

/**
 * fewest finds the smallest number that is feasible, where every larger one is: by steps that double from the least,
 * and then by halves.
 */
export function fewest(
  {
    least,
    most,
    fixed,
  }: { readonly least: number; readonly most: number; readonly fixed?: number | undefined },
  isFeasible: (replicas: number) => boolean,
): number | undefined {
  if (fixed !== undefined) return least <= fixed && fixed <= most && isFeasible(fixed) ? fixed : undefined;
  if (least > most) return undefined;
  let [missed, met] = [least - 1, least];
  while (!isFeasible(met)) {
    if (met === most) return undefined;
    [missed, met] = [met, Math.min(most, 2 * met - missed + 1)];
  }
  while (met - missed > 1) {
    const middle = (met + missed) >> 1;
    if (isFeasible(middle)) met = middle;
    else missed = middle;
  }
  return met;
}
