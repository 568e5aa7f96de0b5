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
  /** Whether the search came to its end; otherwise it was stopped. */
  readonly finished: boolean;
}

/**
 * minimize lowers the cost of a feasible configuration as InferLine's Algorithm 2 does. An action gives one stage
 * another class, another batch or fewer replicas, and as many replicas as its batch and class then need; the one that
 * lowers the cost most is taken, until none does. A larger batch costs nothing, so it is also taken where no action
 * lowers the cost, for what later actions may win by it; where they win nothing, it is taken back.
 *
 * At the end, no stage can be given another class and batch (or its own) with the most replicas that cost less: the
 * objectives would be missed. Fewer replicas than these were tried only where these met the objectives, as attainment
 * hardly ever falls with a replica more.
 */
export function minimize(trials: Trials, begin: Configuration): Minimized {
  const trail: PlanningAction[] = [];
  let [best, kept] = [begin, 0];
  let current = begin;
  for (;;) {
    const saving = bestSaving(trials, current);
    const step = saving ?? largerBatch(trials, current);
    if (step === undefined || trials.stopped) break;
    const configuration = withOption(current, step.stage, step.to);
    const hourlyCost = trials.hourlyCost(configuration);
    trail.push({ ...step, from: optionOf(current, step.stage), action: actionOf(current, step), hourlyCost });
    current = configuration;
    if (saving !== undefined) [best, kept] = [current, trail.length];
  }
  return { configuration: best, trail: trail.slice(0, kept), finished: !trials.stopped };
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

/** bestSaving finds the action that lowers the cost most. What cannot save more than the best one so far is not tried. */
function bestSaving(trials: Trials, current: Configuration): Step | undefined {
  let best: Step | undefined;
  let saved = 0;
  for (const choice of choicesOf(trials, current)) {
    if (trials.stopped) return best;
    if (!isCheaper(saved, choice.most)) break;
    const replicas = fewestReplicas(trials, current, { ...choice, saved });
    if (replicas === undefined) continue;
    const to = { candidate: choice.candidate, batch: choice.batch, replicas };
    saved =
      stageCost(trials, choice.stage, optionOf(current, choice.stage)) - stageCost(trials, choice.stage, to);
    best = { stage: choice.stage, to };
  }
  return best;
}

function stageCost(trials: Trials, stage: number, { candidate, replicas }: StageOption): number {
  return trials.candidate(stage, candidate).hourlyCost * replicas;
}

/** choicesOf lists all classes and batches of all stages, those that may save most first. */
export function choicesOf(trials: Trials, current: Configuration): Choice[] {
  return trials.problem.stages
    .flatMap(({ candidates, replicas: fixed }, stage) =>
      candidates.flatMap(({ batches }, candidate) =>
        batches.map((batch): Choice => {
          const replicas = fixed ?? trials.leastReplicas(stage, { candidate, batch });
          const cost = stageCost(trials, stage, { candidate, batch, replicas });
          return { stage, candidate, batch, most: stageCost(trials, stage, optionOf(current, stage)) - cost };
        }),
      ),
    )
    .sort((a, b) => b.most - a.most);
}

/**
 * fewestReplicas finds with how few replicas a stage meets the objectives after a change, where that saves more than
 * `saved`. It halves between the proved least and the most that may be tried.
 */
function fewestReplicas(
  trials: Trials,
  current: Configuration,
  { stage, candidate, batch, saved }: Choice & { readonly saved: number },
): number | undefined {
  const least = trials.leastReplicas(stage, { candidate, batch });
  const most = mostThatSave(trials, current, { stage, candidate, saved });
  const isFeasible = (replicas: number): boolean =>
    trials.meets(withOption(current, stage, { candidate, batch, replicas }));
  if (most === undefined || most < least || !isFeasible(most)) return undefined;
  if (trials.problem.stages[stage]?.replicas !== undefined) return most;
  let [missed, met] = [least - 1, most];
  while (met - missed > 1 && !trials.stopped) {
    const middle = (met + missed) >> 1;
    if (isFeasible(middle)) met = middle;
    else missed = middle;
  }
  return met;
}

/** mostThatSave is the largest number of replicas on a candidate that saves more than `saved`. */
export function mostThatSave(
  trials: Trials,
  current: Configuration,
  { stage, candidate, saved }: { readonly stage: number; readonly candidate: number; readonly saved: number },
): number | undefined {
  const { device, hourlyCost } = trials.candidate(stage, candidate);
  const cost = stageCost(trials, stage, optionOf(current, stage)) - saved;
  const fixed = trials.problem.stages[stage]?.replicas;
  const free = Math.min(trials.mostReplicas(stage), trials.free(current, stage, device));
  if (fixed !== undefined) return fixed <= free && isCheaper(fixed * hourlyCost, cost) ? fixed : undefined;
  let most = hourlyCost > 0 ? Math.min(free, Math.ceil(cost / hourlyCost)) : free;
  while (most > 0 && !isCheaper(most * hourlyCost, cost)) most--;
  return most > 0 ? most : undefined;
}

/** largerBatch finds the dearest stage that can have its next larger batch. */
function largerBatch(trials: Trials, current: Configuration): Step | undefined {
  const dearest = [...current.batch.keys()].sort(
    (a, b) =>
      stageCost(trials, b, optionOf(current, b)) - stageCost(trials, a, optionOf(current, a)) || a - b,
  );
  for (const stage of dearest) {
    const from = optionOf(current, stage);
    const batch = trials.candidate(stage, from.candidate).batches.find((size) => size > from.batch);
    if (batch === undefined || trials.stopped) continue;
    const to = { ...from, batch };
    if (trials.meets(withOption(current, stage, to))) return { stage, to };
  }
  return undefined;
}
