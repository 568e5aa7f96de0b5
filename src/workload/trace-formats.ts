import { didYouMean, isDecimal, NS_PER_S, NS_PER_US } from '../formats/index.js';
import {
  LEAST_EPOCH_S,
  type Moments,
  momentsIn,
  stampOf,
  stampsIn,
  UNITS,
  utcStamps,
} from './trace-stamps.js';

/** LineSink receives the values that a format finds in the fields of a line, and checks the numbers. */
export interface LineSink {
  /** arrival adds a request at this many nanoseconds after the start (or after the format's own zero). */
  arrival(ns: number): void;
  /** begunBefore counts a request that began before the trace, and is left out. */
  begunBefore(): void;
  /** moment reads a field by `moments`, as an arrival. */
  moment(fields: readonly string[], index: number, column: MomentColumn): void;
  /** window reads a field, where it is not empty, as the length of the window of another trace that this one is. */
  window(fields: readonly string[], index: number): void;
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
  /** header says whether the first line is a header rather than data. */
  header: boolean;
  /** unsorted says whether the arrivals may come in any order. They are sorted then. */
  unsorted?: true;
  read: (fields: readonly string[], sink: LineSink) => void;
}

/** MomentColumn is a column that says when requests came. */
export interface MomentColumn {
  readonly name: string;
  readonly read: Moments;
  /** isNumber says whether all its cells are numbers. */
  readonly isNumber: boolean;
}

/** KnownFormat is a format that is known by its first line. */
interface KnownFormat {
  name: string;
  /** A description of the format that error messages show. */
  looks: string;
  /**
   * begins gives the format of a trace whose first line has these fields, in lower case, or says why that is none
   * although it looks like one; undefined where it does not.
   */
  begins: (fields: readonly string[]) => Omit<TraceFormat, 'name'> | string | undefined;
}

const SECONDS_PER_MINUTE = 60;
/**
 * These texts are no numbers, but a person may have meant them as numbers. A first line with one is a faulty
 * row, not a header.
 */
const NEARLY_A_NUMBER = /^([+-]?(nan|inf|infinity)|[+-].*)$/i;

function isData(field: string): boolean {
  return isDecimal(field) || NEARLY_A_NUMBER.test(field);
}

function isAllData(fields: readonly string[], count: number): boolean {
  return fields.length === count && fields.every(isData);
}

/** WINDOW is the column beside `arrival_s` in which one line says how long the window is that the trace is of another. */
export const WINDOW = 'window_s';

/** Columns that count requests: a line of theirs is no single request. */
const COUNTED = /^(counts?|requests|num_requests|invocations|rps|qps|rate|value)$/;

/** arrivalsIn reads a column of moments, beside which others may be, of which none counts requests. */
function arrivalsIn(
  fields: readonly string[],
  index: number,
  column: MomentColumn,
): Omit<TraceFormat, 'name'> | string {
  const counted = fields.find((field) => COUNTED.test(field));
  if (counted !== undefined)
    return `has the column ${counted} beside ${column.name}: write counts as interval_s,count, and requests without a count`;
  const window = column.name === 'arrival_s' ? fields.indexOf(WINDOW) : -1;
  if (window === -1) return { header: true, read: (cells, sink) => sink.moment(cells, index, column) };
  return {
    header: true,
    read: (cells, sink) => {
      sink.moment(cells, index, column);
      sink.window(cells, window);
    },
  };
}

/** Columns whose cells say when a request came, by their names; those without a unit in the name hold stamps. */
const MOMENTS = new Map<string, () => MomentColumn>([
  ...(['arrival', 'timestamp'] as const).flatMap((begin) =>
    Object.values(UNITS).map((unit): [string, () => MomentColumn] => {
      const name = `${begin}_${unit.end}`;
      return [name, () => ({ name, read: momentsIn(unit, true), isNumber: true })];
    }),
  ),
  ...['timestamp', 'time', 'ts', 'datetime', 'arrival_time'].map((name): [string, () => MomentColumn] => [
    name,
    () => ({ name, read: stampsIn(), isNumber: false }),
  ]),
]);

/** beginsArrivals finds the one column that says when requests came. */
function beginsArrivals(fields: readonly string[]): Omit<TraceFormat, 'name'> | string | undefined {
  const found = fields.filter((field) => MOMENTS.has(field));
  const column = found.includes('arrival_s') ? 'arrival_s' : found[0];
  if (column === undefined) return undefined;
  if (column !== 'arrival_s' && found.length > 1)
    return `has the columns ${found.join(' and ')}: name the one that says when requests came arrival_s`;
  return arrivalsIn(fields, fields.indexOf(column), (MOMENTS.get(column) as () => MomentColumn)());
}

/** beginsWithArrival takes a first line of one field that is no header for the first arrival. */
function beginsWithArrival(fields: readonly string[]): Omit<TraceFormat, 'name'> | undefined {
  const isStamp = fields.length === 1 && stampOf(fields[0] as string) !== undefined;
  if (!isStamp && !isAllData(fields, 1)) return undefined;
  const read = isStamp ? utcStamps() : momentsIn(UNITS.s, false);
  const column = { name: 'arrival_s', read, isNumber: !isStamp };
  return { header: false, read: (cells, sink) => sink.moment(cells, 0, column) };
}

function beginsCounts(fields: readonly string[]): Omit<TraceFormat, 'name'> | undefined {
  if (isAllData(fields, 2))
    return { header: false, read: (cells, sink) => readInterval(cells, [0, 1], sink) };
  const places = placesOf(fields, ['interval_s', 'count']);
  return places && { header: true, read: (cells, sink) => readInterval(cells, places, sink) };
}

/** placesOf finds columns by their names; undefined where one is not there. */
function placesOf(fields: readonly string[], columns: readonly string[]): number[] | undefined {
  const places = columns.map((column) => fields.indexOf(column));
  return places.includes(-1) ? undefined : places;
}

function readInterval(fields: readonly string[], [length, counted]: readonly number[], sink: LineSink): void {
  const seconds = sink.number(fields, length as number, 'interval_s');
  const count = sink.whole(fields, counted as number, 'count');
  if (seconds === 0) sink.fault('interval_s is 0; it must be above 0');
  else if (seconds !== undefined && seconds >= LEAST_EPOCH_S)
    sink.fault(
      `interval_s is ${seconds}, which is no length but a stamp since 1970; it must be the seconds of the interval, less than ${LEAST_EPOCH_S}`,
    );
  else if (seconds !== undefined && count !== undefined) sink.interval(seconds, count);
}

/**
 * The key columns of Azure Functions 2019: hashes of function, owner and app in any order and perhaps the
 * trigger, followed by a count per minute.
 */
const FUNCTION_KEYS = ['hashfunction', 'hashowner', 'hashapp'];

function beginsFunctionCounts(fields: readonly string[]): Omit<TraceFormat, 'name'> | undefined {
  const first = fields.findIndex((field) => minuteOf(field) === '1');
  if (first === -1 || !FUNCTION_KEYS.every((key) => fields.slice(0, first).includes(key))) return undefined;
  if (!fields.slice(first).every((field, i) => minuteOf(field) === String(i + 1))) return undefined;
  return { header: true, read: (cells, sink) => readFunctionCounts(cells, sink, first) };
}

function minuteOf(field: string): string {
  return field.replace(/^minute_/, '');
}

function readFunctionCounts(fields: readonly string[], sink: LineSink, first: number): void {
  const counts: number[] = [];
  for (let i = first; i < fields.length; i++) {
    const count = sink.whole(fields, i, `minute ${i - first + 1}`);
    if (count === undefined) return;
    counts.push(count);
  }
  sink.counts(SECONDS_PER_MINUTE, counts);
}

function beginsInvocations(fields: readonly string[]): Omit<TraceFormat, 'name'> | undefined {
  const places = placesOf(fields, ['app', 'func', 'end_timestamp', 'duration']);
  if (places === undefined) return undefined;
  const [, , ended, lasted] = places as [number, number, number, number];
  return {
    header: true,
    unsorted: true,
    read: (cells, sink) =>
      readInvocation(
        sink.number(cells, ended, 'end_timestamp'),
        sink.number(cells, lasted, 'duration'),
        sink,
      ),
  };
}

/**
 * readInvocation reads a line of Azure Functions 2021, which says when an invocation ended, in seconds since the trace
 * began, and how long it took. Of those that began before the trace only the long ones are known, which were still
 * running: they are left out.
 */
function readInvocation(ended: number | undefined, lasted: number | undefined, sink: LineSink): void {
  if (ended === undefined || lasted === undefined) return;
  const beganNs = Math.round((ended - lasted) * NS_PER_S);
  if (ended >= LEAST_EPOCH_S)
    sink.fault(
      `end_timestamp is ${ended}, a stamp since 1970; it must be in seconds since the trace began, as published`,
    );
  else if (beganNs < 0) sink.begunBefore();
  else sink.arrival(beganNs);
}

/**
 * formatOf finds the format of a trace by its first line, or says why that is none although it looks like one; it is
 * undefined where no format is known. Formats keep state, so every trace needs new ones.
 */
export function formatOf(fields: readonly string[]): TraceFormat | string | undefined {
  const small = fields.map((field) => field.toLowerCase());
  const twice = small.find((field, i) => MOMENTS.has(field) && small.indexOf(field) < i);
  if (twice !== undefined) return `has the column ${twice} twice`;
  for (const { name, begins } of FORMATS) {
    const found = begins(small);
    if (found !== undefined) return typeof found === 'string' ? found : { name, ...found };
  }
  return undefined;
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

/** beginsAzure knows requests to language models by their columns, the first of which has UTC stamps. */
function beginsAzure(...columns: string[]): KnownFormat['begins'] {
  return (fields) => {
    const places = placesOf(fields, columns);
    if (places === undefined) return undefined;
    const column = { name: 'TIMESTAMP', read: utcStamps(), isNumber: false };
    return { header: true, read: (cells, sink) => sink.moment(cells, places[0] as number, column) };
  };
}

/** FORMATS are tried in their order. */
const FORMATS: readonly KnownFormat[] = [
  { name: 'arrivals', looks: 'arrival_s, one arrival per line', begins: beginsWithArrival },
  { name: 'counts', looks: 'interval_s,count', begins: beginsCounts },
  {
    name: 'vidur',
    looks: 'arrived_at,num_prefill_tokens,num_decode_tokens (Vidur)',
    begins: (fields) => {
      const column = { name: 'arrived_at', read: momentsIn(UNITS.s, true), isNumber: true };
      return fields.includes('arrived_at')
        ? arrivalsIn(fields, fields.indexOf('arrived_at'), column)
        : undefined;
    },
  },
  {
    name: 'azure-lmm',
    looks: 'TIMESTAMP,NumImages,ContextTokens,GeneratedTokens (Azure LMM)',
    begins: beginsAzure('timestamp', 'numimages', 'contexttokens', 'generatedtokens'),
  },
  {
    name: 'azure-llm',
    looks: 'TIMESTAMP,ContextTokens,GeneratedTokens (Azure LLM)',
    begins: beginsAzure('timestamp', 'contexttokens', 'generatedtokens'),
  },
  {
    name: 'mooncake',
    looks: '{"timestamp":ms,"input_length":…,"output_length":…} on each line (Mooncake)',
    begins: (fields) => {
      const places = placesOf(fields, ['timestamp', 'input_length', 'output_length']);
      const column = { name: 'timestamp', read: momentsIn(UNITS.ms, true), isNumber: true };
      return places && arrivalsIn(fields, places[0] as number, column);
    },
  },
  {
    name: 'azure-functions-2021',
    looks: 'app,func,end_timestamp,duration (Azure Functions 2021)',
    begins: beginsInvocations,
  },
  {
    name: 'azure-functions-2019',
    looks: 'HashOwner,HashApp,HashFunction,Trigger,1,2,… (Azure Functions 2019, counts per minute)',
    begins: beginsFunctionCounts,
  },
  {
    name: 'arrivals',
    looks: 'timestamp, with UTC stamps or numbers since 1970, timestamp_ms, or arrival_ms',
    begins: beginsArrivals,
  },
];

/** nearColumn ends a sentence about columns that are not known with the one that was perhaps meant to say when requests came. */
export function nearColumn(fields: readonly string[]): string {
  const near = fields.map((field) =>
    didYouMean(field, ['arrival_s', 'timestamp', 'arrival_ms', 'timestamp_ms']),
  );
  return near.find((one) => one !== '') ?? '';
}

/** No text of a trace has these control characters, and almost every binary file begins with some. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const NO_TEXT = /[\u0000-\u0008\u000e-\u001f]/;
/** What a file is shows in so many of its first letters. */
const FIRST_LETTERS = 4096;

/** noTextFault says of a file whose first letters are no text which formats are read; undefined of a text. */
export function noTextFault(begin: string): string | undefined {
  if (!NO_TEXT.test(begin.slice(0, FIRST_LETTERS))) return undefined;
  return `it is no text in UTF-8, but a binary file, or a text in another encoding; the known formats are ${knownLooks().join('; ')}`;
}

/** knownLooks lists the known formats for error messages. */
export function knownLooks(): string[] {
  return [...FORMATS.map(({ looks }) => looks), '{"data":[{"timestamp":[ms]}]} (perf_analyzer)'];
}
