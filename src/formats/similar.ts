/**
 * didYouMean ends a sentence about a wrong word with the known one that was probably meant, which differs from it by a
 * letter in three at most. It is empty where none does.
 */
export function didYouMean(wrong: string, known: readonly string[]): string {
  if (wrong.length > MOST_LETTERS) return '';
  const most = Math.max(1, Math.floor(wrong.length / 3));
  const near = known
    .map((word) => ({ word, letters: differingLetters(wrong.toLowerCase(), word.toLowerCase()) }))
    .filter(({ letters }) => letters <= most)
    .sort((a, b) => a.letters - b.letters)[0];
  return near === undefined ? '' : `; did you mean ${near.word}?`;
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
