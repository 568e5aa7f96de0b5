import { grownCapacity, grownColumn } from '../../collections/index.js';
import {
  fault,
  InputError,
  NS_PER_S,
  type PipelineLoad,
  type PipelineSpec,
  pipelineMethodOf,
} from '../../formats/index.js';
import { SAMPLE_SEED, type Sample, withEnvelopeOf } from '../../inferline/index.js';
import { DEFAULT_NAME, drawnDurationNs, leastSloMs } from '../../pipeline/index.js';
import { conditionalEdges, edgeOf, type PipelinePlanBody, plannedApplications } from '../../plans/index.js';
import { requestsInTrace, type Trace } from '../../workload/index.js';

/** This many requests bring what a draw may bring near what the load brings in the long run. */
const MANY_REQUESTS = 100_000;
const DEFAULT_DRAWS = 10;

/** Columns of a draw begin with room for this many requests. */
const FEW_REQUESTS = 1024;
/**
 * Every estimate serves the whole sample, and the planner makes hundreds. A request takes some 50 bytes, and 25 more for
 * each stage.
 */
const MOST_REQUESTS = 10_000_000;
/** The most requests of a load that nobody searches a plan for, for the plan to have their envelope. */
const MOST_ENVELOPED = 1_000_000;

/** withEnvelope adds the traffic envelope of the load that a plan was made for, which its tuner follows. */
export async function withEnvelope(
  body: PipelinePlanBody,
  { spec, trace }: { readonly spec: PipelineSpec; readonly trace?: Trace | undefined },
): Promise<PipelinePlanBody> {
  const { load } = spec;
  if (load === undefined || body.envelope !== undefined) return body;
  const isTuned = [spec.tuner, spec.serving?.tuner?.kind].includes('inferline');
  if (pipelineMethodOf(spec) === 'given' && !isTuned && requestsInDraw(load, trace) > MOST_ENVELOPED)
    return body;
  const draws = await drawnTimes(spec, load, trace);
  return withEnvelopeOf(
    body,
    draws.map(({ atNs }) => atNs),
  );
}

/** requestsInDraw is how many requests a draw of a load is expected to bring. */
export function requestsInDraw(load: PipelineLoad, trace: Trace | undefined): number {
  if ('rps' in load) return (drawnWorkload(load).durationNs / NS_PER_S) * load.rps;
  return trace === undefined ? 0 : requestsInTrace(trace);
}

/** drawsAsked is how often the load of a spec is drawn: of a trace of arrivals once, since only verdicts would differ. */
function drawsAsked(spec: PipelineSpec, load: PipelineLoad, trace: Trace | undefined): number {
  if (pipelineMethodOf(spec) === 'given') return 1;
  if (spec.planner?.draws !== undefined) return spec.planner.draws;
  if (trace?.kind === 'arrivals') return 1;
  const enough = Math.ceil(MANY_REQUESTS / requestsInDraw(load, trace));
  return Math.max(1, Math.min(DEFAULT_DRAWS, enough));
}

/**
 * drawnTimes lists when the requests of each draw arrive, and of which application each is where there are several. Of a
 * trace of arrivals, all draws come alike.
 */
async function drawnTimes(
  spec: PipelineSpec,
  load: PipelineLoad,
  trace: Trace | undefined,
): Promise<Pick<Sample, 'atNs' | 'applications'>[]> {
  // A plan that has its envelope needs no draw.
  const { arrivalsOf, traceWorkload } = await import('../../simulation/index.js');
  const { name = DEFAULT_NAME, applications } = spec;
  const models = plannedApplications({
    name,
    sloMs: leastSloMs(spec),
    throughputRps: 1,
    ...(applications && { applications }),
  });
  const shares = models.map(({ weight }) => weight);
  const workload =
    trace === undefined ? drawnWorkload(load as DrawnLoad, shares) : traceWorkload(trace, shares);
  const draws = drawsAsked(spec, load, trace);
  let requests = 0;
  return Array.from({ length: draws }, (_, draw) => {
    const arrivals = arrivalsOf(workload, models, SAMPLE_SEED + draw);
    let atNs = new Float64Array(FEW_REQUESTS);
    let own = new Uint8Array(applications === undefined ? 0 : FEW_REQUESTS);
    let count = 0;
    for (; arrivals.next(); count++) {
      if (++requests > MOST_REQUESTS) throw tooLong(name, draws);
      if (count === atNs.length) {
        atNs = grownColumn(atNs, grownCapacity(count, count + 1));
        if (applications !== undefined) own = grownColumn(own, atNs.length);
      }
      atNs[count] = arrivals.atNs;
      if (applications !== undefined) own[count] = arrivals.model;
    }
    const times = { atNs: atNs.slice(0, count) };
    return applications === undefined ? times : { ...times, applications: own.slice(0, count) };
  });
}

/**
 * pipelineSamples draws the requests that a pipeline is planned for, or takes them from the trace: those that
 * `plan simulate` draws of the same load with the same seed.
 * @param trace the load's trace, where it names one
 * @throws InputError where there is no request, or more than a plan is made for
 */
export async function pipelineSamples(
  spec: PipelineSpec,
  load: PipelineLoad,
  trace: Trace | undefined,
): Promise<Sample[]> {
  const { drawnFates } = await import('../../simulation/index.js');
  const { stages, exclusive = [] } = spec;
  const draws = await drawnTimes(spec, load, trace);
  if (draws.every(({ atNs }) => atNs.length === 0))
    throw new InputError(`plan ${spec.name ?? 'pipeline'} for a sample of its load`, [
      fault('brings no request; give a longer duration or a higher rate', '/load'),
    ]);
  const nexts = stages.map((stage) => ({ name: stage.name, next: (stage.next ?? []).map(edgeOf) }));
  return draws.map((drawn, draw) => {
    const fates = drawnFates({ stages: nexts, exclusive }, SAMPLE_SEED + draw);
    const verdicts = nexts.map((stage, i) =>
      conditionalEdges(stage).length === 0
        ? undefined
        : Int32Array.from(drawn.atNs, (_, r) => fates(r, 0, i)),
    );
    return { ...drawn, verdicts };
  });
}

function tooLong(name: string, draws: number): InputError {
  const most = MOST_REQUESTS.toLocaleString('en-US');
  return new InputError(`plan ${name} for a sample of its load`, [
    fault(
      `brings more than ${most} requests${draws === 1 ? '' : ` in ${draws} draws`}, the most that a plan is made for; give a shorter sample${draws === 1 ? '' : ' or fewer draws'}`,
      '/load',
    ),
  ]);
}

/** DrawnLoad is a load that is drawn by a process. */
export type DrawnLoad = Exclude<PipelineLoad, { trace: string }>;

/**
 * drawnWorkload puts a load that is drawn into the words of simulations.
 * @param shares by application, its share of the load; by default there is one
 */
export function drawnWorkload(load: DrawnLoad, shares: readonly number[] = [1]) {
  const { arrivals, rps, cv } = load;
  return {
    kind: 'drawn' as const,
    process: arrivals,
    durationNs: drawnDurationNs(load),
    rps: shares.map((share) => share * rps),
    ...(cv === undefined ? {} : { cv }),
  };
}
