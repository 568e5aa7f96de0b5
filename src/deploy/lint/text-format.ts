/**
 * This file reads protobuf's text format strictly: a field that its message does not have, one that is given twice, and a
 * value of another type are errors, with their lines. Triton refuses such a file only when it starts.
 */

/** TextMessage says which fields a message has. */
export interface TextMessage {
  readonly fields: Readonly<Record<string, TextField>>;
}

/** TextField is the type of a field, and whether it may be given several times. */
export interface TextField {
  readonly type: TextType;
  readonly isRepeated?: true;
}

/**
 * TextType is what a value must be.
 * - any: a message of which nothing is known but its syntax.
 */
export type TextType =
  | 'string'
  | 'whole'
  | 'number'
  | 'flag'
  | 'any'
  | { readonly oneOf: readonly string[] }
  | TextMessage;

/** ReadText is a text as a value: a map for each message, in which repeated fields are lists. */
export interface ReadText {
  readonly value: Readonly<Record<string, unknown>>;
  readonly errors: readonly { readonly line: number; readonly message: string }[];
  /** The lines of all values, by their places as JSON pointers. */
  readonly lines: ReadonlyMap<string, number>;
}

/** readTextFormat reads a text as a message. After an error of syntax it reads no further. */
export function readTextFormat(text: string, message: TextMessage): ReadText {
  const reader = new Reader(tokensOf(text));
  const value = emptyMap();
  try {
    reader.fields(message, value, '');
  } catch (error) {
    if (!(error instanceof SyntaxFault)) throw error;
    reader.errors.push({ line: error.line, message: error.message });
  }
  return { value, errors: reader.errors, lines: reader.lines };
}

class SyntaxFault extends Error {
  constructor(
    readonly line: number,
    message: string,
  ) {
    super(message);
  }
}

interface Token {
  readonly kind: 'word' | 'string' | 'sign' | 'end' | 'unknown';
  readonly text: string;
  readonly line: number;
}

const TOKEN =
  /[ \t\r]+|#[^\n]*|\n|(?<word>[-+.A-Za-z0-9_]+)|(?<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|(?<sign>[{}[\]:,;<>])|(?<unknown>.)/gu;

function tokensOf(text: string): Token[] {
  let line = 1;
  const tokens: Token[] = [];
  for (const { 0: all, groups = {} } of text.matchAll(TOKEN)) {
    const kind = (['word', 'string', 'sign', 'unknown'] as const).find((one) => groups[one] !== undefined);
    if (kind !== undefined) tokens.push({ kind, text: all, line });
    if (all === '\n') line++;
  }
  tokens.push({ kind: 'end', text: 'the end of the file', line });
  return tokens;
}

const SIMPLE = {
  string: { pattern: /^/, said: 'a string in quotes' },
  whole: { pattern: /^[-+]?[0-9]+$/, said: 'a whole number' },
  number: { pattern: /^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?f?$/, said: 'a number' },
  flag: { pattern: /^(true|false)$/, said: 'true or false' },
} as const;

const CLOSED_BY: Readonly<Record<string, string>> = { '{': '}', '<': '>' };
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' };

class Reader {
  readonly errors: { line: number; message: string }[] = [];
  readonly lines = new Map<string, number>();
  private at = 0;

  constructor(private readonly tokens: readonly Token[]) {}

  /** fields reads fields up to the end of their message. */
  fields(message: TextMessage | 'any', into: Record<string, unknown>, place: string): void {
    while (this.next.kind === 'word') {
      const { text: name, line } = this.taken();
      const known: TextField | undefined =
        message === 'any' ? { type: 'any', isRepeated: true } : ownField(message, name);
      if (known === undefined) this.errors.push({ line, message: `the engine has no field ${name} here` });
      const { type, isRepeated } = known ?? { type: 'any', isRepeated: true };
      const there = `${place}/${pointerKey(name)}`;
      if (!isRepeated && Object.hasOwn(into, name))
        this.errors.push({ line, message: `${name} is given twice` });
      this.lines.set(there, this.lines.get(there) ?? line);
      const before = isRepeated ? ((into[name] as unknown[] | undefined) ?? []) : [];
      const values = this.fieldValues(type, { place: there, from: before.length, isRepeated });
      into[name] = isRepeated ? [...before, ...values] : values[0];
      if (this.isSign(',') || this.isSign(';')) this.at++;
    }
    if (place === '' && this.next.kind !== 'end') this.fail('the name of a field');
  }

  /** fieldValues reads what follows the name of a field: a value, or a list of them. */
  private fieldValues(
    type: TextType,
    { place, from, isRepeated }: { place: string; from: number; isRepeated: boolean | undefined },
  ): unknown[] {
    const hasColon = this.isSign(':');
    if (hasColon) this.at++;
    const placeOf = (i: number) => (isRepeated ? `${place}/${from + i}` : place);
    if (!this.isSign('[')) return [this.value(type, placeOf(0), hasColon)];
    const { line } = this.taken();
    if (!isRepeated) this.errors.push({ line, message: 'is a list, and one value is wanted' });
    const values: unknown[] = [];
    while (!this.isSign(']')) {
      values.push(this.value(type, placeOf(values.length), hasColon));
      if (this.isSign(',')) this.at++;
      else if (!this.isSign(']')) this.fail('`,` or `]`');
    }
    this.at++;
    return values;
  }

  private value(type: TextType, place: string, hasColon: boolean): unknown {
    const { kind, text, line } = this.next;
    this.lines.set(place, line);
    const close = kind === 'sign' ? CLOSED_BY[text] : undefined;
    if (close !== undefined) return this.message(type, place, close);
    if (!hasColon || (kind !== 'word' && kind !== 'string')) this.fail(hasColon ? 'a value' : '`:` or `{`');
    this.at++;
    if (kind === 'string') return this.strings(type, unquoted(text), line);
    const wrong = typeof type === 'object' ? wordFault(text, type) : simpleFault(text, type);
    if (wrong !== undefined) this.errors.push({ line, message: wrong });
    if (type === 'flag') return text === 'true';
    return type === 'whole' || type === 'number' ? Number.parseFloat(text) : text;
  }

  /** strings joins strings that follow one another, as the format does. */
  private strings(type: TextType, first: string, line: number): string {
    let all = first;
    while (this.next.kind === 'string') all += unquoted(this.taken().text);
    if (type !== 'string' && type !== 'any')
      this.errors.push({ line, message: `is ${JSON.stringify(all)}, and must be ${saidOf(type)}` });
    return all;
  }

  private message(type: TextType, place: string, close: string): unknown {
    const { line } = this.taken();
    const isMessage = type === 'any' || (typeof type === 'object' && 'fields' in type);
    if (!isMessage) this.errors.push({ line, message: `is a message, and must be ${saidOf(type)}` });
    const value = emptyMap();
    this.fields(isMessage ? (type as TextMessage | 'any') : 'any', value, place);
    if (!this.isSign(close)) this.fail(`the name of a field or \`${close}\``);
    this.at++;
    return value;
  }

  private get next(): Token {
    return this.tokens[this.at] as Token;
  }

  private taken(): Token {
    return this.tokens[this.at++] as Token;
  }

  private isSign(sign: string): boolean {
    return this.next.kind === 'sign' && this.next.text === sign;
  }

  private fail(wanted: string): never {
    throw new SyntaxFault(this.next.line, `has ${this.next.text} where ${wanted} is wanted`);
  }
}

/** emptyMap has no fields of its own making, so that a field may have any name. */
function emptyMap(): Record<string, unknown> {
  return Object.create(null) as Record<string, unknown>;
}

function ownField({ fields }: TextMessage, name: string): TextField | undefined {
  return Object.hasOwn(fields, name) ? fields[name] : undefined;
}

function wordFault(text: string, type: Exclude<TextType, string>): string | undefined {
  return 'oneOf' in type && type.oneOf.includes(text) ? undefined : `is ${text}, and must be ${saidOf(type)}`;
}

function simpleFault(text: string, type: Extract<TextType, string>): string | undefined {
  if (type === 'any') return undefined;
  const { pattern, said } = SIMPLE[type];
  return type !== 'string' && pattern.test(text) ? undefined : `is ${text}, and must be ${said}`;
}

function saidOf(type: TextType): string {
  if (type === 'any') return 'anything';
  if (typeof type === 'string') return SIMPLE[type].said;
  return 'oneOf' in type ? `one of ${type.oneOf.join(', ')}` : 'a message in braces';
}

function pointerKey(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}

function unquoted(text: string): string {
  return text.slice(1, -1).replaceAll(/\\(.)/g, (_, sign: string) => ESCAPES[sign] ?? sign);
}
