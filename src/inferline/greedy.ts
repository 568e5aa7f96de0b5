import { searchExactly } from './exact.js';
import { grownFrom, initialize } from './initialize.js';
import { type Minimized, minimize } from './minimize.js';
import type { Configuration, Sample } from './problem.js';
import {
  fewest,
  isCheaper,
  optionOf,
  type PlannerInput,
  type PlanningAction,
  Trials,
  withOption,
} from './trials.js';

/** Longer samples are planned for their busiest part first. */
const LONG = 60_000;
const PART = 20_000;

/**
 * planGreedily finds a feasible configuration and lowers its cost by InferLine's two algorithms. A detour follows where
 * no single action saves anything: a stage is held on another class, which may cost more, while the others use the time
 * that it leaves; where that ends cheaper, it is kept.
 *
 * A long sample is planned for its busiest part first, and what comes of it is where the search over all of it begins.
 * @returns undefined where there is no feasible configuration, or the search was stopped before one was found
 */
export function planGreedily(input: PlannerInput, trials: Trials): Minimized | undefined {
  const part = trials.requests > LONG ? plannedPart(input, trials) : undefined;
  if (part !== undefined) return minimize(trials, part);
  const best = cheapestOf(trials, begun(trials));
  return best && withDetours(trials, best);
}

/** begun lists feasible configurations to begin with. */
function begun(trials: Trials): readonly Configuration[] {
  const initial = initialize(trials);
  if (initial.length > 0) return initial;
  const { configuration } = searchExactly(trials, { first: true });
  return configuration === undefined ? [] : [configuration];
}

/** cheapestOf lowers the cost from each beginning, and gives the cheapest end. */
function cheapestOf(trials: Trials, beginnings: readonly Configuration[]): Minimized | undefined {
  let best: Minimized | undefined;
  for (const begin of beginnings) {
    if (best !== undefined && trials.stopped) return { ...best, finished: false };
    const found = minimize(trials, begin);
    if (best === undefined || isBetter(trials, found, best)) best = found;
  }
  return best;
}

function isBetter(trials: Trials, one: Minimized, other: Minimized): boolean {
  return isCheaper(trials.hourlyCost(one.configuration), trials.hourlyCost(other.configuration));
}

function withDetours(trials: Trials, begin: Minimized): Minimized {
  let best = begin;
  for (let found: Minimized | undefined = best; found !== undefined; ) {
    found = cheaperDetour(trials, best);
    if (found !== undefined) best = found;
  }
  return { ...best, finished: !trials.stopped };
}

function cheaperDetour(trials: Trials, best: Minimized): Minimized | undefined {
  for (const [stage, { candidates }] of trials.problem.stages.entries())
    for (const candidate of candidates.keys()) {
      if (trials.stopped) return undefined;
      const step = movedTo(trials, best.configuration, { stage, candidate });
      if (step === undefined) continue;
      const begin = withOption(best.configuration, stage, step.to);
      const held = minimize(trials, begin, { stage, candidate });
      const found = minimize(trials, held.configuration);
      if (isBetter(trials, found, best))
        return { ...found, trail: [...best.trail, step, ...held.trail, ...found.trail] };
    }
  return undefined;
}

/** movedTo puts a stage on another class with its smallest batch and the replicas that it then needs. */
function movedTo(
  trials: Trials,
  configuration: Configuration,
  { stage, candidate }: { readonly stage: number; readonly candidate: number },
): PlanningAction | undefined {
  const from = optionOf(configuration, stage);
  if (from.candidate === candidate) return undefined;
  const { device, batches } = trials.candidate(stage, candidate);
  const batch = batches[0] as number;
  const replicas = fewest(
    {
      least: trials.leastReplicas(stage, { candidate, batch }),
      most: Math.min(trials.mostReplicas(stage), trials.free(configuration, stage, device)),
      fixed: trials.problem.stages[stage]?.replicas,
    },
    (count) => trials.meets(withOption(configuration, stage, { candidate, batch, replicas: count })),
  );
  if (replicas === undefined) return undefined;
  const to = { candidate, batch, replicas };
  const hourlyCost = trials.hourlyCost(withOption(configuration, stage, to));
  return { action: 'change-class', stage, from, to, hourlyCost };
}

/** plannedPart plans for the busiest part of a sample, and gives the stages replicas until all of it is served. */
function plannedPart(input: PlannerInput, trials: Trials): Configuration | undefined {
  const part = { ...input, sample: busiestPart(input.sample, PART) };
  const partTrials = new Trials(part);
  const found = planGreedily(part, partTrials);
  trials.estimates += partTrials.estimates;
  if (found === undefined || trials.stopped) return undefined;
  const { configuration } = found;
  const options = [...configuration.batch.keys()].map((stage) => optionOf(configuration, stage));
  return grownFrom(trials, options)[0];
}

/** busiestPart is so many requests in a row that come in the shortest time. */
export function busiestPart({ atNs, verdicts }: Sample, requests: number): Sample {
  const spanNs = (from: number): number => (atNs[from + requests - 1] as number) - (atNs[from] as number);
  let from = 0;
  for (let i = 1; i + requests <= atNs.length; i++) if (spanNs(i) < spanNs(from)) from = i;
  return {
    atNs: atNs.slice(from, from + requests),
    verdicts: verdicts.map((column) => column?.slice(from, from + requests)),
  };
}
