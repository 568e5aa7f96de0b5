/** Words that a program writes where it has forgotten that there may be no value, or no finite one. */
const WORDS = /\bNaN\b|\bundefined\b|\[object [A-Z]\w*\]|\bInfinity\b/g;

/**
 * leakedValues lists the words in what a command told that JavaScript writes for values that are none. Those that the
 * command was given itself are quotations.
 */
export function leakedValues(told: string, given: string): string[] {
  return [...new Set(told.match(WORDS))].filter((word) => !given.includes(word));
}
