import { type LinkedInput, ServedRuns, thinned } from './linked.js';
import type { Configuration } from './problem.js';
import { optionOf, Trials, withOption } from './trials.js';

/**
 * grown adds replicas to a configuration until every draw is served within the objectives: one at a time, to
 * the stage with which the draw that misses comes nearest to them, and of stages that bring as much to the
 * cheapest. Replicas that turn out not to be needed are then taken away again.
 * @returns undefined where no replica can be added any more, or a limit ended it before
 */
export function grown(input: LinkedInput, begin: Configuration): Configuration | undefined {
  const trials = new Trials(input);
  const runs = new ServedRuns(input);
  let configuration = begin;
  while (!runs.meets(configuration)) {
    const larger = runs.stopped ? undefined : mostHelpful(trials, configuration, runs);
    if (larger === undefined) return undefined;
    configuration = larger;
  }
  return thinned(trials, configuration, runs);
}

function mostHelpful(trials: Trials, from: Configuration, runs: ServedRuns): Configuration | undefined {
  const { stages } = trials.problem;
  const found = [...stages.keys()].flatMap((stage) => {
    const option = optionOf(from, stage);
    const { device, hourlyCost } = trials.candidate(stage, option.candidate);
    const replicas = option.replicas + 1;
    const most = Math.min(trials.mostReplicas(stage), trials.free(from, stage, device));
    if (stages[stage]?.replicas !== undefined || replicas > most) return [];
    const configuration = withOption(from, stage, { ...option, replicas });
    return [{ configuration, hourlyCost, reached: runs.reachedBy(configuration) }];
  });
  const [best] = found.toSorted((a, b) => b.reached - a.reached || a.hourlyCost - b.hourlyCost);
  return best?.configuration;
}
