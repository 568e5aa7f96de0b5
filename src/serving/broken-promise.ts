/** A broken promise between the core and its driver: a fault of ours, never of the input. */
export function brokenPromise(what: string): Error {
  return new Error(`Broken promise of the serving core: ${what}`);
}

/** @throws a broken promise where the condition does not hold */
export function must(condition: boolean, broken: string): asserts condition {
  if (!condition) throw brokenPromise(broken);
}
