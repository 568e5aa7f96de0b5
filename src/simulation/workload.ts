import { itemAt, largestOf, lastOf } from '../collections/index.js';
import type { SimulatedWorkload } from '../formats/index.js';
import { NS_PER_S } from '../formats/index.js';
import { streamOf } from '../random/index.js';
import {
  type ArrivalProcess,
  type Arrivals,
  DrawnArrivals,
  type Load,
  leftOutOf,
  mergedArrivals,
  peakRpsTogether,
  phasedLoad,
  rescaledTrace,
  sharedByWeight,
  steadyLoad,
  type Trace,
  traceArrivals,
  traceDurationS,
} from '../workload/index.js';
import { type LoadedModels, plannedRates } from './models.js';
import { durationOfPhases, highestRate, loadsOfPhases, meanRates, type Phase } from './phases.js';

/**
 * Workload is a load with everything resolved but the seed. It is plain data, so that it can be sent to
 * threads.
 */
export type Workload = DrawnWorkload | TraceWorkload;

/** DrawnWorkload is a load whose arrivals are drawn at random around given rates, in requests per second. */
export interface DrawnWorkload {
  readonly kind: 'drawn';
  readonly process: ArrivalProcess;
  readonly cv?: number;
  readonly durationNs: number;
  /** The rate of each model. With phases it is the mean. */
  readonly rps: readonly number[];
  readonly phases?: readonly Phase[];
  /** The load before the duration, which does not count. It is absent with phases. */
  readonly warmUp?: DrawnWarmUp;
}

/** DrawnWarmUp fills the queues before the time that counts, and lets them settle. */
export interface DrawnWarmUp {
  /** By model: for so long it gets twice its rate. All models end this at the same instant, and get their rates before it. */
  readonly fillNs: readonly number[];
  /** For so long all models then get their rates. */
  readonly settleNs: number;
}

/** TraceWorkload is a load that repeats recorded ones, all from the start of the run. */
export interface TraceWorkload {
  readonly kind: 'trace';
  /** How the requests of an interval are placed in it. */
  readonly process: ArrivalProcess;
  readonly cv?: number;
  readonly durationNs: number;
  readonly sources: readonly TraceSource[];
  /** whole says whether the duration is that of the traces. */
  readonly whole: boolean;
  /** By model, its share of a trace that is for all models. */
  readonly weights: readonly number[];
}

/** TraceSource is a trace, and the index of the model that it asks for. */
export interface TraceSource {
  readonly trace: Trace;
  /** The model that the trace is for; absent when it is for all. */
  readonly model?: number;
}

/**
 * phasedWorkload makes a load that changes from phase to phase. It lasts as long as all phases with their transitions.
 */
export function phasedWorkload(
  process: ArrivalProcess,
  phases: readonly Phase[],
  models: LoadedModels,
): DrawnWorkload {
  const durationNs = Math.round(durationOfPhases(phases) * NS_PER_S);
  return { kind: 'drawn', process, durationNs, rps: meanRates(phases, models.length), phases };
}

/**
 * traceWorkload makes a load of one trace, at its own rate and as long as it is.
 * @param weights by model, its part of the trace; by default it is for one
 */
export function traceWorkload(trace: Trace, weights: readonly number[] = [1]): TraceWorkload {
  const sources = [{ trace }];
  const common = { process: 'poisson' as const, sources, weights };
  return { kind: 'trace', ...common, durationNs: wholeNs(sources), whole: true };
}

/**
 * atLoadFactor gives the load with each model's rate set to its planned rate times the factor. A trace is rescaled to
 * that mean rate (one for all models, to the sum of theirs), and a load of whole traces then lasts as long as they do.
 * A load with phases has no such rate and must not be given.
 * @throws InputError where a trace has no mean rate, or cannot have that one
 */
export function atLoadFactor(workload: Workload, models: LoadedModels, factor: number): Workload {
  if (workload.kind === 'drawn') return { ...workload, rps: plannedRates(models, factor) };
  const sources = workload.sources.map((source) => rescaledSource(source, models, factor));
  const durationNs = workload.whole ? wholeNs(sources) : workload.durationNs;
  return { ...workload, sources, durationNs };
}

/**
 * arrivalsOf gives the arrivals of a load under a seed in the order of time, each with the index of its model. Every
 * model and every trace has a random stream of its own. Models that share a load (`loadOf`) have one for its arrivals, and
 * another by which each arrival belongs to one of them. Arrivals of traces end before the load's duration.
 * @throws InputError where a rate or the duration is not positive, or a trace is for all models and all weigh 0
 */
export function arrivalsOf(workload: Workload, models: LoadedModels, seed: number): Arrivals {
  if (workload.kind === 'drawn') {
    const common = commonLoad(workload, models);
    if (common !== undefined) {
      const all = arrivalsOf(common.workload, [{ name: common.of, throughputRps: 1, weight: 1 }], seed);
      return sharedByWeight(all, common.weights, streamOf(seed, `models/${common.of}`));
    }
    const { process, cv, durationNs, rps, phases, warmUp } = workload;
    const phased = phases === undefined ? undefined : loadsOfPhases(phases, models.length);
    const sources = rps.flatMap((rate, model) => {
      if (rate === 0) return [];
      const stream = streamOf(seed, `arrivals/${models[model]?.name}`);
      const load =
        phased?.[model] ??
        (warmUp === undefined
          ? steadyLoad(rate, durationNs / NS_PER_S, cv)
          : warmedLoad(rate, itemAt(warmUp.fillNs, model), { ...workload, warmUp }));
      return [new DrawnArrivals({ process, load, stream, model })];
    });
    return mergedArrivals(sources);
  }
  const { process, cv, sources, weights, durationNs } = workload;
  const spread = (purpose: string) => ({
    process,
    stream: streamOf(seed, purpose),
    ...(cv === undefined ? {} : { cv }),
  });
  const merged = sources.map(({ trace, model }, i) => {
    if (model !== undefined) return traceArrivals(trace, spread(`arrivals/${models[model]?.name}`), model);
    const all = traceArrivals(trace, spread(`arrivals/trace-${i}`));
    return models.length === 1 ? all : sharedByWeight(all, weights, streamOf(seed, `models/trace-${i}`));
  });
  return new UntilEnd(mergedArrivals(merged), durationNs);
}

/** CommonLoad is a load that several models share: its requests come as those of one, and each belongs to one of them. */
interface CommonLoad {
  /** The name of the application whose load it is. */
  readonly of: string;
  readonly workload: DrawnWorkload;
  /** By model, its part of the load. */
  readonly weights: readonly number[];
}

/** commonLoad finds the load that all models share; undefined where there is none, or their parts change from phase to phase. */
function commonLoad(workload: DrawnWorkload, models: LoadedModels): CommonLoad | undefined {
  const of = models[0]?.loadOf;
  if (of === undefined || models.some(({ loadOf }) => loadOf !== of)) return undefined;
  const { rps, phases, warmUp } = workload;
  const changes = phases?.some((phase) => !isProportional(phase.rps, rps)) ?? false;
  if (changes) return undefined;
  const fills = warmUp === undefined ? {} : { warmUp: { ...warmUp, fillNs: [largestOf(warmUp.fillNs)] } };
  const inPhases = phases?.map((phase) => ({ ...phase, rps: [sumOf(phase.rps)] }));
  const all = { ...workload, rps: [sumOf(rps)], ...fills, ...(inPhases && { phases: inPhases }) };
  return { of, workload: all, weights: rps };
}

/** Parts that differ by less, relatively, are equal. */
const ROUNDING = 1e-9;

function isProportional(one: readonly number[], other: readonly number[]): boolean {
  const [sum, otherSum] = [sumOf(one), sumOf(other)];
  return one.every(
    (value, m) => Math.abs(value * otherSum - itemAt(other, m) * sum) <= ROUNDING * sum * otherSum,
  );
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

/** warmUpNs gives for how long requests arrive before the time that counts. */
export function warmUpNs(workload: Workload): number {
  if (workload.kind === 'trace' || workload.warmUp === undefined) return 0;
  const { fillNs, settleNs } = workload.warmUp;
  return largestOf(fillNs) + settleNs;
}

/** warmedLoad gives one model its rate, twice that while its queues are filled, and its rate from then on. */
function warmedLoad(
  rps: number,
  fillNs: number,
  { durationNs, cv, warmUp }: DrawnWorkload & { readonly warmUp: DrawnWarmUp },
): Load {
  const spread = cv === undefined ? {} : { cv };
  return phasedLoad([
    { ...spread, rps, durationS: (largestOf(warmUp.fillNs) - fillNs) / NS_PER_S },
    { ...spread, rps: 2 * rps, durationS: fillNs / NS_PER_S },
    { ...spread, rps, durationS: (warmUp.settleNs + durationNs) / NS_PER_S },
  ]);
}

/**
 * describedWorkload describes a load for a report, with the mean rate of each model that was asked for. For traces it
 * is the rate of the requests within the load's duration.
 */
export function describedWorkload(workload: Workload, models: LoadedModels): SimulatedWorkload {
  const rates = workload.kind === 'drawn' ? workload.rps : traceRates(workload, models.length);
  const spread = spreadOf(workload);
  const phases = workload.kind === 'drawn' ? workload.phases : undefined;
  const warmedNs = warmUpNs(workload);
  return {
    arrivals: workload.kind === 'trace' ? 'trace' : workload.process,
    ...(workload.cv === undefined ? {} : { cv: workload.cv }),
    durationS: workload.durationNs / NS_PER_S,
    ...(warmedNs === 0 ? {} : { warmUpS: warmedNs / NS_PER_S }),
    ...(spread === undefined ? {} : { spread }),
    ...(phases === undefined ? {} : { phases: phases.map((phase) => ({ ...phase, rps: [...phase.rps] })) }),
    models: models.map(({ name, throughputRps }, m) => {
      const rps = itemAt(rates, m);
      return { name, rps, loadFactor: throughputRps === 0 ? 0 : rps / throughputRps };
    }),
  };
}

/**
 * spreadOf says how the requests of a trace's intervals are placed; it is undefined where no trace has
 * intervals.
 */
export function spreadOf(workload: Workload): ArrivalProcess | undefined {
  const placed = workload.kind === 'trace' && workload.sources.some(({ trace }) => trace.kind === 'counts');
  return placed ? workload.process : undefined;
}

/**
 * highestRps gives the highest mean rate that is asked for, in requests per second: for drawn loads of all models
 * together, in the phase with the most; for traces of counts, of all traces together, at the instant with the most.
 * Traces of arrival times count as 0.
 */
export function highestRps(workload: Workload): number {
  if (workload.kind === 'drawn') {
    const { rps, phases } = workload;
    return phases === undefined ? rps.reduce((sum, rate) => sum + rate, 0) : highestRate(phases);
  }
  return peakRpsTogether(workload.sources.flatMap(({ trace }) => (trace.kind === 'counts' ? [trace] : [])));
}

/** expectedRequests gives the expected number of requests of all models over the whole duration. */
export function expectedRequests(workload: Workload, models: LoadedModels): number {
  const { models: loads, durationS } = describedWorkload(workload, models);
  return loads.reduce((sum, { rps }) => sum + rps * durationS, 0);
}

/** UntilEnd gives the arrivals before an end. */
class UntilEnd implements Arrivals {
  constructor(
    private readonly arrivals: Arrivals,
    private readonly endNs: number,
  ) {}

  next(): boolean {
    return this.arrivals.next() && this.arrivals.atNs < this.endNs;
  }

  get atNs(): number {
    return this.arrivals.atNs;
  }

  get model(): number {
    return this.arrivals.model;
  }
}

/**
 * rescaledSource gives a trace with the mean rate that its model is planned for, times the factor; where it is for all
 * models, with the sum of their rates.
 * @throws InputError where the trace has no mean rate, or cannot have that one
 */
export function rescaledSource(source: TraceSource, models: LoadedModels, factor: number): TraceSource {
  const planned = plannedRates(models, factor);
  const wanted =
    source.model === undefined ? planned.reduce((sum, rps) => sum + rps, 0) : itemAt(planned, source.model);
  return { ...source, trace: rescaledTrace(source.trace, { meanRps: wanted }) };
}

/**
 * wholeNs gives the instant in nanoseconds at which the last of the traces ends: just after its last arrival, or at the
 * end of its window or of its last interval. There must be at least one trace.
 */
export function wholeNs(sources: readonly TraceSource[]): number {
  return largestOf(sources.map(({ trace }) => endNs(trace)));
}

/**
 * silenceNs gives for how many nanoseconds nothing can arrive at the end of a workload, because its traces end before
 * it does. It is 0 for drawn arrivals.
 */
export function silenceNs(workload: Workload): number {
  return workload.kind === 'trace' ? Math.max(0, workload.durationNs - wholeNs(workload.sources)) : 0;
}

/** begunBefore counts the requests that the traces of a workload leave out, because they began before. */
export function begunBefore(workload: Workload): number {
  if (workload.kind === 'drawn') return 0;
  return workload.sources.reduce((sum, { trace }) => sum + leftOutOf(trace), 0);
}

/** endNs gives the instant just after the last arrival, or the end of the window or of the last interval. */
function endNs(trace: Trace): number {
  if (trace.kind === 'counts') return Math.round(traceDurationS(trace) * NS_PER_S);
  return Math.max(trace.windowNs ?? 0, lastOf(trace.timesNs) + 1);
}

function traceRates({ sources, weights, durationNs }: TraceWorkload, models: number): number[] {
  const rates = new Array<number>(models).fill(0);
  const sum = weights.reduce((all, weight) => all + weight, 0);
  for (const { trace, model } of sources) {
    const rps = requestsWithin(trace, durationNs) / (durationNs / NS_PER_S);
    for (let m = 0; m < models; m++) {
      const share = model === undefined ? (weights[m] as number) / sum : m === model ? 1 : 0;
      rates[m] = (rates[m] as number) + share * rps;
    }
  }
  return rates;
}

function requestsWithin(trace: Trace, durationNs: number): number {
  if (trace.kind === 'arrivals')
    return trace.timesNs.reduce((count, ns) => (ns < durationNs ? count + 1 : count), 0);
  let fromNs = 0;
  let requests = 0;
  for (let i = 0; i < trace.counts.length && fromNs < durationNs; i++) {
    const lengthNs = (trace.intervalS[i] as number) * NS_PER_S;
    requests += (trace.counts[i] as number) * Math.min(1, (durationNs - fromNs) / lengthNs);
    fromNs += lengthNs;
  }
  return requests;
}
