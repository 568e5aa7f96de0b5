import { type Fault, fault, type GearPlan } from '../../formats/index.js';
import { differ } from '../figures.js';

/** RecordsOfPlan is what the models of a plan say of samples: of each stage, in its order, sample by sample. */
export interface RecordsOfPlan {
  readonly samples: number;
  /** 1 where the model is right about the sample. */
  readonly correct: readonly ArrayLike<number>[];
  readonly certainty: readonly ArrayLike<number>[];
}

/**
 * gearRecordFaults finds figures of a gear plan that its records do not give: the accuracies of its models and of its gears,
 * how many requests come to each step, and the samples that were counted. It sends every sample through every gear.
 * @param plan with no fault that `gearPlanFaults` finds
 */
export function gearRecordFaults(plan: GearPlan, records: RecordsOfPlan): Fault[] {
  const { samples, correct } = records;
  const names = plan.stages.map(({ name }) => name);
  const counted = [
    ...plan.stages.map((stage, i) => [stage, `/stages/${i}`] as const),
    ...plan.gears.map((gear, i) => [gear, `/gears/${i}`] as const),
    [plan, ''] as const,
  ];
  return [
    ...plan.stages.flatMap(({ accuracy }, i) =>
      told(accuracy, countOf(correct[i] as ArrayLike<number>, samples) / samples, `/stages/${i}/accuracy`),
    ),
    ...plan.gears.flatMap((gear, i) => {
      const { right, visits } = sent(gear.cascade, names, records);
      return [
        ...told(gear.accuracy, right / samples, `/gears/${i}/accuracy`),
        ...gear.cascade.flatMap((step, k) =>
          told(step.visits, (visits[k] as number) / samples, `/gears/${i}/cascade/${k}/visits`),
        ),
      ];
    }),
    ...counted.flatMap(([{ accuracyInterval }, at]) =>
      accuracyInterval === undefined
        ? []
        : told(accuracyInterval.samples, samples, `${at}/accuracyInterval/samples`),
    ),
  ];
}

/** sent sends every sample through a cascade, and counts which are answered rightly, and how many come to each step. */
function sent(
  cascade: GearPlan['gears'][number]['cascade'],
  names: readonly string[],
  { samples, correct, certainty }: RecordsOfPlan,
): { readonly right: number; readonly visits: readonly number[] } {
  const visits = cascade.map(() => 0);
  let right = 0;
  for (let sample = 0; sample < samples; sample++)
    for (const [k, { stage, threshold = Number.NEGATIVE_INFINITY }] of cascade.entries()) {
      visits[k]! += 1;
      const model = names.indexOf(stage);
      if (((certainty[model] as ArrayLike<number>)[sample] as number) < threshold) continue;
      right += (correct[model] as ArrayLike<number>)[sample] as number;
      break;
    }
  return { right, visits };
}

function countOf(values: ArrayLike<number>, samples: number): number {
  let count = 0;
  for (let i = 0; i < samples; i++) count += values[i] as number;
  return count;
}

function told(is: number, counted: number, at: string): Fault[] {
  return differ(is, counted) ? [fault(`is ${is}; its records give ${counted}`, at)] : [];
}
