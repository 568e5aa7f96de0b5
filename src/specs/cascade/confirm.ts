import { fault, type GearPlan } from '../../artifacts/index.js';
import { evaluatedFaults, gearChanges } from '../../gearplan/index.js';
import { askedFaults, lackedInputs } from '../asked-faults.js';
import type { ConfirmingOf, Repeated } from '../spec-of.js';
import { gearArrivals } from './gear-arrivals.js';
import { gearServing, repeatedGearPromiseFaults } from './gear-simulation.js';
import type { CascadeTypes } from './kind.js';
import { planGears } from './plan-gears.js';

/** confirmingCascade is how gear plans are made again from their spec. */
export const confirmingCascade: ConfirmingOf<CascadeTypes> = {
  confirmed: (plan, repeats) => (isSearched(plan, repeats) ? 'recomputed' : 'evaluated'),
  async faults(plan, loaded, { path, holder, repeats }) {
    const { value: spec } = loaded.spec;
    const { slo, load, certainty = 'top-2' } = spec;
    const asked = { serving: gearServing(spec), slo, maxRps: load.maxRps, certainty };
    const { serving, maxRps } = plan;
    const given = { serving, slo: plan.slo, maxRps, certainty: plan.certainty };
    const used = plan.stages.map(({ name }) => name);
    const faults = [...askedFaults(given, asked), ...lackedInputs(plan.inputs, loaded.inputs(holder, used))];
    // A plan that was asked for something else has other gears too, which tells nothing more.
    if (faults.length > 0) return faults;
    const isPromised = slo.latencyMs !== undefined || plan.objective.kind === 'latency';
    if (isPromised && plan.promise === undefined)
      return [fault('is missing: nothing confirms the latency; solve the spec again', '/promise')];
    // What contradicts its gears needs no search to be told, and simulations of a plan that is not right say nothing more.
    const { files, resolved } = loaded;
    const evaluated = evaluatedFaults(plan, { spec, files, resolved, arrivalsOf: gearArrivals() });
    if (evaluated.length > 0) return evaluated;
    if (!isSearched(plan, repeats))
      return repeats.includes('promise') ? repeatedGearPromiseFaults(plan, loaded) : [];
    const { answer } = await planGears(loaded, { work: plan.work });
    return 'plan' in answer ? gearChanges(plan, answer.plan, ['notes']) : [fault('has no plan', path)];
  },
};

/** isSearched says whether the search for a plan is to be repeated, and gives the same plan again. */
function isSearched({ reproducible = true }: GearPlan, repeats: readonly Repeated[]): boolean {
  return reproducible && repeats.includes('search');
}
