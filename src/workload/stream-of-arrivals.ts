/**
 * Arrivals gives requests in order of time, one at a time, so that memory stays constant. After `next` has
 * returned true, `atNs` and `model` describe the request. After it has returned false there are no more.
 */
export interface Arrivals {
  next(): boolean;
  /** The arrival in integer nanoseconds since the start. */
  readonly atNs: number;
  /** The index of the model that the request asks for. */
  readonly model: number;
}

/**
 * arrivalsAt makes the arrivals of one model at given times (integer nanoseconds, ascending; this is not checked), such
 * as those of `arrivals` or of a trace.
 */
export function arrivalsAt(times: Iterable<number>, model = 0): Arrivals {
  const iterator = times[Symbol.iterator]();
  const pulled = {
    atNs: 0,
    model,
    next: () => {
      const { done, value } = iterator.next();
      if (done !== true) pulled.atNs = value;
      return done !== true;
    },
  };
  return pulled;
}
