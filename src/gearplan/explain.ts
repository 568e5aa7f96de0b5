import { type AccuracyInterval, NS_PER_MS } from '../formats/index.js';
import { type FamilyQuestion, questionOf } from './family-question.js';
import { solveGears } from './objectives.js';
import { intervalOf } from './plan.js';
import type { GearPlanBody } from './plan-body.js';
import type { GearProblem } from './problem.js';
import type { ClassProblem } from './resolve.js';

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

/** FrontierPoint is the accuracy of the best plan with a given number of devices under a latency; none where there is no plan. */
export interface FrontierPoint extends Partial<ServedAccuracy> {
  readonly devices: number;
  readonly latencyMs: number;
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
