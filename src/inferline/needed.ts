import type { Configuration, PlanningProblem, StageCandidate } from './problem.js';
import type { PlannerInput } from './trials.js';

/** While it is sought how many devices would do, a search makes no more estimates. */
const MOST_ESTIMATES = 2000;
/** The weight of devices of other classes, beside the devices of the classes of which there are too few. */
const HARDLY_ANYTHING = 1e-6;

/** NeededDevices says how many devices would do, by class, and which stages they are for. */
export interface NeededDevices {
  readonly classes: readonly { readonly device: string; readonly needed: number; readonly count: number }[];
  readonly stages: readonly { readonly stage: string; readonly device: string; readonly replicas: number }[];
}

/**
 * neededDevices finds a plan with few devices more: with as many of one class as it takes, and where that is of no use with as
 * many of all. It takes a search for each class, by InferLine's algorithms, so that with fewer there may be a plan too.
 * @param classes the classes whose counts are too small together
 * @param solve plans a problem that has other counts, and other prices
 * @returns undefined where no plan was found, as where the spec fixes too few replicas
 */
export function neededDevices(
  input: PlannerInput,
  classes: readonly string[],
  solve: (asked: PlannerInput) => Configuration | undefined,
): NeededDevices | undefined {
  const withMore = (lifted: readonly string[]): NeededDevices[] => {
    const { serve: _, ...asked } = input;
    const problem = lifting(input.problem, lifted);
    const found = solve({ ...asked, problem, tellsSlo: false, mostEstimates: MOST_ESTIMATES });
    return found === undefined ? [] : [neededBy(input.problem, found, classes)];
  };
  const ofOne = classes.length < 2 ? [] : classes.flatMap((device) => withMore([device]));
  const found = ofOne.length > 0 ? ofOne : withMore(classes);
  return found.toSorted((a, b) => moreOf(a) - moreOf(b))[0];
}

/** lifting takes the counts of some classes away, and lets a plan cost as many devices of these as it takes. */
function lifting(problem: PlanningProblem, lifted: readonly string[]): PlanningProblem {
  const kept = (counts: Readonly<Record<string, number>> = {}) =>
    Object.fromEntries(Object.entries(counts).filter(([device]) => !lifted.includes(device)));
  const priced = (candidate: StageCandidate): StageCandidate => ({
    ...candidate,
    hourlyCost: lifted.includes(candidate.device) ? 1 : HARDLY_ANYTHING,
  });
  return {
    ...problem,
    counts: kept(problem.counts),
    servers: kept(problem.servers),
    stages: problem.stages.map((stage) => ({ ...stage, candidates: stage.candidates.map(priced) })),
  };
}

/** neededBy counts the devices of a configuration that are of these classes. */
function neededBy(
  { graph, stages, counts }: PlanningProblem,
  { candidate, replicas }: Configuration,
  classes: readonly string[],
): NeededDevices {
  const served = graph.names.map((stage, i) => ({
    stage,
    device: stages[i]!.candidates[candidate[i] as number]!.device,
    replicas: replicas[i] as number,
  }));
  const needed = classes.map((device) => ({
    device,
    needed: served.reduce((sum, one) => (one.device === device ? sum + one.replicas : sum), 0),
    count: counts[device] as number,
  }));
  const short = needed.filter((one) => one.needed > one.count);
  return {
    classes: short,
    stages: served.filter(({ device }) => short.some((one) => one.device === device)),
  };
}

function moreOf({ classes }: NeededDevices): number {
  return classes.reduce((sum, { needed, count }) => sum + needed - count, 0);
}
