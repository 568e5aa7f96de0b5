import { isUtf8 } from 'node:buffer';
import { notJson } from '../formats/index.js';
import { WireFault } from './wire-fault.js';

/** Json is a value that was read as JSON, and what was written for it. */
export interface Json {
  readonly value: unknown;
  /** written gives the same value with each number that JavaScript may hold otherwise, such as 2^53 + 1, as its own text. */
  written(): unknown;
}

/** A number may be held otherwise where it is longer than the 15 digits that a double keeps, or has an exponent. */
const PERHAPS_CHANGED = /[-+\d.eE]{16,}|[-\d.]+[eE][-+\d]+/g;

/**
 * parseJson reads JSON. The written digits are looked for only when they are asked for, and reading them
 * takes as long again.
 * @throws WireFault where the bytes are not UTF-8, or no JSON
 */
export function parseJson(bytes: Uint8Array): Json {
  if (bytes.byteLength === 0) throw new WireFault('is not JSON: it is empty');
  if (!isUtf8(bytes)) throw new WireFault('is not JSON: its text is not UTF-8');
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  const value = parsed(text);
  let written: { readonly value: unknown } | undefined;
  return {
    value,
    written: () => {
      written ??= { value: JSON.parse(withQuotedNumbers(text)) };
      return written.value;
    },
  };
}

/** The place that an error names. */
const PLACE = / \(line \d+, column \d+\)$/;

/**
 * parseCutJson reads JSON of which something was cut out before. Its faults name no place, which would be one of what is left.
 * @throws WireFault as `parseJson`
 */
export function parseCutJson(bytes: Uint8Array): Json {
  try {
    return parseJson(bytes);
  } catch (error) {
    if (!(error instanceof WireFault)) throw error;
    throw new WireFault(error.message.replace(PLACE, ', beside the data of its inputs'));
  }
}

/** asGiven takes a value that was never written, such as one that a program made. */
export function asGiven(value: unknown): Json {
  return { value, written: () => value };
}

/** partOf gives the part of a list or an object under a key; its value is undefined where there is none. */
export function partOf(json: Json, key: string | number): Json {
  return { value: under(json.value, key), written: () => under(json.written(), key) };
}

/** Longer texts and lists are cut in a message. */
const MOST_CHARACTERS = 80;
const MOST_ELEMENTS = 16;

/**
 * quotedJson quotes a value for a message: a number as it was written. It spells out no list within a list, because they may
 * be nested beyond reason.
 */
export function quotedJson(json: Json): string {
  const { value } = json;
  if (!Array.isArray(value)) return quotedElement(json);
  const elements = value.slice(0, MOST_ELEMENTS).map((_, i) => quotedElement(partOf(json, i)));
  return `[${[...elements, ...(value.length > MOST_ELEMENTS ? ['…'] : [])].join(',')}]`;
}

function quotedElement(json: Json): string {
  const { value } = json;
  if (typeof value === 'number') return String(json.written());
  if (typeof value === 'object' && value !== null) return 'a list or an object';
  const text = JSON.stringify(value) ?? 'absent';
  return text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}…` : text;
}

function under(value: unknown, key: string | number): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
  return (value as Record<string | number, unknown>)[key];
}

/** A place is looked for in this many letters, since the server answers nobody else meanwhile. */
const MOST_SEARCHED = 1024 * 1024;

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const isBlank = text.trim() === '';
    throw new WireFault(`is not JSON: ${isBlank ? 'it holds spaces alone' : notJson(text, MOST_SEARCHED)}`);
  }
}

/** withQuotedNumbers makes texts of the numbers in valid JSON that JavaScript may hold otherwise. */
function withQuotedNumbers(text: string): string {
  const pieces: string[] = [];
  let at = 0;
  for (let quote = text.indexOf('"'); quote >= 0; quote = text.indexOf('"', at)) {
    const end = textEnd(text, quote);
    pieces.push(quotedNumbers(text.slice(at, quote)), text.slice(quote, end));
    at = end;
  }
  return [...pieces, quotedNumbers(text.slice(at))].join('');
}

function quotedNumbers(between: string): string {
  return between.replace(PERHAPS_CHANGED, '"$&"');
}

/** textEnd finds the end of the text that begins at a quotation mark: past the next one that is not escaped. */
function textEnd(text: string, from: number): number {
  for (let end = text.indexOf('"', from + 1); ; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text[end - 1 - backslashes] === '\\') backslashes += 1;
    if (backslashes % 2 === 0) return end + 1;
  }
}
