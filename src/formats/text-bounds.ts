import { fault, InputError } from './errors.js';

/** A text of JSON may have this many values; each takes some 50 bytes as a value, and more as one of a plan. */
export const MOST_JSON_VALUES = 1_000_000;
/** A text of YAML may have this many marks; the library keeps more than a kilobyte of each value, with its place. */
export const MOST_YAML_MARKS = 100_000;
const MOST_YAML_LETTERS = 8 * 1024 * 1024;
/** This is far deeper than any field of the schemas. */
export const MOST_TEXT_LEVELS = 64;
export const TOO_DEEP = `it is nested more than ${MOST_TEXT_LEVELS} levels deep`;

const QUOTE = '"'.charCodeAt(0);
const BACKSLASH = '\\'.charCodeAt(0);
const COMMA = ','.charCodeAt(0);
const COLON = ':'.charCodeAt(0);
const [LIST, MAP, LIST_END, MAP_END] = ['[', '{', ']', '}'].map((letter) => letter.charCodeAt(0));

/** Files that other tools wrote may have this many: events of a profiler, requests of a schedule. */
const MOST_FOREIGN_VALUES = 3_000_000;

/**
 * refuseLargeJson looks through a text of JSON before it is parsed. It takes no memory, and time by the length.
 * @param task what could not be done: completes "Cannot …"
 * @returns how many keys its maps are given
 * @throws InputError where it has more values or levels than are read
 */
export function refuseLargeJson(text: string, task: string): number {
  const size = jsonSize(text);
  const said = tooLarge(size, MOST_JSON_VALUES);
  if (said !== undefined) throw new InputError(task, [fault(said)]);
  return size.keys;
}

/** tooLargeJson says why a text of JSON that another tool wrote is not parsed; undefined where it may be. */
export function tooLargeJson(text: string): string | undefined {
  return tooLarge(jsonSize(text), MOST_FOREIGN_VALUES);
}

function tooLarge({ values, levels }: JsonSize, mostValues: number): string | undefined {
  if (levels > MOST_TEXT_LEVELS) return TOO_DEEP;
  return values > mostValues
    ? `it has ${values} values, empty ones counted twice; at most ${mostValues} are read (docs/limits.md)`
    : undefined;
}

/** JsonSize is how many values and keys a text of JSON has, and how deep they are nested. */
interface JsonSize {
  readonly values: number;
  readonly keys: number;
  readonly levels: number;
}

/** jsonSize counts the values of a text of JSON, empty lists and maps twice, as each takes as much as one with a number. */
function jsonSize(text: string): JsonSize {
  let [values, keys, depth, levels] = [1, 0, 0, 0];
  for (let i = 0; i < text.length; i++) {
    const letter = text.charCodeAt(i);
    if (letter === QUOTE) i = endOfString(text, i);
    else if (letter === COMMA) values++;
    else if (letter === COLON) keys++;
    else if (letter === LIST || letter === MAP) {
      values++;
      depth++;
      levels = Math.max(levels, depth);
    } else if (letter === LIST_END || letter === MAP_END) depth--;
  }
  return { values, keys, levels };
}

/** endOfString finds the quote that ends the string which begins at a place. */
function endOfString(text: string, from: number): number {
  for (let i = from + 1; i < text.length; i++) {
    const letter = text.charCodeAt(i);
    if (letter === QUOTE) return i;
    if (letter === BACKSLASH) i++;
  }
  return text.length;
}

/** Letters, digits and these few signs are no marks of YAML: a text of them alone never makes many values. */
const PLAIN = /[^\p{L}\p{N} ._/]/gu;

/**
 * refuseLargeYaml counts the marks of a text of YAML before it is parsed: whatever is no letter, digit, space, dot,
 * slash or low line. No text has more values than marks.
 * @throws InputError where it has more than are read
 */
export function refuseLargeYaml(text: string, task: string): void {
  const told = yamlRefusalOf(text);
  if (told !== undefined)
    throw new InputError(task, [
      fault(`${told}; write it as JSON, of which ${MOST_JSON_VALUES} values are read (docs/limits.md)`),
    ]);
}

function yamlRefusalOf(text: string): string | undefined {
  if (text.length > MOST_YAML_LETTERS)
    return `it has ${text.length} letters; of YAML at most ${MOST_YAML_LETTERS} are read`;
  let marks = 0;
  for (const _ of text.matchAll(PLAIN)) marks++;
  return marks > MOST_YAML_MARKS
    ? `it has ${marks} marks, such as commas and line ends; of YAML at most ${MOST_YAML_MARKS} are read`
    : undefined;
}
