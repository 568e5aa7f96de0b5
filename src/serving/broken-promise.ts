/**
 * brokenPromise makes the error for a promise broken between a core and its driver. Such an error is a bug in
 * inferplan, never a fault of the input.
 */
export function brokenPromise(what: string): Error {
  return new Error(`Broken promise of the serving core: ${what}`);
}

/**
 * must checks a promise between a core and its driver.
 * @throws the error of `brokenPromise` where the condition does not hold
 */
export function must(condition: boolean, broken: string): asserts condition {
  if (!condition) throw brokenPromise(broken);
}
