import { InputError } from '../formats/index.js';
import { shareByWeight } from './load.js';
import type { Arrivals } from './stream-of-arrivals.js';

/** UniformSource is where a request's model is drawn. A Stream of src/random is one. */
interface UniformSource {
  /** uniform draws from [0, 1). */
  uniform(): number;
}

/**
 * mergedArrivals merges several arrivals into one, in order of time; at equal times the earlier source comes first.
 * It reads the sources as it is read itself, so nobody else may. Each source keeps its own stream, so that adding a
 * model changes nothing in the others. An arrival costs O(sources).
 */
export function mergedArrivals(sources: readonly Arrivals[]): Arrivals {
  return sources.length === 1 ? (sources[0] as Arrivals) : new MergedArrivals(sources);
}

class MergedArrivals implements Arrivals {
  atNs = 0;
  model = 0;
  /** The time of each source's next arrival; Infinity when it has none. */
  private readonly nextAt: Float64Array;
  private pulled = false;
  private last = 0;

  constructor(private readonly sources: readonly Arrivals[]) {
    this.nextAt = new Float64Array(sources.length);
  }

  next(): boolean {
    if (this.pulled) this.pull(this.last);
    else for (let i = 0; i < this.sources.length; i++) this.pull(i);
    this.pulled = true;
    let least = 0;
    for (let i = 1; i < this.nextAt.length; i++) {
      if ((this.nextAt[i] as number) < (this.nextAt[least] as number)) least = i;
    }
    const at = this.nextAt[least];
    if (at === undefined || at === Number.POSITIVE_INFINITY) return false;
    this.last = least;
    this.atNs = at;
    this.model = (this.sources[least] as Arrivals).model;
    return true;
  }

  private pull(i: number): void {
    const source = this.sources[i] as Arrivals;
    this.nextAt[i] = source.next() ? source.atNs : Number.POSITIVE_INFINITY;
  }
}

/**
 * sharedByWeight keeps the arrival times and draws a model for each by weight. It is for traces that do not
 * name models, under plans with several.
 * @param weights by model, on any scale
 * @param stream one number of it is drawn per arrival
 * @throws InputError where a weight is negative or all are 0
 */
export function sharedByWeight(
  arrivals: Arrivals,
  weights: readonly number[],
  stream: UniformSource,
): Arrivals {
  if (!weights.every((weight) => weight >= 0 && Number.isFinite(weight)) || !weights.some((w) => w > 0)) {
    const message = `the weights are ${weights.join(', ')}; none may be negative, one must be above 0`;
    throw new InputError('share the load by weight', [{ path: '', message }]);
  }
  let sum = 0;
  const upTo = Float64Array.from(weights, (_, i) => {
    sum += shareByWeight(weights, i);
    return sum;
  });
  // The last model with a weight takes what rounding leaves.
  const heaviestLast = weights.findLastIndex((weight) => weight > 0);
  upTo.fill(Number.POSITIVE_INFINITY, heaviestLast);
  return new SharedArrivals(arrivals, upTo, stream);
}

class SharedArrivals implements Arrivals {
  atNs = 0;
  model = 0;

  constructor(
    private readonly arrivals: Arrivals,
    private readonly upTo: Float64Array,
    private readonly stream: UniformSource,
  ) {}

  next(): boolean {
    if (!this.arrivals.next()) return false;
    this.atNs = this.arrivals.atNs;
    const drawn = this.stream.uniform();
    let model = 0;
    while (drawn >= (this.upTo[model] as number)) model += 1;
    this.model = model;
    return true;
  }
}
