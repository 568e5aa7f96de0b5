/**
 * brokenPromise makes the error for a promise broken between a core and its driver. Such an error is a bug in
 * inferplan, never a fault of the input.
 */
export function brokenPromise(what: string): Error {
  return new Error(`Broken promise of the serving core: ${what}`);
}

/**
 * unreachable closes a `switch` over one of our own unions that gives nothing back, so that an arm which it lacks does
 * not compile.
 * @throws the error of `brokenPromise` where a value comes that its type does not have
 */
export function unreachable(value: never): never {
  throw brokenPromise(`there is no arm ${value}`);
}

/**
 * must checks a promise between a core and its driver.
 * @throws the error of `brokenPromise` where the condition does not hold
 */
export function must(condition: boolean, broken: string): asserts condition {
  if (!condition) throw brokenPromise(broken);
}
