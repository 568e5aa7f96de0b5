import { decimalOf, type Fault, InputError } from '../artifacts/index.js';
import type { Trace } from './trace.js';
import {
  formatOf,
  knownLooks,
  type LineSink,
  perfAnalyzerIntervals,
  type TraceFormat,
} from './trace-formats.js';

const MOST_FAULTS = 50;
const NS_PER_MS = 1e6;
const BYTE_ORDER_MARK = '\uFEFF';
const LONGEST_SHOWN = 40;
/** Beyond these lengths a file is no trace, or one that does not fit into one text. */
const MOST_LINE = 1 << 20;
const MOST_JSON = 1 << 28;
const TOO_LATE = 'it is more than 104 days after the start, which is more than can be simulated';

/** TraceOptions says what the text of a trace does not say itself. */
export interface TraceOptions {
  /** The trace's name, for messages. */
  name?: string;
  /** The format, where the text alone does not tell it. */
  format?: 'perf-analyzer-intervals';
}

/** parseTrace reads a trace from its whole text, as TraceReader does. @throws InputError as `push` and `end` do */
export function parseTrace(text: string, options: TraceOptions = {}): Trace {
  const reader = new TraceReader(options);
  reader.push(text);
  return reader.end();
}

/**
 * TraceReader reads a trace piece by piece. The first line tells the format (docs/formats.md): our arrival
 * times or counts per interval, or a published format. Lines may end in CRLF, and the last line may lack its
 * end. Everything else is a fault: empty lines, fields that are no number, numbers that are negative or not
 * finite, and arrivals that go back in time. It takes 8 bytes per arrival and 16 per interval.
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
  private readonly faults: Fault[] = [];
  private faultCount = 0;
  private readonly times = new Numbers();
  private readonly seconds = new Numbers();
  private readonly numbers = new Numbers();
  private unknownFormat = false;

  constructor(options: TraceOptions = {}) {
    this.name = options.name;
    if (options.format === 'perf-analyzer-intervals') this.format = perfAnalyzerIntervals();
  }

  /**
   * push adds the next piece of text. A piece may end anywhere, also within a line.
   * @throws InputError where a line has more than 2^20 characters, or JSON more than 2^28: the file is no trace
   */
  push(text: string): void {
    let rest = text;
    if (!this.started && text.length > 0) {
      this.started = true;
      if (text.startsWith(BYTE_ORDER_MARK)) rest = text.slice(1);
      if (rest.trimStart().startsWith('{')) this.json = [];
    }
    if (this.json !== undefined) this.keepJson(rest);
    else this.readLines(rest);
  }

  /**
   * end finishes the trace.
   * @throws InputError with every fault of the trace and its line, or the first 50 of them; a trace without requests
   *   is a fault too
   */
  end(): Trace {
    if (this.json !== undefined) this.readSchedule(this.json.join(''));
    else if (this.left !== '') this.readLine(this.left);
    if (this.faultCount === 0 && this.times.count === 0 && this.numbers.sum() === 0) {
      this.addFault('', 'it holds no requests');
    }
    if (this.faultCount > 0) throw this.refusal();
    const format = this.format?.name as string;
    if (this.numbers.count > 0)
      return { kind: 'counts', format, intervalS: this.seconds.all(), counts: this.numbers.all() };
    const timesNs = this.times.all();
    return { kind: 'arrivals', format, timesNs: this.format?.unsorted ? timesNs.sort() : timesNs };
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
    this.times.push(ns);
  }

  interval(seconds: number, count: number): void {
    this.seconds.push(seconds);
    this.numbers.push(count);
  }

  counts(seconds: number, counts: readonly number[]): void {
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
    this.fault(`${name} is ${shown(fields[index] as string)}; it must be a whole number`);
    return undefined;
  }

  fault(message: string): void {
    this.addFault(`line ${this.line}`, message);
  }

  private addFault(path: string, message: string): void {
    this.faultCount += 1;
    if (this.faults.length < MOST_FAULTS) this.faults.push({ path, message });
  }

  private keepJson(text: string): void {
    this.jsonLength += text.length;
    if (this.jsonLength > MOST_JSON) {
      this.addFault('', `it is JSON of more than ${MOST_JSON} characters`);
      throw this.refusal();
    }
    this.json?.push(text);
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
    const fields = line.split(',');
    for (let i = 0; i < fields.length; i++) fields[i] = (fields[i] as string).trim();
    if (this.fields === 0 && this.begins(fields)) return;
    if (this.unknownFormat) return;
    if (fields.length !== this.fields)
      this.fault(`it has ${fields.length} fields, the first line has ${this.fields}`);
    else this.format?.read(fields, this);
  }

  /**
   * begins reads the first line, which tells the format of the others.
   * @returns whether the line was only a header
   */
  private begins(fields: readonly string[]): boolean {
    this.fields = fields.length;
    this.format ??= formatOf(fields);
    if (this.format !== undefined) return this.format.header;
    this.unknownFormat = true;
    this.fault(
      `${shown(fields.join(','))} is not the first line of a known trace; the known formats are ${knownLooks().join('; ')}`,
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
          `is ${JSON.stringify(stamp)}; it must be a list of one number of milliseconds`,
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

  private refusal(): InputError {
    const told = [...this.faults];
    const more = this.faultCount - told.length;
    if (more > 0) told.push({ path: '', message: `… and ${more} more faults` });
    return new InputError(`read the trace${this.name === undefined ? '' : ` ${this.name}`}`, told);
  }
}

function scheduleOf(text: string): unknown[] | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return `it is no JSON: ${(error as Error).message}`;
  }
  const data = (value as { data?: unknown }).data;
  return Array.isArray(data) ? data : 'it has no list "data" of requests with a "timestamp" each';
}

function shown(text: string): string {
  return JSON.stringify(text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN - 1)}…` : text);
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

  all(): Float64Array {
    return this.values.slice(0, this.count);
  }
}
