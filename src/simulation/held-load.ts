import { applicationsOf, planOf, type ServedPlan } from '../plans/index.js';
import type { BegunLoadOptions, SimulatedLoadOptions } from './load.js';
import { isServed } from './models.js';
import { drawnWarmUp } from './warm-up.js';

/**
 * withHeldLoad gives the options of a load with the kind of arrivals by which a plan's promise was confirmed, where they
 * leave that open and name no trace. Where the load is the promise itself, it also has the duration and the warm-up of
 * those runs: where the plan has rates that it was seen to hold, and no rate, factor or phase is given.
 * @param swept whether the rates will be replaced by multiples of the planned ones
 */
export function withHeldLoad<Options extends SimulatedLoadOptions>(
  plan: ServedPlan,
  options: Options,
  swept = false,
): Options & Pick<BegunLoadOptions, 'warmUp'> {
  const { traces = [] } = options;
  const promised = planOf(plan).load(plan);
  if (promised?.kind !== 'held' || traces.length > 0) return options;
  const models = applicationsOf(plan);
  if (models.some((model) => isServed(model) && model.heldRps === undefined)) return options;
  const { arrivals: held, cv: heldCv, durationS, warmUp: heldWarmUp } = promised.runs;
  const { arrivals = held, duration = durationS } = options;
  const isHeldKind = arrivals === held && arrivals === 'gamma';
  const cv = options.cv ?? (isHeldKind ? heldCv : undefined);
  const kind = { ...options, arrivals, ...(cv === undefined ? {} : { cv }) };
  if (swept || isLoadGiven(options)) return kind;
  const warmUp = heldWarmUp === undefined ? undefined : drawnWarmUp(models, heldWarmUp);
  return { ...kind, duration, ...(warmUp === undefined ? {} : { warmUp }) };
}

function isLoadGiven({ rps = [], load, phases = [] }: SimulatedLoadOptions): boolean {
  return rps.length > 0 || load !== undefined || phases.length > 0;
}
