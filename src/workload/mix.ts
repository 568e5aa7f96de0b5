import { InputError } from '../artifacts/index.js';
import { shareOf } from './load.js';
import type { Arrivals } from './stream-of-arrivals.js';

/** Where a request's model is drawn: a Stream of src/random is one. */
interface UniformSource {
  /** In [0, 1). */
  uniform(): number;
}

/**
 * Several arrivals as one, in order of time; of equal times those of the earlier source come first. Each source keeps its own
 * stream, so that another model more moves nothing in the others. O(sources) per arrival.
 */
export function mergedArrivals(sources: readonly Arrivals[]): Arrivals {
  return sources.length === 1 ? (sources[0] as Arrivals) : new MergedArrivals(sources);
}

class MergedArrivals implements Arrivals {
  atNs = 0;
  model = 0;
  /** When each source's next one comes; Infinity where it has none. */
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
 * The same arrival times, each asking for a model drawn by weight: a trace that says nothing of models, for a plan of several.
 * @param weights by model, any scale
 * @param stream drawn from once per arrival
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
    sum += shareOf(weights, i);
    return sum;
  });
  // What rounding leaves belongs to the last model that has a weight.
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
