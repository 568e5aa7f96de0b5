import { didYouMean, fault, option, type PlanTuner } from '../formats/index.js';
import { type ChosenScheduler, TUNERS, type TunerName } from '../serving/index.js';
import type { Tuned } from './plan-of.js';
import { planOf } from './plan-table.js';
import type { StagePlan } from './served-plan.js';

/** TunerOptions holds the option `--tuner` as a person wrote it. */
export interface TunerOptions {
  readonly tuner?: string | undefined;
}

/** TunerChoice says who is to tune a plan, and on what. */
interface TunerChoice extends TunerOptions {
  /**
   * onlyStandby says whether only the standby devices of the plan may be activated, as on a server, which has
   * no others. By default that is so where the plan has a tuner, for which its devices were chosen.
   */
  readonly onlyStandby?: boolean;
}

/**
 * chosenTuner finds the tuner of a plan: the one of the options, or else the plan's own. The settings of the plan count
 * where it names the same. The plan comes back with the standby devices that the tuner may activate.
 */
export function chosenTuner(
  plan: StagePlan,
  scheduler: ChosenScheduler,
  { tuner: asked, ...choice }: TunerChoice,
): Tuned {
  const own: PlanTuner = plan.serving?.tuner ?? { kind: 'none' };
  const { onlyStandby = own.kind !== 'none' } = choice;
  const kind = asked ?? own.kind;
  const at = asked === undefined ? '/serving/tuner' : option('tuner');
  const none = { plan, scheduler, faults: [] };
  if (!isTuner(kind))
    return {
      ...none,
      faults: [fault(`is ${kind}; valid values are ${TUNERS.join(', ')}${didYouMean(kind, TUNERS)}`, at)],
    };
  if (kind === 'none') return none;
  const { tuned } = planOf(plan);
  if (tuned === undefined)
    return {
      ...none,
      faults: [fault('changes the replicas of pipelines, and this plan is no pipeline', at)],
    };
  return tuned(plan, scheduler, { tuner: kind === own.kind ? own : { kind }, at, onlyStandby });
}

function isTuner(kind: string): kind is TunerName {
  return (TUNERS as readonly string[]).includes(kind);
}
