import { itemAt } from '../../collections/index.js';
import { type CompareRow, cascadeMethodOf, gearObjective, type NoPlanReason } from '../../formats/index.js';
import { familyFigures, type GearPlanBody, resolveCascade } from '../../gearplan/index.js';
import { useFigures } from '../cost-per-million.js';
import { type CaseFound, type Shared, sharedBetween } from '../easier.js';
import { endedReasons } from '../ended-reasons.js';
import { mixFigures } from '../mixes.js';
import type { RefusedCase } from '../side-by-side.js';
import { missedWhatWasAsked, type SolveLimits } from '../solve-limits.js';
import type { CaseAnswers, ComparingOf } from '../spec-of.js';
import { type LoadedCascade, loadCascade } from './cascade.js';
import type { GearJob, PlannedGears } from './cascade-worker.js';
import { type CascadeCase, cascadeCases } from './cases.js';
import { CASCADE_THREAD, type CascadeTypes, NOT_FOR_CASCADES } from './kind.js';

/** Values and bounds that differ by less than this, relatively, are equal. */
const ROUNDING = 1e-12;

/** The longest cascades that are ever counted have this many models. */
const LONGEST_CASCADE = 4;

/** The methods whose plans are as good as these plans can be, so that a plan of another case may take their place. */
const SHARING: readonly string[] = ['gears', 'exhaustive'];

/**
 * comparingCascade is how cases of cascades are planned and reported. By `gears` and `exhaustive`, a plan that serves another case
 * too is its answer where that is better, and a bound counts wherever it holds.
 */
export const comparingCascade: ComparingOf<CascadeTypes> = {
  // Its plans hold what they promise.
  options: { gap: 'taken', hold: NOT_FOR_CASCADES },
  thread: CASCADE_THREAD,
  refuse: async () => undefined,
  hasFrontier: true,
  load: (spec) => loadCascade(spec),
  cases: cascadeCases,
  prepare: ({ files: { cluster } }) => ({
    notes: [],
    currency: cluster.currency,
    figures: ({ resolved, files }) => familyFigures(resolved, files),
  }),
  jobOf: jobWithin,
  isWhole: ({ answer: { status } }) => status === 'optimal' || status === 'infeasible',
  shares: ({ spec }, cases, answers) =>
    SHARING.includes(cascadeMethodOf(spec.value)) ? sharedAmong(answers, cases) : [],
  head: headOf,
  async row({ variant, answer, share, answers }, loaded) {
    const plan = planIn(share?.from === undefined ? answer : answers[share.from]);
    if (plan === undefined) {
      const job = jobWithin(loaded, variant, {});
      return { row: rowWithout(variant, answer), notes: 'refused' in job ? [] : job.resolved.notes };
    }
    return { row: rowOfPlan(variant, plan, share), notes: plan.notes };
  },
  isCut: isCutShort,
};

type Answer = CaseAnswers<CascadeTypes>[number];

function planIn(answer: Answer): GearPlanBody | undefined {
  if (answer === undefined || 'refused' in answer) return undefined;
  return 'plan' in answer.answer ? answer.answer.plan : undefined;
}

/**
 * isCutShort says whether a limit that was given ended the search for a case, or its plan is further from the bound
 * than was asked.
 */
function isCutShort({ answer, timeOver }: PlannedGears, limits: SolveLimits): boolean {
  const { work } = limits;
  if ('plan' in answer && missedWhatWasAsked(undefined, answer.plan.objective.gap, limits)) return true;
  if (answer.status === 'optimal' || answer.status === 'infeasible') return false;
  return (
    timeOver === true || (work !== undefined && (answer.status === 'undecided' || answer.trials >= work))
  );
}

/** sharedAmong shares plans and bounds: all cases have one objective, since an accuracy is promised in all or in none. */
function sharedAmong(answers: CaseAnswers<CascadeTypes>, cases: readonly CascadeCase[]): Shared[] {
  const objectives = answers.flatMap((answer) => planIn(answer)?.objective ?? []);
  const [first] = objectives;
  // A bound that holds for fewer cascades, as time ended their counting, is none for the others.
  if (first === undefined || new Set(objectives.map(({ scope }) => scope?.mostModels)).size > 1) return [];
  const { kind } = first;
  const found = answers.map((answer, i) => foundOf(answer, itemAt(cases, i)));
  return sharedBetween(found, kind === 'accuracy' ? 'most' : 'least');
}

function foundOf(answer: Answer, { mix, unlimited, spec }: CascadeCase): CaseFound | undefined {
  if (answer === undefined || 'refused' in answer) return undefined;
  const { value, bound } = planIn(answer)?.objective ?? {};
  const { latencyMs = Number.POSITIVE_INFINITY, accuracy = 0 } = spec.slo;
  return { asked: { mix, unlimited, sloMs: latencyMs, accuracy }, value, bound };
}

/** jobWithin makes the job of a case, unless its input is refused. */
function jobWithin(
  loaded: LoadedCascade,
  { spec, cluster }: CascadeCase,
  { work, timeLimit }: SolveLimits,
): GearJob | RefusedCase {
  const files = { ...loaded.files, cluster };
  const outcome = resolveCascade(spec, files);
  if ('faults' in outcome) return { refused: outcome.faults.map(({ message }) => message) };
  return { spec, files, resolved: outcome.resolved, explain: false, frontier: false, work, timeLimit };
}

function headOf({ slo, sloAccuracy, spec, ...mix }: CascadeCase) {
  const { latencyMs, accuracy } = spec.slo;
  return {
    ...mixFigures(mix),
    ...(slo === undefined ? {} : { slo }),
    sloMs: latencyMs === undefined ? [] : [latencyMs],
    ...(accuracy === undefined ? {} : { sloAccuracy: sloAccuracy ?? accuracy }),
  };
}

function rowWithout(asked: CascadeCase, { answer, timeOver }: PlannedGears): CompareRow {
  if (answer.status !== 'infeasible') {
    const { reasons = [] } = answer.status === 'undecided' ? answer : {};
    const limit = timeOver === true ? 'time' : 'work';
    return { ...headOf(asked), status: 'no-plan-in-time', reasons: endedReasons({ limit, reasons }) };
  }
  const { reasons, feasibleLatencyMs: least } = answer;
  // A reason that a class has no device says nothing where the mix has none of the class, and so comes last.
  const isAbsent = (reason: NoPlanReason) => reason.class !== undefined && asked.mix[reason.class] === 0;
  return {
    ...headOf(asked),
    status: 'infeasible',
    ...(least === undefined ? {} : { smallestFeasibleSloMs: least }),
    reasons: reasons.toSorted((a, b) => Number(isAbsent(a)) - Number(isAbsent(b))).map(({ text }) => text),
  };
}

function rowOfPlan(asked: CascadeCase, plan: GearPlanBody, share: Shared | undefined): CompareRow {
  const { accuracy, accuracyInterval, p95Ms, maxRps, classes, hourlyCost } = plan;
  return {
    ...headOf(asked),
    ...provedOf(plan, { share, models: asked.spec.models.length }),
    throughputRps: maxRps,
    accuracy,
    p95Ms,
    ...(accuracyInterval === undefined ? {} : { accuracyInterval }),
    ...useFigures(classes, { hourlyCost, rps: maxRps }),
  };
}

/** provedOf gives the objective with the bound that is shared. A plan that does better than a bound is its own. */
function provedOf(
  { status, objective }: GearPlanBody,
  { share, models }: { readonly share: Shared | undefined; readonly models: number },
): Pick<CompareRow, 'status' | 'objective'> {
  const { kind, value, scope } = objective;
  // Where too little was counted for a proof, another case's bound is none either.
  if (share === undefined || (scope?.mostModels ?? 0) < Math.min(LONGEST_CASCADE, models))
    return { status, objective };
  const bound = kind === 'accuracy' ? Math.max(value, share.bound) : Math.min(value, share.bound);
  const shared = gearObjective({ kind, value, bound, scope });
  const isOptimal = shared.gap !== undefined && shared.gap <= ROUNDING;
  return { status: isOptimal ? 'optimal' : 'feasible', objective: shared };
}
