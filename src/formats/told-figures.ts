/** Figures in sentences have this many significant digits, where more are not needed. */
const DIGITS = 4;
/** More digits than a double has distinguish nothing. */
const MOST_DIGITS = 17;
/** Figures from here on are written with an exponent. */
const LEAST_EXPONENTIAL = 1e7;
/** The relative error that binary fractions add to a figure. */
const NOISE = 1e-12;

/**
 * toldApart rounds figures that a sentence sets against one another to four significant digits, or to as many as keep apart
 * those that differ: 24.9437 ms and an SLO of 24.94 are not `24.94 ms, and the SLO is 24.94 ms`.
 * @param values a few finite figures of one unit
 */
export function toldApart<const T extends readonly number[]>(values: T): { readonly [K in keyof T]: number } {
  const distinct = new Set(values).size;
  let rounded = values.map((value) => rounding(value, DIGITS));
  for (let more = DIGITS + 1; more <= MOST_DIGITS && new Set(rounded).size < distinct; more++)
    rounded = values.map((value) => rounding(value, more));
  return rounded as { [K in keyof T]: number };
}

/** toldBeyond writes a figure that is beyond a limit, and the limit: `1.04e+9` and `1e+9`. */
export function toldBeyond(value: number, limit: number): readonly [string, string] {
  const [beyond, most] = toldApart([value, limit]).map((one) =>
    Math.abs(one) < LEAST_EXPONENTIAL ? String(one) : one.toExponential(),
  );
  return [beyond as string, most as string];
}

/** toldUp gives the least figure of `digits` significant digits that is no smaller, except for the noise of binary fractions. */
export function toldUp(value: number, digits = DIGITS): number {
  const near = rounding(value, digits);
  if (near >= value - NOISE * Math.abs(value)) return near;
  const exponent = Number(value.toExponential().split('e')[1]);
  return rounding(near + 10 ** (exponent + 1 - digits), digits);
}

/** toldDown gives the largest figure of `digits` significant digits that is no larger, except for the noise of binary fractions. */
export function toldDown(value: number, digits = DIGITS): number {
  return -toldUp(-value, digits);
}

/** toldUpBelow rounds up what is below a limit, with as few digits, from four on, as keep it below. */
export function toldUpBelow(value: number, limit: number): number {
  let rounded = toldUp(value);
  for (let more = DIGITS + 1; more <= MOST_DIGITS && rounded >= limit; more++) rounded = toldUp(value, more);
  return rounded;
}

function rounding(value: number, digits: number): number {
  return Number(value.toPrecision(digits));
}
