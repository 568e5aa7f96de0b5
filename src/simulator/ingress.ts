import type { Stream } from '../random/index.js';
import type { ChosenScheduler } from '../serving/index.js';

/** SimulatedEngine is what an engine takes of a request's time beside its devices. Times are whole nanoseconds of at least 0. */
export interface SimulatedEngine {
  /** The replicas of the ingress, each of which takes one request at a time. */
  readonly replicas: number;
  /** How long a replica of the ingress is busy with a request. */
  readonly requestNs: number;
  /** How long it takes from the ingress to a stage, or back. From stage to stage it is both. */
  readonly hopNs: number;
  /**
   * `uniform` draws from [0, 1) for each batch that goes from stage to stage, which then takes between nothing and twice the mean.
   * Where it is absent, all take the same. Without it, stages whose batches take as long as one another stay in step for ever: a
   * device then always ends its batch at the instant when the next one comes.
   */
  readonly uniform?: () => number;
}

/**
 * simulatedEngine gives the figures of a scheduler's engine in whole nanoseconds; undefined where it has none.
 * @param stream what hops between stages are drawn from
 */
export function simulatedEngine({ engine }: ChosenScheduler, stream: Stream): SimulatedEngine | undefined {
  if (engine === undefined) return undefined;
  const { ingress, hopUs } = engine;
  return {
    replicas: ingress.replicas,
    requestNs: Math.round(1e3 * ingress.requestUs),
    hopNs: Math.round(1e3 * hopUs),
    uniform: () => stream.uniform(),
  };
}

/**
 * VirtualIngress is the entrance of an engine: requests pass it in the order in which they come, each by the replica that is
 * free first, and go on to their first stage. As all take the same time, the k-th waits for the end of the one that is
 * `replicas` before it, so that no queue has to be kept. A request costs O(1).
 */
export class VirtualIngress {
  /** The ends of the latest requests, one for each replica, in a ring. */
  private readonly endsNs: Float64Array;
  private next = 0;
  /** When the last request was begun. An engine counts its deadline from then. */
  begunNs = 0;
  readonly hopNs: number;

  constructor(private readonly engine: SimulatedEngine) {
    this.endsNs = new Float64Array(engine.replicas);
    this.hopNs = engine.hopNs;
  }

  /** hopsNs is how long a batch takes from one stage to the next, through the ingress. */
  hopsNs(): number {
    const { uniform } = this.engine;
    const meanNs = 2 * this.hopNs;
    return meanNs === 0 || uniform === undefined ? meanNs : Math.round(2 * meanNs * uniform());
  }

  /** pass takes a request in, and says when it is at its first stage. */
  pass(cameNs: number): number {
    const { endsNs, engine } = this;
    this.begunNs = Math.max(cameNs, endsNs[this.next] as number);
    const endNs = this.begunNs + engine.requestNs;
    endsNs[this.next] = endNs;
    this.next = (this.next + 1) % endsNs.length;
    return endNs + engine.hopNs;
  }
}
