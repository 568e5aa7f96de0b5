import { atOnce, type Steps, sorted } from '../collections/index.js';
import {
  decimalOf,
  type Fault,
  HUGE,
  InputError,
  MOST_FAULTS,
  moreFaults,
  NS_PER_MS,
  notJson,
  shown,
  smallCsvLines,
  tooLargeJson,
} from '../formats/index.js';
import type { CountTrace, Trace } from './trace.js';
import {
  formatOf,
  knownLooks,
  type LineSink,
  type MomentColumn,
  nearColumn,
  noTextFault,
  perfAnalyzerIntervals,
  type TraceFormat,
  WINDOW,
} from './trace-formats.js';

const BYTE_ORDER_MARK = '\uFEFF';
/** Beyond these lengths a file is no trace, or one that does not fit into one text. */
const MOST_LINE = 1 << 20;
const MOST_JSON = 1 << 28;
/** The text is a list of JSON by its first characters, and no stamp in brackets. */
const BEGINS_ARRAY = /^\s*\[\s*([[{"\]]|[\d.eE+-]+\s*[,\]]|$)/;
const AN_ARRAY =
  'it is a JSON array, and one object a line is read: write each object of it on a line of its own, as `jq -c ".[]"` does';
const TOO_LATE = 'it is more than 104 days after the start, which is more than can be simulated';

/** A trace has at most this many requests, or intervals; a request takes 8 bytes, and an interval 16. */
export const MOST_TRACE_REQUESTS = 30_000_000;
const MOST_INTERVALS = MOST_TRACE_REQUESTS / 2;

/** TraceOptions says what the text of a trace does not say itself. */
export interface TraceOptions {
  /** The trace's name, for messages. */
  name?: string;
  /** The format, where the text alone does not tell it. */
  format?: 'perf-analyzer-intervals';
  /** Into how many groups the functions of a trace that counts each are dealt, in turn. By default they are not distinguished. */
  groups?: number;
}

/** parseTrace reads a trace from its whole text, as TraceReader does. @throws InputError as `push` and `end` do */
export function parseTrace(text: string, options: TraceOptions = {}): Trace {
  const reader = new TraceReader(options);
  reader.push(text);
  return reader.end();
}

/**
 * TraceReader reads a trace piece by piece. The first line tells the format (docs/formats.md): our arrival times or
 * counts per interval, or a published format, as CSV or as an object of JSON on each line. Lines may end in CRLF, and
 * the last line may lack its end. Everything else is a fault: empty lines, fields that are no number, numbers that are
 * negative or not finite, and arrivals that go back in time. It takes 8 bytes per arrival and 16 per interval.
 */
export class TraceReader implements LineSink {
  private readonly name: string | undefined;
  private format: TraceFormat | undefined;
  private fields = 0;
  private line = 0;
  private left = '';
  private started = false;
  private json: string[] | undefined;
  private jsonLength = 0;
  /**
   * isJsonKnown says whether the first line of JSON was looked at, which tells a list of objects by line from
   * one document.
   */
  private isJsonKnown = false;
  /** The keys of the first object, where each line is an object. */
  private keys: readonly string[] | undefined;
  private leftOut = 0;
  private windowNs: number | undefined;
  private readonly faults: Fault[] = [];
  private faultCount = 0;
  private readonly times = new Numbers();
  private readonly seconds = new Numbers();
  private readonly numbers = new Numbers();
  private unknownFormat = false;
  /** By group of functions, its counts; and how many functions there were. */
  private readonly groups: readonly Numbers[];
  private functions = 0;

  constructor(options: TraceOptions = {}) {
    this.name = options.name;
    this.groups = Array.from({ length: options.groups ?? 0 }, () => new Numbers());
    if (options.format === 'perf-analyzer-intervals') this.format = perfAnalyzerIntervals();
  }

  /**
   * push adds the next piece of text. A piece may end anywhere, also within a line.
   * @throws InputError where a line has more than 2^20 characters, JSON has more than 2^28, or it is no text or a JSON array:
   *   the file is no trace
   */
  push(text: string): void {
    let rest = text;
    if (!this.started && text.length > 0) {
      this.started = true;
      if (text.startsWith(BYTE_ORDER_MARK)) rest = text.slice(1);
      if (rest.trimStart().startsWith('{')) this.json = [];
      const noTrace = noTextFault(rest) ?? (BEGINS_ARRAY.test(rest) ? AN_ARRAY : undefined);
      if (noTrace !== undefined) {
        this.addFault('', noTrace);
        throw this.refusal();
      }
    }
    if (this.json !== undefined) this.keepJson(rest);
    else this.readLines(rest);
  }

  /**
   * end finishes the trace.
   * @throws InputError with every fault of the trace and its line, or the first 20 of them; a trace without requests
   *   is a fault too
   */
  end(): Trace {
    return atOnce(this.ending());
  }

  /** ending does what `end` does, piece by piece. */
  *ending(): Steps<Trace> {
    if (this.json !== undefined) this.endJson(this.json.join(''));
    if (this.left !== '') this.readLine(this.left);
    if (this.faultCount === 0 && this.times.count === 0 && this.numbers.sum() === 0) {
      const before = this.leftOut === 0 ? '' : `: all ${this.leftOut} of its requests began before it`;
      this.addFault('', `it holds no requests${before}`);
    }
    const { windowNs = Number.POSITIVE_INFINITY } = this;
    if (this.times.last() > windowNs)
      this.addFault(
        '',
        `its window ends at ${windowNs / 1e9} s by ${WINDOW}, and its last request comes at ${this.times.last() / 1e9} s`,
      );
    if (this.faultCount > 0) throw this.refusal();
    const format = this.format?.name as string;
    if (this.numbers.count > 0)
      return { kind: 'counts', format, intervalS: this.seconds.all(), counts: this.numbers.all() };
    const timesNs = this.times.all();
    return {
      kind: 'arrivals',
      format,
      timesNs: this.format?.unsorted ? yield* sorted(timesNs) : timesNs,
      ...(this.leftOut === 0 ? {} : { begunBefore: this.leftOut }),
      ...(this.windowNs === undefined ? {} : { windowNs: this.windowNs }),
    };
  }

  begunBefore(): void {
    this.leftOut += 1;
  }

  moment(fields: readonly string[], index: number, { name, read, isNumber }: MomentColumn): void {
    const field = fields[index] as string;
    const value = isNumber ? this.number(fields, index, name) : decimalOf(field);
    if (value === undefined) return;
    const ns = read(field, value);
    if (typeof ns === 'number') this.arrival(ns);
    else this.fault(`${name} is ${shown(field)}; it ${ns}`);
  }

  arrival(ns: number): void {
    if (!Number.isSafeInteger(ns)) {
      this.fault(TOO_LATE);
      return;
    }
    const before = this.times.last();
    if (this.format?.unsorted !== true && ns < before) {
      this.fault(`its arrival at ${ns / 1e9} s comes after one at ${before / 1e9} s: arrivals must ascend`);
      return;
    }
    if (this.times.count === MOST_TRACE_REQUESTS)
      throw this.beyond(`it has more than ${MOST_TRACE_REQUESTS} requests, the most that are read`);
    this.times.push(ns);
  }

  window(fields: readonly string[], index: number): void {
    if (fields[index] === '') return;
    const seconds = this.number(fields, index, WINDOW);
    if (seconds === undefined) return;
    const ns = Math.round(seconds * 1e9);
    if (!Number.isSafeInteger(ns)) this.fault(TOO_LATE);
    else if (this.windowNs !== undefined && this.windowNs !== ns)
      this.fault(
        `${WINDOW} is ${seconds}, and a line before says ${this.windowNs / 1e9}: a trace has one window`,
      );
    else this.windowNs = ns;
  }

  interval(seconds: number, count: number): void {
    if (this.numbers.count === MOST_INTERVALS)
      throw this.beyond(`it has more than ${MOST_INTERVALS} intervals, the most that are read`);
    this.seconds.push(seconds);
    this.numbers.push(count);
  }

  /**
   * grouped gives what came of each group of functions in a trace that counts each, after its end: function f, from 0
   * on, is of group f modulo their number. Of other traces it gives nothing.
   */
  grouped(): CountTrace[] | undefined {
    if (this.functions === 0 || this.groups.length === 0) return undefined;
    const intervalS = this.seconds.all();
    const format = this.format?.name as string;
    return this.groups.map((group): CountTrace => {
      // A group has no counts where there are fewer functions than groups.
      const counts = group.count === 0 ? new Float64Array(intervalS.length) : group.all();
      return { kind: 'counts', format, intervalS, counts };
    });
  }

  counts(seconds: number, counts: readonly number[]): void {
    const group = this.groups[this.functions % this.groups.length];
    this.functions += 1;
    counts.forEach((count, i) => {
      if (group === undefined) return;
      if (i < group.count) group.add(i, count);
      else group.push(count);
    });
    counts.forEach((count, i) => {
      if (i < this.numbers.count) this.numbers.add(i, count);
      else this.interval(seconds, count);
    });
  }

  number(fields: readonly string[], index: number, name: string): number | undefined {
    const field = fields[index] as string;
    const value = decimalOf(field);
    if (value >= 0 && Number.isFinite(value)) return value;
    const why = value < 0 ? 'it must not be negative' : 'it must be a number';
    this.fault(`${name} is ${shown(field)}; ${why}`);
    return undefined;
  }

  whole(fields: readonly string[], index: number, name: string): number | undefined {
    const value = this.number(fields, index, name);
    if (value === undefined || Number.isSafeInteger(value)) return value;
    const why = Number.isInteger(value) ? HUGE : 'it must be a whole number';
    this.fault(`${name} is ${shown(fields[index] as string)}; ${why}`);
    return undefined;
  }

  fault(message: string): void {
    this.addFault(`line ${this.line}`, message);
  }

  private addFault(path: string, message: string): void {
    this.faultCount += 1;
    if (this.faults.length < MOST_FAULTS) this.faults.push({ path, message });
  }

  /** keepJson keeps the text of a document, or hands on the lines of a text whose first is an object by itself. */
  private keepJson(text: string): void {
    const end = this.isJsonKnown ? -1 : text.indexOf('\n');
    if (end !== -1) {
      this.isJsonKnown = true;
      const before = this.json?.join('') as string;
      if (this.beginsLines(before + text.slice(0, end))) {
        this.readLines(before + text);
        return;
      }
    }
    this.jsonLength += text.length;
    if (this.jsonLength > MOST_JSON) {
      this.addFault('', `it is JSON of more than ${MOST_JSON} characters`);
      throw this.refusal();
    }
    this.json?.push(text);
  }

  /** endJson reads a document; one without a line end may be a single object. */
  private endJson(text: string): void {
    const only = this.isJsonKnown ? undefined : objectIn(text);
    const isLine = only !== undefined && formatOf(Object.keys(only)) !== undefined;
    if (isLine && this.beginsLines(text)) this.left = text;
    else this.readSchedule(text);
  }

  /** beginsLines says whether a first line is an object for itself, and no document of perf_analyzer. */
  private beginsLines(line: string): boolean {
    const first = line.length > MOST_LINE ? undefined : objectIn(line);
    if (first === undefined || 'data' in first) return false;
    this.json = undefined;
    this.keys = Object.keys(first);
    return true;
  }

  private readLines(text: string): void {
    let from = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', from)) {
      this.readLine(this.left + text.slice(from, end));
      this.left = '';
      from = end + 1;
    }
    this.left += text.slice(from);
    if (this.left.length <= MOST_LINE) return;
    this.line += 1;
    this.fault(`it has more than ${MOST_LINE} characters`);
    throw this.refusal();
  }

  private readLine(text: string): void {
    this.line += 1;
    if (this.unknownFormat) return;
    const line = text.endsWith('\r') ? text.slice(0, -1) : text;
    if (line.trim() === '') {
      this.fault('it is empty');
      return;
    }
    const fields = this.fieldsOf(line);
    if (fields === undefined) return;
    if (this.fields === 0 && this.begins(this.keys ?? fields) && this.keys === undefined) return;
    if (this.unknownFormat) return;
    if (fields.length !== this.fields)
      this.fault(`it has ${fields.length} fields, the first line has ${this.fields}`);
    else this.format?.read(fields, this);
  }

  /** fieldsOf gives the fields of a line; undefined after a fault. */
  private fieldsOf(line: string): string[] | undefined {
    if (this.keys !== undefined) {
      const found = objectIn(line);
      if (found === undefined) this.fault('it is no object of JSON, as the first line is');
      return found && this.keys.map((key) => cellOf(found[key]));
    }
    if (line.includes('"')) return this.quotedFields(line);
    // Splitting takes half of the time of a line of one field.
    const fields = line.includes(',') ? line.split(',') : [line];
    for (let i = 0; i < fields.length; i++) fields[i] = (fields[i] as string).trim();
    return fields;
  }

  private quotedFields(line: string): string[] | undefined {
    const read = smallCsvLines(line);
    if (!('faults' in read)) return [...(read[0]?.record ?? [])];
    this.fault('its quotation marks do not match');
    return undefined;
  }

  /**
   * begins reads the first line, which tells the format of the others.
   * @returns whether the line was only a header
   */
  private begins(fields: readonly string[]): boolean {
    this.fields = fields.length;
    const format = this.format ?? formatOf(fields);
    if (format !== undefined && typeof format !== 'string' && (this.keys === undefined || format.header)) {
      this.format = format;
      return format.header;
    }
    this.unknownFormat = true;
    const known = knownLooks().join('; ');
    this.fault(
      typeof format === 'string'
        ? `it ${format}`
        : `${shown(fields.join(','))} is not the first line of a known trace; the known formats are ${known}, and each as objects of JSON by line${nearColumn(fields)}`,
    );
    return true;
  }

  /** readSchedule reads the fixed schedule of perf_analyzer: `{"data":[{"timestamp":[ms]}]}`. */
  private readSchedule(text: string): void {
    this.format = { name: 'fixed-schedule', header: false, read: () => {} };
    const entries = scheduleOf(text);
    if (typeof entries === 'string') {
      this.addFault('', entries);
      return;
    }
    entries.forEach((entry: unknown, i) => {
      const stamp = (entry as { timestamp?: unknown } | null)?.timestamp;
      const ms: unknown = Array.isArray(stamp) && stamp.length === 1 ? stamp[0] : stamp;
      if (typeof ms === 'number' && ms >= 0 && Number.isFinite(ms)) this.scheduled(i, ms);
      else
        this.addFault(
          `/data/${i}/timestamp`,
          `is ${shown(stamp)}; it must be a list of one number of milliseconds`,
        );
    });
  }

  private scheduled(i: number, ms: number): void {
    const ns = Math.round(ms * NS_PER_MS);
    if (!Number.isSafeInteger(ns)) this.addFault(`/data/${i}/timestamp`, TOO_LATE);
    else if (ns < this.times.last())
      this.addFault(`/data/${i}/timestamp`, 'is earlier than the one before it');
    else this.times.push(ns);
  }

  private beyond(message: string): InputError {
    this.addFault('', `${message} (docs/limits.md); cut the trace`);
    return this.refusal();
  }

  private refusal(): InputError {
    const told = [...this.faults];
    const more = this.faultCount - told.length;
    if (more > 0) told.push(moreFaults(more));
    return new InputError(`read the trace${this.name === undefined ? '' : ` ${this.name}`}`, told);
  }
}

/** objectIn reads a line that is an object of JSON; undefined where it is none. */
function objectIn(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** cellOf writes a value of JSON as the cell of a table has it: numbers and texts, and nothing of what has no cell. */
function cellOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

function scheduleOf(text: string): unknown[] | string {
  const large = tooLargeJson(text);
  if (large !== undefined) return large;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return `it is no JSON: ${notJson(text)}`;
  }
  const data = (value as { data?: unknown }).data;
  return Array.isArray(data) ? data : 'it has no list "data" of requests with a "timestamp" each';
}

/** Numbers is a list of numbers that grows. */
class Numbers {
  private values = new Float64Array(64);
  count = 0;

  push(value: number): void {
    if (this.count === this.values.length) {
      const longer = new Float64Array(2 * this.count);
      longer.set(this.values);
      this.values = longer;
    }
    this.values[this.count++] = value;
  }

  add(index: number, value: number): void {
    this.values[index]! += value;
  }

  /** last gives the last number, or 0 when there is none. */
  last(): number {
    return this.count === 0 ? 0 : (this.values[this.count - 1] as number);
  }

  sum(): number {
    return this.all().reduce((total, value) => total + value, 0);
  }

  /** all gives the numbers without a copy. */
  all(): Float64Array {
    return this.values.subarray(0, this.count);
  }
}
