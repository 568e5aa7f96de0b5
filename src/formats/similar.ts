/**
 * didYouMean ends a sentence about a wrong word with the known one that was probably meant: one that differs from it by a
 * letter in three at most, or that it begins, as `slo` begins `sloMs`, or goes beyond. It is empty where none does.
 * @param most how many letters may differ
 */
export function didYouMean(
  wrong: string,
  known: readonly string[],
  most = Math.max(1, Math.floor(wrong.length / 3)),
): string {
  if (wrong.length > MOST_LETTERS) return '';
  const lower = wrong.toLowerCase();
  const near = known
    .map((word) => ({ word, letters: differingLetters(lower, word.toLowerCase()) }))
    .filter(({ word, letters }) => letters <= most || isBegun(lower, word.toLowerCase()))
    .sort((a, b) => a.letters - b.letters)[0];
  return near === undefined ? '' : `; did you mean ${near.word}?`;
}

/** isBegun returns whether one of two words begins the other, by three letters behind its dashes at least. */
function isBegun(one: string, other: string): boolean {
  const [short, long] = one.length < other.length ? [one, other] : [other, one];
  return long.startsWith(short) && /^-*[^-]{3}/.test(short);
}

/** Longer words are no slips of the pen, and comparing them takes long. */
const MOST_LETTERS = 40;

/** differingLetters counts the letters to add, remove or replace (Levenshtein's distance). */
function differingLetters(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 0; i < a.length; i++) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j++)
      next.push(
        Math.min(
          (next[j] as number) + 1,
          (row[j + 1] as number) + 1,
          (row[j] as number) + (a[i] === b[j] ? 0 : 1),
        ),
      );
    row = next;
  }
  return row[b.length] as number;
}
