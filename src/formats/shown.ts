const MOST_LETTERS = 60;
/** A path of more letters is shown by its first and last ones. */
const MOST_OF_PATH = 200;

/**
 * shown quotes a value in a message, as JSON of 60 letters at most, or says that it is absent. It looks at no more of a
 * large value than it writes.
 */
export function shown(value: unknown): string {
  const text = written(value, MOST_LETTERS + 1);
  if (text.length <= MOST_LETTERS) return text;
  return `${text.slice(0, MOST_LETTERS - 3)}…${typeof value === 'string' ? '"' : ''}`;
}

/** shownPath gives a path of parts within parts, of 200 letters at most: where it begins, and more of where it ends. */
export function shownPath(path: string): string {
  if (path.length <= MOST_OF_PATH) return path;
  const letters = [...path];
  if (letters.length <= MOST_OF_PATH) return path;
  return `${letters.slice(0, MOST_OF_PATH / 4 - 1).join('')}…${letters.slice((-3 * MOST_OF_PATH) / 4).join('')}`;
}

/** written writes a value as JSON, of which the letters after the first `letters` may be wrong or missing. */
function written(value: unknown, letters: number): string {
  if (typeof value === 'string')
    return value.length > letters ? JSON.stringify(value.slice(0, letters)) : JSON.stringify(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'absent';
  if (Array.isArray(value)) return `[${joined(value.values(), letters, (one, left) => written(one, left))}]`;
  const record = value as Readonly<Record<string, unknown>>;
  const entry = (key: string, left: number) => `${written(key, left)}:${written(record[key], left)}`;
  return `{${joined(keysOf(record), letters, entry)}}`;
}

function joined<T>(parts: Iterable<T>, letters: number, text: (part: T, letters: number) => string): string {
  let whole = '';
  for (const part of parts) {
    if (whole !== '') whole += ',';
    whole += text(part, Math.max(0, letters - whole.length));
    if (whole.length >= letters) break;
  }
  return whole;
}

function* keysOf(record: Readonly<Record<string, unknown>>): Generator<string> {
  for (const key in record) if (record[key] !== undefined) yield key;
}
