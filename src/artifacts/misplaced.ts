/** ELSEWHERE says, by the title of a part of a schema, where values belong that people write there. */
const ELSEWHERE: Readonly<Record<string, (value: unknown) => string>> = {
  PipelineTuner: (value) =>
    `; other tuners, and settings, belong in serving: { scheduler: <name>, tuner: { kind: ${tunerOf(value)} } }`,
};

/** elsewhere ends a sentence about a wrong value with the place where it belongs. It is empty where none is known. */
export function elsewhere(title: unknown, value: unknown): string {
  return typeof title === 'string' && Object.hasOwn(ELSEWHERE, title)
    ? (ELSEWHERE[title] as (value: unknown) => string)(value)
    : '';
}

/** Tuners of servings that stand for no word of a pipeline's own `tuner`. */
const OF_SERVING = ['hpa', 'kpa'];

/** tunerOf names the tuner that was meant, by a word or with settings. */
function tunerOf(value: unknown): string {
  const kind = typeof value === 'object' && value !== null ? (value as { kind?: unknown }).kind : value;
  return OF_SERVING.includes(kind as string) ? (kind as string) : '…';
}
