import { firstLine } from './errors.js';

/** ONNX Runtime can print whole graphs and shapes. A message for people has at most this many characters. */
const MOST_CHARACTERS = 1000;
/** Characters of a message beyond this number are ignored. */
const MOST_READ = 64 * MOST_CHARACTERS;
/**
 * ONNX Runtime begins some messages with the line of its own source where they arise, on the machine that built it. A
 * message repeats names of the model's author, so the pattern has one place to begin in each word: time is linear.
 */
const SOURCE_LINE =
  /(?<![^\s:'"([])(?:[A-Za-z]:)?[\\/](?=[^\s:'"([]*onnxruntime)[^\s:'"([]*\.(?:cc|cpp|cu|h|hpp|inl):\d+ /;

/**
 * plainWords gives the part of an ONNX Runtime message that a person can use: its first line without the place in the
 * source where it arose, cut to 1,000 characters.
 */
export function plainWords(message: string): string {
  let words = firstLine(message).slice(0, MOST_READ);
  for (let found = SOURCE_LINE.exec(words); found !== null; found = SOURCE_LINE.exec(words)) {
    const from = found.index + found[0].length;
    words = words.slice(0, found.index) + words.slice(signatureEnd(words, from)).trimStart();
  }
  return words.length <= MOST_CHARACTERS ? words : `${words.slice(0, MOST_CHARACTERS - 1)}…`;
}

/** A function's result and name, as compilers write them before its parameters. */
const FUNCTION = /^(?:[\w:<>,*&~]+ )*[\w:<>~]+$/;

/** signatureEnd gives the end of the C++ function signature that begins at `from`, or `from` where none does. */
function signatureEnd(text: string, from: number): number {
  const open = text.indexOf('(', from);
  const name = text.slice(from, open);
  const isFunction =
    open >= 0 && FUNCTION.test(name) && (name.includes('::') || name.split(' ').length === 2);
  // Some compilers give the name alone.
  if (!isFunction) return from + (/^\S+::\S+ /.exec(text.slice(from))?.[0].length ?? 0);
  let end = afterBracket(text, open);
  if (text[end] === '(') end = afterBracket(text, end);
  if (text.startsWith('::<', end)) end = afterBracket(text, end + 2);
  if (text.startsWith(' const', end)) end += ' const'.length;
  return text.startsWith(' [with ', end) ? afterBracket(text, end + 1) : end;
}

/** afterBracket gives the place after the bracket that closes the one at `open`, or the text's end. */
function afterBracket(text: string, open: number): number {
  let depth = 0;
  for (let at = open; at < text.length; at++) {
    if ('([{<'.includes(text[at] as string)) depth += 1;
    else if (')]}'.includes(text[at] as string) || (text[at] === '>' && text[at - 1] !== '-')) depth -= 1;
    if (depth === 0) return at + 1;
  }
  return text.length;
}
