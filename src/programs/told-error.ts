import { spawnSync } from 'node:child_process';

/** More of a message is cut: it goes into logs and answers. */
const MOST_LETTERS = 1000;

/** The first place in a stack that is a file: frames of Node itself, such as node:internal, have other addresses. */
const FRAME = /\(?(file:\/\/[^\s)]+):(\d+):(\d+)\)?$/m;
/**
 * toldError says what was thrown, and where: `TypeError: x is not a function (chat.mjs:12)`. It takes anything, since
 * anything can be thrown.
 */
export function toldError(thrown: unknown): string {
  try {
    if (!(thrown instanceof Error)) return cut(`threw ${thrownText(thrown)}`);
    return cut(`threw ${thrown.name}: ${thrown.message}${placeOf(thrown)}`);
  } catch {
    return 'threw something that cannot be told';
  }
}

/**
 * placeOf says where an error was made, as ` (chat.mjs:12)`: the file without its folder, and the line. It is empty
 * where that is not known.
 */
export function placeOf(error: Error): string {
  return placeText(FRAME.exec(String(error.stack)));
}

/** Where Node says that a file is no JavaScript: the file and the line. */
const CHECKED = /^(\S+):(\d+)$/m;

/**
 * syntaxPlace says where a file is no JavaScript, as `placeOf` does. An error of the syntax does not tell its place, so
 * that another process of Node is asked, which takes 50 ms. It is empty where the file is right, as where one that it
 * imports is not.
 */
export function syntaxPlace(path: string): string {
  const { stderr } = spawnSync(process.execPath, ['--check', path], { encoding: 'utf8' });
  return placeText(CHECKED.exec(stderr ?? ''));
}

function placeText(found: RegExpExecArray | null): string {
  const [, file, line] = found ?? [];
  return file === undefined ? '' : ` (${file.slice(file.lastIndexOf('/') + 1)}:${line})`;
}

function thrownText(thrown: unknown): string {
  return typeof thrown === 'object' && thrown !== null
    ? 'an object that is no Error'
    : (JSON.stringify(thrown) ?? String(thrown));
}

function cut(text: string): string {
  return text.length > MOST_LETTERS ? `${text.slice(0, MOST_LETTERS)}…` : text;
}
