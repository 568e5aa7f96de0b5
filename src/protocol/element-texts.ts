import type { Steps } from '../collections/index.js';
import { jsonFindings } from '../formats/index.js';
import { WireFault } from './wire-fault.js';

/** ElementText is the JSON of some elements of a list, or of one that is long: a text with its marks, or a number. */
export interface ElementText {
  readonly kind: 'batch' | 'text' | 'number';
  readonly bytes: Uint8Array;
}

const [QUOTE, BACKSLASH, COMMA, UNICODE] = [0x22, 0x5c, 0x2c, 0x75];
const [OPEN_LIST, CLOSE_LIST] = [0x5b, 0x5d];
const SPACE = 0x20;
/** This many bytes are looked at between two stops. */
const STEP_BYTES = 256 * 1024;
/** A message quotes this many bytes of what is long. */
const TOLD_BYTES = 80;

/**
 * elementTexts gives the elements of a list that is nested in any way, in their order: as flat lists of at most `most`
 * bytes of JSON, and by themselves where they are longer. It gives undefined where it stops. The memory of a batch is
 * used again for the next.
 * @param list the JSON of the list, in which commas and brackets are known to be right
 */
export function* elementTexts(list: Uint8Array, most: number): Generator<ElementText | undefined> {
  const batch = new Batch(most);
  const end = list.length;
  let stop = STEP_BYTES;
  for (let at = 0; at < end; ) {
    if (at >= stop) {
      yield undefined;
      stop = at + STEP_BYTES;
    }
    if (isBetween(list[at]!)) {
      at += 1;
      continue;
    }
    const from = at;
    const isText = list[at] === QUOTE;
    at += 1;
    if (isText) {
      while (list[at] !== QUOTE) {
        at += list[at] === BACKSLASH ? 2 : 1;
        if (at < stop) continue;
        yield undefined;
        stop = at + STEP_BYTES;
      }
      at += 1;
    } else while (!isBetween(list[at]!)) at += 1;
    if (!batch.hasRoom(at - from)) {
      yield* batch.taken();
      yield undefined;
    }
    if (batch.hasRoom(at - from)) batch.add(list, from, at);
    else yield { kind: isText ? 'text' : 'number', bytes: list.subarray(from, at) };
  }
  yield* batch.taken();
}

function isBetween(byte: number): boolean {
  return byte === COMMA || byte <= SPACE || byte === OPEN_LIST || byte === CLOSE_LIST;
}

/** Batch is a flat list of JSON that is being written. */
class Batch {
  private readonly memory: Buffer;
  private used = 1;

  constructor(private readonly most: number) {
    this.memory = Buffer.allocUnsafe(most);
    this.memory[0] = OPEN_LIST;
  }

  hasRoom(bytes: number): boolean {
    return this.used + bytes + 1 <= this.most;
  }

  add(list: Uint8Array, from: number, to: number): void {
    if (this.used > 1) this.memory[this.used - 1] = COMMA;
    for (let at = from; at < to; at++) this.memory[this.used++] = list[at]!;
    // Here a comma or the last bracket follows.
    this.used += 1;
  }

  *taken(): Generator<ElementText> {
    if (this.used === 1) return;
    this.memory[this.used - 1] = CLOSE_LIST;
    const bytes = this.memory.subarray(0, this.used);
    this.used = 1;
    yield { kind: 'batch', bytes };
  }
}

/** longText parses a long text in steps. @throws WireFault where it is no JSON */
export function* longText(written: Uint8Array): Steps<string> {
  const buffer = Buffer.from(written.buffer, written.byteOffset, written.length);
  const pieces: string[] = [];
  const end = buffer.length - 1;
  for (let at = 1; at < end; ) {
    const from = at;
    while (at < end && at - from < STEP_BYTES) at += characterBytes(buffer, at);
    while (at < end && isInsideCharacter(buffer[at]!)) at += 1;
    pieces.push(parsedText(buffer.toString('utf8', from, at)));
    yield;
  }
  return pieces.join('');
}

function characterBytes(buffer: Buffer, at: number): number {
  if (buffer[at] !== BACKSLASH) return 1;
  return buffer[at + 1] === UNICODE ? 6 : 2;
}

function isInsideCharacter(byte: number): boolean {
  return byte >> 6 === 0b10;
}

function parsedText(text: string): string {
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    throw new WireFault(`its data is not JSON: ${jsonFindings(`"${text}"`).fault?.words}`);
  }
}

/** beginningOf gives the beginning of a text or number that is too long for a message. */
export function beginningOf(written: Uint8Array): string {
  const told = written[0] === QUOTE ? written.subarray(1) : written;
  return `${Buffer.from(told.subarray(0, TOLD_BYTES)).toString('latin1')}…`;
}
