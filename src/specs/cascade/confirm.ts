import { EARLIER_GEARS, fault, type GearPlan, gearObjective } from '../../formats/index.js';
import { evaluatedFaults, gearChanges } from '../../gearplan/index.js';
import { askedFaults, lackedInputs } from '../asked-faults.js';
import type { ConfirmingOf, Repeated } from '../spec-of.js';
import { unconfirmedIn } from '../unconfirmed.js';
import type { LoadedCascade } from './cascade.js';
import { gearArrivals } from './gear-arrivals.js';
import { gearServing, repeatedGearPromiseFaults } from './gear-simulation.js';
import type { CascadeTypes } from './kind.js';
import { planGears } from './plan-gears.js';

/** The fields that only a search knows and that are not computed again. */
const SEARCHED: readonly string[] = [
  ...['/status', '/reproducible', '/work', '/objective/bound', '/objective/gap'],
  '/gears/*/limitedBy',
];

/** confirmingCascade is how gear plans are made again from their spec. */
export const confirmingCascade: ConfirmingOf<CascadeTypes> = {
  unconfirmed: (plan, repeats) => unconfirmedIn(plan, isSearched(plan, repeats) ? [] : SEARCHED),
  confirmed: (plan, repeats) => (isSearched(plan, repeats) ? 'recomputed' : 'evaluated'),
  async faults(read, current, { path, holder, repeats }) {
    const plan = withGapAsNow(read);
    const loaded = asServed(plan, current);
    const { value: spec } = loaded.spec;
    const { slo, load, certainty = 'top-2' } = spec;
    const asked = { serving: gearServing(spec), slo, maxRps: load.maxRps, certainty };
    const { serving, maxRps } = plan;
    const given = { serving, slo: plan.slo, maxRps, certainty: plan.certainty };
    const used = plan.stages.map(({ name }) => name);
    const faults = [...askedFaults(given, asked), ...lackedInputs(plan.inputs, loaded.inputs(holder, used))];
    // A plan that was asked for something else has other gears too, which says nothing more.
    if (faults.length > 0) return faults;
    const isPromised = slo.latencyMs !== undefined || plan.objective.kind === 'latency';
    if (isPromised && plan.promise === undefined)
      return [fault('is missing: nothing confirms the latency; solve the spec again', '/promise')];
    // Contradictions of its gears need no search to be found, and simulations of a plan with faults say
    // nothing more.
    const { files, resolved } = loaded;
    const evaluated = evaluatedFaults(plan, { spec, files, resolved, arrivalsOf: gearArrivals() });
    if (evaluated.length > 0) return evaluated;
    if (!isSearched(plan, repeats))
      return repeats.includes('promise') ? repeatedGearPromiseFaults(plan, loaded) : [];
    const { answer } = await planGears(loaded, { work: plan.work });
    return 'plan' in answer ? gearChanges(plan, answer.plan, ['notes']) : [fault('has no plan', path)];
  },
};

/**
 * The first version of gear plans of which none was made that does not say what it drops, unless its spec says how it
 * is served.
 */
const FIRST_THAT_DROPS = 4;

/**
 * asServed is what a plan was made of: where the spec does not say how it is served, plans of older versions say it as
 * they did.
 */
function asServed(
  { version, serving: { scheduler, policy } }: GearPlan,
  loaded: LoadedCascade,
): LoadedCascade {
  const { spec } = loaded;
  const isEarlier =
    Number(version.split('.')[1]) < FIRST_THAT_DROPS &&
    spec.value.serving === undefined &&
    policy === undefined &&
    scheduler === EARLIER_GEARS.scheduler;
  return isEarlier
    ? { ...loaded, spec: { ...spec, value: { ...spec.value, serving: EARLIER_GEARS } } }
    : loaded;
}

/** Gaps that differ by less are the same. */
const ROUNDING = 1e-12;

/**
 * withGapAsNow gives a plan the gap of its accuracy as it is written now: older plans write it as a share of
 * the bound.
 */
function withGapAsNow(plan: GearPlan): GearPlan {
  const { kind, value, bound, gap, scope } = plan.objective;
  const isEarlier =
    kind === 'accuracy' && gap !== undefined && Math.abs(gap - (bound - value) / bound) <= ROUNDING;
  return isEarlier ? { ...plan, objective: gearObjective({ kind, value, bound, scope }) } : plan;
}

/** isSearched says whether the search for a plan is to be repeated, and gives the same plan again. */
function isSearched({ reproducible = true }: GearPlan, repeats: readonly Repeated[]): boolean {
  return reproducible && repeats.includes('search');
}
