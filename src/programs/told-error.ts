/** More of a message is cut: it goes into logs and answers. */
const MOST_LETTERS = 1000;

/** The first place in a stack that is a file: frames of Node itself, such as node:internal, have other addresses. */
const FRAME = /\(?(file:\/\/[^\s)]+):(\d+):(\d+)\)?$/m;
/** Where a syntax error is: Node writes it as the first line of the stack. */
const SYNTAX = /^(file:\/\/\S+|\/\S+):(\d+)$/m;

/** toldError says what was thrown, and where: `TypeError: x is not a function (chat.mjs:12)`. It takes anything, since anything can be thrown. */
export function toldError(thrown: unknown): string {
  try {
    if (!(thrown instanceof Error)) return cut(`threw ${thrownText(thrown)}`);
    return cut(`threw ${thrown.name}: ${thrown.message}${placeOf(thrown)}`);
  } catch {
    return 'threw something that cannot be told';
  }
}

/** placeOf says where an error was made, as ` (chat.mjs:12)`: the file without its folder, and the line. It is empty where that is not known. */
export function placeOf(error: Error): string {
  const stack = String(error.stack);
  const [, url, line] =
    (error instanceof SyntaxError ? SYNTAX.exec(stack) : undefined) ?? FRAME.exec(stack) ?? [];
  if (url === undefined) return '';
  return ` (${url.slice(url.lastIndexOf('/') + 1)}:${line})`;
}

function thrownText(thrown: unknown): string {
  return typeof thrown === 'object' && thrown !== null
    ? 'an object that is no Error'
    : (JSON.stringify(thrown) ?? String(thrown));
}

function cut(text: string): string {
  return text.length > MOST_LETTERS ? `${text.slice(0, MOST_LETTERS)}…` : text;
}
