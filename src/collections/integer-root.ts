/**
 * integerRoot gives the largest whole number whose power is not above a value. It is the same on every version of Node,
 * which `value ** (1 / degree)` is not, and which falls below the root of a perfect power.
 * @param value at least 0
 * @param degree a whole number of at least 1
 */
export function integerRoot(value: number, degree: number): number {
  let root = Math.round(Math.exp(Math.log(value) / degree));
  while (root > 0 && powerOf(root, degree) > value) root -= 1;
  while (powerOf(root + 1, degree) <= value) root += 1;
  return root;
}

/** powerOf multiplies a number by itself, so that the result is the same everywhere. */
export function powerOf(base: number, exponent: number): number {
  let power = 1;
  for (let i = 0; i < exponent; i++) power *= base;
  return power;
}
