/** What a format makes of a line's fields; numbers are checked by what it calls. */
export interface LineSink {
  /** A request came so many nanoseconds after the start (or after the format's own zero). */
  arrival(ns: number): void;
  /** So many requests came in this interval. */
  interval(seconds: number, count: number): void;
  /** Requests of one of several sources in each of its intervals: added up over the sources. */
  counts(seconds: number, counts: readonly number[]): void;
  /** The field as a number of at least 0; undefined after a fault. */
  number(fields: readonly string[], index: number, name: string): number | undefined;
  /** The same, whole. */
  whole(fields: readonly string[], index: number, name: string): number | undefined;
  fault(message: string): void;
}

export interface TraceFormat {
  name: string;
  /** What it looks like, for people. */
  looks: string;
  /** Whether these are the fields of its first line, in small letters. */
  matches: (fields: readonly string[]) => boolean;
  /** Whether that line is a header, or already data. */
  header: boolean;
  /** Whether its arrivals may come in any order, and are sorted. */
  unsorted?: true;
  read: (fields: readonly string[], sink: LineSink) => void;
}

const NS_PER_S = 1e9;
const NS_PER_US = 1e3;
const SECONDS_PER_MINUTE = 60;
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
/** Not numbers, but what someone may have meant as one: then the first line is data, and faulty. */
const NEARLY_A_NUMBER = /^([+-]?(nan|inf|infinity)|[+-].*)$/i;

export function isNumber(field: string): boolean {
  return NUMBER.test(field);
}

function isData(field: string): boolean {
  return isNumber(field) || NEARLY_A_NUMBER.test(field);
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
  if (seconds === 0) sink.fault('interval_s is 0; an interval has a length');
  else if (seconds !== undefined && count !== undefined) sink.interval(seconds, count);
}

/** Azure Functions 2019: hashes of function, owner and app in any order, maybe the trigger, then a count per minute. */
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

/** Azure Functions 2021: when each invocation ended and how long it took. */
function readInvocation(fields: readonly string[], sink: LineSink): void {
  const end = sink.number(fields, 2, 'end_timestamp');
  const duration = sink.number(fields, 3, 'duration');
  if (end === undefined || duration === undefined) return;
  // Those that began before the trace did are taken to have come with its start.
  sink.arrival(Math.max(0, Math.round((end - duration) * NS_PER_S)));
}

const STAMP = /^(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|\+00:00)?$/;
/** Seconds since 1970 of the start of 2000: stamps since then, and for 104 days from the first, are exact nanoseconds. */
const STAMP_ZERO_S = 946_684_800;

/** A UTC stamp in seconds since 2000 and nanoseconds; undefined where it is none. */
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
  const ms = Date.UTC(year, month - 1, day, hour, minute, second);
  const told = new Date(ms).toISOString().slice(0, 19);
  if (told !== `${text.slice(0, 10)}T${text.slice(11, 19)}`) return undefined;
  return { seconds: ms / 1000 - STAMP_ZERO_S, ns: Number((parts[7] ?? '').padEnd(9, '0')) };
}

/** Azure LLM 2023 and 2024, LMM 2025. Its zero is the first stamp of the file. */
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

/** The format of a trace that begins with this line; undefined where none is known to. New for each trace: formats remember. */
export function formatOf(fields: readonly string[]): TraceFormat | undefined {
  const small = fields.map((field) => field.toLowerCase());
  return formats(keysOf(small)).find((format) => format.matches(small));
}

/** Gaps between arrivals in whole microseconds, one per line, nothing else: only where it is asked for, as arrival times look alike. */
export function perfAnalyzerIntervals(): TraceFormat {
  let at = 0;
  return {
    name: 'perf-analyzer-intervals',
    looks: 'one interval in microseconds per line (perf_analyzer --request-intervals)',
    matches: (fields) => fields.length === 1,
    header: false,
    read: (fields, sink) => {
      const us = sink.number(fields, 0, 'the interval');
      if (us === undefined) return;
      at += Math.round(us * NS_PER_US);
      sink.arrival(at);
    },
  };
}

function formats(keys: number): TraceFormat[] {
  const arrivals = { name: 'arrivals', looks: 'arrival_s, one arrival per line' };
  const counts = { name: 'counts', looks: 'interval_s,count' };
  const arrival: TraceFormat['read'] = (fields, sink) => readArrival(fields, sink, 'arrival_s');
  return [
    { ...arrivals, matches: header('arrival_s'), header: true, read: arrival },
    { ...arrivals, matches: (f) => f.length === 1 && f.every(isData), header: false, read: arrival },
    { ...counts, matches: header('interval_s', 'count'), header: true, read: readInterval },
    { ...counts, matches: (f) => f.length === 2 && f.every(isData), header: false, read: readInterval },
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

/** What can be read, for people. */
export function knownLooks(): string[] {
  return [
    ...new Set([
      ...formats(0).map((format) => format.looks),
      '{"data":[{"timestamp":[ms]}]} (perf_analyzer)',
    ]),
  ];
}
