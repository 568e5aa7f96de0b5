import { itemAt } from '../collections/index.js';
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

/** The first part of the sample that is planned for has at most this many requests. */
const PART = 20_000;
/** Over more requests than this, detours would take minutes. */
const MOST_DETOURED = 300_000;

/**
 * planGreedily finds a feasible configuration and lowers its cost by InferLine's two algorithms. A detour follows where
 * no single action saves anything: a stage is held on another class, which may cost more, while the others use the time
 * that it leaves; where that ends cheaper, it is kept.
 *
 * A long sample is planned for its busiest part first, and so are several samples: what comes of it is where the search
 * over all of them begins. Detours follow that search only where it ends dearer than the part, as they serve all samples
 * hundreds of times, and not over very many requests.
 * @returns undefined where there is no feasible configuration, or the search was stopped before one was found
 */
export function planGreedily(input: PlannerInput, trials: Trials): Minimized | undefined {
  const part = input.samples.length > 1 || trials.requests > PART ? plannedPart(input, trials) : undefined;
  if (part !== undefined) {
    const ended = minimize(trials, part.configuration);
    const found = { ...ended, trail: [...part.trail, ...ended.trail] };
    const requests = input.samples.reduce((sum, { atNs }) => sum + atNs.length, 0);
    const isDearer = isCheaper(part.hourlyCost, trials.hourlyCost(found.configuration));
    return isDearer && requests <= MOST_DETOURED ? withDetours(trials, found) : found;
  }
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

/** PlannedPart is a plan of the busiest part, grown until it serves all samples, and what it costs before that. */
interface PlannedPart extends Pick<Minimized, 'configuration' | 'trail'> {
  readonly hourlyCost: number;
}

/** plannedPart plans for the busiest part of the samples, and gives the stages replicas until all of them are served. */
function plannedPart(input: PlannerInput, trials: Trials): PlannedPart | undefined {
  const part = { ...input, samples: [busiestPart(input.samples, PART)] };
  const partTrials = new Trials(part);
  const found = planGreedily(part, partTrials);
  trials.estimates += partTrials.estimates;
  if (found === undefined) return undefined;
  const stages = [...found.configuration.batch.keys()];
  const options = stages.map((stage) => optionOf(found.configuration, stage));
  const configuration = grownFrom(trials, options);
  const hourlyCost = trials.hourlyCost(found.configuration);
  const trail = [...found.trail, ...(configuration ? growth(trials, found, configuration) : [])];
  return configuration && { configuration, trail, hourlyCost };
}

/** growth lists the steps from what was found for a part to what is feasible for all. */
function growth(trials: Trials, found: Minimized, to: Configuration): PlanningAction[] {
  let configuration = found.configuration;
  return [...to.batch.keys()].flatMap((stage) => {
    const [before, after] = [optionOf(configuration, stage), optionOf(to, stage)];
    if (before.replicas === after.replicas) return [];
    configuration = withOption(configuration, stage, after);
    const hourlyCost = trials.hourlyCost(configuration);
    return [{ action: 'add-replicas', stage, from: before, to: after, hourlyCost }];
  });
}

/** busiestPart is a given number of requests in a row of one sample, or a whole sample of fewer, that come at the highest rate. */
export function busiestPart(samples: readonly Sample[], requests: number): Sample {
  let [busiest, from, until, highest] = [itemAt(samples, 0), 0, 0, 0];
  for (const sample of samples) {
    const { atNs } = sample;
    const size = Math.min(requests, atNs.length);
    for (let i = 0; size > 0 && i + size <= atNs.length; i++) {
      const rate = size / ((atNs[i + size - 1] as number) - (atNs[i] as number));
      if (rate > highest) [busiest, from, until, highest] = [sample, i, i + size, rate];
    }
  }
  return {
    atNs: busiest.atNs.slice(from, until),
    verdicts: busiest.verdicts.map((column) => column?.slice(from, until)),
  };
}
