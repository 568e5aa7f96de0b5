/**
 * OBEYED matches the characters that a terminal obeys instead of showing: control characters, and marks that change the
 * direction of text.
 */
const OBEYED = /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu;

const SHORT = new Map([
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
]);

/** harmless writes the characters that a terminal would obey as visible escapes, such as \x1b. It keeps line breaks. */
export function harmless(text: string): string {
  return text.replaceAll(OBEYED, (character) => (character === '\n' ? character : escaped(character)));
}

/**
 * harmlessLine is `harmless` for names and cells of tables, which have to stay on one line: it escapes line breaks too.
 */
export function harmlessLine(text: string): string {
  return text.replaceAll(OBEYED, escaped);
}

function escaped(character: string): string {
  const code = character.charCodeAt(0);
  const digits = code.toString(16);
  return (
    SHORT.get(character) ?? (code < 256 ? `\\x${digits.padStart(2, '0')}` : `\\u${digits.padStart(4, '0')}`)
  );
}
