import type { PipelineLoad, PipelineSpec } from '../../artifacts/index.js';
import {
  chosenSpec,
  chosenStages,
  estimatorOf,
  type InfeasibleReason,
  type PlanningOutcome,
  planningProblemOf,
  planPipeline,
  type Sample,
} from '../../inferline/index.js';
import { quantileOfSorted } from '../../metrics/index.js';
import {
  type GivenProblem,
  type GivenReason,
  type OpenProblem,
  type PipelineFiles,
  type PipelinePlanBody,
  planChosen,
  resolveGiven,
} from '../../pipeline/index.js';
import type { Trace } from '../../workload/index.js';
import { pipelineSample, SAMPLE_SEED } from './pipeline-sample.js';

const NS_PER_MS = 1e6;

/** PlannedOpen is the answer to a spec whose stages are to be chosen. */
export type PlannedOpen =
  | {
      readonly status: 'feasible';
      readonly plan: PipelinePlanBody;
      readonly finished: boolean;
      readonly estimates: number;
    }
  | { readonly status: 'undecided'; readonly estimates: number }
  | {
      readonly status: 'infeasible';
      readonly reasons: readonly GivenReason[];
      readonly smallestFeasibleSloMs?: number;
      readonly estimates: number;
    };

/** PipelineLimits ends a search: after so many estimates, or so many seconds. */
export interface PipelineLimits {
  readonly work?: number | undefined;
  readonly timeLimit?: number | undefined;
}

/** How many estimates a search makes when no option says so. */
const MOST_ESTIMATES = 20_000;

/** planOpen chooses device class, batch and replicas of every stage, by the method that the spec names. */
export async function planOpen(
  open: OpenProblem,
  {
    spec,
    files,
    trace,
    work = MOST_ESTIMATES,
    timeLimit = Number.POSITIVE_INFINITY,
  }: PipelineLimits & {
    readonly spec: PipelineSpec;
    readonly files: PipelineFiles;
    readonly trace: Trace | undefined;
  },
): Promise<PlannedOpen> {
  const unfit = open.stages.flatMap(({ candidates, tooSmall }) => (candidates.length === 0 ? tooSmall : []));
  if (unfit.length > 0) return { status: 'infeasible', reasons: unfit, estimates: 0 };
  const problem = planningProblemOf(open);
  const sample = await pipelineSample(spec, spec.load as PipelineLoad, trace);
  const endMs = performance.now() + 1e3 * timeLimit;
  const outcome = planPipeline(
    { problem, sample, estimatorOf, mostEstimates: work, stop: () => performance.now() >= endMs },
    spec.planner.method === 'exact' ? 'exact' : 'inferline',
  );
  if (outcome.status === 'undecided') return outcome;
  if (outcome.status === 'infeasible') return infeasible(outcome, spec);
  const resolved = resolveGiven(chosenSpec(spec, chosenStages(problem, outcome.configuration)), files);
  const { hourlyCost: value, lowerBound: bound, estimates } = outcome;
  const plan: PipelinePlanBody = {
    ...planChosen(resolved.problem as GivenProblem),
    method: spec.planner.method,
    status: value <= bound ? 'optimal' : 'feasible',
    objective: { kind: 'cost', value, bound, gap: Math.max(0, value / bound - 1) },
    sample: sampleFigures(estimatorOf(problem, sample).estimate(outcome.configuration).latencyNs, {
      sample,
      spec,
    }),
  };
  return { status: 'feasible', plan, finished: outcome.finished, estimates };
}

/** sampleFigures says what the Estimator gives for the sample. */
function sampleFigures(
  latencyNs: Float64Array,
  { sample, spec: { sloMs } }: { readonly sample: Sample; readonly spec: PipelineSpec },
): NonNullable<PipelinePlanBody['sample']> {
  const sorted = latencyNs.toSorted();
  const quantileMs = (p: number) => (quantileOfSorted(sorted, p) ?? 0) / NS_PER_MS;
  const inTime = latencyNs.reduce((sum, ns) => (ns <= Math.round(sloMs * NS_PER_MS) ? sum + 1 : sum), 0);
  return {
    requests: sample.atNs.length,
    seed: SAMPLE_SEED,
    attainment: inTime / sample.atNs.length,
    ...{ p50Ms: quantileMs(0.5), p95Ms: quantileMs(0.95), p99Ms: quantileMs(0.99) },
  };
}

function infeasible(
  { reasons, least, estimates }: Extract<PlanningOutcome, { status: 'infeasible' }>,
  { sloMs }: PipelineSpec,
): PlannedOpen {
  const leastMs = least?.sloNs[0];
  const would =
    least === undefined
      ? ''
      : `; the least SLO that can be met is ${figure((leastMs as number) / NS_PER_MS)} ms, at ${figure(least.hourlyCost)} per hour`;
  return {
    status: 'infeasible',
    reasons: reasons.map((reason) => {
      const { text, ...rest } = reasonOf(reason, sloMs);
      return { ...rest, text: `${text}${would}` };
    }),
    ...(leastMs === undefined ? {} : { smallestFeasibleSloMs: leastMs / NS_PER_MS }),
    estimates,
  };
}

function reasonOf(reason: InfeasibleReason, sloMs: number): GivenReason {
  switch (reason.code) {
    case 'slo-too-short': {
      const { stages, longestPathNs, leastSloNs } = reason;
      const latencyMs = leastSloNs / NS_PER_MS;
      const path = `${stages.join(' -> ')} takes ${figure(longestPathNs / NS_PER_MS)} ms on the fastest classes`;
      const text = `even if no request ever waited, the SLO would have to be ${figure(latencyMs)} ms, and it is ${figure(sloMs)} ms: the longest path, ${path}`;
      return { code: 'slo-too-short', stages, sloMs, latencyMs, overMs: latencyMs - sloMs, text };
    }
    case 'too-few-replicas': {
      const { stage, classes } = reason;
      const text = `${stage} needs more replicas than there are, ${classes.length === 0 ? 'as the spec fixes them' : `of ${classes.join(', ')}`}, whatever the others have`;
      return { code: 'too-few-gpus', stages: [stage], text };
    }
    case 'limits-together': {
      const { classes, fixedStages } = reason;
      const limits = [
        ...(classes.length === 0 ? [] : [`the GPUs of ${classes.join(', ')}`]),
        ...(fixedStages.length === 0 ? [] : [`the replicas fixed for ${fixedStages.join(', ')}`]),
      ];
      return {
        code: 'too-few-gpus',
        stages: fixedStages,
        text: `${limits.join(' and ')} are together too few`,
      };
    }
  }
}

function figure(value: number): string {
  return String(Number(value.toPrecision(4)));
}
