import {
  type CompareRow,
  type Fault,
  fault,
  gearObjective,
  type InputPath,
  option,
  outputFiles,
  refuseReplacing,
} from '../../artifacts/index.js';
import type { FamilyAnswer, GearPlanBody } from '../../gearplan/index.js';
import type { NamedJob } from '../../jobs/index.js';
import { caseText } from '../case-text.js';
import type { CompareOptions, Comparison } from '../compare-options.js';
import { comparisonDocument, saveComparison } from '../comparison-file.js';
import { costPerMillion } from '../cost-per-million.js';
import { type CaseFound, type Shared, sharedBetween } from '../easier.js';
import { endedReasons } from '../ended-reasons.js';
import { withFrontier } from '../frontier.js';
import type { WrittenMix } from '../mixes.js';
import { refuseMarked } from '../refuse-marked.js';
import { sideBySide } from '../side-by-side.js';
import type { LoadedCascade } from './cascade.js';
import type { GearJob, PlannedGears } from './cascade-worker.js';
import { type CascadeCase, cascadeCases } from './cases.js';

/** Values and bounds that differ by less than this, relatively, are equal. */
const ROUNDING = 1e-12;

/** The longest cascades that are ever counted have so many models. */
const LONGEST_CASCADE = 4;

type Answer =
  | (FamilyAnswer & Pick<PlannedGears, 'timeOver'>)
  | { readonly reasons: readonly string[] }
  | undefined;

/**
 * compareCascade plans a cascade for several clusters, latencies and accuracies, side by side on threads. By `gears` and
 * `exhaustive`, a plan that serves another case too is its answer where that is better, and a bound counts wherever it
 * holds.
 * @throws InputError with all faults of mixes and sweeps, and of options that are not for cascades, or as `refuseMarked` does
 *   where `strictProfile` is asked for
 */
export async function compareCascade(
  loaded: LoadedCascade,
  { mixes, ...options }: Omit<CompareOptions, 'mixes'> & { readonly mixes: readonly WrittenMix[] },
): Promise<Comparison> {
  const { output, mixFile, budget, sweeps = [] } = options;
  const { path, value: spec } = loaded.spec;
  const named: InputPath[] = mixFile === undefined ? [] : [{ what: 'the file of mixes', path: mixFile }];
  await refuseReplacing(`compare ${path}`, outputFiles({ output }), [...loaded.read, ...named]);
  const cases = await cascadeCases(loaded, { mixes, budget, sweeps }, refusedFaults(options));
  const asked = await jobsOf(loaded, cases, options);
  if (options.strictProfile) await refuseFamilies(path, asked);
  const answers = await answersOf(asked, options);
  const isShared = ['gears', 'exhaustive'].includes(spec.planner.method);
  const shares = isShared ? sharedAmong(answers, cases) : [];
  const notes = new Set<string>();
  const rows: CompareRow[] = [];
  for (const [i, answer] of answers.entries()) {
    if (answer === undefined) continue;
    const asked = cases[i] as CascadeCase;
    const share = shares[i];
    const plan = planIn(share?.from === undefined ? answer : answers[share.from]);
    for (const note of plan?.notes ?? []) notes.add(note);
    rows.push(plan === undefined ? rowWithout(asked, answer) : rowOfPlan(asked, plan, share));
  }
  const document = comparisonDocument(withFrontier(rows), {
    ...{ cases: cases.length, notes: [...notes], inputs: loaded.inputs(output) },
  });
  if (output !== undefined) await saveComparison(output, document);
  return { document, limitReached: answers.some((one) => isCutShort(one, options)) };
}

/** A cascade's search proves its bound by itself, and its plans hold what they promise. */
function refusedFaults({ gap, hold }: CompareOptions): Fault[] {
  return Object.entries({ gap, hold })
    .filter(([, value]) => value !== undefined)
    .map(([name]) => fault('is not for specs of kind cascade', option(name)));
}

type AskedJob = NamedJob<GearJob> | { readonly reasons: readonly string[] };

/** jobsOf resolves all cases. A case whose input is refused has the reasons. */
async function jobsOf(
  loaded: LoadedCascade,
  cases: readonly CascadeCase[],
  { work, timeLimit }: Omit<CompareOptions, 'mixes'>,
): Promise<AskedJob[]> {
  const { resolveCascade } = await import('../../gearplan/index.js');
  return cases.map((one): AskedJob => {
    const { spec, cluster } = one;
    const files = { ...loaded.files, cluster };
    const outcome = resolveCascade(spec, files);
    if ('faults' in outcome) return { reasons: outcome.faults.map(({ message }) => message) };
    const { resolved } = outcome;
    return {
      name: caseText(one),
      job: { spec, files, resolved, explain: false, frontier: false, work, timeLimit },
    };
  });
}

/** refuseFamilies refuses what a plan of any case could use. */
async function refuseFamilies(path: string, asked: readonly AskedJob[]): Promise<void> {
  const { familyFigures } = await import('../../gearplan/index.js');
  const figures = asked.flatMap((one) =>
    'job' in one ? familyFigures(one.job.resolved, one.job.files) : [],
  );
  refuseMarked(path, figures);
}

/** answersOf plans all cases. One that an interruption ended or left unstarted is undefined. */
async function answersOf(
  asked: readonly AskedJob[],
  options: Omit<CompareOptions, 'mixes'>,
): Promise<Answer[]> {
  const planned = await sideBySide<GearJob, PlannedGears>(
    asked.map((one) => ('job' in one ? one : undefined)),
    {
      worker: '#dist/src/specs/cascade/cascade-worker.js',
      isWhole: ({ answer: { status } }) => status === 'optimal' || status === 'infeasible',
      ...options,
    },
  );
  return asked.map((one, i): Answer => {
    if ('reasons' in one) return one;
    const { answer, timeOver } = planned[i] ?? {};
    return answer && { ...answer, ...(timeOver === undefined ? {} : { timeOver }) };
  });
}

function planIn(answer: Answer): GearPlanBody | undefined {
  return answer !== undefined && 'plan' in answer ? answer.plan : undefined;
}

/** isCutShort says whether a limit that was given ended the search for a case. */
function isCutShort(answer: Answer, { work }: Pick<CompareOptions, 'work'>): boolean {
  if (answer === undefined || !('trials' in answer)) return false;
  if (answer.status === 'optimal' || answer.status === 'infeasible') return false;
  return (
    answer.timeOver === true ||
    (work !== undefined && (answer.status === 'undecided' || answer.trials >= work))
  );
}

/** sharedAmong shares plans and bounds: all cases have one objective, since an accuracy is promised in all or in none. */
function sharedAmong(answers: readonly Answer[], cases: readonly CascadeCase[]): Shared[] {
  const objectives = answers.flatMap((answer) => planIn(answer)?.objective ?? []);
  const [first] = objectives;
  // A bound that holds for fewer cascades, as time ended their counting, is none for the others.
  if (first === undefined || new Set(objectives.map(({ scope }) => scope?.mostModels)).size > 1) return [];
  const { kind } = first;
  const found = answers.map((answer, i) => foundOf(answer, cases[i] as CascadeCase));
  return sharedBetween(found, kind === 'accuracy' ? 'most' : 'least');
}

function foundOf(answer: Answer, { mix, unlimited, spec }: CascadeCase): CaseFound | undefined {
  if (answer === undefined || !('trials' in answer)) return undefined;
  const { value, bound } = planIn(answer)?.objective ?? {};
  const { latencyMs = Number.POSITIVE_INFINITY, accuracy = 0 } = spec.slo;
  return { asked: { mix, unlimited, sloMs: latencyMs, accuracy }, value, bound };
}

function headOf({ mix, unlimited, slo, sloAccuracy, spec }: CascadeCase) {
  const { latencyMs, accuracy } = spec.slo;
  return {
    mix,
    ...(unlimited.length === 0 ? {} : { unlimited }),
    ...(slo === undefined ? {} : { slo }),
    sloMs: latencyMs === undefined ? [] : [latencyMs],
    ...(accuracy === undefined ? {} : { sloAccuracy: sloAccuracy ?? accuracy }),
  };
}

function rowWithout(asked: CascadeCase, answer: NonNullable<Answer>): CompareRow {
  if (!('trials' in answer)) return { ...headOf(asked), status: 'infeasible', reasons: answer.reasons };
  if (answer.status !== 'infeasible') {
    const { reasons = [] } = answer.status === 'undecided' ? answer : {};
    const limit = answer.timeOver === true ? 'time' : 'work';
    return { ...headOf(asked), status: 'no-plan-in-time', reasons: endedReasons({ limit, reasons }) };
  }
  const { reasons, feasibleLatencyMs: least } = answer;
  return {
    ...headOf(asked),
    status: 'infeasible',
    ...(least === undefined ? {} : { smallestFeasibleSloMs: least }),
    reasons: reasons.map(({ text }) => text),
  };
}

function rowOfPlan(asked: CascadeCase, plan: GearPlanBody, share: Shared | undefined): CompareRow {
  const { accuracy, accuracyInterval, p95Ms, maxRps, classes, hourlyCost } = plan;
  const perMillion = costPerMillion(hourlyCost, maxRps);
  return {
    ...headOf(asked),
    ...provedOf(plan, { share, models: asked.spec.models.length }),
    ...{ throughputRps: maxRps, accuracy, p95Ms },
    ...(accuracyInterval === undefined ? {} : { accuracyInterval }),
    used: Object.fromEntries(Object.entries(classes).map(([name, { used }]) => [name, used])),
    ...(hourlyCost === undefined ? {} : { hourlyCost }),
    ...(perMillion === undefined ? {} : { costPerMillionRequests: perMillion }),
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
