/**
 * Requests as they come, ascending in time, pulled one at a time: constant memory however many there are. After `next` has
 * returned true, `atNs` and `model` are those of the request pulled; after it has returned false there are no more.
 */
export interface Arrivals {
  next(): boolean;
  /** Integer nanoseconds since the start. */
  readonly atNs: number;
  /** Index of the model asked for. */
  readonly model: number;
}

/** Arrivals of one model at given times, e.g. those of `arrivals` or of a trace. */
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
