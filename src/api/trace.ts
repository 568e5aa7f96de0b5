import {
  checkWritable,
  emittedHead,
  heard,
  inputFile,
  inSteps,
  outputFiles,
  refuseReplacing,
  StreamedFile,
} from '../artifacts/index.js';
import { itemAt, largestOf, sorted } from '../collections/index.js';
import {
  type DescribedTrace,
  type Fault,
  fault,
  option,
  ToldFaults,
  type TraceDescription,
  toldBeyond,
} from '../formats/index.js';
import { streamOf } from '../random/index.js';
import { namedTrace, processFaults, readTraceFile, type TraceFileOptions } from '../simulation/index.js';
import {
  type ArrivalProcess,
  busiestSpan,
  countedTrace,
  drawnTrace,
  leftOutOf,
  longestIntervalS,
  MOST_LINES,
  requestsInTrace,
  reshapedTrace,
  slicedTrace,
  summarizeTrace,
  type Trace,
  type TraceSpan,
  type TraceSummary,
  traceArrivals,
  traceDurationS,
  traceText,
  windowsOf,
} from '../workload/index.js';

/** DescribeTraceOptions says how a trace is read and described. */
export interface DescribeTraceOptions extends TraceFileOptions {
  /**
   * The length in seconds of the windows whose rates are given; by default 1, or that of the longest interval of counts
   * where this is longer.
   */
  readonly window?: number | undefined;
}

/** ConvertTraceOptions says what a trace is turned into, and where it is written. */
export interface ConvertTraceOptions extends TraceFileOptions {
  /**
   * The kind of trace that is written: arrival times, or counts per interval; by default the kind of the
   * given trace.
   */
  readonly to?: Trace['kind'] | undefined;
  /** The length in seconds of the intervals in which requests are counted. */
  readonly interval?: number | undefined;
  /** How the requests of an interval are placed in it; poisson by default, as in a simulation. */
  readonly arrivals?: ArrivalProcess | undefined;
  /** The coefficient of variation of the gaps of gamma arrivals. */
  readonly cv?: number | undefined;
  /** The seed of all random draws; 0 by default. */
  readonly seed?: number | undefined;
  /** The file that the trace is written to; nothing is written without it. */
  readonly output?: string | undefined;
}

/** RescaleTraceOptions says which rate and duration a trace is given, and where it is written. */
export interface RescaleTraceOptions extends TraceFileOptions {
  /** The mean rate in requests per second. */
  readonly rps?: number | undefined;
  /** The duration in seconds. */
  readonly duration?: number | undefined;
  /** The seed of the requests that are left out or added; 0 by default. */
  readonly seed?: number | undefined;
  /** The file that the trace is written to; nothing is written without it. */
  readonly output?: string | undefined;
}

/** SliceTraceOptions says which window of a trace is taken, and where it is written. */
export interface SliceTraceOptions extends Omit<TraceFileOptions, 'fromS' | 'toS'> {
  /** The second of the trace at which the window begins; its start by default. */
  readonly from?: number | undefined;
  /** The second of the trace before which it ends; its end by default. */
  readonly to?: number | undefined;
  /** In their place: the length in seconds of the window with the most requests, of which the first is taken. */
  readonly busiest?: number | undefined;
  /** The file that the trace is written to; nothing is written without it. */
  readonly output?: string | undefined;
}

/** MadeTrace is a trace that was made from another. */
export interface MadeTrace {
  readonly document: TraceDescription;
  /** pieces gives its text, as it is in the file. */
  pieces(): Iterable<string>;
}

/** The version of descriptions that know windows of traces and requests that are left out. */
const WITH_WINDOW = '1.1';
const LEAST_WINDOW_S = 1;
/** Several traces are described together too, as one that is held beside them. */
const MOST_TOGETHER = 20_000_000;

/**
 * describeTraces gives the figures of each trace (requests, rates, bursts, gaps), and of all together where several
 * have arrival times.
 * @param texts files, or `model=file` for the traces of several models
 * @throws InputError with every fault of the traces and of the window; MissingError where files are only missing
 */
export async function describeTraces(
  texts: readonly string[],
  options: DescribeTraceOptions = {},
): Promise<TraceDescription> {
  const told = new ToldFaults();
  const named = texts.map((text) => namedTrace([], text));
  named.forEach(({ name }, i) => {
    if (name !== undefined && named.findIndex((one) => one.name === name) !== i)
      told.add(fault('that model has a trace already', `"${texts[i]}"`));
  });
  const read = await readTraces(
    named.map(({ path }) => path),
    options,
    told,
  );
  const window = options.window ?? (await usualWindowS(read));
  told.addAll(await windowFaults(read, window));
  const requests = read.reduce((sum, { trace }) => sum + requestsInTrace(trace), 0);
  if (read.length > 1 && requests > MOST_TOGETHER)
    told.add(
      fault(`they have ${requests} requests; of several traces at most ${MOST_TOGETHER} are described`),
    );
  if (told.count > 0) throw told.error('describe the traces');
  const names = named.map(({ name, path }) => name ?? path);
  return described(read, names, window);
}

/**
 * convertTrace makes a CSV trace of inferplan from a trace of any known format, and writes it where an output is named.
 * Counts become arrivals as `plan simulate` draws them under the same seed. Arrivals become counts of intervals of
 * `interval` seconds, which must then be given.
 * @throws InputError with every fault of the trace and the options; MissingError where the trace is missing
 */
export async function convertTrace(path: string, options: ConvertTraceOptions): Promise<MadeTrace> {
  const { to, interval, arrivals: process = 'poisson', cv, seed = 0 } = options;
  return made(path, options, {
    task: `convert ${path}`,
    faults: (trace) => conversionFaults(options, processFaults(process, cv), trace),
    make: (trace) => {
      if ((to ?? trace.kind) === 'counts')
        return interval === undefined ? trace : countedTrace(trace, interval);
      if (trace.kind === 'arrivals') return trace;
      const stream = streamOf(seed, 'arrivals/trace-0');
      return heard(
        drawnTrace(traceArrivals(trace, { process, stream, ...(cv === undefined ? {} : { cv }) })),
      );
    },
  });
}

/**
 * rescaleTrace makes a trace of another mean rate or duration, or both, with the same shape, and writes it where an
 * output is named.
 * @throws InputError with every fault of the trace and the options, one of which must be given; MissingError where the
 *   trace is missing
 */
export async function rescaleTrace(path: string, options: RescaleTraceOptions): Promise<MadeTrace> {
  const { rps, duration: durationS, seed = 0 } = options;
  return made(path, options, {
    task: `rescale ${path}`,
    faults: () => scaleFaults(options),
    make: (trace) => heard(reshapedTrace(trace, { rps, durationS }, streamOf(seed, 'trace/rescale'))),
  });
}

/**
 * sliceTrace makes a trace of a window of another, which begins at 0, and writes it where an output is named. Counts of
 * an interval that the window cuts are shared by time, and stay whole.
 * @throws InputError with every fault of the trace and the options, one of which must be given; MissingError where the
 *   trace is missing
 */
export async function sliceTrace(path: string, options: SliceTraceOptions): Promise<MadeTrace> {
  const { from: fromS, to: toS, busiest } = options;
  let span: TraceSpan = { fromS, toS };
  const { document, pieces } = await made(path, options, {
    task: `slice ${path}`,
    faults: (trace) => sliceFaults(options, trace),
    make: (trace) => {
      if (busiest !== undefined) span = busiestSpan(trace, busiest);
      return slicedTrace(trace, span);
    },
  });
  const { fromS: begin = 0, toS: end } = span;
  const window = { fromS: begin, ...(end === undefined ? {} : { toS: end }) };
  return { document: { ...document, version: WITH_WINDOW, window }, pieces };
}

/** made reads a trace, changes it, and writes the other one. */
async function made(
  path: string,
  options: TraceFileOptions & { readonly output?: string | undefined },
  change: {
    readonly task: string;
    readonly faults: (trace: Trace | undefined) => Fault[];
    readonly make: (trace: Trace) => Trace | Promise<Trace>;
  },
): Promise<MadeTrace> {
  const { output } = options;
  if (output !== undefined && output !== '') await checkWritable(output);
  await refuseReplacing(change.task, outputFiles({ output }), [{ what: 'the trace', path }]);
  const told = new ToldFaults();
  const read = await readTraces([path], options, told);
  told.addAll(change.faults(read[0]?.trace));
  if (output?.endsWith('.gz'))
    told.add(
      fault(
        `is ${output}, a name of a file that is packed with gzip, but the trace is written as plain text: leave out .gz, and pack the file afterwards`,
        option('output'),
      ),
    );
  if (told.count > 0 || read[0] === undefined) throw told.error(change.task);
  const trace = await change.make(read[0].trace);
  const result = { ...read[0], trace };
  if (output !== undefined) await writePieces(output, traceText(trace));
  const document = await described([result], [output ?? path], await usualWindowS([result]), output);
  const before = requestsInTrace(read[0].trace);
  return {
    document: before === requestsInTrace(trace) ? document : { ...document, requestsBefore: before },
    pieces: () => traceText(trace),
  };
}

interface ReadTrace {
  readonly trace: Trace;
  readonly file: { readonly path: string; readonly sha256: string };
}

async function readTraces(
  paths: readonly string[],
  options: TraceFileOptions,
  told: ToldFaults,
): Promise<ReadTrace[]> {
  const read: ReadTrace[] = [];
  for (const path of paths) {
    const found = await readTraceFile(path, options, told);
    if (found !== undefined) read.push(found);
  }
  return read;
}

async function described(
  read: readonly ReadTrace[],
  names: readonly string[],
  windowS: number,
  holder?: string,
): Promise<TraceDescription> {
  const summaries: TraceSummary[] = [];
  await inSteps(read, ({ trace }) => summaries.push(summarizeTrace(trace, windowS)), 1);
  const requests = summaries.reduce((sum, summary) => sum + summary.requests, 0);
  const traces = summaries.map((summary, i): DescribedTrace => {
    const begunBefore = leftOutOf(itemAt(read, i).trace);
    return {
      name: itemAt(names, i),
      share: summary.requests / requests,
      ...summary,
      ...(begunBefore === 0 ? {} : { begunBefore }),
    };
  });
  const all = await joined(read.map(({ trace }) => trace));
  return {
    ...emittedHead(
      'trace-description',
      read.map(({ file }) => inputFile('trace', file, holder)),
    ),
    ...(traces.some(({ begunBefore }) => begunBefore !== undefined) ? { version: WITH_WINDOW } : {}),
    traces,
    ...(all === undefined ? {} : { all: summarizeTrace(all, windowS) }),
  };
}

/** joined makes one trace of several with arrival times. Counts do not say which requests came first. */
async function joined(traces: readonly Trace[]): Promise<Trace | undefined> {
  if (traces.length < 2) return undefined;
  const times = traces.flatMap((trace) => (trace.kind === 'arrivals' ? [trace.timesNs] : []));
  if (times.length < traces.length) return undefined;
  const timesNs = new Float64Array(times.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of times) {
    timesNs.set(part, at);
    at += part.length;
  }
  return { kind: 'arrivals', format: 'arrivals', timesNs: await heard(sorted(timesNs)) };
}

async function writePieces(output: string, pieces: Iterable<string>): Promise<void> {
  const file = await StreamedFile.open(output);
  try {
    await inSteps(pieces, (piece) => file.write(piece), 1);
  } catch (error) {
    file.discard();
    throw error;
  }
  file.finish();
}

async function usualWindowS(read: readonly ReadTrace[]): Promise<number> {
  return Math.max(LEAST_WINDOW_S, largestOf(read.map(({ trace }) => longestIntervalS(trace))));
}

async function windowFaults(read: readonly ReadTrace[], windowS: number): Promise<Fault[]> {
  if (!(windowS * 1e9 >= 1)) return [fault('is less than a nanosecond', option('window'))];
  const windows = Math.max(0, largestOf(read.map(({ trace }) => windowsOf(trace, windowS))));
  if (windows <= MOST_LINES) return [];
  const [given, most] = toldBeyond(windows, MOST_LINES);
  const said = `gives ${given} windows; at most ${most} are counted`;
  return [fault(said, option('window'))];
}

function conversionFaults(
  options: ConvertTraceOptions,
  placing: readonly Fault[],
  trace: Trace | undefined,
): Fault[] {
  const { arrivals, cv, interval, to = trace?.kind } = options;
  const faults = [...seedFaults(options), ...placing];
  if (interval !== undefined && !(interval * 1e9 >= 1))
    faults.push(fault('is less than a nanosecond', option('interval')));
  if (trace === undefined) return faults;
  const requests = requestsInTrace(trace);
  if (to === 'arrivals' && trace.kind === 'counts' && requests > MOST_LINES) {
    const [made, most] = toldBeyond(requests, MOST_LINES);
    const said = `would make ${made} requests; at most ${most} can be written`;
    faults.push(fault(said, option('to')));
  }
  if (to === 'counts' && trace.kind === 'arrivals' && interval === undefined)
    faults.push(fault(`is needed: the length of the intervals to count in`, option('interval')));
  if (to === 'arrivals' && interval !== undefined)
    faults.push(fault(`is for ${option('to')} counts`, option('interval')));
  if ((arrivals !== undefined || cv !== undefined) && !(to === 'arrivals' && trace.kind === 'counts'))
    faults.push(fault('places the requests of counts; this conversion places none', option('arrivals')));
  return faults;
}

function scaleFaults(options: RescaleTraceOptions): Fault[] {
  const faults = seedFaults(options);
  if (options.rps === undefined && options.duration === undefined)
    faults.push(fault(`is needed, or ${option('duration')}: what to rescale to`, option('rps')));
  for (const name of ['rps', 'duration'] as const) {
    const value = options[name];
    if (value !== undefined && !(value > 0 && Number.isFinite(value)))
      faults.push(fault(`is ${value}; it must be above 0`, option(name)));
  }
  const { duration } = options;
  if (duration !== undefined && duration > 0 && duration * 1e9 < 1)
    faults.push(fault('is less than a nanosecond', option('duration')));
  return faults;
}

function sliceFaults({ from, to, busiest }: SliceTraceOptions, trace: Trace | undefined): Fault[] {
  const faults: Fault[] = [];
  if (from === undefined && to === undefined && busiest === undefined)
    faults.push(fault(`is needed, or ${option('to')} or ${option('busiest')}: what to take`, option('from')));
  if (busiest !== undefined && (from !== undefined || to !== undefined))
    faults.push(
      fault(`finds the window by itself; leave out ${option('from')} and ${option('to')}`, option('busiest')),
    );
  if (from !== undefined && to !== undefined && to <= from)
    faults.push(fault(`is ${to} s, which is not after ${option('from')}, ${from} s`, option('to')));
  if (trace === undefined) return faults;
  const endS = traceDurationS(trace);
  if (busiest !== undefined && busiest > endS)
    faults.push(fault(`is ${busiest} s; the trace lasts ${endS} s`, option('busiest')));
  if (from !== undefined && from > endS)
    faults.push(fault(`is ${from} s; the trace ends at ${endS} s`, option('from')));
  return faults;
}

function seedFaults({ seed = 0 }: { readonly seed?: number | undefined }): Fault[] {
  if (Number.isSafeInteger(seed) && seed >= 0) return [];
  return [fault(`is ${seed}; it must be a whole number of 0 or more`, option('seed'))];
}
