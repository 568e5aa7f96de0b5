import type { FurtherObjective, PipelineLoad, PipelineSpec } from '../../artifacts/index.js';
import {
  type Configuration,
  chosenSpec,
  chosenStages,
  estimatorOf,
  explainPipeline,
  type InfeasibleReason,
  isLinked,
  type PipelineEstimator,
  type PipelineExplanation,
  type PlannerInput,
  type PlanningOutcome,
  type PlanningProblem,
  planCoarsely,
  planningProblemOf,
  planPipeline,
  provedCost,
  type Sample,
} from '../../inferline/index.js';
import { quantileOfSorted } from '../../metrics/index.js';
import {
  type GivenProblem,
  type GivenReason,
  type OpenProblem,
  objectiveNotes,
  objectivesOf,
  type PipelineFiles,
  type PipelinePlanBody,
  planChosen,
  resolveGiven,
  shareWithin,
} from '../../pipeline/index.js';
import type { Trace } from '../../workload/index.js';
import { busyLinks } from './busy-links.js';
import { LinkedSample } from './linked-sample.js';
import { pipelineSamples, SAMPLE_SEED, withEnvelopeOf } from './pipeline-sample.js';

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
  | {
      readonly status: 'undecided';
      readonly estimates: number;
      /** What ended the search; absent where it came to its end and found no plan that holds over links. */
      readonly limit?: 'work' | 'time';
      /** What was in the way of the plans that the search tried. */
      readonly reasons: readonly GivenReason[];
    }
  | {
      readonly status: 'infeasible';
      readonly reasons: readonly GivenReason[];
      /** For each objective, the SLO that the others' would leave it; absent where none was found. */
      readonly smallestFeasibleSlosMs?: readonly number[];
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
  /** Whether an answer without a plan is to name an SLO that can be met; true where absent. */
  readonly tellsSlo?: boolean | undefined;
}

/**
 * planOpen chooses device class, batch and replicas of every stage, by the method that the spec names.
 * @param stop is asked between estimates, with their number; the search ends with what it has where the answer is true
 */
export async function planOpen(
  { open, spec, files, trace, work = MOST_ESTIMATES, explain = false, tellsSlo = true }: PlanningJob,
  stop: (estimates: number) => boolean,
): Promise<PlannedOpen> {
  const unfit = open.stages.flatMap(({ candidates, tooSmall }) => (candidates.length === 0 ? tooSmall : []));
  if (unfit.length > 0) return { status: 'infeasible', reasons: unfit, estimates: 0 };
  const problem = planningProblemOf(open);
  const samples = await pipelineSamples(spec, spec.load as PipelineLoad, trace);
  const { method } = spec.planner;
  const { served, explained } = servings({ problem, samples, spec, files });
  if (isCoarse(method)) {
    const outcome = planCoarsely(problem, samples, method === 'coarse-mean' ? 'mean' : 'peak');
    if (outcome.status === 'infeasible') return infeasible(outcome, open);
    const plan = planOf(outcome.configuration, { problem, samples, spec, files });
    const why = explain
      ? explainPipeline({ problem, samples, estimatorOf, ...explained }, outcome.configuration, [])
      : undefined;
    return { status: 'feasible', plan, finished: true, estimates: 0, ...(why && { explanation: why }) };
  }
  let isCut = false;
  const cutting = (estimates: number): boolean => {
    isCut ||= stop(estimates);
    return isCut;
  };
  // What the search has estimated last costs nothing to estimate again.
  const known = new Map<Sample, PipelineEstimator>();
  const kept: typeof estimatorOf = (asked, sample) => {
    const estimator = estimatorOf(asked, sample);
    known.set(sample, estimator);
    return estimator;
  };
  const outcome = planPipeline(
    { problem, samples, estimatorOf: kept, mostEstimates: work, stop: cutting, tellsSlo, ...served },
    method === 'exact' ? 'exact' : 'inferline',
  );
  if (outcome.status === 'undecided') return undecided(outcome, isCut, { problem, spec, files });
  if (outcome.status === 'infeasible') return infeasible(outcome, open);
  const { configuration, lowerBound, estimates, finished, trail } = outcome;
  const body = planOf(configuration, { problem, samples, spec, files, known });
  const proved = {
    ...{ ...body, ...costProof(body.hourlyCost ?? 0, lowerBound) },
    ...(isCut ? { reproducible: false } : {}),
  };
  const why = explain
    ? explainPipeline({ problem, samples, estimatorOf, ...explained }, configuration, trail)
    : undefined;
  return {
    ...{
      status: 'feasible',
      plan: await withEnvelopeOf(
        proved,
        samples.map(({ atNs }) => atNs),
      ),
      finished,
      estimates,
    },
    ...(why && { explanation: why }),
  };
}

/** servings are by what a search judges with links, and by what its answer is explained. */
function servings(planned: Planned) {
  const links = linkedServing(planned);
  if (links === undefined) return {};
  return { served: { serve: keepingUp(links, planned) }, explained: { serve: links } };
}

/**
 * undecided says what ended a search, and names the links that were in the way, where links were.
 * @param isStopped whether the time was over or a person stopped it
 */
function undecided(
  { nearest, estimates, isCut }: Extract<PlanningOutcome, { status: 'undecided' }>,
  isStopped: boolean,
  planned: Pick<Planned, 'problem' | 'spec' | 'files'>,
): PlannedOpen {
  const reason =
    nearest === undefined
      ? openReason(planned.spec)
      : busyLinks(chosenPlan(nearest.configuration, planned), nearest, planned.spec);
  return {
    ...{ status: 'undecided', estimates },
    ...(isStopped ? { limit: 'time' } : isCut ? { limit: 'work' } : {}),
    reasons: reason === undefined || (nearest === undefined && (isStopped || isCut)) ? [] : [reason],
  };
}

/** openReason says why a search that came to its end and found nothing is no proof. */
function openReason(spec: PipelineSpec): GivenReason {
  const wanted = objectivesOf(spec).map(({ sloMs }) => `${figure(sloMs)} ms`);
  const text = `no plan was found that answers within ${wanted.join(' and ')} even over idle links; as batches may wait for links, that is no proof that there is none; a longer SLO would help`;
  return { code: 'other', text };
}

const ROUNDING = 1e-9;

/**
 * costProof says how near a cost is to a bound on what any plan costs. There is no gap where the bound is 0 and the cost is
 * not, because no ratio says it.
 * @throws Error where the plan costs less than its bound, which is then no bound
 */
export function costProof(hourlyCost: number, lowerBound: number) {
  if (lowerBound > hourlyCost + ROUNDING * Math.max(1, hourlyCost))
    throw new Error(
      `the plan costs ${hourlyCost}, and it was proved that none costs less than ${lowerBound}`,
    );
  const bound = Math.min(hourlyCost, lowerBound);
  const isOptimal = hourlyCost <= bound * (1 + ROUNDING);
  return {
    status: isOptimal ? ('optimal' as const) : ('feasible' as const),
    objective: {
      kind: 'cost' as const,
      value: hourlyCost,
      bound: isOptimal ? hourlyCost : bound,
      ...(isOptimal ? { gap: 0 } : bound === 0 ? {} : { gap: hourlyCost / bound - 1 }),
    },
  };
}

/**
 * takenOver makes the plan of a job from what another plan chose for the stages, with a bound on the cost of any plan. It
 * is undefined where the job cannot be served so.
 */
export async function takenOver(
  plan: PipelinePlanBody,
  { open, spec, files, trace }: PlanningJob,
  bound: number,
): Promise<PipelinePlanBody | undefined> {
  const objective = { kind: 'cost' as const, value: 0, gap: 0, bound };
  const made = await planAsChosen({ ...plan, objective }, open, { spec, files, trace });
  if (made.status !== 'feasible') return undefined;
  return { ...made.plan, ...costProof(made.plan.hourlyCost ?? 0, bound) };
}

/**
 * planAsChosen makes a plan again from its spec with what it chose for its stages. Its bound is taken as it is, unless
 * it is to be proved anew: that of an exact search, or of several pipelines together, only the search could prove.
 */
export async function planAsChosen(
  plan: PipelinePlanBody,
  open: OpenProblem,
  { spec, files, trace, proves = false }: PipelineOrigin & { readonly proves?: boolean },
): Promise<{ readonly status: 'feasible'; readonly plan: PipelinePlanBody } | ChoiceFaults> {
  const problem = planningProblemOf(open);
  const { configuration, reasons } = configurationOf(problem, plan);
  reasons.push(...countReasons(problem, configuration));
  if (reasons.length > 0) return { status: 'infeasible', reasons };
  const samples = await pipelineSamples(spec, spec.load as PipelineLoad, trace);
  const body = planOf(configuration, { problem, samples, spec, files });
  if (isCoarse(spec.planner.method)) return { status: 'feasible', plan: body };
  const missed = [...busyReasons(body), ...missedObjectives(body)];
  if (missed.length > 0) return { status: 'infeasible', reasons: missed };
  const hourlyCost = body.hourlyCost ?? 0;
  const links = linkedServing({ problem, samples, spec, files });
  const isProvedAnew = proves && spec.planner.method === 'inferline' && plan.share === undefined;
  const bound = isProvedAnew
    ? Math.min(hourlyCost, provedCost({ problem, samples, estimatorOf, ...(links && { serve: links }) }))
    : (plan.objective?.bound ?? 0);
  return { status: 'feasible', plan: { ...body, ...costProof(hourlyCost, bound) } };
}

/** missedObjectives compares what a plan promises with what the Estimator gives for its sample. */
function missedObjectives({ sample, sloMs, attainment, objectives = [] }: PipelinePlanBody) {
  const sampleAttainment = sample?.leastAttainment as number;
  return [{ sloMs, attainment, sampleAttainment }, ...objectives]
    .filter((one) => one.sampleAttainment < one.attainment)
    .map((one) => ({
      text: `${percent(one.sampleAttainment)} of the sample's worst draw are answered within ${figure(one.sloMs)} ms, and the plan promises ${percent(one.attainment)}`,
    }));
}

/** busyReasons finds stages of a plan that do not keep up with its mean rate. */
function busyReasons({ stages, rps = 0 }: PipelinePlanBody) {
  return stages
    .filter(({ maxProvisioningRatio = 0 }) => maxProvisioningRatio > 1 + ROUNDING)
    .map(({ name, replicas, device, scaleFactor, throughputRps }) => ({
      text: `${replicas} ${device} serve ${name} for at most ${figure((replicas * throughputRps) / scaleFactor)} requests/s, and the load has ${figure(rps)}`,
    }));
}

interface ChoiceFaults {
  readonly status: 'infeasible';
  readonly reasons: readonly { readonly text: string }[];
}

/** configurationOf reads what a plan chose for the stages of its spec. */
function configurationOf({ graph, stages }: PlanningProblem, plan: PipelinePlanBody) {
  const reasons: { text: string }[] = [];
  const chosen = graph.names.map((name, i) => {
    const { device, batch = 1, replicas = 1 } = plan.stages.find((stage) => stage.name === name) ?? {};
    const { candidates = [] } = stages[i] ?? {};
    const candidate = candidates.findIndex((one) => one.device === device && one.batches.includes(batch));
    if (candidate < 0)
      reasons.push({
        text: `${name} is served by ${device} in batches of ${batch}, which its spec does not allow`,
      });
    const fixed = stages[i]?.replicas;
    if (fixed !== undefined && fixed !== replicas)
      reasons.push({ text: `${name} has ${replicas} replicas, and its spec fixes ${fixed}` });
    return { candidate: Math.max(0, candidate), batch, replicas };
  });
  const configuration = {
    candidate: Int32Array.from(chosen, (one) => one.candidate),
    batch: Int32Array.from(chosen, (one) => one.batch),
    replicas: Int32Array.from(chosen, (one) => one.replicas),
  };
  return { configuration, reasons };
}

/** countReasons finds classes of which a plan uses more devices than its spec's cluster has. */
function countReasons({ counts, stages }: PlanningProblem, { candidate, replicas }: Configuration) {
  return Object.entries(counts).flatMap(([device, count]) => {
    const used = stages.reduce(
      (sum, { candidates }, i) =>
        candidates[candidate[i] as number]?.device === device ? sum + (replicas[i] as number) : sum,
      0,
    );
    return used > count ? [{ text: `${used} ${device} are used and ${count} are free` }] : [];
  });
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
  /** Estimators that a search has made, for problems with further candidates behind those of this one. */
  readonly known?: ReadonlyMap<Sample, PipelineEstimator>;
}

function planOf(configuration: Configuration, planned: Planned): PipelinePlanBody {
  const { problem, samples, spec, files, known } = planned;
  const links = linkedServing(planned);
  const latencies = samples.map((sample, draw) => {
    if (links !== undefined) return links(configuration, draw);
    const estimator = known?.get(sample) ?? estimatorOf(problem, sample);
    return estimator.estimate(configuration).latencyNs;
  });
  const { notes = [], ...body } = chosenPlan(configuration, { problem, spec, files });
  const told = [...notes, ...objectiveNotes(spec)];
  const further = spec.objectives?.map((one) => ({
    ...one,
    sampleAttainment: leastWithin(latencies, one.sloMs),
  }));
  return {
    ...body,
    ...(told.length === 0 ? {} : { notes: told }),
    method: spec.planner.method,
    sample: sampleFigures(latencies, spec),
    ...(further === undefined ? {} : { objectives: further }),
  };
}

/** chosenPlan makes the plan of a configuration, which has no figures of the sample yet. */
function chosenPlan(
  configuration: Configuration,
  { problem, spec, files }: Pick<Planned, 'problem' | 'spec' | 'files'>,
): PipelinePlanBody {
  const resolved = resolveGiven(chosenSpec(spec, chosenStages(problem, configuration)), files);
  return planChosen(resolved.problem as GivenProblem);
}

/** keepingUp serves no request in time by plans whose servers send less than comes at the mean rate of the load. */
function keepingUp(
  serve: NonNullable<PlannerInput['serve']>,
  { samples, ...planned }: Planned,
): NonNullable<PlannerInput['serve']> {
  return (configuration, draw) => {
    const { rps = 0, throughputRps } = chosenPlan(configuration, planned);
    if (throughputRps >= rps * (1 - ROUNDING)) return serve(configuration, draw);
    return (samples[draw] as Sample).atNs.map(() => Number.POSITIVE_INFINITY);
  };
}

/**
 * linkedServing serves draws of the sample by the simulator, with the links of the servers on which a configuration is
 * placed; undefined where no batch can wait for a link, and the Estimator says the same in less time.
 */
function linkedServing({ problem, samples, spec, files }: Planned): PlannerInput['serve'] {
  if (!isLinked(problem)) return undefined;
  let [last, sample]: [string, LinkedSample | undefined] = ['', undefined];
  return (configuration, draw) => {
    const key = `${configuration.candidate} ${configuration.batch} ${configuration.replicas}`;
    if (sample === undefined || key !== last)
      sample = new LinkedSample(chosenPlan(configuration, { problem, spec, files }), problem.graph.names);
    last = key;
    return sample.latenciesNs(samples[draw] as Sample);
  };
}

/** sampleFigures says what the Estimator gives for each draw of the sample. */
function sampleFigures(
  latenciesNs: readonly Float64Array[],
  { sloMs }: PipelineSpec,
): NonNullable<PipelinePlanBody['sample']> {
  const sorted = joined(latenciesNs).sort();
  const quantileMs = (p: number) => (quantileOfSorted(sorted, p) ?? 0) / NS_PER_MS;
  return {
    requests: sorted.length,
    seed: SAMPLE_SEED,
    draws: latenciesNs.length,
    attainment: shareWithin(sorted, sloMs),
    leastAttainment: leastWithin(latenciesNs, sloMs),
    ...{ p50Ms: quantileMs(0.5), p95Ms: quantileMs(0.95), p99Ms: quantileMs(0.99) },
  };
}

function joined(columns: readonly Float64Array[]): Float64Array {
  const all = new Float64Array(columns.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const column of columns) {
    all.set(column, at);
    at += column.length;
  }
  return all;
}

/** leastWithin is the share of requests within an SLO, in the draw where it is least. */
function leastWithin(latenciesNs: readonly Float64Array[], sloMs: number): number {
  return Math.min(...latenciesNs.map((one) => (one.length === 0 ? 1 : shareWithin(one, sloMs))));
}

type Infeasible = Extract<PlanningOutcome, { status: 'infeasible' }>;

function infeasible(
  {
    reasons,
    least,
    estimates = 0,
  }: Pick<Infeasible, 'reasons' | 'least'> & Partial<Pick<Infeasible, 'estimates'>>,
  { spec, rps = 0 }: OpenProblem,
): PlannedOpen {
  const leastMs = least?.sloNs.map((ns) => ns / NS_PER_MS);
  const would =
    least === undefined
      ? ''
      : `; ${leastText(objectivesOf(spec), leastMs as number[])} can be met, at ${figure(least.hourlyCost)} per hour`;
  return {
    status: 'infeasible',
    reasons: reasons.map((reason) => {
      const { text, ...rest } = reasonOf(reason, spec, rps);
      return { ...rest, text: `${text}${would}` };
    }),
    ...(leastMs === undefined ? {} : { smallestFeasibleSlosMs: leastMs }),
    estimates,
  };
}

function leastText(objectives: readonly FurtherObjective[], leastMs: readonly number[]): string {
  if (objectives.length === 1) return `an SLO of ${figure(leastMs[0] as number)} ms`;
  const each = objectives.map(
    ({ attainment }, k) => `${figure(leastMs[k] as number)} ms (${percent(attainment)})`,
  );
  return `SLOs of ${each.join(', ')}`;
}

function reasonOf(reason: InfeasibleReason, spec: PipelineSpec, loadRps: number): GivenReason {
  const several = spec.objectives !== undefined;
  switch (reason.code) {
    case 'slo-too-short': {
      const { stages, longestPathNs, leastSloNs, objective } = reason;
      const [latencyMs, sloMs] = [leastSloNs / NS_PER_MS, objective.sloNs / NS_PER_MS];
      const path = `${stages.join(' -> ')}, takes ${figure(longestPathNs / NS_PER_MS)} ms on the fastest classes`;
      const which = several ? `the SLO of ${percent(objective.attainment)} of the requests` : 'the SLO';
      const text = `even if no request ever waited, ${which} would have to be ${figure(latencyMs)} ms, and it is ${figure(sloMs)} ms: the longest path, ${path}`;
      return { code: 'slo-too-short', stages, sloMs, latencyMs, overMs: latencyMs - sloMs, text };
    }
    case 'too-few-replicas': {
      const { stage, classes } = reason;
      const text = `${stage} needs more replicas than there are, ${classes.length === 0 ? 'as the spec fixes them' : `of ${classes.join(', ')}`}, whatever the others have`;
      return { code: 'too-few-gpus', stages: [stage], text };
    }
    case 'cannot-keep-up': {
      const { stage, classes, share } = reason;
      const limit =
        classes.length === 0
          ? 'the replicas that the spec fixes'
          : `the ${classes.join(', ')} that there are`;
      const [rps, servedRps] = [loadRps, loadRps * share];
      const text = `${limit} serve ${stage} for at most ${figure(servedRps)} requests/s, and the load has ${figure(rps)}`;
      return { code: 'rate-too-high', stages: [stage], rps, servedRps, text };
    }
    case 'no-combination': {
      const { sloMs } = spec;
      const wanted = objectivesOf(spec).map((one) => `${figure(one.sloMs)} ms`);
      return {
        ...{ code: 'slo-too-short', sloMs },
        text: `no choice of classes and batches is fast enough for the SLO${several ? 's' : ''} of ${wanted.join(' and ')}, though every stage alone has one: transfers between classes take too long, or batches that are fixed do`,
      };
    }
    case 'too-few-devices': {
      const { device, needed, count } = reason;
      return {
        ...{ code: 'too-few-gpus', class: device },
        ...{ available: { [device]: count }, missing: { [device]: needed - count } },
        text: `${needed} ${device} are needed and ${count} are free`,
      };
    }
    case 'too-few-servers': {
      const { classes } = reason;
      return {
        code: 'rate-too-high',
        text: `the uplinks of the servers of ${classes.join(', ')} have too little time for what the stages on them send of the requests that must be in time`,
      };
    }
    case 'limits-together':
      return limitsReason(reason);
  }
}

type LimitsTogether = Extract<InfeasibleReason, { code: 'limits-together' }>;

function limitsReason(reason: LimitsTogether): GivenReason {
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

function figure(value: number): string {
  return String(Number(value.toPrecision(4)));
}
