import { emittedHead } from '../../artifacts/index.js';
import { countedPlan } from '../../checks/index.js';
import {
  type CascadeSpec,
  cascadeMethodOf,
  type GearPlan,
  type NoPlan,
  option,
} from '../../formats/index.js';
import { familyFigures, type GearPlanBody } from '../../gearplan/index.js';
import { missedWhatWasAsked } from '../solve-limits.js';
import type { SolveOptions } from '../solve-options.js';
import { searchedSince } from '../solver-report.js';
import type { PlanFound, PlanMissing, SolvingOf } from '../spec-of.js';
import { FOR_POOLED } from '../taken-options.js';
import { familyProfiles, type LoadedCascade } from './cascade.js';
import type { PlannedGears } from './cascade-worker.js';
import { gearServing } from './gear-simulation.js';
import { type CascadeTypes, NOT_FOR_CASCADES } from './kind.js';
import { planGears } from './plan-gears.js';

/** solvingCascade is how specs of cascades are solved. */
export const solvingCascade: SolvingOf<CascadeTypes> = {
  outcome: 'gear-plan',
  named: ', a cascade',
  // A cascade's search ends by itself, so that a gap is asked of what it proved.
  options: () => ({
    gap: 'taken',
    work: 'taken',
    timeLimit: 'taken',
    explain: 'taken',
    baseline: NOT_FOR_CASCADES,
    measure: NOT_FOR_CASCADES,
    hold: NOT_FOR_CASCADES,
    frontier: 'taken',
    literal: FOR_POOLED,
  }),
  refuse: async () => undefined,
  figures: ({ resolved, files }) => familyFigures(resolved, files),
  async search(loaded, options) {
    const startedMs = performance.now();
    const planned = await planGears(loaded, options);
    const { answer } = planned;
    const solver = searchedSince(startedMs, answer.trials);
    if (!('plan' in answer)) return missing(loaded, { ...planned, answer, solver }, options);
    return found(loaded, { ...planned, plan: answer.plan, solver }, options);
  },
};

/** Searched is a search that ended, without its answer. */
interface Searched extends Pick<PlannedGears, 'explanation'> {
  readonly timeOver?: boolean;
  readonly solver: NoPlan['solver'];
}

type Unplanned = Exclude<PlannedGears['answer'], { readonly plan: unknown }>;

function missing(
  loaded: LoadedCascade,
  { answer, solver, timeOver = false }: Searched & { readonly answer: Unplanned },
  { signal }: SolveOptions,
): PlanMissing {
  const { value: spec } = loaded.spec;
  const { notes } = loaded.resolved;
  switch (answer.status) {
    case 'infeasible': {
      const { reasons, feasibleLatencyMs } = answer;
      const models = noPlanModels(spec, feasibleLatencyMs);
      return { isFound: false, loaded, notes, answer: { status: 'infeasible', reasons, solver, models } };
    }
    case 'undecided': {
      const { reasons = [], feasibleLatencyMs } = answer;
      const limit = signal?.aborted ? 'interrupted' : timeOver ? 'time' : 'work';
      const isEnded = reasons.length === 0 || limit !== 'work';
      return {
        isFound: false,
        loaded,
        notes,
        answer: {
          status: 'no-plan-in-time',
          ...(isEnded ? { limit } : {}),
          reasons,
          solver,
          models: noPlanModels(spec, feasibleLatencyMs),
        },
        advice: adviceFor(spec, timeOver),
        reasons: reasons.map(({ text }) => text),
      };
    }
  }
}

function found(
  loaded: LoadedCascade,
  { plan, solver, explanation, timeOver = false }: Searched & { readonly plan: GearPlanBody },
  options: SolveOptions,
): PlanFound<CascadeTypes> {
  const { signal, work } = options;
  const isOutOfWork = work !== undefined && solver.nodes >= work;
  const isFar = missedWhatWasAsked(undefined, plan.objective.gap, options);
  return {
    isFound: true,
    cluster: loaded.files.cluster,
    profiles: familyProfiles(loaded),
    limitReached: isFar || (plan.status !== 'optimal' && (timeOver || isOutOfWork)),
    solver,
    ...(explanation === undefined ? {} : { explanation }),
    planFor: async (holder, notes) => {
      const search = {
        ...(signal?.aborted || timeOver ? { reproducible: false } : {}),
        ...(work === undefined ? {} : { work }),
      };
      return countedPlan(gearPlanOf(plan, loaded, { holder, notes, search }));
    },
  };
}

/** adviceFor says what may decide a question that a search left open. */
function adviceFor(spec: CascadeSpec, timeOver: boolean): string {
  if (timeOver) return `allow more with ${option('timeLimit')}`;
  const other =
    cascadeMethodOf(spec) === 'exhaustive' ? '' : ', or let planner.method: exhaustive try every cascade';
  return `allow more with ${option('work')}${other}`;
}

/** gearPlanOf puts the head of a file before a plan, and adds how its search was ended, and notes on its cluster. */
function gearPlanOf(
  { name, method, notes: own = [], status, objective, ...rest }: GearPlanBody,
  loaded: LoadedCascade,
  {
    holder,
    notes: ofCluster,
    search,
  }: {
    readonly holder: string | undefined;
    readonly notes: readonly string[];
    readonly search: Pick<GearPlan, 'work' | 'reproducible'>;
  },
): GearPlan {
  const notes = [...own, ...ofCluster];
  const used = rest.stages.map((stage) => stage.name);
  return {
    ...emittedHead('gear-plan', loaded.inputs(holder, used)),
    name,
    method,
    ...(notes.length === 0 ? {} : { notes }),
    status,
    ...search,
    objective,
    serving: gearServing(loaded.spec.value),
    ...rest,
  };
}

function noPlanModels(
  { name = 'cascade', slo }: CascadeSpec,
  feasibleMs: number | undefined,
): NoPlan['models'] {
  if (slo.latencyMs === undefined) return [];
  return [{ name, sloMs: slo.latencyMs, ...(feasibleMs === undefined ? {} : { feasibleSloMs: feasibleMs }) }];
}
