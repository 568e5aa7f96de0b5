import { largestOf } from '../../collections/index.js';
import { type Fault, fault, type SimulatedExecution, type SimulatedWorkload } from '../../formats/index.js';
import { addedUp, givenFaults, isBetween } from '../figures.js';

/** Random counts are believed within this many standard deviations, and this many requests. */
const DEVIATIONS = 8;
const MORE_REQUESTS = 8;

/** A load this many times as varied as Poisson's needs this many requests, before these say something of its rate. */
const LEAST_OF_VARIED = 100;

/** workloadFaults finds where the load that was asked for contradicts itself. */
export function workloadFaults(workload: SimulatedWorkload): Fault[] {
  const { durationS, warmUpS = 0, phases, models, arrivals, cv } = workload;
  const names = models.map(({ name }) => name);
  return [
    ...(durationS > 0 ? [] : [fault(`is ${durationS}; a run lasts some time`, '/workload/durationS')]),
    ...(warmUpS >= 0 ? [] : [fault(`is ${warmUpS}, less than 0`, '/workload/warmUpS')]),
    ...(cv !== undefined && (arrivals === 'poisson' || arrivals === 'uniform')
      ? [fault(`is ${cv}, and arrivals are ${arrivals}`, '/workload/cv')]
      : []),
    ...names.flatMap((name, m) =>
      names.indexOf(name) === m
        ? []
        : [fault(`is ${JSON.stringify(name)}, as another is`, `/workload/models/${m}/name`)],
    ),
    ...(phases === undefined ? [] : phaseFaults(phases, workload)),
  ];
}

function phaseFaults(
  phases: NonNullable<SimulatedWorkload['phases']>,
  { durationS, models, warmUpS }: SimulatedWorkload,
): Fault[] {
  const longS = addedUp(phases.map((phase) => phase.durationS + phase.transitionS));
  return [
    ...givenFaults(durationS, longS, '/workload/durationS'),
    ...(warmUpS === undefined
      ? []
      : [fault('is given, and a load of phases begins idle', '/workload/warmUpS')]),
    ...models.flatMap(({ rps }, m) => {
      const at = (k: number) => phases[k]?.rps[m] ?? 0;
      const all = addedUp(
        phases.map((phase, k) => phase.durationS * at(k) + (phase.transitionS * (at(k - 1) + at(k))) / 2),
      );
      return givenFaults(rps, all / longS, `/workload/models/${m}/rps`);
    }),
  ];
}

/** executionFaults finds a spread that is not the one of the jitter. */
export function executionFaults({ slow, jitter, cv }: SimulatedExecution): Fault[] {
  return [
    ...(slow > 0 ? [] : [fault(`is ${slow}; executions take some time`, '/execution/slow')]),
    ...((jitter === 'cv') === (cv !== undefined)
      ? []
      : [fault(`is ${cv ?? 'missing'}, and the jitter is ${jitter}`, '/execution/cv')]),
  ];
}

/**
 * arrivedFaults finds other numbers of requests than a load gives. A trace that is cut by the duration has another rate than the
 * whole, whose rate is given; gamma arrivals may spread so much that few requests say nothing of a rate.
 */
export function arrivedFaults(
  { arrivals, cv = 1, phases = [] }: Pick<SimulatedWorkload, 'arrivals' | 'cv' | 'phases'>,
  {
    arrived,
    rps,
    spanS,
    at,
  }: { readonly arrived: number; readonly rps: number; readonly spanS: number; readonly at: string },
): Fault[] {
  const varied = largestOf([1, cv, ...phases.map((phase) => phase.cv ?? 1)]);
  const expected = rps * spanS;
  if (arrivals === 'trace') return [];
  if (arrivals === 'gamma' && expected < LEAST_OF_VARIED * varied ** 2) return [];
  const off = DEVIATIONS * varied * Math.sqrt(expected) + MORE_REQUESTS;
  if (isBetween(arrived, expected - off, expected + off)) return [];
  return [fault(`is ${rps}, and ${arrived} requests came in ${spanS} s`, at)];
}
