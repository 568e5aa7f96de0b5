import type { ToldFaults } from '../formats/index.js';
import { fault, InputError, NS_PER_S, option } from '../formats/index.js';
import { type ArrivalProcess, meanRps, rescaledTrace } from '../workload/index.js';
import {
  byWeight,
  isServed,
  type LoadedModels,
  modelOf,
  modelWeights,
  plannedRates,
  promisedRates,
} from './models.js';
import { phasesOf } from './phases.js';
import { processFaults } from './process-faults.js';
import { namedTrace, readTraceFile, type TraceFile, type TraceRead } from './trace-file.js';
import {
  type DrawnWarmUp,
  phasedWorkload,
  rescaledSource,
  type TraceSource,
  type TraceWorkload,
  type Workload,
  wholeNs,
} from './workload.js';

/** The load factor and the duration when no option gives them. */
export const DEFAULT_LOAD = 0.9;

/** DEFAULT_DURATION_S is how many seconds a drawn load lasts by default. */
export const DEFAULT_DURATION_S = 30;

/** SimulatedLoadOptions says which load is simulated, in the words of the command line. */
export interface SimulatedLoadOptions {
  /**
   * How requests arrive, or, for a trace of counts, how those of an interval are placed. The default is
   * poisson, and where the load is a plan's promise, what that was confirmed by (`withHeldLoad`).
   */
  readonly arrivals?: ArrivalProcess | undefined;
  /** The coefficient of variation of the gaps of gamma arrivals. */
  readonly cv?: number | undefined;
  /** Rates: `500` is shared by all models by weight, `detector=300` is the rate of one model. */
  readonly rps?: readonly string[] | undefined;
  /** The offered rate over the plan's throughput, for each model. The default is 0.9, or the rates that a plan promises. */
  readonly load?: number | undefined;
  /** The seconds during which requests arrive. The default is 30, that of the promise's runs, or the whole trace. */
  readonly duration?: number | undefined;
  /** Trace files: `day.csv` is shared by all models by weight, `detector=day.csv` is for one model. */
  readonly traces?: readonly string[] | undefined;
  readonly traceFormat?: 'perf-analyzer-intervals' | undefined;
  /** The second of the traces at which they begin, as if what comes before had been cut away. */
  readonly from?: number | undefined;
  /** The second of the traces before which they end. */
  readonly to?: number | undefined;
  /**
   * The phases of a load that changes over time, in order: `60s,load=0.5`, `2min,rps=300,cv=4,over=30s`,
   * `60s,detector=200`.
   */
  readonly phases?: readonly string[] | undefined;
  /** Ends the reading of traces when aborted. */
  readonly signal?: AbortSignal | undefined;
}

/** BegunLoadOptions adds how a load begins whose rates never change: a promise begins as in the runs that confirmed it. */
export interface BegunLoadOptions extends SimulatedLoadOptions {
  /** The load before the duration, which does not count. */
  readonly warmUp?: DrawnWarmUp | undefined;
  /** The functions that a trace counts are dealt to this many models in turn, which are all that there are. */
  readonly groups?: number | undefined;
}

/**
 * resolvedWorkload finds the load that options ask for, and reads its traces: phases, traces, or arrivals at steady
 * rates. Without any option it is Poisson arrivals at 0.9 times the planned rates for 30 s. A trace keeps its own rate
 * and length unless options name others.
 * @param told where every fault is added
 * @returns the load and the traces' files, or undefined after a fault
 */
export async function resolvedWorkload(
  models: LoadedModels,
  options: BegunLoadOptions,
  told: ToldFaults,
): Promise<{ workload: Workload; files: TraceFile[] } | undefined> {
  const before = told.count;
  const { arrivals: process = 'poisson', cv, load, duration, rps: rates = [], traces = [], warmUp } = options;
  const phases = phasesOf(models, options, told);
  told.addAll(processFaults(process, cv, (options.phases ?? []).length > 0));
  if (load !== undefined && rates.length > 0)
    told.add(fault(`is given with ${option('load')}; give one`, option('rps')));
  if (!models.some(isServed)) told.add(fault('serves no model', 'the plan'));
  const rps = ratesOf(models, rates, told);
  const common = { process, ...(cv === undefined ? {} : { cv }) };
  if (traces.length === 0) {
    if (options.traceFormat !== undefined)
      told.add(fault(`is for ${option('traces')}`, option('traceFormat')));
    for (const name of ['from', 'to'] as const)
      if (options[name] !== undefined) told.add(fault(`is for ${option('traces')}`, option(name)));
    if (told.count > before) return undefined;
    if (phases !== undefined) return { workload: phasedWorkload(process, phases, models), files: [] };
    const durationNs = Math.round((duration ?? DEFAULT_DURATION_S) * NS_PER_S);
    const asked =
      rps === undefined
        ? load === undefined
          ? promisedRates(models, DEFAULT_LOAD)
          : plannedRates(models, load)
        : rps.kind === 'total'
          ? byWeight(models, rps.rps)
          : rps.byModel;
    const earlier = warmUp === undefined ? {} : { warmUp };
    return { workload: { kind: 'drawn', ...common, durationNs, rps: asked, ...earlier }, files: [] };
  }
  const read = await readSources(models, options, told);
  refuseSpread(read, options, told);
  refuseFunctionless(read, options, told);
  refuseUntraced(models, read, rps, told);
  const sources = read.map(({ source }) => scaled(source, models, rps, load, told));
  const durationNs = durationOf(sources, duration, told);
  if (told.count > before) return undefined;
  const whole = duration === undefined;
  const weights = modelWeights(models);
  const workload: TraceWorkload = { kind: 'trace', ...common, durationNs, whole, sources, weights };
  return { workload, files: [...new Set(read.map(({ file }) => file))] };
}

type Rates =
  | { readonly kind: 'total'; readonly rps: number }
  | { readonly kind: 'each'; readonly byModel: number[] };

/** ratesOf reads `500`, or `a=300` and `b=200`. A model that is not named has no requests. */
function ratesOf(models: LoadedModels, texts: readonly string[], told: ToldFaults): Rates | undefined {
  const byModel = models.map(() => 0);
  const seen = new Set<number>();
  let total: number | undefined;
  for (const text of texts) {
    const at = option('rps', `"${text}"`);
    const cut = text.lastIndexOf('=');
    const rps = Number(text.slice(cut + 1));
    if (text.slice(cut + 1).trim() === '' || !(rps > 0 && Number.isFinite(rps)))
      told.add(fault('is not a rate above 0, such as 500 or model=500', at));
    else if (cut === -1) total = rps;
    else {
      const model = modelOf(models, { name: text.slice(0, cut), at }, told);
      if (model === undefined) continue;
      if (seen.has(model)) told.add(fault('is given twice', at));
      seen.add(model);
      byModel[model] = rps;
    }
  }
  if (texts.length === 0) return undefined;
  if (total === undefined) return { kind: 'each', byModel };
  if (texts.length > 1)
    told.add(
      fault(
        'a rate for all models must be the only one; otherwise name a model with each rate, as model=500 (others get no requests)',
        option('rps'),
      ),
    );
  return { kind: 'total', rps: total };
}

interface ReadSource {
  readonly source: TraceSource;
  readonly file: TraceFile;
}

async function readSources(
  models: LoadedModels,
  options: Pick<BegunLoadOptions, 'traces' | 'traceFormat' | 'from' | 'to' | 'signal' | 'groups'>,
  told: ToldFaults,
): Promise<ReadSource[]> {
  const read: ReadSource[] = [];
  for (const text of options.traces ?? []) {
    const at = option('traces', `"${text}"`);
    const { name, path } = namedTrace(
      models.map((one) => one.name),
      text,
    );
    const named = name !== undefined;
    const model = named ? modelOf(models, { name, at }, told) : undefined;
    const found = await readTraceFile(path, { ...options, fromS: options.from, toS: options.to }, told);
    if (named && model === undefined) continue;
    if (read.some((before) => before.source.model === model))
      told.add(fault(named ? 'that model has a trace already' : 'there is a trace for all models', at));
    if (found !== undefined)
      for (const source of sourcesIn(found, model)) read.push({ source, file: found.file });
  }
  if (read.length > 1 && read.some(({ source }) => source.model === undefined))
    told.add(
      fault(
        'a trace for all models must be the only one; otherwise name each model, as model=file',
        option('traces'),
      ),
    );
  return read;
}

/** sourcesIn gives what a trace asks of models: of one, of each what its own functions ask, or of all together. */
function sourcesIn({ trace, grouped }: TraceRead, model: number | undefined): TraceSource[] {
  if (model !== undefined) return [{ trace, model }];
  return grouped?.map((group, g) => ({ trace: group, model: g })) ?? [{ trace }];
}

/** refuseFunctionless refuses a trace whose functions are to be distinguished, and that counts none. */
function refuseFunctionless(
  read: readonly ReadSource[],
  { groups }: Pick<BegunLoadOptions, 'groups'>,
  told: ToldFaults,
): void {
  if (groups === undefined) return;
  for (const { source, file } of read)
    if (source.model === undefined)
      told.add(
        fault('counts no functions, and the plan deals them to its workflows (functionsInTurn)', file.path),
      );
}

/**
 * refuseUntraced refuses rates of models without a trace when other models have traces, as they would be
 * ignored.
 */
function refuseUntraced(
  models: LoadedModels,
  read: readonly ReadSource[],
  rps: Rates | undefined,
  told: ToldFaults,
): void {
  if (rps?.kind !== 'each' || read.some(({ source }) => source.model === undefined)) return;
  models.forEach(({ name }, model) => {
    if (rps.byModel[model] !== 0 && !read.some(({ source }) => source.model === model))
      told.add(fault(`${name} has no trace, but others do: give it one`, option('rps', `"${name}=…"`)));
  });
}

/** refuseSpread refuses options for placing requests in intervals when no trace has intervals. */
function refuseSpread(
  read: readonly ReadSource[],
  { arrivals, cv }: SimulatedLoadOptions,
  told: ToldFaults,
): void {
  if (read.length === 0 || read.some(({ source }) => source.trace.kind === 'counts')) return;
  if (arrivals !== undefined || cv !== undefined)
    told.add(
      fault('the trace says when each request came; this is for counts per interval', option('arrivals')),
    );
}

function scaled(
  source: TraceSource,
  models: LoadedModels,
  rps: Rates | undefined,
  load: number | undefined,
  told: ToldFaults,
): TraceSource {
  try {
    if (load !== undefined) return rescaledSource(source, models, load);
    if (rps === undefined) return source;
    const wanted =
      rps.kind === 'total'
        ? source.model === undefined
          ? rps.rps
          : byWeight(models, rps.rps)[source.model]
        : source.model === undefined
          ? undefined
          : rps.byModel[source.model];
    if (wanted === undefined || wanted === 0) {
      told.add(
        fault(
          wanted === undefined
            ? 'a trace for all models takes one rate for all'
            : 'a model with a trace has no rate',
          option('rps'),
        ),
      );
      return source;
    }
    return { ...source, trace: rescaledTrace(source.trace, { meanRps: wanted }) };
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    told.addAll(error.faults.map(({ message }) => fault(message, option('traces'))));
    return source;
  }
}

function durationOf(sources: readonly TraceSource[], duration: number | undefined, told: ToldFaults): number {
  if (duration !== undefined) return Math.round(duration * NS_PER_S);
  if (sources.some(({ trace }) => trace.kind === 'arrivals' && meanRps(trace) === undefined))
    told.add(
      fault(
        `all its requests come at one instant: say over how long with ${option('duration')}`,
        option('traces'),
      ),
    );
  return sources.length === 0 ? 0 : wholeNs(sources);
}
