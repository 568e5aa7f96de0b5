import { isUtf8 } from 'node:buffer';
import type { Steps } from '../collections/index.js';
import { WireFault } from './wire-fault.js';

/** DataText is the list that a request holds as an input's `data`, which is not parsed yet. */
export interface DataText {
  /** Its bytes, from the outermost bracket to the one that closes it. */
  readonly bytes: Uint8Array;
  /** The number of its elements that are no lists. */
  readonly count: number;
  /** How deep its lists are nested; a flat list has 1. */
  readonly depth: number;
  /** The index of its first element that is an object, where there is one. */
  readonly objectAt?: number;
}

/** RequestParts is the JSON of a request, cut into the data of its inputs and the rest. */
export interface RequestParts {
  /** The rest, where each list of data is replaced by a list of its index in `data`. It is absent beyond the limits. */
  readonly rest?: Uint8Array;
  readonly restBytes: number;
  /** The number of values in the rest, counted by their commas and brackets. */
  readonly restValues: number;
  readonly data: readonly DataText[];
  /** The numbers of entries that the lists `inputs` and `outputs` hold. */
  readonly entries: { readonly inputs: number; readonly outputs: number };
}

/** RequestLimits says what of a request is kept to be parsed. */
export interface RequestLimits {
  /** The most bytes of the rest, and the most values in it. */
  readonly restBytes: number;
  readonly restValues: number;
  /** The most inputs whose data are distinguished from the rest. */
  readonly inputs: number;
}

/** No tensor has this many axes, and lists within lists are kept track of. */
const MOST_DEPTH = 64;
/** This many bytes are looked at between two stops, which takes about a millisecond. */
const STEP_BYTES = 256 * 1024;

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
const SPACE = 0x20;
/** No escaped writing of a key that is looked for is longer. */
const MOST_KEY_BYTES = 36;

/**
 * requestParts cuts the JSON of a request by a scan of its bytes, before anything is parsed. It takes memory for the rest
 * alone, and a few ns a byte. The rest is checked by whoever parses it, and so is every element of the data.
 * @throws WireFault where the bytes are not UTF-8, end early, or are no JSON within the data
 */
export function* requestParts(bytes: Uint8Array, limits: RequestLimits): Steps<RequestParts> {
  if (!isUtf8(bytes)) throw new WireFault('is not JSON: its text is not UTF-8');
  const scan = new Scan(bytes, limits);
  while (scan.advance(STEP_BYTES)) yield;
  return scan.parts();
}

/** Of the tokens of data, the scan knows the one before: where a list opens or closes, a comma, or a value. */
type Token = 'open' | 'close' | 'comma' | 'value';

class Scan {
  private at = 0;
  private depth = 0;
  private readonly isList = new Uint8Array(MOST_DEPTH + 1);
  /** The last byte outside of strings that is no space. */
  private last = 0;
  private stringFrom: number | undefined;
  private isKeyNext = false;
  /** The key of the root, and of an entry of `inputs`, whose value is being looked at. */
  private rootKey = '';
  private isData = false;
  private readonly entries = { inputs: 0, outputs: 0 };
  private readonly data: DataText[] = [];
  private list: DataList | undefined;
  private readonly rest: Uint8Array[] = [];
  private restBytes = 0;
  private restValues = 0;
  private restFrom = 0;

  constructor(
    private readonly bytes: Uint8Array,
    private readonly limits: RequestLimits,
  ) {}

  /** advance looks at a given number of bytes more. It says whether there are others behind them. */
  advance(count: number): boolean {
    const { bytes } = this;
    const to = Math.min(bytes.length, this.at + count);
    while (this.at < to) {
      if (this.list !== undefined) this.inData(this.list, to);
      else if (this.stringFrom !== undefined) this.inString(this.stringFrom, to);
      else this.outside(to);
    }
    return this.at < bytes.length;
  }

  parts(): RequestParts {
    if (this.list !== undefined || this.stringFrom !== undefined) throw endsEarly();
    this.keep(this.bytes.subarray(this.restFrom));
    const { restBytes, restValues, data, entries } = this;
    const rest = this.isWithin() ? { rest: Buffer.concat(this.rest) } : {};
    return { ...rest, restBytes, restValues, data, entries };
  }

  private outside(to: number): void {
    const { bytes } = this;
    while (this.at < to) {
      const byte = bytes[this.at]!;
      this.at += 1;
      if (byte <= SPACE) continue;
      if (byte === OPEN_LIST && this.isData) {
        this.beginData();
        return;
      }
      if (byte !== COLON) this.isData = false;
      if (byte === QUOTE) {
        this.stringFrom = this.at;
        this.last = byte;
        return;
      }
      this.structure(byte);
      this.last = byte;
    }
  }

  private structure(byte: number): void {
    switch (byte) {
      case OPEN_LIST:
      case OPEN_OBJECT:
        if (this.depth === MOST_DEPTH) throw nestedTooDeep();
        this.restValues += 1;
        this.depth += 1;
        this.isList[this.depth] = byte === OPEN_LIST ? 1 : 0;
        this.isKeyNext = byte === OPEN_OBJECT;
        if (this.isListOfEntries()) this.counted(0);
        break;
      case CLOSE_LIST:
      case CLOSE_OBJECT:
        if (this.isListOfEntries() && this.last !== OPEN_LIST) this.counted(1);
        this.depth = Math.max(0, this.depth - 1);
        this.isKeyNext = false;
        break;
      case COMMA:
        this.restValues += 1;
        this.isKeyNext = this.isList[this.depth] === 0;
        if (this.isListOfEntries()) this.counted(1);
        break;
      default:
    }
  }

  private isListOfEntries(): boolean {
    return (
      this.depth === 2 && this.isList[2] === 1 && (this.rootKey === 'inputs' || this.rootKey === 'outputs')
    );
  }

  /** counted counts an entry that has ended, and begins anew at the beginning of a list (0): the last of two is read. */
  private counted(more: 0 | 1): void {
    const key = this.rootKey as 'inputs' | 'outputs';
    this.entries[key] = more === 0 ? 0 : this.entries[key] + 1;
  }

  private inString(from: number, to: number): void {
    const end = stringEnd(this.bytes, this.at, to);
    this.at = Math.abs(end);
    if (end < 0) return;
    this.stringFrom = undefined;
    if (!this.isKeyNext) return;
    this.isKeyNext = false;
    if (this.depth === 1) this.rootKey = keyOf(this.bytes.subarray(from, end - 1));
    const isOfInput = this.depth === 3 && this.isList[2] === 1 && this.rootKey === 'inputs';
    if (isOfInput && this.entries.inputs < this.limits.inputs)
      this.isData = keyOf(this.bytes.subarray(from, end - 1)) === 'data';
  }

  private beginData(): void {
    this.isData = false;
    this.last = CLOSE_LIST;
    // Where the rest is beyond the limits it is not parsed, and no data of it are looked for.
    if (!this.isWithin()) {
      this.structure(OPEN_LIST);
      return;
    }
    this.keep(this.bytes.subarray(this.restFrom, this.at - 1));
    this.list = new DataList(this.bytes, this.at - 1);
  }

  private inData(list: DataList, to: number): void {
    this.at = list.advance(this.at, to);
    const found = list.found;
    if (found === undefined) return;
    this.list = undefined;
    this.keep(Buffer.from(`[${this.data.length}]`));
    this.data.push(found);
    this.restFrom = this.at;
  }

  private keep(bytes: Uint8Array): void {
    this.restBytes += bytes.length;
    if (this.isWithin()) this.rest.push(bytes);
  }

  private isWithin(): boolean {
    return this.restBytes <= this.limits.restBytes && this.restValues <= this.limits.restValues;
  }
}

/** DataList follows a list of data to its end, and counts its elements. */
class DataList {
  found: DataText | undefined;
  private depth = 1;
  private deepest = 1;
  private count = 0;
  private before: Token = 'open';
  private isInValue = false;
  private isInString = false;
  /** How deep the scan is in an object, which no tensor has as an element. */
  private inObject = 0;
  private objectAt: number | undefined;

  constructor(
    private readonly bytes: Uint8Array,
    private readonly from: number,
  ) {}

  /** advance looks at the bytes from `at` to `to`, or to the end of the list, and gives where it stopped. */
  advance(at: number, to: number): number {
    const { bytes } = this;
    let next = at;
    while (next < to && this.found === undefined) {
      if (this.isInString) {
        const end = stringEnd(bytes, next, to);
        this.isInString = end < 0;
        next = Math.abs(end);
        continue;
      }
      const byte = bytes[next]!;
      next += 1;
      if (byte > COMMA && byte < OPEN_LIST && this.isInValue) continue;
      if (this.inObject > 0) this.withinObject(byte);
      else this.token(byte, next);
    }
    return next;
  }

  private token(byte: number, next: number): void {
    switch (byte) {
      case COMMA:
        if (this.before === 'open' || this.before === 'comma') throw unexpected(byte, next);
        this.follows('comma');
        break;
      case OPEN_LIST:
        if (this.before === 'value' || this.before === 'close') throw unexpected(byte, next);
        if (this.depth === MOST_DEPTH) throw nestedTooDeep();
        this.depth += 1;
        this.deepest = Math.max(this.deepest, this.depth);
        this.follows('open');
        break;
      case CLOSE_LIST:
        if (this.before === 'comma') throw unexpected(byte, next);
        this.depth -= 1;
        this.follows('close');
        if (this.depth === 0) this.ends(next);
        break;
      case CLOSE_OBJECT:
        throw unexpected(byte, next);
      default:
        if (byte <= SPACE) this.isInValue = false;
        else if (!this.isInValue) this.value(byte, next);
        else if (byte === QUOTE || byte === OPEN_OBJECT) throw unexpected(byte, next);
    }
  }

  private follows(token: Token): void {
    this.before = token;
    this.isInValue = false;
  }

  private value(byte: number, next: number): void {
    if (this.before === 'value' || this.before === 'close') throw unexpected(byte, next);
    this.follows('value');
    if (byte === QUOTE) this.isInString = true;
    else if (byte === OPEN_OBJECT) {
      this.inObject = 1;
      this.objectAt ??= this.count;
    } else this.isInValue = true;
    this.count += 1;
  }

  private withinObject(byte: number): void {
    if (byte === QUOTE) this.isInString = true;
    else if (byte === OPEN_OBJECT || byte === OPEN_LIST) this.inObject += 1;
    else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) this.inObject -= 1;
  }

  private ends(end: number): void {
    const { count, deepest, objectAt } = this;
    const bytes = this.bytes.subarray(this.from, end);
    this.found = { bytes, count, depth: deepest, ...(objectAt === undefined ? {} : { objectAt }) };
  }
}

/** stringEnd gives the place behind the end of a string, or the negated place up to which it has none. */
function stringEnd(bytes: Uint8Array, from: number, to: number): number {
  let at = from;
  while (at < to) {
    const byte = bytes[at];
    at += 1;
    if (byte === BACKSLASH) at += 1;
    else if (byte === QUOTE) return at;
  }
  return -at;
}

/** keyOf gives a key as it is compared, or an empty text for one that is long or faulty. */
function keyOf(written: Uint8Array): string {
  if (written.length > MOST_KEY_BYTES) return '';
  const text = Buffer.from(written.buffer, written.byteOffset, written.length).toString();
  if (!written.includes(BACKSLASH)) return text;
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    return '';
  }
}

function unexpected(byte: number, next: number): WireFault {
  return new WireFault(
    `is not JSON: there is no place for ${JSON.stringify(String.fromCharCode(byte))} at byte ${next - 1}`,
  );
}

function endsEarly(): WireFault {
  return new WireFault('is not JSON: it ends early');
}

function nestedTooDeep(): WireFault {
  return new WireFault(`nests lists and objects more than ${MOST_DEPTH} deep`);
}
