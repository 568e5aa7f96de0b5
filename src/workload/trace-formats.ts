import { isDecimal } from '../artifacts/index.js';

/** LineSink receives the values that a format finds in the fields of a line, and checks the numbers. */
export interface LineSink {
  /** arrival adds a request at this many nanoseconds after the start (or after the format's own zero). */
  arrival(ns: number): void;
  /** interval adds an interval with this many requests. */
  interval(seconds: number, count: number): void;
  /** counts adds one source's requests in each of its intervals. The counts of all sources are added up. */
  counts(seconds: number, counts: readonly number[]): void;
  /** number reads a field as a number of at least 0. It is undefined after a fault. */
  number(fields: readonly string[], index: number, name: string): number | undefined;
  /** whole reads a field as a whole number of at least 0. It is undefined after a fault. */
  whole(fields: readonly string[], index: number, name: string): number | undefined;
  fault(message: string): void;
}

/** TraceFormat says how the lines of a trace file are read. */
export interface TraceFormat {
  name: string;
  /** Whether the first line is a header rather than data. */
  header: boolean;
  /** Whether the arrivals may come in any order. They are sorted then. */
  unsorted?: true;
  read: (fields: readonly string[], sink: LineSink) => void;
}

/** KnownFormat is a format that is known by its first line. */
interface KnownFormat extends TraceFormat {
  /** A description of the format that error messages show. */
  looks: string;
  /** matches says whether these are the fields of the format's first line, in lower case. */
  matches: (fields: readonly string[]) => boolean;
}

const NS_PER_S = 1e9;
const NS_PER_US = 1e3;
const SECONDS_PER_MINUTE = 60;
/** An interval may take 30 million years. Many longer ones together would have no finite number of nanoseconds. */
const MOST_INTERVAL_S = 1e15;
/**
 * These are no numbers, but a person may have meant them as numbers. A first line with one is a faulty row, not a
 * header.
 */
const NEARLY_A_NUMBER = /^([+-]?(nan|inf|infinity)|[+-].*)$/i;

function isData(field: string): boolean {
  return isDecimal(field) || NEARLY_A_NUMBER.test(field);
}

function data(count: number): (fields: readonly string[]) => boolean {
  return (fields) => fields.length === count && fields.every(isData);
}

function header(...names: string[]): (fields: readonly string[]) => boolean {
  return (fields) => fields.length === names.length && names.every((name, i) => fields[i] === name);
}

function headerStarting(...names: string[]): (fields: readonly string[]) => boolean {
  return (fields) => names.every((name, i) => fields[i] === name);
}

function readArrival(fields: readonly string[], sink: LineSink, name: string): void {
  const seconds = sink.number(fields, 0, name);
  if (seconds !== undefined) sink.arrival(Math.round(seconds * NS_PER_S));
}

function readInterval(fields: readonly string[], sink: LineSink): void {
  const seconds = sink.number(fields, 0, 'interval_s');
  const count = sink.whole(fields, 1, 'count');
  if (seconds === 0) sink.fault('interval_s is 0; it must be above 0');
  else if (seconds !== undefined && seconds > MOST_INTERVAL_S)
    sink.fault(`interval_s is ${seconds}; it must be at most ${MOST_INTERVAL_S}`);
  else if (seconds !== undefined && count !== undefined) sink.interval(seconds, count);
}

/**
 * The key columns of Azure Functions 2019: hashes of function, owner and app in any order and perhaps the
 * trigger, followed by a count per minute.
 */
const FUNCTION_KEYS = ['hashfunction', 'hashowner', 'hashapp', 'trigger'];

function keysOf(fields: readonly string[]): number {
  return fields.findIndex((field) => !FUNCTION_KEYS.includes(field));
}

function isFunctionCounts(fields: readonly string[]): boolean {
  const keys = keysOf(fields);
  return keys >= 3 && fields.slice(keys).every((field, i) => field.replace(/^minute_/, '') === String(i + 1));
}

function readFunctionCounts(fields: readonly string[], sink: LineSink, keys: number): void {
  const counts: number[] = [];
  for (let i = keys; i < fields.length; i++) {
    const count = sink.whole(fields, i, `minute ${i - keys + 1}`);
    if (count === undefined) return;
    counts.push(count);
  }
  sink.counts(SECONDS_PER_MINUTE, counts);
}

/**
 * readInvocation reads a line of Azure Functions 2021, which says when an invocation ended and how long it
 * took.
 */
function readInvocation(fields: readonly string[], sink: LineSink): void {
  const end = sink.number(fields, 2, 'end_timestamp');
  const duration = sink.number(fields, 3, 'duration');
  if (end === undefined || duration === undefined) return;
  // An invocation that began before the trace is taken to have arrived at its start.
  sink.arrival(Math.max(0, Math.round((end - duration) * NS_PER_S)));
}

const STAMP = /^(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|\+00:00)?$/;
/**
 * The start of the year 2000, in seconds since 1970. Counting from it, stamps within 104 days of the first
 * are exact in nanoseconds.
 */
const STAMP_ZERO_S = 946_684_800;

/**
 * stampOf reads a UTC timestamp as seconds since 2000 and nanoseconds; it is undefined where the text is
 * none.
 */
export function stampOf(text: string): { seconds: number; ns: number } | undefined {
  const parts = STAMP.exec(text);
  if (parts === null) return undefined;
  const [year, month, day, hour, minute, second] = parts.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  // biome-ignore lint/style/noRestrictedGlobals: the calendar is arithmetic on what the trace says; no clock is read
  const ms = Date.UTC(year, month - 1, day, hour, minute, second);
  // biome-ignore lint/style/noRestrictedGlobals: as above
  const told = new Date(ms).toISOString().slice(0, 19);
  if (told !== `${text.slice(0, 10)}T${text.slice(11, 19)}`) return undefined;
  return { seconds: ms / 1000 - STAMP_ZERO_S, ns: Number((parts[7] ?? '').padEnd(9, '0')) };
}

/**
 * stampReader reads the timestamps of Azure LLM 2023 and 2024 and LMM 2025. Its zero is the first timestamp
 * of the file.
 */
function stampReader(): TraceFormat['read'] {
  let first: { seconds: number; ns: number } | undefined;
  return (fields, sink) => {
    const stamp = stampOf(fields[0] as string);
    if (stamp === undefined) {
      sink.fault(`TIMESTAMP is ${JSON.stringify(fields[0])}; it must be like 2023-11-16 18:17:03.9799600`);
      return;
    }
    first ??= stamp;
    sink.arrival((stamp.seconds - first.seconds) * NS_PER_S + stamp.ns - first.ns);
  };
}

/**
 * formatOf finds the format of a trace by its first line; it is undefined where no format is known. Formats
 * keep state, so every trace needs new ones.
 */
export function formatOf(fields: readonly string[]): TraceFormat | undefined {
  const small = fields.map((field) => field.toLowerCase());
  return formats(keysOf(small)).find((format) => format.matches(small));
}

/**
 * perfAnalyzerIntervals reads gaps between arrivals in whole microseconds, one per line. Arrival times look
 * the same, so this format is used only when it is asked for.
 */
export function perfAnalyzerIntervals(): TraceFormat {
  let at = 0;
  return {
    name: 'perf-analyzer-intervals',
    header: false,
    read: (fields, sink) => {
      const us = sink.number(fields, 0, 'the interval');
      if (us === undefined) return;
      at += Math.round(us * NS_PER_US);
      sink.arrival(at);
    },
  };
}

function formats(keys: number): KnownFormat[] {
  const arrivals = { name: 'arrivals', looks: 'arrival_s, one arrival per line' };
  const counts = { name: 'counts', looks: 'interval_s,count' };
  const arrival: TraceFormat['read'] = (fields, sink) => readArrival(fields, sink, 'arrival_s');
  return [
    { ...arrivals, matches: header('arrival_s'), header: true, read: arrival },
    { ...arrivals, matches: data(1), header: false, read: arrival },
    { ...counts, matches: header('interval_s', 'count'), header: true, read: readInterval },
    { ...counts, matches: data(2), header: false, read: readInterval },
    {
      name: 'vidur',
      looks: 'arrived_at,num_prefill_tokens,num_decode_tokens (Vidur)',
      matches: headerStarting('arrived_at'),
      header: true,
      read: (fields, sink) => readArrival(fields, sink, 'arrived_at'),
    },
    {
      name: 'azure-llm',
      looks: 'TIMESTAMP,ContextTokens,GeneratedTokens (Azure LLM)',
      matches: headerStarting('timestamp', 'contexttokens', 'generatedtokens'),
      header: true,
      read: stampReader(),
    },
    {
      name: 'azure-lmm',
      looks: 'TIMESTAMP,NumImages,ContextTokens,GeneratedTokens (Azure LMM)',
      matches: headerStarting('timestamp', 'numimages', 'contexttokens', 'generatedtokens'),
      header: true,
      read: stampReader(),
    },
    {
      name: 'azure-functions-2021',
      looks: 'app,func,end_timestamp,duration (Azure Functions 2021)',
      matches: header('app', 'func', 'end_timestamp', 'duration'),
      header: true,
      unsorted: true,
      read: readInvocation,
    },
    {
      name: 'azure-functions-2019',
      looks: 'HashOwner,HashApp,HashFunction,Trigger,1,2,… (Azure Functions 2019, counts per minute)',
      matches: isFunctionCounts,
      header: true,
      read: (fields, sink) => readFunctionCounts(fields, sink, keys),
    },
  ];
}

/** knownLooks lists the known formats for error messages. */
export function knownLooks(): string[] {
  return [
    ...new Set([
      ...formats(0).map((format) => format.looks),
      '{"data":[{"timestamp":[ms]}]} (perf_analyzer)',
    ]),
  ];
}
