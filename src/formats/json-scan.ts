import { isHugeWhole } from './huge-numbers.js';

/** JsonFault is what is wrong with a text of JSON, and the offset of the letter where it is seen. */
export interface JsonFault {
  readonly words: string;
  readonly at: number;
}

/** JsonFindings are what is found in a text of JSON that its parser does not tell. */
export interface JsonFindings {
  /** The first place where the text is not JSON; undefined where all of it is. */
  readonly fault: JsonFault | undefined;
  /** The keys that are given again in one map. */
  readonly twice: readonly { readonly key: string; readonly at: number }[];
  /** The whole numbers that a double may not hold, as they are written, with their JSON pointers. */
  readonly huge: readonly { readonly pointer: string; readonly text: string }[];
}

/** jsonFindings looks through a text letter by letter. It takes time by the length, and memory by the keys of open maps. */
export function jsonFindings(text: string): JsonFindings {
  const scan = new JsonScan(text);
  const fault = scan.fault();
  return { fault, twice: scan.twice, huge: scan.huge };
}

/** Faults of a longer text have no place: no person wrote it, and finding the place would take long. */
const MOST_LETTERS = 64 * 1024 * 1024;

/**
 * notJson says in words what is wrong with a text that is not JSON, with its line and column.
 * @param mostLetters in a longer text no place is looked for
 * @param firstLine the number of the text's first line in its file
 */
export function notJson(text: string, mostLetters = MOST_LETTERS, firstLine = 1): string {
  const fault = text.length > mostLetters ? undefined : jsonFindings(text).fault;
  return fault === undefined ? 'it cannot be read' : `${fault.words} (${placeIn(text, fault.at, firstLine)})`;
}

/** placeIn names the line and the column of an offset in a text, whose first line has a number in its file. */
export function placeIn(text: string, at: number, firstLine: number): string {
  const before = text.slice(0, at).split('\n');
  return `line ${firstLine + before.length - 1}, column ${(before.at(-1) as string).length + 1}`;
}

/** Open is a list or a map whose end is yet to come. */
interface Open {
  readonly isMap: boolean;
  readonly start: number;
  /** How many values it has so far, and the keys of a map. */
  count: number;
  key: string;
  readonly keys: Set<string>;
}

const SPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /[^\s,:[\]{}"']+/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON allows none of them in a text.
const LETTERS = /[^"\\\u0000-\u001f]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;

/** Found ends the scan where the text is not JSON. */
class Found extends Error {
  constructor(readonly found: JsonFault) {
    super();
  }
}

class JsonScan {
  readonly twice: { key: string; at: number }[] = [];
  readonly huge: { pointer: string; text: string }[] = [];
  private readonly open: Open[] = [];
  private i = 0;

  constructor(private readonly text: string) {}

  fault(): JsonFault | undefined {
    try {
      this.skip(SPACE);
      this.value();
      while (this.open.length > 0) this.next(this.open.at(-1) as Open);
      if (this.i < this.text.length) this.refuse(`${this.seen()} stands behind the end of the value`);
      return undefined;
    } catch (error) {
      if (error instanceof Found) return error.found;
      throw error;
    }
  }

  /** value reads a value, of a list or a map only its beginning. */
  private value(): void {
    const letter = this.text[this.i];
    if (letter === '{' || letter === '[') {
      this.open.push({ isMap: letter === '{', start: this.i, count: 0, key: '', keys: new Set() });
      this.i += 1;
      this.skip(SPACE);
      return;
    }
    if (letter === '"') this.string();
    else this.word();
    this.skip(SPACE);
  }

  /** next reads the next value of a list or a map, or its end. */
  private next(within: Open): void {
    const end = within.isMap ? '}' : ']';
    if (this.i >= this.text.length) this.refuse(notClosed(within.isMap), within.start);
    if (this.text[this.i] === end) {
      this.open.pop();
      this.i += 1;
      this.skip(SPACE);
      return;
    }
    if (within.count > 0) this.comma(end);
    if (within.isMap) this.key(within);
    within.count += 1;
    this.value();
  }

  private comma(end: string): void {
    const comma = this.i;
    if (this.text[this.i] !== ',') this.refuse(`${this.seen()} stands where a comma or ${end} belongs`);
    this.i += 1;
    this.skip(SPACE);
    if (this.text[this.i] === end) this.refuse(`a comma stands before ${end}; take it out`, comma);
  }

  private key(within: Open): void {
    const at = this.i;
    if (at >= this.text.length) this.refuse(notClosed(true), within.start);
    if (this.text[at] !== '"')
      this.refuse(`${this.seen()} stands where a key in double quotation marks belongs`);
    within.key = JSON.parse(this.string()) as string;
    if (within.keys.has(within.key)) this.twice.push({ key: within.key, at });
    within.keys.add(within.key);
    this.skip(SPACE);
    if (this.text[this.i] !== ':') this.refuse(`${this.seen()} stands where the colon of a key belongs`);
    this.i += 1;
    this.skip(SPACE);
  }

  /** string reads a text in quotation marks, and gives it as it is written. */
  private string(): string {
    const start = this.i;
    this.i += 1;
    for (;;) {
      this.skip(LETTERS);
      const letter = this.text[this.i];
      if (letter === '"') {
        this.i += 1;
        return this.text.slice(start, this.i);
      }
      if (letter === undefined || letter === '\n') this.refuse('a text is not closed on its line', start);
      if (letter !== '\\')
        this.refuse(
          'a text holds a tab or another control character; write it with a backslash, such as \\t',
        );
      if (this.skip(ESCAPE) === '')
        this.refuse('a backslash begins no character of JSON; write it twice, or a slash');
    }
  }

  /** word reads what is no list, map or text. */
  private word(): void {
    const start = this.i;
    const word = this.skip(WORD);
    if (word === 'true' || word === 'false' || word === 'null') return;
    NUMBER.lastIndex = start;
    if (word !== '' && NUMBER.exec(this.text)?.[0] === word) {
      if (isHugeWhole(word)) this.huge.push({ pointer: this.pointer(), text: word });
      return;
    }
    this.i = start;
    const said =
      this.i >= this.text.length && this.open.length > 0 ? 'the text ends' : `${this.seen()} stands`;
    this.refuse(`${said} where a value belongs${hintOf(word, this.text[start])}`);
  }

  private pointer(): string {
    return this.open
      .map(({ isMap, key, count }) =>
        isMap ? `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}` : `/${count - 1}`,
      )
      .join('');
  }

  /** seen quotes what stands here. */
  private seen(): string {
    if (this.i >= this.text.length) return 'the end of the text';
    WORD.lastIndex = this.i;
    const word = WORD.exec(this.text)?.[0] ?? String.fromCodePoint(this.text.codePointAt(this.i) as number);
    return word.length > 20 ? `${word.slice(0, 20)}…` : word;
  }

  private skip(pattern: RegExp): string {
    pattern.lastIndex = this.i;
    const found = pattern.exec(this.text)?.[0] ?? '';
    this.i += found.length;
    return found;
  }

  private refuse(words: string, at = this.i): never {
    throw new Found({ words, at });
  }
}

function notClosed(isMap: boolean): string {
  return `a ${isMap ? 'map' : 'list'} is not closed`;
}

/** hintOf says what JSON has in place of what stands where a value belongs. */
function hintOf(word: string, letter: string | undefined): string {
  if (letter === "'") return '; JSON has texts in double quotation marks';
  if (/^(?:\/\/|\/\*|#)/.test(word)) return '; JSON has no comments';
  if (/^[+-]?(?:nan|inf|infinity)$/i.test(word)) return '; JSON has finite numbers alone';
  if (/^(?:none|undefined|nil)$/i.test(word)) return '; the value that says nothing is null';
  if (/^(?:true|false)$/i.test(word)) return `; write ${word.toLowerCase()}`;
  if (/^[-+.]?\d/.test(word)) return '; numbers are written as 0.5, 12 or -3e-7';
  return /^[a-z_]/i.test(word) ? '; texts stand in double quotation marks' : '';
}
