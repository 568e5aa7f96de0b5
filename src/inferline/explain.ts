import { itemAt, smallestOf } from '../collections/index.js';
import { attainmentsOf } from './attainments.js';
import { keepingUp, replicaRps } from './keeping-up.js';
import type { Configuration } from './problem.js';
import {
  fewest,
  optionOf,
  type PlannerInput,
  type PlanningAction,
  type StageOption,
  Trials,
  withOption,
} from './trials.js';

/** PipelineExplanation says how a plan was come to, and what changing one stage of it would bring. */
export interface PipelineExplanation {
  /** The steps of the search, from a feasible configuration on. An exact search may have found a cheaper one. */
  readonly path: readonly NamedAction[];
  readonly stages: readonly StageExplanation[];
}

/** NamedAction is a step of the search with its stage and classes by name. */
export interface NamedAction {
  readonly action: PlanningAction['action'];
  readonly stage: string;
  readonly from: NamedOption;
  readonly to: NamedOption;
  /** The cost of the whole pipeline afterwards. */
  readonly hourlyCost: number;
}

/** NamedOption is how a stage is served. */
export interface NamedOption {
  readonly device: string;
  readonly batch: number;
  readonly replicas: number;
}

/** StageExplanation says what becomes of the sample if one stage alone is changed. */
export interface StageExplanation {
  readonly stage: string;
  /** The attainment with a replica less, by objective; absent where there is but one. */
  readonly oneLess?: readonly number[];
  /** The mean rate of requests that a replica less serves at most, where the load's is higher and so asks for all of them. */
  readonly oneLessRps?: number;
  /** The attainment with a replica more, by objective. */
  readonly oneMore: readonly number[];
  /** The cheapest way to serve the stage on each class, all else as it is; absent options meet no objective. */
  readonly classes: readonly {
    readonly device: string;
    readonly option?: NamedOption;
    readonly extraCost?: number;
  }[];
}

/**
 * explainPipeline says what each change of one stage of a configuration would bring: by the Estimator, and where batches may
 * wait for links, by serving the sample with these. Then an option of another class holds over idle links too.
 */
export function explainPipeline(
  input: PlannerInput,
  configuration: Configuration,
  trail: readonly PlanningAction[],
): PipelineExplanation {
  const trials = new Trials(input);
  const served = new Served(input, trials);
  const { names } = trials.problem.graph;
  const named = (stage: number, { candidate, batch, replicas }: StageOption): NamedOption => ({
    device: trials.candidate(stage, candidate).device,
    batch,
    replicas,
  });
  const attainments = (stage: number, option: StageOption): number[] =>
    served.attainments(withOption(configuration, stage, option));
  return {
    path: trail.map(({ action, stage, from, to, hourlyCost }) => ({
      action,
      stage: itemAt(names, stage),
      hourlyCost,
      from: named(stage, from),
      to: named(stage, to),
    })),
    stages: names.map((name, stage): StageExplanation => {
      const own = optionOf(configuration, stage);
      const cost = own.replicas * trials.candidate(stage, own.candidate).hourlyCost;
      const less = { ...own, replicas: own.replicas - 1 };
      return {
        stage: name,
        ...(own.replicas > 1 ? { oneLess: attainments(stage, less), ...tooSlow(trials, stage, less) } : {}),
        oneMore: attainments(stage, { ...own, replicas: own.replicas + 1 }),
        classes: (trials.problem.stages[stage]?.candidates ?? []).map(({ device, hourlyCost }, candidate) => {
          const option = cheapestOn(served, configuration, { stage, candidate });
          if (option === undefined) return { device };
          return { device, option: named(stage, option), extraCost: option.replicas * hourlyCost - cost };
        }),
      };
    }),
  };
}

/** tooSlow gives the mean rate that a stage serves at most, where it does not keep up with that of the load. */
function tooSlow(
  trials: Trials,
  stage: number,
  { candidate, batch, replicas }: StageOption,
): Pick<StageExplanation, 'oneLessRps'> {
  const one = { candidate: trials.candidate(stage, candidate), batch };
  const { load } = trials.problem;
  if (load === undefined || replicas >= keepingUp({ load }, { stage, ...one })) return {};
  return { oneLessRps: (replicas * replicaRps(one)) / (load.visits[stage] as number) };
}

/** cheapestOn finds the batch with which a stage needs the fewest replicas on a class, all else as it is. */
function cheapestOn(
  served: Served,
  configuration: Configuration,
  { stage, candidate }: { readonly stage: number; readonly candidate: number },
): StageOption | undefined {
  const { trials } = served;
  const { device, batches } = trials.candidate(stage, candidate);
  let best: StageOption | undefined;
  for (const batch of batches) {
    const most = Math.min(trials.mostReplicas(stage), trials.free(configuration, stage, device));
    const replicas = fewest(
      {
        least: trials.leastReplicas(stage, { candidate, batch }),
        most: best === undefined ? most : Math.min(most, best.replicas - 1),
        fixed: trials.problem.stages[stage]?.replicas,
      },
      (count) => served.meets(withOption(configuration, stage, { candidate, batch, replicas: count })),
    );
    if (replicas !== undefined) best = { candidate, batch, replicas };
  }
  return best;
}

/** Served says how configurations serve the sample, with links where batches may wait for them. */
class Served {
  constructor(
    private readonly input: PlannerInput,
    readonly trials: Trials,
  ) {}

  /** attainments gives the share of requests within each objective's SLO, in the draw where it is least. */
  attainments(configuration: Configuration): number[] {
    const { serve, problem, samples } = this.input;
    if (serve === undefined || !this.trials.isLinked) return this.trials.attainments(configuration);
    const ofDraws = samples.map(({ applications }, draw) =>
      attainmentsOf(serve(configuration, draw), problem.objectives, applications),
    );
    return problem.objectives.map((_, k) => smallestOf(ofDraws.map((shares) => shares[k] as number)));
  }

  meets(configuration: Configuration): boolean {
    if (!this.trials.meets(configuration)) return false;
    if (!this.trials.isLinked) return true;
    const { objectives } = this.input.problem;
    return this.attainments(configuration).every(
      (share, k) => share >= (objectives[k]?.attainment as number),
    );
  }
}
