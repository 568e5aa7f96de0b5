import type { PipelineLoad, PipelinePlan, PipelineSpec } from '../../artifacts/index.js';
import {
  type Configuration,
  chosenSpec,
  chosenStages,
  estimatorOf,
  explainPipeline,
  type InfeasibleReason,
  type PipelineExplanation,
  type PlanningOutcome,
  type PlanningProblem,
  planCoarsely,
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
import { pipelineSamples, SAMPLE_SEED } from './pipeline-sample.js';

const NS_PER_MS = 1e6;

/** PlannedOpen is the answer to a spec whose stages are to be chosen. */
export type PlannedOpen =
  | {
      readonly status: 'feasible';
      readonly plan: PipelinePlanBody;
      readonly finished: boolean;
      readonly estimates: number;
      readonly explanation?: PipelineExplanation;
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

/** PipelineOrigin is a spec with the files that it names. */
interface PipelineOrigin {
  readonly spec: PipelineSpec;
  readonly files: PipelineFiles;
  readonly trace?: Trace | undefined;
}

/** How many estimates a search makes when no option says so. */
const MOST_ESTIMATES = 20_000;

/** PlanningJob is a spec whose stages are to be chosen, with the limits of the search. */
export interface PlanningJob extends PipelineLimits, PipelineOrigin {
  readonly open: OpenProblem;
  /** Whether the answer is to say what each change of the plan would bring. */
  readonly explain?: boolean | undefined;
}

/**
 * planOpen chooses device class, batch and replicas of every stage, by the method that the spec names.
 * @param stop is asked between estimates, with their number; the search ends with what it has where the answer is true
 */
export async function planOpen(
  { open, spec, files, trace, work = MOST_ESTIMATES, explain = false }: PlanningJob,
  stop: (estimates: number) => boolean,
): Promise<PlannedOpen> {
  const unfit = open.stages.flatMap(({ candidates, tooSmall }) => (candidates.length === 0 ? tooSmall : []));
  if (unfit.length > 0) return { status: 'infeasible', reasons: unfit, estimates: 0 };
  const problem = planningProblemOf(open);
  const samples = await pipelineSamples(spec, spec.load as PipelineLoad, trace);
  const { method } = spec.planner;
  if (isCoarse(method)) {
    const outcome = planCoarsely(problem, samples, method === 'coarse-mean' ? 'mean' : 'peak');
    if (outcome.status === 'infeasible') return infeasible(outcome, spec);
    const plan = planOf(outcome.configuration, { problem, samples, spec, files });
    const why = explain
      ? explainPipeline({ problem, samples, estimatorOf }, outcome.configuration, [])
      : undefined;
    return { status: 'feasible', plan, finished: true, estimates: 0, ...(why && { explanation: why }) };
  }
  const outcome = planPipeline(
    { problem, samples, estimatorOf, mostEstimates: work, stop },
    method === 'exact' ? 'exact' : 'inferline',
  );
  if (outcome.status === 'undecided') return outcome;
  if (outcome.status === 'infeasible') return infeasible(outcome, spec);
  const { configuration, lowerBound, estimates, finished, trail } = outcome;
  const body = planOf(configuration, { problem, samples, spec, files });
  const why = explain ? explainPipeline({ problem, samples, estimatorOf }, configuration, trail) : undefined;
  return {
    ...{ status: 'feasible', plan: { ...body, ...proofOf(body, lowerBound) }, finished, estimates },
    ...(why && { explanation: why }),
  };
}

const ROUNDING = 1e-9;

/** proofOf says how near the cost of a plan is to a bound on what any plan costs. */
function proofOf({ hourlyCost = 0 }: PipelinePlanBody, lowerBound: number) {
  const bound = Math.min(hourlyCost, lowerBound);
  const isOptimal = hourlyCost <= bound * (1 + ROUNDING);
  return {
    status: isOptimal ? ('optimal' as const) : ('feasible' as const),
    objective: {
      kind: 'cost' as const,
      value: hourlyCost,
      bound: isOptimal ? hourlyCost : bound,
      gap: isOptimal ? 0 : hourlyCost / bound - 1,
    },
  };
}

/**
 * planAsChosen makes a plan again from its spec with what it chose for its stages. Its bound is taken as it is: only the
 * search could prove it again.
 */
export async function planAsChosen(
  plan: PipelinePlan,
  open: OpenProblem,
  { spec, files, trace }: PipelineOrigin,
): Promise<{ readonly status: 'feasible'; readonly plan: PipelinePlanBody } | ChoiceFaults> {
  const problem = planningProblemOf(open);
  const { configuration, reasons } = configurationOf(problem, plan);
  if (reasons.length > 0) return { status: 'infeasible', reasons };
  const samples = await pipelineSamples(spec, spec.load as PipelineLoad, trace);
  const body = planOf(configuration, { problem, samples, spec, files });
  if (isCoarse(spec.planner.method)) return { status: 'feasible', plan: body };
  const attainment = body.sample?.leastAttainment as number;
  if (attainment < body.attainment)
    return {
      status: 'infeasible',
      reasons: [
        {
          text: `${percent(attainment)} of a draw of the sample are in time, and the plan promises ${percent(body.attainment)}`,
        },
      ],
    };
  return { status: 'feasible', plan: { ...body, ...proofOf(body, plan.objective?.bound ?? 0) } };
}

interface ChoiceFaults {
  readonly status: 'infeasible';
  readonly reasons: readonly { readonly text: string }[];
}

/** configurationOf reads what a plan chose for the stages of its spec. */
function configurationOf({ graph, stages }: PlanningProblem, plan: PipelinePlan) {
  const reasons: { text: string }[] = [];
  const chosen = graph.names.map((name, i) => {
    const { device, batch = 1, replicas = 1 } = plan.stages.find((stage) => stage.name === name) ?? {};
    const { candidates = [] } = stages[i] ?? {};
    const candidate = candidates.findIndex((one) => one.device === device && one.batches.includes(batch));
    if (candidate < 0)
      reasons.push({
        text: `${name} is served by ${device} in batches of ${batch}, which its spec does not allow`,
      });
    return { candidate: Math.max(0, candidate), batch, replicas };
  });
  const configuration = {
    candidate: Int32Array.from(chosen, (one) => one.candidate),
    batch: Int32Array.from(chosen, (one) => one.batch),
    replicas: Int32Array.from(chosen, (one) => one.replicas),
  };
  return { configuration, reasons };
}

function isCoarse(method: PipelineSpec['planner']['method']): method is 'coarse-mean' | 'coarse-peak' {
  return method === 'coarse-mean' || method === 'coarse-peak';
}

function percent(share: number): string {
  return `${Number((100 * share).toFixed(4))} %`;
}

/** Planned is what a configuration was chosen for. */
interface Planned {
  readonly problem: PlanningProblem;
  readonly samples: readonly Sample[];
  readonly spec: PipelineSpec;
  readonly files: PipelineFiles;
}

function planOf(configuration: Configuration, { problem, samples, spec, files }: Planned): PipelinePlanBody {
  const resolved = resolveGiven(chosenSpec(spec, chosenStages(problem, configuration)), files);
  const latencies = samples.map((sample) => estimatorOf(problem, sample).estimate(configuration).latencyNs);
  return {
    ...planChosen(resolved.problem as GivenProblem),
    method: spec.planner.method,
    sample: sampleFigures(latencies, spec),
  };
}

/** sampleFigures says what the Estimator gives for each draw of the sample. */
function sampleFigures(
  latenciesNs: readonly Float64Array[],
  { sloMs }: PipelineSpec,
): NonNullable<PipelinePlanBody['sample']> {
  const sorted = Float64Array.from(latenciesNs.flatMap((one) => [...one])).sort();
  const quantileMs = (p: number) => (quantileOfSorted(sorted, p) ?? 0) / NS_PER_MS;
  const inTime = latenciesNs.map((one) => one.filter((ns) => ns <= Math.round(sloMs * NS_PER_MS)).length);
  const shares = latenciesNs.map(({ length }, draw) =>
    length === 0 ? 1 : (inTime[draw] as number) / length,
  );
  return {
    requests: sorted.length,
    seed: SAMPLE_SEED,
    draws: latenciesNs.length,
    attainment: inTime.reduce((sum, count) => sum + count, 0) / sorted.length,
    leastAttainment: Math.min(...shares),
    ...{ p50Ms: quantileMs(0.5), p95Ms: quantileMs(0.95), p99Ms: quantileMs(0.99) },
  };
}

type Infeasible = Extract<PlanningOutcome, { status: 'infeasible' }>;

function infeasible(
  {
    reasons,
    least,
    estimates = 0,
  }: Pick<Infeasible, 'reasons' | 'least'> & Partial<Pick<Infeasible, 'estimates'>>,
  { sloMs }: PipelineSpec,
): PlannedOpen {
  const leastMs = least?.sloNs[0];
  const would =
    least === undefined
      ? ''
      : `; an SLO of ${figure((leastMs as number) / NS_PER_MS)} ms can be met, at ${figure(least.hourlyCost)} per hour`;
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
      const path = `${stages.join(' -> ')}, takes ${figure(longestPathNs / NS_PER_MS)} ms on the fastest classes`;
      const text = `even if no request ever waited, the SLO would have to be ${figure(latencyMs)} ms, and it is ${figure(sloMs)} ms: the longest path, ${path}`;
      return { code: 'slo-too-short', stages, sloMs, latencyMs, overMs: latencyMs - sloMs, text };
    }
    case 'too-few-replicas': {
      const { stage, classes } = reason;
      const text = `${stage} needs more replicas than there are, ${classes.length === 0 ? 'as the spec fixes them' : `of ${classes.join(', ')}`}, whatever the others have`;
      return { code: 'too-few-gpus', stages: [stage], text };
    }
    case 'no-combination':
      return {
        ...{ code: 'slo-too-short', sloMs },
        text: `no choice of classes and batches is fast enough for the SLO of ${figure(sloMs)} ms, though every stage alone has one: transfers between classes take too long, or batches that are fixed do`,
      };
    case 'too-few-devices': {
      const { device, needed, count } = reason;
      return {
        ...{ code: 'too-few-gpus', class: device },
        ...{ available: { [device]: count }, missing: { [device]: needed - count } },
        text: `${needed} ${device} are needed and ${count} are free`,
      };
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
