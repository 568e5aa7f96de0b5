import { largestOf, smallestOf } from '../collections/index.js';
import {
  type AccuracyInterval,
  type CascadeSpec,
  cascadeMethodOf,
  counted,
  type GearScope,
  type NoPlanReason,
  NS_PER_MS,
  scopeText,
  toldApart,
  toldUp,
  toldUpBelow,
} from '../formats/index.js';
import { heldGears } from './held-gears.js';
import type { RangeFault } from './loop.js';
import {
  type GearAnswer,
  type GearQuestion,
  type GearSolution,
  type NoGears,
  relaxedValue,
  searchedThrough,
  solveGears,
  trialsOf,
  withSurpassed,
} from './objectives.js';
import { maximalSets } from './placement.js';
import { gearPlanOf, intervalOf, type PlannedFamily } from './plan.js';
import type { GearPlanBody } from './plan-body.js';
import { type SearchEnd, type SearchTools, spaceOf } from './planner.js';
import type { GearProblem } from './problem.js';
import type { SimulateGears } from './promise.js';
import type { CascadeFiles, ClassProblem, ResolvedCascade } from './resolve.js';

/** Sentences have figures of so many digits. */
const DIGITS = 4;
/** A latency with which there is a plan is told that is longer than the least one by these factors at most. */
const LONGER = [1, 1.02, 1.05];
/** So many times the fewest devices are tried until the spec itself has a plan. */
const MORE_DEVICES = [1, 1.2, 1.5, 2];
/** How many devices are tried to find out how many would do: */
const MOST_DEVICES = 4096;
/** and how many times as many as the least that the bound allows, since a search takes longer the more there are. */
const MOST_OF_LEAST = 16;

/** FamilyQuestion is a resolved spec with the arrivals that gears are tried with. */
export interface FamilyQuestion extends SearchEnd, SearchTools {
  readonly spec: CascadeSpec;
  readonly files: CascadeFiles;
  readonly resolved: ResolvedCascade;
  /** Draws an integer below a number, for random search. */
  readonly integer: (below: number) => number;
  /** Simulates whole plans, which confirms what they promise. Without it, plans promise nothing. */
  readonly simulate?: SimulateGears;
}

/** isPlacementHard says whether the models do not all fit a device of some class, so that placements differ. */
export function isPlacementHard({ classes }: ResolvedCascade): boolean {
  return classes.some(({ problem }) => maximalSets(problem.models, problem.memoryBytes).length > 1);
}

/** FamilyAnswer is a gear plan, or the reasons why there is none, or neither in time. `trials` counts simulated gears. */
export type FamilyAnswer =
  | {
      readonly status: 'optimal' | 'feasible';
      readonly plan: GearPlanBody;
      readonly trials: number;
    }
  | {
      readonly status: 'infeasible';
      readonly reasons: readonly NoPlanReason[];
      /** The least latency with which there is a plan. */
      readonly feasibleLatencyMs?: number;
      readonly trials: number;
    }
  | {
      readonly status: 'undecided';
      /** Why no plan that was found holds the latency, or why none was found; simulations say it, and prove nothing. */
      readonly reasons?: readonly NoPlanReason[];
      /** The least latency with which there is a plan. */
      readonly feasibleLatencyMs?: number;
      readonly trials: number;
    };

/** GearExplanation says what devices and latencies more or less would bring. */
export interface GearExplanation {
  /** The plan's figure with one device more, of what was made best. */
  readonly oneMoreDevice?: ServedAccuracy & { readonly devices: number };
  /** The accuracy that can be served, by devices and latency. */
  readonly frontier?: readonly FrontierPoint[];
}

/** ServedAccuracy is the share of right answers over the records, and where it lies for samples like those. */
export interface ServedAccuracy {
  readonly accuracy: number;
  readonly accuracyInterval: AccuracyInterval;
}

/** FrontierPoint is the accuracy of the best plan with so many devices under a latency; none where there is no plan. */
export interface FrontierPoint extends Partial<ServedAccuracy> {
  readonly devices: number;
  readonly latencyMs: number;
}

/**
 * planFamily answers a spec on the class that serves it best. The plan's bound holds for all classes, and it is optimal
 * where it reaches that.
 */
export function planFamily(question: FamilyQuestion): FamilyAnswer {
  const { resolved } = question;
  const answers = answersOf(question);
  const trials = answers.reduce((sum, { answer }) => sum + trialsOf(answer), 0);
  const found = answers.flatMap(({ of, answer }) =>
    'solution' in answer ? [{ of, answer, solution: answer.solution }] : [],
  );
  const [best] = found.toSorted((a, b) => order(resolved, a.solution, b.solution));
  if (best === undefined && answers.some(({ answer }) => answer.status === 'undecided'))
    return undecided(question, answers, trials);
  if (best === undefined) return unplanned(question, answers, trials);
  const { of, answer } = best;
  const others = answers.filter((one) => one.of !== of);
  const { bound, scope } = best.solution;
  const proofs = [{ bound, scope }, ...others.flatMap((one) => proofOf(question, one) ?? [])];
  const bounds = proofs.map((proof) => proof.bound);
  const bestBound = isMost(resolved) ? largestOf(bounds) : smallestOf(bounds);
  // What is said of all classes is said of cascades that were counted for each of them.
  const least =
    proofs.map((proof) => proof.scope).toSorted((a, b) => a.mostModels - b.mostModels)[0] ?? scope;
  const isProved = bestBound === bound && least.mostModels === scope.mostModels;
  const plan = writtenPlan(question, of, {
    solution: { ...best.solution, bound: bestBound, scope: least },
    status: isProved ? answer.status : 'feasible',
    ...(answer.held === undefined ? {} : { held: answer.held }),
  });
  return { status: plan.status, plan, trials };
}

/** writtenPlan writes a solution on a class as a plan. */
function writtenPlan(
  { spec, files, resolved, arrivalsOf }: FamilyQuestion,
  of: ClassProblem,
  solved: Pick<PlannedFamily, 'solution' | 'status' | 'held' | 'limits'>,
): GearPlanBody {
  const { objective, notes } = resolved;
  return gearPlanOf({ spec, files, of, objective, notes, arrivalsOf, ...solved });
}

/** solvedFamily answers a question about a class, by a plan that holds what it promises. */
function solvedFamily(question: FamilyQuestion, of: ClassProblem, asked: GearQuestion): GearAnswer {
  const { simulate } = question;
  if (simulate === undefined) return solveGears(asked);
  // Why no cascade is more accurate is told of the plan that is held.
  const limits = asked.problem.ranges.map(() => undefined);
  const planOf = (solution: GearSolution) =>
    writtenPlan(question, { ...of, problem: solution.problem }, { solution, limits, status: 'feasible' });
  return heldGears(asked, { simulate, planOf });
}

/** unplanned says why there is no plan. Only a bound proves that: a cascade that a simulation refuses may hold by chance. */
function unplanned(
  question: FamilyQuestion,
  answers: readonly { readonly of: ClassProblem; readonly answer: GearAnswer }[],
  trials: number,
): FamilyAnswer {
  const none = noPlan(question, answers);
  // A class on which some models fit may have a plan of these, which is not looked for.
  const isWhole = question.resolved.unable.every(({ code }) => code !== 'weights-exceed-memory');
  const isProved =
    isWhole &&
    answers.every(({ answer }) => answer.status === 'infeasible' && answer.reason.tried === undefined);
  return { ...none, ...(isProved ? {} : { status: 'undecided' }), trials };
}

/** undecided tells of each class on which a plan was found that is not held which rate it does not hold. */
function undecided(
  { spec }: FamilyQuestion,
  answers: readonly { readonly of: ClassProblem; readonly answer: GearAnswer }[],
  trials: number,
): FamilyAnswer {
  const reasons = answers.flatMap(({ of, answer }): NoPlanReason[] => {
    if (answer.status !== 'undecided' || answer.notHeld === undefined) return [];
    const { rps, mean } = answer.notHeld;
    const { quantile } = of.problem;
    const within = spec.slo.latencyMs === undefined ? 'in time' : `within ${spec.slo.latencyMs} ms`;
    const [answered, promised] = toldApart([100 * mean, 100 * quantile]);
    // Runs that differ may have a mean above what all of them together are sure of.
    const short =
      mean < quantile
        ? `and ${promised} % are promised`
        : `which is too little to be sure of the ${promised} % that are promised`;
    const text = `of the plans on ${of.problem.devices} ${of.device} that were simulated, none holds its latency at every load; the last one answers ${answered} % ${within} at ${rounded(rps)} requests/s, ${short}`;
    return [{ code: 'not-held', class: of.device, rps, attainment: quantile, text }];
  });
  return { status: 'undecided', trials, ...(reasons.length === 0 ? {} : { reasons }) };
}

/**
 * answersOf answers for each class. Where no class has a plan and the search left that open on some, these are searched
 * through, and at last single models are tried that others surpass.
 */
function answersOf(question: FamilyQuestion): { readonly of: ClassProblem; readonly answer: GearAnswer }[] {
  const asked = question.resolved.classes.map((of) => {
    const solve = (one: GearQuestion): GearAnswer => solvedFamily(question, of, one);
    return { of, asked: questionOf(question, of), solve };
  });
  let answers = asked.map(({ asked, solve }) => solve(asked));
  const isAnswered = () => answers.some((answer) => 'solution' in answer);
  if (!isAnswered())
    answers = asked.map(({ asked, solve }, i) => {
      const answer = answers[i] as GearAnswer;
      const isOpen = answer.status === 'undecided' && answer.notHeld === undefined;
      return isOpen ? searchedThrough(asked, answer, solve) : answer;
    });
  if (!isAnswered())
    answers = asked.map(({ asked, solve }, i) => {
      const answer = answers[i] as GearAnswer;
      return 'solution' in answer ? answer : withSurpassed(asked, answer, solve);
    });
  return asked.map(({ of }, i) => ({ of, answer: answers[i] as GearAnswer }));
}

/** proofOf is the bound on the value of plans on a class, with its scope; undefined where there are none. */
function proofOf(
  question: FamilyQuestion,
  { of, answer }: { readonly of: ClassProblem; readonly answer: GearAnswer },
): Pick<GearSolution, 'bound' | 'scope'> | undefined {
  if ('solution' in answer) return answer.solution;
  if (answer.status === 'infeasible') return undefined;
  const asked = questionOf(question, of);
  const bound = relaxedValue(asked);
  return bound === undefined ? undefined : { bound, scope: spaceOf(of.problem, asked).scope };
}

/** isMost says whether the objective is better the larger it is. */
function isMost({ objective }: ResolvedCascade): boolean {
  return objective === 'accuracy';
}

function questionOf(
  { spec, resolved, arrivalsOf, solvePlacement, integer, work, interrupted }: FamilyQuestion,
  of: ClassProblem,
): GearQuestion {
  const method = cascadeMethodOf(spec);
  const { objective, accuracy } = resolved;
  return {
    ...{ problem: of.problem, objective, accuracy, method, arrivalsOf, integer },
    ...(solvePlacement === undefined ? {} : { solvePlacement }),
    ...(work === undefined ? {} : { work }),
    ...(interrupted === undefined ? {} : { interrupted }),
    ...(objective === 'cost' && of.unitCost !== undefined ? { unitCost: of.unitCost } : {}),
  };
}

/** order puts the better of two solutions first. */
function order(resolved: ResolvedCascade, a: GearSolution, b: GearSolution): number {
  return isMost(resolved) ? b.value - a.value : a.value - b.value;
}

/** noPlan says of each class why there is no plan on it, and what would mend that. */
function noPlan(
  question: FamilyQuestion,
  answers: readonly { readonly of: ClassProblem; readonly answer: GearAnswer }[],
): { readonly status: 'infeasible'; readonly reasons: NoPlanReason[]; readonly feasibleLatencyMs?: number } {
  const reasons: NoPlanReason[] = [...question.resolved.unable];
  const latencies: number[] = [];
  for (const { of, answer } of answers) {
    if (answer.status !== 'infeasible') continue;
    const enough = enoughDevices(question, of);
    const latencyMs = enoughLatencyMs(question, of);
    if (latencyMs !== undefined) latencies.push(latencyMs);
    reasons.push(reasonOf(question, { of, answer, enough, latencyMs }));
  }
  return {
    status: 'infeasible',
    reasons,
    ...(latencies.length === 0 ? {} : { feasibleLatencyMs: smallestOf(latencies) }),
  };
}

interface Mended {
  readonly of: ClassProblem;
  readonly answer: Extract<GearAnswer, { readonly status: 'infeasible' }>;
  readonly enough: number | undefined;
  readonly latencyMs: number | undefined;
}

function reasonOf(
  { resolved, spec }: FamilyQuestion,
  { of, answer, enough, latencyMs }: Mended,
): NoPlanReason {
  const { problem, device } = of;
  const mends = [
    ...(enough === undefined ? [] : [`${enough} ${device} would do`]),
    ...(latencyMs === undefined ? [] : [`a latency of ${latencyMs} ms would do`]),
  ];
  const mended = mends.length === 0 ? '' : `; ${mends.join(', or ')}`;
  const about = {
    ...{ class: device, available: { [device]: problem.devices } },
    ...(enough === undefined ? {} : { missing: { [device]: enough - problem.devices } }),
  };
  const { reason } = answer;
  const { tried, scope } = reason;
  const proof = { scope, ...(tried === undefined ? {} : { triedCascades: tried }) };
  if (reason.code === 'accuracy')
    return {
      ...{ code: 'accuracy-too-high', ...about, ...proof },
      ...inaccurate(of, { ...reason, ...resolved, mended }),
    };
  const { loads, rps, model } = lostAt(problem, reason.fault);
  const devices = `${problem.devices} ${device}`;
  const served = { ...about, ...proof, stages: [model], rps };
  if (reason.fault.by === 'load') {
    const why =
      tried === undefined
        ? `have no time for even the cheapest of ${scopeText(scope)}`
        : `keep up with ${noneOf(tried, scope)}`;
    return {
      code: 'rate-too-high',
      ...served,
      text: `${loads}, ${devices} ${why}, most of all for ${model}${mended}`,
    };
  }
  const sloMs = spec.slo.latencyMs as number;
  const within = `is within ${sloMs} ms on ${devices}`;
  const why =
    tried === undefined
      ? `none of ${scopeText(scope)} ${within}, even where nothing waits`
      : `${noneOf(tried, scope)} ${within}`;
  return {
    code: 'slo-too-short',
    ...served,
    sloMs,
    text: `${loads}, ${why}, and ${model} takes most of the time${mended}`,
  };
}

function noneOf(tried: number, scope: GearScope): string {
  return `none of ${counted(tried, 'simulated cascade')} (of ${scopeText(scope)})`;
}

type Inaccurate = Extract<NoGears, { readonly code: 'accuracy' }> &
  Pick<ResolvedCascade, 'accuracy'> & { readonly mended: string };

/** inaccurate says that no cascade is as accurate as promised, or in which range devices or latency lose most of that. */
function inaccurate(
  { problem, device }: ClassProblem,
  { most, best, fault, accuracy, mended, scope, tried }: Inaccurate,
): Pick<NoPlanReason, 'text' | 'stages' | 'rps'> {
  if (best < accuracy)
    return {
      text: `${scopeText(scope)} are right about ${toldUpBelow(best, accuracy)} of the records at most, and an accuracy of ${accuracy} is promised; neither more devices nor a longer latency mends that`,
    };
  const among = scopeText(scope);
  const plans =
    tried === undefined
      ? `no plan with ${among}`
      : `no plan of ${counted(tried, 'simulated cascade')} (of ${among})`;
  const said = `${plans} on ${problem.devices} ${device} is more accurate than ${toldUpBelow(most, accuracy)}, and ${accuracy} is promised`;
  if (fault === undefined) return { text: `${said}${mended}` };
  const { loads, rps, model } = lostAt(problem, fault);
  const why = fault.by === 'load' ? 'has no time for more requests' : 'takes too long for more requests';
  return { stages: [model], rps, text: `${said}; most is lost ${loads}, where ${model} ${why}${mended}` };
}

function lostAt({ ranges, models }: GearProblem, { range, model }: RangeFault) {
  const { fromRps, toRps } = ranges[range] as GearProblem['ranges'][number];
  const loads = `from ${rounded(fromRps)} to ${rounded(toRps)} requests/s`;
  return { loads, rps: toRps, model: models[model]?.name ?? '' };
}

function rounded(value: number): number {
  return Number(value.toPrecision(DIGITS));
}

/** enoughDevices is the number of devices with which there is a plan, as far as one is found. */
function enoughDevices(question: FamilyQuestion, of: ClassProblem): number | undefined {
  const own = (devices: number) => questionOf(question, { ...of, problem: { ...of.problem, devices } });
  const among = (devices: number): GearQuestion => ({
    ...own(devices),
    ...{ objective: 'devices', unitCost: 1 },
  });
  const least = relaxedValue(among(MOST_DEVICES));
  if (least === undefined) return undefined;
  const answer = solvedFamily(question, of, among(Math.min(MOST_DEVICES, MOST_OF_LEAST * least)));
  if (!('solution' in answer)) return undefined;
  const { value } = answer.solution;
  const objective = question.spec.planner?.objective;
  if (objective === 'devices' || objective === 'cost') return value;
  // What is made best otherwise may have no plan that holds where the fewest devices have one.
  return MORE_DEVICES.map((factor) => Math.ceil(factor * value)).find(
    (devices) => 'solution' in solvedFamily(question, of, own(devices)),
  );
}

/** enoughLatencyMs is the latency with which there is a plan on the devices that there are, as far as one is found. */
function enoughLatencyMs(question: FamilyQuestion, of: ClassProblem): number | undefined {
  if (!Number.isFinite(of.problem.latencyNs)) return undefined;
  const asked = questionOf(question, {
    ...of,
    problem: { ...of.problem, latencyNs: Number.POSITIVE_INFINITY },
  });
  const answer = solvedFamily(question, of, { ...asked, objective: 'latency' });
  if (!('solution' in answer)) return undefined;
  // What is told is a figure of few digits, with which the spec itself has a plan.
  for (const factor of LONGER) {
    const latencyMs = toldUp(factor * answer.solution.value);
    const problem = { ...of.problem, latencyNs: latencyMs * NS_PER_MS };
    if ('solution' in solvedFamily(question, of, questionOf(question, { ...of, problem }))) return latencyMs;
  }
  return undefined;
}

/** explainFamily says what one device more brings to a plan, on the class of the plan. */
export function explainFamily(question: FamilyQuestion, plan: GearPlanBody): GearExplanation {
  const of = classOf(question, plan);
  const devices = plan.placement.reduce((sum, { count = 1 }) => sum + count, 0) + 1;
  const served = servedWith(question, of, { devices, headroom: headroomOf(plan) });
  return served === undefined ? {} : { oneMoreDevice: { devices, ...served } };
}

/**
 * frontierOf gives the accuracy that can be served with fewer devices and shorter latencies, and with more: from half of
 * what the plan has to twice as much.
 */
export function frontierOf(question: FamilyQuestion, plan: GearPlanBody): readonly FrontierPoint[] {
  const of = classOf(question, plan);
  const used = plan.placement.reduce((sum, { count = 1 }) => sum + count, 0);
  const counts = [...new Set([0.5, 0.75, 1, 1.5, 2].map((factor) => Math.max(1, Math.round(factor * used))))];
  const latencies = [0.5, 0.75, 1, 1.5, 2].map((factor) => factor * plan.sloMs);
  return counts.flatMap((devices) =>
    latencies.map((latencyMs) => {
      const change = { devices, latencyNs: latencyMs * NS_PER_MS, headroom: headroomOf(plan) };
      const isOwn = devices === used && latencyMs === plan.sloMs;
      const served = isOwn ? servedBy(of, plan.accuracy) : servedWith(question, of, change);
      return { devices, latencyMs, ...served };
    }),
  );
}

function classOf({ resolved }: FamilyQuestion, { stages }: GearPlanBody): ClassProblem {
  return resolved.classes.find(({ device }) => device === stages[0]?.device) as ClassProblem;
}

/** headroomOf is what other plans are planned with as well, so that they compare with a plan that is held. */
function headroomOf({ gears }: GearPlanBody): number[] {
  return gears.map(({ headroom = 0 }) => headroom);
}

function servedBy({ problem }: ClassProblem, accuracy: number): ServedAccuracy {
  return { accuracy, accuracyInterval: intervalOf(accuracy, problem) };
}

function servedWith(
  question: FamilyQuestion,
  of: ClassProblem,
  change: Pick<GearProblem, 'devices' | 'headroom'> & { readonly latencyNs?: number },
): ServedAccuracy | undefined {
  const latencyNs = question.spec.slo.latencyMs === undefined ? {} : { latencyNs: of.problem.latencyNs };
  const problem = { ...of.problem, ...latencyNs, ...change };
  const asked = questionOf(question, { ...of, problem });
  const answer = solveGears({ ...asked, objective: 'accuracy', accuracy: 0 });
  return 'solution' in answer ? servedBy(of, answer.solution.value) : undefined;
}
