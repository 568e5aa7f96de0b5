import type { ServedPlan } from '../serving/index.js';
import type { BegunLoadOptions, SimulatedLoadOptions } from './load.js';
import { isServed } from './models.js';
import { drawnWarmUp } from './warm-up.js';

/**
 * withHeldLoad gives the options of a load with the kind of arrivals, the duration and the warm-up by which a plan's promise was
 * confirmed, where the options leave these open. That is only so where the load is the promise itself: where the plan has
 * rates that it was seen to hold, and no rate, factor, phase or trace is given.
 */
export function withHeldLoad<Options extends SimulatedLoadOptions>(
  plan: ServedPlan,
  options: Options,
): Options & Pick<BegunLoadOptions, 'warmUp'> {
  if (plan.kind !== 'pooled-plan' || plan.hold === undefined || isLoadGiven(options)) return options;
  if (plan.models.some((model) => isServed(model) && model.heldRps === undefined)) return options;
  const { arrivals: held, cv: heldCv, durationS, warmUp: heldWarmUp } = plan.hold.runs;
  const { arrivals = held, duration = durationS } = options;
  const isHeldKind = arrivals === held && arrivals === 'gamma';
  const cv = options.cv ?? (isHeldKind ? heldCv : undefined);
  const warmUp = heldWarmUp === undefined ? undefined : drawnWarmUp(plan.models, heldWarmUp);
  return {
    ...{ ...options, arrivals, duration },
    ...(cv === undefined ? {} : { cv }),
    ...(warmUp === undefined ? {} : { warmUp }),
  };
}

function isLoadGiven({ rps = [], load, phases = [], traces = [] }: SimulatedLoadOptions): boolean {
  return rps.length > 0 || load !== undefined || phases.length > 0 || traces.length > 0;
}
