import { smallestOf } from '../collections/index.js';
import { attainmentsOf } from './attainments.js';
import type { Configuration } from './problem.js';
import { isCheaper, type PlannerInput, type Trials, withOption } from './trials.js';

/** LinkedInput is what is planned from where the Estimator does not know how requests are served: `serve` is there. */
export type LinkedInput = PlannerInput & { readonly serve: NonNullable<PlannerInput['serve']> };

/** This many times as long as over idle links transfers are planned to take, one after another, until a plan holds. */
const STRETCHES = [1.25, 1.5, 2, 3, 4, 6, 8, 12, 16];
/** This many requests are simulated at most by one search, and this many configurations. */
const MOST_SERVED = 6_000_000;
const MOST_RUNS = 100;

/** Found is what planning without links finds for a problem. */
interface Found {
  readonly configuration: Configuration;
  readonly estimates: number;
}

/** NearestLinked is the configuration that came nearest to the objectives with links, and missed them. */
export interface NearestLinked {
  readonly configuration: Configuration;
  /** The share of requests in time, by objective, in a draw that missed one. */
  readonly attainments: readonly number[];
  /** isCut says whether a limit of the input cut the search off. */
  readonly isCut: boolean;
}

/** LinkedOutcome is a configuration that meets the objectives with links, or that none was found. */
export interface LinkedOutcome {
  readonly configuration?: Configuration;
  /** Where none was found, the one that came nearest. */
  readonly nearest?: NearestLinked;
  /** The estimates and the configurations that were served with links. */
  readonly estimates: number;
  readonly finished: boolean;
}

/**
 * planLinked makes what was planned without links hold with them. Where the configuration misses the objectives once
 * batches wait for uplinks, it is planned again as if transfers took longer, and from more servers, more and more, until
 * what is found is served within the objectives. From that, replicas are taken away as long as it still is.
 * @param plan plans a problem without links, with so many estimates; undefined where nothing is found
 */
export function planLinked(
  input: LinkedInput,
  { trials, begin }: { readonly trials: Trials; readonly begin: Configuration },
  plan: (input: PlannerInput) => Found | undefined,
): LinkedOutcome {
  const runs = new ServedRuns(input);
  if (runs.meets(begin)) return { configuration: begin, estimates: runs.count, finished: true };
  let estimates = 0;
  const most = input.mostEstimates ?? Number.POSITIVE_INFINITY;
  const left = (): number => most - trials.estimates - estimates - runs.count;
  for (const stretch of STRETCHES) {
    if (runs.stopped || left() <= 0) break;
    const found = plan(stretched(input, stretch, left()));
    estimates += found?.estimates ?? 0;
    if (found === undefined || !runs.meets(found.configuration)) continue;
    const configuration = thinned(trials, found.configuration, runs);
    return { configuration, estimates: estimates + runs.count, finished: !runs.stopped };
  }
  const isCut = left() <= 0 || input.stop?.(runs.count) === true;
  const nearest = { ...(runs.nearest as Missed), isCut };
  return { nearest, estimates: estimates + runs.count, finished: !runs.stopped };
}

function stretched(
  { problem, serve: _, ...rest }: LinkedInput,
  stretch: number,
  mostEstimates: number,
): PlannerInput {
  const { transferNs } = problem;
  if (transferNs === undefined) return { ...rest, problem, mostEstimates };
  const longer: typeof transferNs = (move) => Math.round(stretch * transferNs(move));
  return { ...rest, problem: { ...problem, transferNs: longer, stretch }, mostEstimates };
}

/** thinned takes replicas away, those of the dearest stages first, as long as the objectives are met in the simulator. */
export function thinned(trials: Trials, begin: Configuration, runs: ServedRuns): Configuration {
  const { stages } = trials.problem;
  const priceOf = (stage: number): number =>
    trials.candidate(stage, begin.candidate[stage] as number).hourlyCost;
  const order = [...stages.keys()].sort((a, b) => priceOf(b) - priceOf(a));
  let best = begin;
  for (const stage of order) {
    if (stages[stage]?.replicas !== undefined || priceOf(stage) === 0) continue;
    for (let more = true; more && !runs.stopped; ) {
      const option = {
        candidate: best.candidate[stage] as number,
        batch: best.batch[stage] as number,
        replicas: (best.replicas[stage] as number) - 1,
      };
      const fewer = withOption(best, stage, option);
      more =
        option.replicas >= trials.provedReplicas(stage, option) &&
        isCheaper(trials.hourlyCost(fewer), trials.hourlyCost(best)) &&
        runs.meets(fewer);
      if (more) best = fewer;
    }
  }
  return best;
}

type Missed = Omit<NearestLinked, 'isCut'>;

/** ServedRuns serves the draws by configurations in the simulator, and counts them. */
export class ServedRuns {
  /** The configurations that were served. */
  count = 0;
  /** The configuration that came nearest to the objectives, of all that missed them. */
  nearest: Missed | undefined;
  private served = 0;
  /** The draws, the one that missed last first. */
  private readonly draws: number[];

  constructor(private readonly input: LinkedInput) {
    this.draws = [...input.samples.keys()];
  }

  get stopped(): boolean {
    return this.count >= MOST_RUNS || this.served >= MOST_SERVED || this.input.stop?.(this.count) === true;
  }

  /** meets says whether every draw is served within all objectives. */
  meets(configuration: Configuration): boolean {
    this.count++;
    const missing = this.draws.findIndex((draw) => !this.isMet(configuration, draw));
    const [draw] = this.draws.splice(Math.max(0, missing), missing > 0 ? 1 : 0);
    if (draw !== undefined) this.draws.unshift(draw);
    return missing < 0;
  }

  /** reachedBy is the least part of an objective's attainment that is reached in the draw that missed last. */
  reachedBy(configuration: Configuration): number {
    this.count++;
    return this.reached(this.attainments(configuration, this.draws[0] as number));
  }

  private attainments(configuration: Configuration, draw: number): number[] {
    const latencyNs = this.input.serve(configuration, draw);
    this.served += latencyNs.length;
    return attainmentsOf(latencyNs, this.input.problem.objectives, this.input.samples[draw]?.applications);
  }

  private isMet(configuration: Configuration, draw: number): boolean {
    const { objectives } = this.input.problem;
    const attainments = this.attainments(configuration, draw);
    if (objectives.every(({ attainment }, k) => (attainments[k] as number) >= attainment)) return true;
    if (this.nearest === undefined || this.reached(attainments) > this.reached(this.nearest.attainments))
      this.nearest = { configuration, attainments };
    return false;
  }

  /** reached is the least part of an objective's attainment that is reached. */
  private reached(attainments: readonly number[]): number {
    return smallestOf(
      this.input.problem.objectives.map(({ attainment }, k) => (attainments[k] as number) / attainment),
    );
  }
}
