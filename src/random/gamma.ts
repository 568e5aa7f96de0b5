/** Draws is the source of the uniform and normal numbers that a gamma draw is made from. */
interface Draws {
  uniform(): number;
  normal(): number;
}

/**
 * gammaOf draws from the gamma distribution with the given shape and scale 1, whose mean and variance are both the
 * shape. The method is exact: Marsaglia and Tsang, "A simple method for generating gamma variables" (2000), and their
 * section 6 for shapes below 1. It rejects some draws, so the number of draws that it takes varies.
 * @returns a finite number that is not negative; it is 0 when a shape near 0 makes it smaller than any double
 * @throws RangeError if the shape is not positive and finite
 */
export function gammaOf(shape: number, draws: Draws): number {
  if (!(shape > 0 && Number.isFinite(shape)))
    throw new RangeError(`Cannot draw from a gamma distribution: the shape ${shape} is not positive`);
  // exp and log have the same bits on every version of Node, which `**` has not.
  if (shape < 1) return gammaOf(shape + 1, draws) * Math.exp(Math.log(1 - draws.uniform()) / shape);
  const d = shape - 1 / 3;
  const c = 1 / Math.sqrt(9 * d);
  for (;;) {
    const x = draws.normal();
    const root = 1 + c * x;
    if (root <= 0) continue;
    const v = root * root * root;
    if (Math.log(1 - draws.uniform()) < 0.5 * x * x + d * (1 - v + Math.log(v))) return d * v;
  }
}
