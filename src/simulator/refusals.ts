import { brokenPromise } from '../serving/index.js';

// Drivers make these errors in functions of their own: made inside the loop, they made it slower by a third.

/** refuseWakeUp refuses to wake a core at an instant that is no later one. */
export function refuseWakeUp(at: number, now: number): never {
  throw brokenPromise(`a wake-up is asked for at ${at} ns, but it is ${now} ns already`);
}

/** refuseTime refuses an arrival that is before the last one or between two nanoseconds. */
export function refuseTime(atNs: number, now: number): never {
  throw new RangeError(`Cannot simulate an arrival at ${atNs} ns: it is no whole number from ${now}`);
}

/** refuseModel refuses an arrival for a model that the plan has not. */
export function refuseModel(model: number): never {
  throw new RangeError(`Cannot simulate an arrival for model ${model}: the plan has no such model`);
}
