import { errorFields, fault, InputError } from '../formats/index.js';

/** V8 holds no longer text as one string. */
const MOST_TEXT_BYTES = 512 * 1024 * 1024 - 24;

/** Some encodings of text begin with these bytes; the longer ones come first, since one begins as another. */
const MARKS: readonly [name: string, bytes: readonly number[]][] = [
  ['UTF-32', [0xff, 0xfe, 0, 0]],
  ['UTF-32', [0, 0, 0xfe, 0xff]],
  ['UTF-16', [0xff, 0xfe]],
  ['UTF-16', [0xfe, 0xff]],
];

/**
 * decodedText gives the text of a file in UTF-8, without a byte order mark at its beginning.
 * @param path names the file in errors
 * @throws InputError where it is not UTF-8; the error names UTF-16 and UTF-32 where its beginning shows them
 */
export function decodedText(bytes: Uint8Array, path: string): string {
  refuseForeign(bytes, path);
  if (bytes.length > MOST_TEXT_BYTES)
    throw new InputError(`read ${path}`, [
      fault(`it is text of ${bytes.length} bytes; at most ${MOST_TEXT_BYTES} are read`),
    ]);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    if (errorFields(error).code !== 'ERR_ENCODING_INVALID_ENCODED_DATA') throw error;
    throw new InputError(`read ${path}`, [fault('it is not text in UTF-8')]);
  }
}

/**
 * refuseForeign refuses a file whose first four bytes show that it is text in UTF-16 or UTF-32: a byte order mark, or
 * two characters of ASCII in UTF-16. It suits files that are read piece by piece.
 * @param path names the file in the error
 * @throws InputError where it is such text
 */
export function refuseForeign(beginning: Uint8Array, path: string): void {
  const encoding = MARKS.find(([, mark]) => mark.every((byte, i) => beginning[i] === byte))?.[0];
  const found = encoding ?? (hasEverySecondByteZero(beginning) ? 'UTF-16' : undefined);
  if (found !== undefined)
    throw new InputError(`read ${path}`, [fault(`it is text in ${found}; save it as UTF-8`)]);
}

/** hasEverySecondByteZero recognises UTF-16 without a mark that begins with two characters of ASCII. */
function hasEverySecondByteZero([a, b, c, d]: Uint8Array): boolean {
  const little = b === 0 && d === 0 && a !== 0 && c !== 0 && c !== undefined;
  const big = a === 0 && c === 0 && b !== 0 && d !== 0 && d !== undefined;
  return little || big;
}
