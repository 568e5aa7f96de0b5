import { pathFrom } from '../artifacts/index.js';
import { fault, type Loaded, NS_PER_S, option } from '../formats/index.js';
import { drawnDurationNs, tracedSpan } from '../pipeline/index.js';
import { type LoadOfPlan, planOf, type ServedPlan } from '../plans/index.js';
import { withHeldLoad } from './held-load.js';
import type { BegunLoadOptions, SimulatedLoadOptions } from './load.js';
import type { TraceFile } from './trace-file.js';

/** PlannedLoad is what options ask for, with what they leave open as the plan has it. */
interface PlannedLoad<Options> {
  readonly options: Options & BegunLoadOptions;
  /** The trace that the plan was made for, where the load is that. */
  readonly trace?: string;
}

/**
 * withPlannedLoad takes what the options of a load leave open from the load that the plan was made for: that of a
 * pipeline's sample, or of the runs that confirmed a promise (`withHeldLoad`).
 *
 * A pipeline's requests arrive by the process of its sample with its variation, and for as long. A rate or a load factor
 * changes how many come and not how; so do phases. A pipeline that was planned for a trace is served that trace, at
 * another rate where one is asked for, unless another trace, phases or a process are named: the window that it was planned
 * for, unless options name one.
 * @param swept whether the rates will be replaced by multiples of the planned ones
 */
export function withPlannedLoad<Options extends SimulatedLoadOptions>(
  plan: Loaded<ServedPlan['kind']>,
  options: Options,
  swept: boolean,
): PlannedLoad<Options> {
  const { value, path } = plan;
  const load = planOf(value).load(value);
  const { traces = [], phases = [], arrivals } = options;
  if (load === undefined || traces.length > 0) return { options };
  switch (load.kind) {
    case 'held':
      return { options: withHeldLoad(value, options, swept) };
    case 'drawn':
      return { options: { ...options, ...drawnOptions(load.load, options) } };
    case 'trace': {
      if (phases.length > 0 || arrivals !== undefined || options.cv !== undefined) return { options };
      const trace = pathFrom(path, load.load.trace);
      const named = options.from !== undefined || options.to !== undefined;
      const window = named ? {} : windowOf(load.load);
      const { groups } = load;
      const dealt = groups === undefined ? {} : { groups };
      return { options: { ...options, ...window, ...dealt, traces: [unnamed(trace)] }, trace };
    }
  }
}

function windowOf(load: Parameters<typeof tracedSpan>[0]): Pick<SimulatedLoadOptions, 'from' | 'to'> {
  const { fromS, toS } = tracedSpan(load);
  return { ...(fromS === undefined ? {} : { from: fromS }), ...(toS === undefined ? {} : { to: toS }) };
}

function drawnOptions(
  load: Extract<LoadOfPlan, { kind: 'drawn' }>['load'],
  { arrivals = load.arrivals, cv, duration, phases = [] }: SimulatedLoadOptions,
): Pick<SimulatedLoadOptions, 'arrivals' | 'cv' | 'duration'> {
  const ownCv = arrivals === load.arrivals && arrivals === 'gamma' ? (load.cv ?? 1) : undefined;
  const [spread, lasts] = [cv ?? ownCv, duration ?? drawnDurationNs(load) / NS_PER_S];
  return {
    arrivals,
    ...(spread === undefined ? {} : { cv: spread }),
    ...(phases.length > 0 ? {} : { duration: lasts }),
  };
}

/** unnamed gives a path so that nothing before a "=" in it is taken for the name of a model. */
function unnamed(path: string): string {
  return /[\\/]/.test(path) || !path.includes('=') ? path : `./${path}`;
}

/** changedTraceFaults finds that a trace is no longer the one that a plan was made for. */
export function changedTraceFaults(
  { inputs = [] }: ServedPlan,
  trace: string | undefined,
  files: readonly TraceFile[],
): ReturnType<typeof fault>[] {
  const made = inputs.find(({ role }) => role === 'trace');
  const [file] = files;
  if (trace === undefined || made === undefined || file === undefined || file.sha256 === made.sha256)
    return [];
  return [
    fault(
      `has changed since the plan was made for it: its digest is ${file.sha256.slice(0, 12)}…, not ${made.sha256.slice(0, 12)}…; name what is to be served with ${option('traces')}, or solve again`,
      file.path,
    ),
  ];
}
