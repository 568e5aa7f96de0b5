import { createHash } from 'node:crypto';
import type { RequestsToBound, ResolvedWorkflows } from '../../dyorc/index.js';
import { fault, InputError, type PipelineLoad, type Run } from '../../formats/index.js';
import { drawnDurationNs } from '../../pipeline/index.js';
import { uniformAt } from '../../random/index.js';
import { arrivalsOf, type RatedModel, traceWorkload, type Workload } from '../../simulation/index.js';
import { runsOfRequests } from '../../workload/index.js';
import type { LoadTrace } from './workflow.js';

/** A plan is made for this many tasks at most: each takes some 230 bytes, and every search simulates all of them several times. */
const MOST_TASKS = 3_000_000;

/** The name of the load that workflows share. */
const ALL = 'workflows';

/** LoadOfWorkflows is a resolved spec, and the trace that is its load, if any. */
export interface LoadOfWorkflows {
  readonly resolved: ResolvedWorkflows;
  readonly trace?: LoadTrace | undefined;
}

/**
 * requestsOfLoad draws the requests that workflows are planned for: when they come, of which workflow each is, and what
 * it does. A seed gives the same requests always.
 * @throws InputError where there is no request, or more tasks than a plan is made for
 */
export function requestsOfLoad({ resolved, trace }: LoadOfWorkflows, seed: number): RequestsToBound {
  const { workflows } = resolved;
  const workload = workloadOf(resolved, trace);
  const arrivals = arrivalsOf(workload, modelsOf(resolved), seed);
  const runOf = runsOfRequests(
    workflows.map(({ source }) => source),
    uniformAt(seed, 'workflows/requests'),
  );
  const atNs: number[] = [];
  const of: number[] = [];
  const runs: Run[] = [];
  let tasks = 0;
  while (arrivals.next()) {
    const drawn = runOf(runs.length, arrivals.model);
    if (!('run' in drawn))
      throw refusal(`${workflows[arrivals.model]?.name} draws no request of 4096 calls or fewer`);
    tasks += drawn.run.tasks.length;
    if (tasks > MOST_TASKS)
      throw refusal(
        `brings more than ${MOST_TASKS.toLocaleString('en-US')} tasks, the most that a plan is made for; give a shorter sample`,
      );
    atNs.push(arrivals.atNs);
    of.push(arrivals.model);
    runs.push(drawn.run);
  }
  if (runs.length === 0) throw refusal('brings no request; give a longer duration or a higher rate');
  return { atNs: Float64Array.from(atNs), workflows: Int32Array.from(of), runs, spanNs: workload.durationNs };
}

function refusal(message: string): InputError {
  return new InputError('plan workflows for a sample of their load', [fault(message, '/load')]);
}

function workloadOf(
  { spec: { load }, workflows, rps }: ResolvedWorkflows,
  trace: LoadTrace | undefined,
): Workload {
  const shares = workflows.map(({ share }) => share);
  if (trace?.grouped !== undefined) {
    const whole = traceWorkload(trace.trace, shares);
    const sources = trace.grouped.map((group, model) => ({ trace: group, model }));
    return { ...whole, sources };
  }
  if (trace !== undefined) return traceWorkload(trace.trace, shares);
  // A rate alone is that of random arrivals.
  const drawn = (load ?? { arrivals: 'poisson', rps }) as Exclude<PipelineLoad, { trace: string }>;
  return {
    kind: 'drawn',
    process: drawn.arrivals,
    durationNs: drawnDurationNs(drawn),
    rps: shares.map((share) => share * rps),
    ...(drawn.cv === undefined ? {} : { cv: drawn.cv }),
  };
}

/** modelsOf gives workflows as the room of simulations knows them: with shares of one load, as their plan has them. */
function modelsOf({ workflows, rps }: ResolvedWorkflows): RatedModel[] {
  return workflows.map(({ name, share }) => ({
    name,
    throughputRps: share * rps,
    weight: share,
    loadOf: ALL,
  }));
}

/** digestOfRequests is the digest of when requests come, of which workflow they are, and what they do. */
export function digestOfRequests({ atNs, workflows, runs }: RequestsToBound): string {
  const hash = createHash('sha256');
  const texts = new Map<Run, string>();
  for (const [r, run] of runs.entries()) {
    const text = texts.get(run) ?? JSON.stringify(run);
    texts.set(run, text);
    hash.update(`${atNs[r]} ${workflows[r]} ${text}\n`);
  }
  return hash.digest('hex');
}
