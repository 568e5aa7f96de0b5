import { fault, InputError, type PipelineLoad, type PipelineSpec } from '../../artifacts/index.js';
import type { Sample } from '../../inferline/index.js';
import { conditionalEdges, edgeOf } from '../../pipeline/index.js';
import type { Trace } from '../../workload/index.js';

/** The seed of the sample. `plan simulate` draws other requests unless it is given the same. */
export const SAMPLE_SEED = 1;
const DEFAULT_DURATION = '60s';
const NS_PER_S = 1e9;
const UNITS_S: Readonly<Record<string, number>> = { ms: 1e-3, s: 1, m: 60, min: 60, h: 3600 };

/** Every estimate serves the whole sample, and the planner makes hundreds. */
const MOST_REQUESTS = 5_000_000;

/**
 * pipelineSample draws the requests that a pipeline is planned for, or takes them from the trace: those that
 * `plan simulate` draws of the same load with the same seed.
 * @param trace the load's trace, where it names one
 * @throws InputError where there is no request, or more than a plan is made for
 */
export async function pipelineSample(
  { name = 'pipeline', stages, exclusive = [] }: PipelineSpec,
  load: PipelineLoad,
  trace: Trace | undefined,
): Promise<Sample> {
  const { arrivalsOf, drawnFates, traceWorkload } = await import('../../simulation/index.js');
  const models = [{ name, throughputRps: 1, weight: 1 }];
  const arrivals = arrivalsOf(
    trace === undefined ? drawnLoad(load as DrawnLoad) : traceWorkload(trace),
    models,
    SAMPLE_SEED,
  );
  const times: number[] = [];
  while (arrivals.next()) {
    times.push(arrivals.atNs);
    if (times.length > MOST_REQUESTS) throw tooLong(name);
  }
  if (times.length === 0)
    throw new InputError(`plan ${name} for a sample of its load`, [
      fault('brings no request; give a longer duration or a higher rate', '/load'),
    ]);
  const nexts = stages.map((stage) => ({ name: stage.name, next: (stage.next ?? []).map(edgeOf) }));
  const fates = drawnFates({ stages: nexts, exclusive }, SAMPLE_SEED);
  return {
    atNs: Float64Array.from(times),
    verdicts: nexts.map((stage, i) =>
      conditionalEdges(stage).length === 0 ? undefined : Int32Array.from(times, (_, r) => fates(r, 0, i)),
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
