/**
 * Steps is work that is done piece by piece: it stops after about a millisecond each time, and gives its
 * result at the end. The caller may do other things between two pieces.
 */
export type Steps<Result> = Generator<undefined, Result>;

/** atOnce does work without a stop between its pieces. */
export function atOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** Sorting or merging this many numbers takes some ten milliseconds. */
const SORTED_AT_ONCE = 1 << 17;

/**
 * sorted sorts numbers where they are, piece by piece. It takes at most half as much memory again, and hardly any where
 * they nearly are sorted.
 */
export function* sorted(values: Float64Array): Steps<Float64Array> {
  for (let from = 0; from < values.length; from += SORTED_AT_ONCE) {
    values.subarray(from, from + SORTED_AT_ONCE).sort();
    yield;
  }
  for (let width = SORTED_AT_ONCE; width < values.length; width *= 2)
    for (let from = 0; from + width < values.length; from += 2 * width)
      yield* merge(values.subarray(from, from + 2 * width), width);
  return values;
}

/** merge makes one run of two sorted ones, the second of which begins at `middle`. */
function* merge(values: Float64Array, middle: number): Steps<void> {
  const first = values[middle]!;
  let at = middle;
  while (at > 0 && values[at - 1]! > first) at--;
  const left = values.slice(at, middle);
  let [next, right] = [0, middle];
  for (; next < left.length; at++) {
    if (at % SORTED_AT_ONCE === 0) yield;
    const isLeft = right === values.length || left[next]! <= values[right]!;
    values[at] = isLeft ? left[next++]! : values[right++]!;
  }
}
