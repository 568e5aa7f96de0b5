import { fault, InputError, type PipelineLoad, type PipelineSpec } from '../../artifacts/index.js';
import type { Sample } from '../../inferline/index.js';
import { conditionalEdges, edgeOf, type PipelinePlanBody } from '../../pipeline/index.js';
import { requestsInTrace, type Trace } from '../../workload/index.js';

/** The seed of the sample. `plan simulate` draws other requests unless it is given the same. */
export const SAMPLE_SEED = 1;
const DEFAULT_DURATION = '60s';
const NS_PER_S = 1e9;
const UNITS_S: Readonly<Record<string, number>> = { ms: 1e-3, s: 1, m: 60, min: 60, h: 3600 };

/** Every estimate serves the whole sample, and the planner makes hundreds. */
const MOST_REQUESTS = 5_000_000;
/** The most requests of a load that nobody searches a plan for, for the plan to have their envelope. */
const MOST_ENVELOPED = 1_000_000;

/** withEnvelope adds the traffic envelope of the load that a plan was made for, which its tuner follows. */
export async function withEnvelope(
  body: PipelinePlanBody,
  { spec, trace }: { readonly spec: PipelineSpec; readonly trace?: Trace | undefined },
): Promise<PipelinePlanBody> {
  const { load } = spec;
  if (load === undefined) return body;
  const isTuned = [spec.tuner, spec.serving?.tuner?.kind].includes('inferline');
  if (spec.planner.method === 'given' && !isTuned && requestsOf(load, trace) > MOST_ENVELOPED) return body;
  const { envelopeOf } = await import('../../serving/index.js');
  const times = await sampledTimes(spec, load, trace);
  return { ...body, envelope: envelopeOf(times, 1e3 * body.longestPath.latencyUs) };
}

function requestsOf(load: PipelineLoad, trace: Trace | undefined): number {
  if ('rps' in load) return (drawnLoad(load).durationNs / NS_PER_S) * load.rps;
  return trace === undefined ? 0 : requestsInTrace(trace);
}

/** sampledTimes draws when the requests of the sample arrive, or takes it from the trace. */
async function sampledTimes(
  { name = 'pipeline' }: PipelineSpec,
  load: PipelineLoad,
  trace: Trace | undefined,
): Promise<Float64Array> {
  const { arrivalsOf, traceWorkload } = await import('../../simulation/index.js');
  const models = [{ name, throughputRps: 1, weight: 1 }];
  const workload = trace === undefined ? drawnLoad(load as DrawnLoad) : traceWorkload(trace);
  const arrivals = arrivalsOf(workload, models, SAMPLE_SEED);
  const times: number[] = [];
  while (arrivals.next()) {
    times.push(arrivals.atNs);
    if (times.length > MOST_REQUESTS) throw tooLong(name);
  }
  return Float64Array.from(times);
}

/**
 * pipelineSample draws the requests that a pipeline is planned for, or takes them from the trace: those that
 * `plan simulate` draws of the same load with the same seed.
 * @param trace the load's trace, where it names one
 * @throws InputError where there is no request, or more than a plan is made for
 */
export async function pipelineSample(
  spec: PipelineSpec,
  load: PipelineLoad,
  trace: Trace | undefined,
): Promise<Sample> {
  const { drawnFates } = await import('../../simulation/index.js');
  const { stages, exclusive = [] } = spec;
  const atNs = await sampledTimes(spec, load, trace);
  if (atNs.length === 0)
    throw new InputError(`plan ${spec.name ?? 'pipeline'} for a sample of its load`, [
      fault('brings no request; give a longer duration or a higher rate', '/load'),
    ]);
  const nexts = stages.map((stage) => ({ name: stage.name, next: (stage.next ?? []).map(edgeOf) }));
  const fates = drawnFates({ stages: nexts, exclusive }, SAMPLE_SEED);
  return {
    atNs,
    verdicts: nexts.map((stage, i) =>
      conditionalEdges(stage).length === 0 ? undefined : Int32Array.from(atNs, (_, r) => fates(r, 0, i)),
    ),
  };
}

function tooLong(name: string): InputError {
  const most = MOST_REQUESTS.toLocaleString('en-US');
  return new InputError(`plan ${name} for a sample of its load`, [
    fault(
      `brings more than ${most} requests, the most that a plan is made for; give a shorter sample`,
      '/load',
    ),
  ]);
}

type DrawnLoad = Exclude<PipelineLoad, { trace: string }>;

function drawnLoad({ arrivals, rps, cv, duration = DEFAULT_DURATION }: DrawnLoad) {
  const [, digits, unit = 's'] = /^([0-9.]+)([a-z]+)$/.exec(duration) ?? [];
  const durationNs = Math.round(Number(digits) * (UNITS_S[unit] as number) * NS_PER_S);
  return {
    ...{ kind: 'drawn' as const, process: arrivals, durationNs, rps: [rps] },
    ...(cv === undefined ? {} : { cv }),
  };
}
