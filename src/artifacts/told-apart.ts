/** More digits than a double has tell nothing apart. */
const MOST_DIGITS = 17;

/**
 * toldApart rounds figures that a sentence sets against one another to `digits` significant digits, or to as many as keep
 * apart those that differ: 24.9437 ms and an SLO of 24.94 are not `24.94 ms, and the SLO is 24.94 ms`.
 * @param values a few finite figures of one unit
 */
export function toldApart<const T extends readonly number[]>(
  values: T,
  digits = 4,
): { readonly [K in keyof T]: number } {
  const distinct = new Set(values).size;
  let rounded = values.map((value) => rounding(value, digits));
  for (let more = digits + 1; more <= MOST_DIGITS && new Set(rounded).size < distinct; more++)
    rounded = values.map((value) => rounding(value, more));
  return rounded as { [K in keyof T]: number };
}

function rounding(value: number, digits: number): number {
  return Number(value.toPrecision(digits));
}
