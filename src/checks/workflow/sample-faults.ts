import {
  type Fault,
  fault,
  proofFaults,
  type SampleOfWorkflow,
  type WorkflowSample,
} from '../../formats/index.js';
import { addedUp, faultOf, givenFaults, isBetween, rangeFaults } from '../figures.js';
import type { CheckedWorkflows } from './checked-workflows.js';

const ROUNDING = 1e-9;
/** Counts are reported as shares, which give them up to rounding. */
const NEAR_COUNT = 1e-6;

/** sampleFaults finds where the figures of a plan's sample, its objective and its bounds contradict one another. */
export function sampleFaults(plan: CheckedWorkflows): Fault[] {
  const { sample } = plan;
  const faults = [
    ...countFaults(sample),
    ...quantileFaults(sample, '/sample'),
    ...plan.workflows.flatMap((workflow, w) =>
      workflowFaults(workflow, sample.workflows[w], `/sample/workflows/${w}`),
    ),
    ...faultOf(
      sample.workflows.length === plan.workflows.length,
      `has ${sample.workflows.length} entries, and the plan ${plan.workflows.length} workflows`,
      '/sample/workflows',
    ),
    ...timeFaults(sample),
    ...faultOf(
      sample.rightGuesses === undefined || plan.serving.scheduler === 'dyorc',
      `is ${sample.rightGuesses}, and the scheduler ${plan.serving.scheduler} expects nothing`,
      '/sample/rightGuesses',
    ),
  ];
  return faults.length > 0 ? faults : [...meanFaults(plan), ...objectiveFaults(plan)];
}

function countFaults({ requests, tasks, dropped, workflows }: WorkflowSample): Fault[] {
  const all = addedUp(workflows.map((one) => one.requests));
  return [
    ...faultOf(all === requests, `is ${requests}, and those of its workflows are ${all}`, '/sample/requests'),
    ...faultOf(
      tasks >= requests,
      `is ${tasks}; each of ${requests} requests calls something`,
      '/sample/tasks',
    ),
    ...faultOf(dropped <= requests, `is ${dropped} of ${requests} requests`, '/sample/dropped'),
  ];
}

/** Quantiles are the figures of latencies by which they are in order. */
type Quantiles = Pick<SampleOfWorkflow, 'meanMs' | 'p50Ms' | 'p95Ms' | 'p99Ms'>;

/** quantileFaults finds quantiles that are not in order, and a mean below what half of the latencies make of it. */
function quantileFaults({ meanMs, p50Ms, p95Ms, p99Ms }: Quantiles, at: string): Fault[] {
  if (meanMs === undefined || p50Ms === undefined || p95Ms === undefined || p99Ms === undefined) return [];
  return [
    ...faultOf(p50Ms <= p95Ms, `is ${p95Ms}, less than p50Ms, which is ${p50Ms}`, `${at}/p95Ms`),
    ...faultOf(p95Ms <= p99Ms, `is ${p99Ms}, less than p95Ms, which is ${p95Ms}`, `${at}/p99Ms`),
    ...faultOf(
      meanMs >= (p50Ms / 2) * (1 - ROUNDING),
      `is ${meanMs}, and half of the latencies are ${p50Ms} or more`,
      `${at}/meanMs`,
    ),
  ];
}

function workflowFaults(
  { name, sloMs }: { readonly name: string; readonly sloMs?: number },
  found: SampleOfWorkflow | undefined,
  at: string,
): Fault[] {
  if (found === undefined) return [];
  const { requests, attainment, meanMs, p50Ms, p95Ms, p99Ms } = found;
  const figures = [meanMs, p50Ms, p95Ms, p99Ms].filter((figure) => figure !== undefined).length;
  const isJudged = sloMs !== undefined && requests > 0;
  return [
    ...faultOf(found.name === name, `is ${found.name}; the plan has ${name} here`, `${at}/name`),
    ...faultOf(
      figures === 4 || figures === 0,
      'has some of meanMs, p50Ms, p95Ms and p99Ms; it has all of them or none',
      at,
    ),
    ...faultOf(requests > 0 || figures === 0, 'has latencies, and no requests', at),
    ...faultOf(
      (attainment !== undefined) === isJudged,
      attainment === undefined
        ? 'lacks "attainment", and it has requests with an SLO'
        : `is ${attainment}, and it has no requests with an SLO`,
      attainment === undefined ? at : `${at}/attainment`,
    ),
    ...faultOf(
      attainment === undefined || isWhole(attainment * requests),
      `is ${attainment}, which is no whole number of ${requests} requests`,
      `${at}/attainment`,
    ),
    ...quantileFaults(found, at),
  ];
}

function isWhole(count: number): boolean {
  return Math.abs(count - Math.round(count)) <= NEAR_COUNT * Math.max(1, count);
}

/** timeFaults finds shares of time that do not sum to 1, and loads without time, or time without loads. */
function timeFaults({ deviceTime, loads }: WorkflowSample): Fault[] {
  const { executing, loading, both, idle } = deviceTime;
  const sum = executing + loading + both + idle;
  const isLoading = loading + both > 0;
  return [
    ...faultOf(isBetween(sum, 1, 1), `sums to ${sum}, and not to 1`, '/sample/deviceTime'),
    ...faultOf(
      loads > 0 || !isLoading,
      `is 0, and devices loaded for ${loading + both} of their time`,
      '/sample/loads',
    ),
  ];
}

/** meanFaults compares the mean with those of the workflows and with its bound, where every request was answered. */
function meanFaults({ sample, bounds }: CheckedWorkflows): Fault[] {
  const { requests, workflows, meanMs, dropped } = sample;
  if (dropped > 0 || requests === 0) return [];
  const weighed = addedUp(workflows.map((one) => one.requests * (one.meanMs ?? 0)));
  return [
    ...(workflows.every((one) => one.requests === 0 || one.meanMs !== undefined)
      ? givenFaults(meanMs, weighed / requests, '/sample/meanMs')
      : [fault('has workflows without latencies, and no request was dropped', '/sample/workflows')]),
    ...rangeFaults(bounds.meanMs, [0, meanMs], { at: '/bounds/meanMs', by: 'the mean of the sample' }),
  ];
}

/**
 * boundFaults compares the bound on what was made least with those of the sample. Where requests were dropped, it is of those that
 * take least; and where workflows have no SLO, the bound on devices leaves them out, so that it may be any.
 */
function boundFaults({ objective, sample, bounds, workflows, subclusters }: CheckedWorkflows): Fault[] {
  const { kind, bound } = objective;
  const at = '/objective/bound';
  if (kind === 'latency')
    return sample.dropped === 0
      ? givenFaults(bound, bounds.meanMs, at)
      : rangeFaults(bound, [0, bounds.meanMs], { at, by: 'the bound on the mean of all requests' });
  const least = Math.max(1, subclusters);
  return workflows.every(({ sloMs }) => sloMs !== undefined)
    ? givenFaults(bound, Math.max(least, bounds.devices), at)
    : rangeFaults(bound, [least, Number.MAX_VALUE], { at, by: 'the subclusters' });
}

/**
 * objectiveFaults compares what was made least with the sample, the devices and the bounds, and finds an SLO that
 * devices were to hold and did not.
 */
function objectiveFaults(plan: CheckedWorkflows): Fault[] {
  const { objective, sample, placement, workflows, attainment } = plan;
  const { kind, value, bound, gap } = objective;
  const isLatency = kind === 'latency';
  const faults = [
    ...givenFaults(value, isLatency ? sample.meanMs : placement.length, '/objective/value'),
    ...boundFaults(plan),
    ...faultOf(gap === undefined || bound > 0, 'is given, and the bound is 0', '/objective/gap'),
    ...faultOf(
      gap !== undefined || bound === 0 || (isLatency && sample.dropped > 0 && value === bound),
      'is missing: value and bound give one',
      '/objective/gap',
    ),
    ...(isLatency
      ? []
      : workflows.flatMap((_, w) => {
          const share = sample.workflows[w]?.attainment;
          return faultOf(
            share === undefined || share >= attainment,
            `is ${share}, and the devices are to hold ${attainment}`,
            `/sample/workflows/${w}/attainment`,
          );
        })),
  ];
  return faults.length > 0 ? faults : proofFaults(plan);
}
