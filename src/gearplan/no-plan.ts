import { itemAt, smallestOf } from '../collections/index.js';
import {
  counted,
  type GearScope,
  type NoPlanReason,
  NS_PER_MS,
  scopeText,
  toldApart,
  toldUp,
  toldUpBelow,
} from '../formats/index.js';
import { type ClassAnswer, type FamilyQuestion, questionOf, solvedFamily } from './family-question.js';
import type { RangeFault } from './loop.js';
import { type GearAnswer, type GearQuestion, type NoGears, relaxedValue } from './objectives.js';
import type { GearProblem } from './problem.js';
import type { ClassProblem, ResolvedCascade } from './resolve.js';

/** Sentences have figures of this many digits. */
const DIGITS = 4;
/**
 * The reported latency, with which there is a plan, is longer than the least one by these factors at most.
 */
const LONGER = [1, 1.02, 1.05];
/** This many times the fewest devices are tried until the spec itself has a plan. */
const MORE_DEVICES = [1, 1.2, 1.5, 2];
/** How many devices are tried to find out how many would do: */
const MOST_DEVICES = 4096;
/** and how many times as many as the least that the bound allows, since a search takes longer the more there are. */
const MOST_OF_LEAST = 16;

/**
 * gearsNotHeldReasons says which rate is not held, for each class on which a plan was found that does not
 * hold its rates.
 */
export function gearsNotHeldReasons(
  { spec }: FamilyQuestion,
  answers: readonly ClassAnswer[],
): NoPlanReason[] {
  return answers.flatMap(({ of, answer }): NoPlanReason[] => {
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
}

/** noPlan says of each class why there is no plan on it, and what would mend that. */
export function noPlan(
  question: FamilyQuestion,
  answers: readonly ClassAnswer[],
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
    class: device,
    available: { [device]: problem.devices },
    ...(enough === undefined ? {} : { missing: { [device]: enough - problem.devices } }),
  };
  const { reason } = answer;
  const { tried, scope } = reason;
  const proof = { scope, ...(tried === undefined ? {} : { triedCascades: tried }) };
  if (reason.code === 'accuracy')
    return {
      code: 'accuracy-too-high',
      ...about,
      ...proof,
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
  const { fromRps, toRps } = itemAt(ranges, range);
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
    objective: 'devices',
    unitCost: 1,
  });
  const least = relaxedValue(among(MOST_DEVICES));
  if (least === undefined) return undefined;
  const answer = solvedFamily(question, of, among(Math.min(MOST_DEVICES, MOST_OF_LEAST * least)));
  if (!('solution' in answer)) return undefined;
  const { value } = answer.solution;
  const objective = question.spec.planner?.objective;
  if (objective === 'devices' || objective === 'cost') return value;
  // Under other objectives, the fewest devices for which a plan exists may be too few for a plan that holds.
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
  // The reported figure has few digits, and the spec itself has a plan with it.
  for (const factor of LONGER) {
    const latencyMs = toldUp(factor * answer.solution.value);
    const problem = { ...of.problem, latencyNs: latencyMs * NS_PER_MS };
    if ('solution' in solvedFamily(question, of, questionOf(question, { ...of, problem }))) return latencyMs;
  }
  return undefined;
}
