import type { Configuration } from './problem.js';
import {
  isCheaper,
  optionOf,
  type PlanningAction,
  type StageOption,
  type Trials,
  withOption,
} from './trials.js';

/** Minimized is a configuration that no single action makes cheaper, with the steps that led to it. */
export interface Minimized {
  readonly configuration: Configuration;
  readonly trail: readonly PlanningAction[];
  /** finished says whether the search came to its end; otherwise it was stopped. */
  readonly finished: boolean;
}

/**
 * minimize lowers the cost of a feasible configuration as InferLine's Algorithm 2 does. An action gives one stage
 * another class, another batch or fewer replicas, and as many replicas as its batch and class then need; the one that
 * lowers the cost most is taken, and of equal ones the one that leaves requests the most time, until none does.
 * (Algorithm 2 takes a larger batch as an action that lowers no cost, for what the next action may win by it. Here both
 * are one action.)
 *
 * An action that was too dear before is too dear still while the other stages delay requests more than then, as they
 * mostly do. Actions are passed over by that as long as others lower the cost, and at the end every one is tried again:
 * no stage can be given another class and batch (or its own) with the most replicas that cost less, as the objectives
 * would be missed. Fewer replicas than these were tried only where these met the objectives, as attainment hardly ever
 * falls with a replica more.
 * @param held a stage that stays on its class
 */
export function minimize(trials: Trials, begin: Configuration, held?: Held): Minimized {
  const trail: PlanningAction[] = [];
  let needs = new Needs(trials, held);
  let isSure = true;
  let configuration = begin;
  while (!trials.stopped) {
    const step = bestSaving(trials, configuration, needs);
    if (step === undefined && isSure) break;
    isSure = step === undefined;
    if (isSure) needs = new Needs(trials, held);
    if (step === undefined) continue;
    const [from, action] = [optionOf(configuration, step.stage), actionOf(configuration, step)];
    configuration = withOption(configuration, step.stage, step.to);
    trail.push({ ...step, from, action, hourlyCost: trials.hourlyCost(configuration) });
  }
  return { configuration, trail, finished: !trials.stopped };
}

/** Held is a stage that is to stay on one class. */
interface Held {
  readonly stage: number;
  readonly candidate: number;
}

/** Needs remembers how many replicas each class and batch of each stage needed when they were last tried. */
class Needs {
  private readonly found = new Map<string, number>();

  constructor(
    private readonly trials: Trials,
    private readonly held: Held | undefined,
  ) {}

  /** mayBe is false for other classes of the stage that is held on one. */
  mayBe(stage: number, candidate: number): boolean {
    return this.held?.stage !== stage || this.held.candidate === candidate;
  }

  of({ stage, candidate, batch }: Omit<Choice, 'most'>): number {
    const found = this.found.get(`${stage} ${candidate} ${batch}`);
    return found ?? this.trials.leastReplicas(stage, { candidate, batch });
  }

  note({ stage, candidate, batch }: Omit<Choice, 'most'>, replicas: number): void {
    this.found.set(`${stage} ${candidate} ${batch}`, replicas);
  }
}

interface Step {
  readonly stage: number;
  readonly to: StageOption;
}

function actionOf(current: Configuration, { stage, to }: Step): PlanningAction['action'] {
  const from = optionOf(current, stage);
  if (to.candidate !== from.candidate) return 'change-class';
  return to.batch === from.batch ? 'remove-replicas' : 'change-batch';
}

/** Choice is a class and a batch that a stage may change to. */
interface Choice {
  readonly stage: number;
  readonly candidate: number;
  readonly batch: number;
  /** No more than this can be saved by it. */
  readonly most: number;
}

/**
 * bestSaving finds the action that lowers the cost most, and of those that lower it as much the one that
 * leaves the requests the most time, which the next actions can use up. A reduction that cannot save as much
 * as the best one so far is not tried.
 */
function bestSaving(trials: Trials, current: Configuration, needs: Needs): Step | undefined {
  let best: (Step & { readonly after: Configuration }) | undefined;
  let saved = 0;
  for (const choice of choicesOf(trials, current, needs)) {
    if (trials.stopped) return best;
    if (best === undefined ? !isCheaper(0, choice.most) : isCheaper(choice.most, saved)) break;
    const { stage, candidate, batch } = choice;
    const replicas = fewestReplicas(trials, current, { ...choice, saved, needs });
    if (replicas === undefined) continue;
    const to = { candidate, batch, replicas };
    const after = withOption(current, stage, to);
    const saves = stageCost(trials, stage, optionOf(current, stage)) - stageCost(trials, stage, to);
    if (best !== undefined && !isCheaper(saved, saves) && !isFaster(trials, after, best.after)) continue;
    saved = saves;
    best = { stage, to, after };
  }
  return best;
}

/** isFaster says whether a configuration leaves requests more time than another of the same cost. */
function isFaster(trials: Trials, one: Configuration, other: Configuration): boolean {
  return trials.usedShare(one) < trials.usedShare(other);
}

function stageCost(trials: Trials, stage: number, { candidate, replicas }: StageOption): number {
  return trials.candidate(stage, candidate).hourlyCost * replicas;
}

/** choicesOf lists all classes and batches of all stages, those that may save most first. */
function choicesOf(trials: Trials, current: Configuration, needs: Needs): Choice[] {
  return trials.problem.stages
    .flatMap(({ candidates, replicas: fixed }, stage) =>
      candidates.flatMap(({ batches }, candidate) =>
        (needs.mayBe(stage, candidate) ? batches : []).map((batch): Choice => {
          const replicas = fixed ?? needs.of({ stage, candidate, batch });
          const cost = stageCost(trials, stage, { candidate, batch, replicas });
          return { stage, candidate, batch, most: stageCost(trials, stage, optionOf(current, stage)) - cost };
        }),
      ),
    )
    .sort((a, b) => b.most - a.most);
}

/**
 * fewestReplicas finds with how few replicas a stage meets the objectives after a change, where that saves more than
 * `saved`. It halves between what is known to be needed and the most that may be tried.
 */
function fewestReplicas(
  trials: Trials,
  current: Configuration,
  { saved, needs, ...choice }: Choice & { readonly saved: number; readonly needs: Needs },
): number | undefined {
  const { stage, candidate, batch } = choice;
  const least = needs.of(choice);
  const most = mostThatSave(trials, current, { stage, candidate, saved });
  const isFeasible = (replicas: number): boolean =>
    trials.meets(withOption(current, stage, { candidate, batch, replicas }));
  if (most === undefined || most < least) return undefined;
  if (!isFeasible(most)) {
    needs.note(choice, most + 1);
    return undefined;
  }
  if (trials.problem.stages[stage]?.replicas !== undefined) return most;
  let [missed, met] = [least - 1, most];
  while (met - missed > 1 && !trials.stopped) {
    const middle = (met + missed) >> 1;
    if (isFeasible(middle)) met = middle;
    else missed = middle;
  }
  needs.note(choice, met);
  return met;
}

/** mostThatSave is the largest number of replicas on a candidate that saves more than `saved`. */
function mostThatSave(
  trials: Trials,
  current: Configuration,
  { stage, candidate, saved }: { readonly stage: number; readonly candidate: number; readonly saved: number },
): number | undefined {
  const { device, hourlyCost } = trials.candidate(stage, candidate);
  const cost = stageCost(trials, stage, optionOf(current, stage)) - saved;
  const mayDo = (own: number): boolean => (saved > 0 ? !isCheaper(cost, own) : isCheaper(own, cost));
  const fixed = trials.problem.stages[stage]?.replicas;
  const free = Math.min(trials.mostReplicas(stage), trials.free(current, stage, device));
  if (fixed !== undefined) return fixed <= free && mayDo(fixed * hourlyCost) ? fixed : undefined;
  let most = hourlyCost > 0 ? Math.min(free, Math.ceil(cost / hourlyCost)) : free;
  while (most > 0 && !mayDo(most * hourlyCost)) most--;
  return most > 0 ? most : undefined;
}
