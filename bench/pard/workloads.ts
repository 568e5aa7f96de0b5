import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { stringify } from 'yaml';
import { loadArtifact } from '../../src/artifacts/index.js';
import {
  type OpenCluster,
  type PipelinePlan,
  type PipelineSpec,
  type PipelineStage,
  type PlanServing,
  type PolicyGiven,
  type Profile,
  ToldFaults,
} from '../../src/formats/index.js';
import { leastSloMs, scaleFactors } from '../../src/pipeline/index.js';
import { chosenTuner, plannedScheduler, readStageGraph } from '../../src/plans/index.js';
import { type SimulationSetup, type TraceWorkload, traceWorkload } from '../../src/simulation/index.js';
import { solveSpec } from '../../src/specs/index.js';
import type { CountTrace } from '../../src/workload/index.js';
import { madeRates, type TraceName } from './made-traces.js';
import { publishedRates } from './published-traces.js';
import { plannedRps, type SizedStage, sizedBatches, standby, UTILISATION, workers } from './sizing.js';

const EXAMPLES = resolve(import.meta.dirname, '../../../examples/pipelines');
const CLASS = '2080ti';

/** APPLICATIONS names the specs of `examples/pipelines` that PARD is evaluated with. */
export const APPLICATIONS = ['tm', 'lv', 'ga', 'da', 'da-branch'] as const;

/** ApplicationName is one of them. */
export type ApplicationName = (typeof APPLICATIONS)[number];

/** EyePlace says where `da` and `da-branch` have eye tracking, which the paper leaves open. */
export type EyePlace = 'after-expression' | 'before-expression' | 'left-out';

/** Sizing says in what the plan of an application differs from that of its example. Its rate stays. */
export interface Sizing {
  /** So many times as long as stated all latencies are. Default 1. */
  readonly latencyFactor?: number | undefined;
  /** Another SLO, for which batches and workers are chosen again. */
  readonly sloMs?: number | undefined;
  /** The share of its time that a worker is to be busy, in the plan and to its tuner. Default 0.8. */
  readonly utilisation?: number | undefined;
  /** Default `after-expression`. */
  readonly eye?: EyePlace | undefined;
}

/** AskedWorkload says which workload is made. */
export interface AskedWorkload extends Sizing {
  readonly application: ApplicationName;
  readonly trace: TraceName;
  /** How long requests arrive, in whole seconds. */
  readonly durationS: number;
  /** The seed of arrivals, of verdicts, and of the rates where they are made. Default 0. */
  readonly seed?: number;
  /** The mean rate of the arrivals over the one that is planned for. Default 1. */
  readonly rateFactor?: number;
  /** Whether the rates are made, or those of a published trace in `../shared/traces`. Default made. */
  readonly from?: 'made' | 'published';
  /** The coefficient of variation of the factors on planned durations; executions take what is planned where absent. */
  readonly jitterCv?: number | undefined;
}

/** PardWorkload is what a simulation of one of the paper's workloads needs. */
export interface PardWorkload {
  readonly plan: PipelinePlan;
  readonly workload: TraceWorkload;
  readonly seed: number;
  readonly jitterCv?: number | undefined;
}

/** ServedBy says who serves a workload in place of its plan's scheduler and tuner. */
export interface ServedBy {
  readonly scheduler?: string;
  readonly policy?: readonly PolicyGiven[];
  readonly tuner?: string;
}

/**
 * pardWorkload makes a workload: the plan of an application, and arrivals with the mean rate that it is planned for.
 * @throws Error where no batches keep the SLO, or there are too few GPUs for the rate
 */
export async function pardWorkload({
  application,
  trace,
  durationS,
  seed = 0,
  rateFactor = 1,
  from = 'made',
  jitterCv,
  ...sizing
}: AskedWorkload): Promise<PardWorkload> {
  const plan = await applicationPlan(application, sizing);
  const rates = from === 'made' ? madeRates(trace, durationS, seed) : publishedRates(trace, durationS).rates;
  const workload = traceWorkload(countTrace(rates, rateFactor * (plan.rps as number)));
  return { plan, workload, seed, jitterCv };
}

/** countTrace makes a trace of counts of rates of each second that have a mean of 1. */
export function countTrace(rates: Float64Array, rps: number): CountTrace {
  const intervalS = new Float64Array(rates.length).fill(1);
  return { kind: 'counts', format: 'counts', intervalS, counts: rates.map((rate) => rate * rps) };
}

/**
 * servedWorkload makes the simulation of a workload, for a SimulationPool.
 * @throws InputError where there is no such scheduler, policy or tuner
 */
export function servedWorkload(
  { plan, workload, seed, jitterCv }: PardWorkload,
  { scheduler, policy, tuner }: ServedBy = {},
): SimulationSetup {
  const told = new ToldFaults();
  const asked = { options: { scheduler, policy }, leastSloNs: 1e6 * plan.sloMs, kind: plan.kind };
  const chosen = plannedScheduler(plan.serving, asked, told);
  const tuned = chosen && chosenTuner(plan, chosen, { tuner });
  told.add(...(tuned?.faults ?? []));
  if (tuned === undefined || told.count > 0) throw told.error(`serve ${plan.name}`);
  return {
    plan: tuned.plan,
    scheduler: tuned.scheduler,
    workload,
    seed,
    exact: false,
    execution: { slow: 1, ...(jitterCv === undefined ? {} : { jitter: { kind: 'cv', cv: jitterCv } }) },
    transfers: 'links',
  };
}

const plans = new Map<string, Promise<PipelinePlan>>();

/** applicationPlan gives the plan of an application. It is solved once in a process. */
export function applicationPlan(application: ApplicationName, sizing: Sizing = {}): Promise<PipelinePlan> {
  const { latencyFactor = 1, sloMs, utilisation = UTILISATION, eye = 'after-expression' } = sizing;
  const key = JSON.stringify([application, latencyFactor, sloMs, utilisation, eye]);
  const found = plans.get(key) ?? solved(application, { latencyFactor, sloMs, utilisation, eye });
  plans.set(key, found);
  return found;
}

async function solved(application: ApplicationName, sizing: Sizing): Promise<PipelinePlan> {
  const folder = await mkdtemp(join(tmpdir(), 'inferplan-pard-'));
  try {
    const spec = await sizedSpec(application, sizing);
    const stages: PipelineSpec['stages'] = [];
    for (const stage of spec.stages) {
      const path = join(folder, `${stage.name}.json`);
      await writeFile(
        path,
        JSON.stringify(scaled(await profileOf(stage.profile), sizing.latencyFactor ?? 1)),
      );
      stages.push({ ...stage, profile: path });
    }
    const path = join(folder, 'spec.yaml');
    await writeFile(path, stringify({ ...spec, cluster: await clusterOf(spec), stages }));
    const outcome = await solveSpec(path, { output: join(folder, 'plan.json') });
    if (outcome.outcome !== 'pipeline-plan') throw new Error(`there is no plan for ${application}`);
    return outcome.plan;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * sizedSpec gives the spec of an application with the batches, workers and standby devices that the rules of docs/pard.md
 * give. With the stated latencies it is the spec of the examples, whose rate is that for all latencies.
 */
export async function sizedSpec(
  application: ApplicationName,
  { latencyFactor = 1, sloMs, utilisation = UTILISATION, eye = 'after-expression' }: Sizing = {},
): Promise<PipelineSpec> {
  const { value } = await loadArtifact(join(EXAMPLES, `${application}.yaml`), ['pipeline']);
  const stated = await sizedStages(value, 1);
  const clusterGpus = (await clusterOf(value)).devices[CLASS]?.count ?? 0;
  const rps = plannedRps(stated, sizedBatches(stated, leastSloMs(value)), clusterGpus);
  const spec = { ...withEyes(value, eye), sloMs: sloMs ?? leastSloMs(value) };
  const stages = await sizedStages(spec, latencyFactor);
  const batches = sizedBatches(stages, spec.sloMs);
  const replicas = workers(stages, batches, { rps, utilisation });
  const down = standby(stages, batches, { replicas, clusterGpus });
  const tuner = { kind: 'by-rate' as const, utilisation };
  return {
    ...spec,
    stages: spec.stages.map((stage, i) => ({
      ...stage,
      device: CLASS,
      batch: batches[i] as number,
      replicas: replicas[i] as number,
      standby: down[i] as number,
    })),
    load: { arrivals: 'poisson', rps, duration: '60s' },
    ...(utilisation === UTILISATION ? {} : { serving: { ...(spec.serving as PlanServing), tuner } }),
  };
}

/** withEyes moves eye tracking of a DAG, or leaves it out. Other applications have no such choice. */
function withEyes(spec: PipelineSpec, place: EyePlace): PipelineSpec {
  if (place === 'after-expression' || !spec.name?.startsWith('da')) return spec;
  const eye = spec.stages.find(({ name }) => name === 'eye') as PipelineStage;
  const stages = spec.stages.flatMap((stage): PipelineStage[] => {
    if (stage === eye) return [];
    const { next: _, ...last } = stage;
    if (stage.name === 'expression') return [last];
    if (stage.name !== 'face' || place === 'left-out') return [stage];
    return [
      { ...stage, next: ['eye'] },
      { ...eye, next: ['expression'] },
    ];
  });
  return { ...spec, stages };
}

/** sizedStages reads what the rules look at. The stages of the examples stand after those that lead to them. */
async function sizedStages(spec: PipelineSpec, latencyFactor: number): Promise<SizedStage[]> {
  const { graph } = readStageGraph(spec);
  const { factors } = scaleFactors(graph);
  const latencies: number[][] = [];
  for (const { profile } of spec.stages) {
    const byBatch = (await profileOf(profile)).devices[CLASS]?.blockLatencyUs?.['1'] ?? {};
    latencies.push(Object.values(byBatch).map(([us]) => ((us as number) * latencyFactor) / 1000));
  }
  return latencies.map((latencyMs, i) => ({
    latencyMs,
    visits: factors[i] as number,
    next: (graph.edges[i] ?? []).map(({ to }) => to),
  }));
}

async function profileOf(path: string): Promise<Profile> {
  return (await loadArtifact(resolve(EXAMPLES, path), ['profile'])).value;
}

async function clusterOf({ cluster }: PipelineSpec): Promise<OpenCluster> {
  if (typeof cluster !== 'string') return cluster;
  const { $schema: _, ...value } = (await loadArtifact(join(EXAMPLES, cluster), ['cluster'])).value;
  return value;
}

function scaled({ $schema: _, ...profile }: Profile, factor: number): Profile {
  const devices = structuredClone(profile.devices) as Profile['devices'];
  for (const device of Object.values(devices))
    for (const batches of Object.values(device.blockLatencyUs))
      for (const [batch, latencies] of Object.entries(batches))
        batches[batch] = latencies.map((us) => (us === null ? us : us * factor));
  return { ...profile, devices };
}
