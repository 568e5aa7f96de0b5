/** What a terminal obeys or is misled by rather than showing it: control characters, marks that turn the direction of text. */
const OBEYED = /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu;

const SHORT = new Map([
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
]);

/** Text with what a terminal would obey as visible escapes, such as \x1b; lines stay lines. */
export function harmless(text: string): string {
  return text.replaceAll(OBEYED, (character) => (character === '\n' ? character : escaped(character)));
}

/** The same for what has to stay on one line: names, cells of tables. */
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
