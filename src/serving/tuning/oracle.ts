import { NS_PER_S } from '../../formats/index.js';
import { devicesFor, plannedReplicas, type TunedSet, type Tuner } from './tuner.js';

/** RequestsAhead holds the number of requests that come in each window of a run, one after another from its beginning. */
export interface RequestsAhead {
  readonly windowS: number;
  readonly requests: ArrayLike<number>;
}

/**
 * OracleTuner knows how many requests come in each second of the run. Each set has the fewest devices that serve every
 * second of what comes, with the plan's slack, in use from before that second, and asked for early enough to be up by
 * then. It bounds from below what a tuner with that slack costs, not what any other does.
 */
export class OracleTuner implements Tuner {
  readonly wanted: Int32Array;
  nextAt = 0;
  private readonly windowNs: number;

  constructor(
    private readonly sets: readonly (TunedSet & { readonly provisioning: number })[],
    private readonly ahead: RequestsAhead,
    private readonly activationDelayNs: number,
  ) {
    this.wanted = plannedReplicas(sets);
    this.windowNs = Math.round(NS_PER_S * ahead.windowS);
  }

  arrived(_at: number): boolean {
    return false;
  }

  decide(at: number): void {
    if (at < this.nextAt) return;
    const { requests, windowS } = this.ahead;
    const first = Math.floor(at / this.windowNs);
    this.nextAt = (first + 1) * this.windowNs;
    // A device that is asked for at the next look is up only after the delay.
    const last = Math.ceil((this.nextAt + this.activationDelayNs) / this.windowNs) - 1;
    let most = 0;
    for (let i = first; i <= last && i < requests.length; i++) most = Math.max(most, requests[i] as number);
    this.sets.forEach((set, i) => {
      this.wanted[i] = Math.min(set.most, devicesFor(most / windowS, set.workS, set.provisioning));
    });
  }
}
