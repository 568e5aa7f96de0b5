import { checkPlan, promiseFaults } from '../../checks/index.js';
import { DEFAULT_SCHEDULER, type Fault, fault, type Loaded, type PooledPlan } from '../../formats/index.js';
import { heldProblem } from '../../hold/index.js';
import { baselineProblem } from '../../milp/index.js';
import { askedFaults, lackedInputs } from '../asked-faults.js';
import type { ConfirmingOf } from '../spec-of.js';
import { unconfirmedIn } from '../unconfirmed.js';
import type { PooledTypes } from './kind.js';
import { repeatedPromiseFaults } from './repeated-promise.js';

/**
 * The fields that only the search knows: remarks, how far it went, and what one GPU more would be worth to
 * it.
 */
const SEARCHED: readonly string[] = [
  ...['/reproducible', '/objective/bound', '/formulation'],
  ...['/classes/*/shadowPrice', '/classes/*/oneMore'],
  ...['/hold/trials', '/hold/variants', '/hold/moved', '/hold/models/*/headroom'],
];

/** confirmingPooled is how pooled plans are made again from their spec. */
export const confirmingPooled: ConfirmingOf<PooledTypes> = {
  confirmed: () => 'recomputed',
  unconfirmed: (plan) => unconfirmedIn(plan, SEARCHED),
  async faults(plan, { spec, problem: asked, serving: named, inputs }, { holder, repeats }) {
    // Where the spec names none, plans of older versions are served as they were.
    const isEarlier = spec.value.serving === undefined && plan.serving?.scheduler === DEFAULT_SCHEDULER;
    const serving = isEarlier ? { scheduler: DEFAULT_SCHEDULER } : named;
    const problem = heldProblem(asked, plan);
    const answered = plan.baseline === undefined ? problem : baselineProblem(problem, plan.baseline);
    const faults = [
      ...checkPlan(plan, answered),
      ...promiseFaults(plan),
      ...promisedFaults(plan, spec),
      ...askedFaults(
        { serving: plan.serving, planner: plan.planner },
        { serving, planner: answered.planner },
      ),
      ...lackedInputs(plan.inputs, inputs(holder)),
    ];
    // Simulations of a plan that is not right say nothing more.
    if (faults.length > 0 || !repeats.includes('promise')) return faults;
    return repeatedPromiseFaults(plan, { problem: asked, serving });
  },
};

type Runs = NonNullable<PooledPlan['hold']>['runs'];

/** promisedFaults finds where a plan was confirmed by other arrivals, or for another share of a model, than its spec gives. */
function promisedFaults({ hold }: PooledPlan, { value: { planner, models } }: Loaded<'pooled'>): Fault[] {
  if (hold === undefined) return [];
  const asked: Partial<Pick<Runs, 'arrivals' | 'cv'>> = typeof planner?.hold === 'object' ? planner.hold : {};
  const { arrivals = 'poisson', cv } = asked;
  const { arrivals: is, cv: isCv } = hold.runs;
  return [
    ...askedFaults({ hold: { runs: { arrivals: is, cv: isCv } } }, { hold: { runs: { arrivals, cv } } }),
    ...hold.models.flatMap(({ attainment }, m) => {
      const own = models[m]?.hold;
      if (own === undefined || own === attainment) return [];
      return [fault(`is ${attainment}; its spec gives ${own}`, `/hold/models/${m}/attainment`)];
    }),
  ];
}
