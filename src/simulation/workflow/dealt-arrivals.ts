import { itemAt } from '../../collections/index.js';
import type { Arrivals } from '../../workload/index.js';

interface Dealt {
  readonly atNs: number;
  readonly model: number;
  readonly order: number;
}

/** GroupArrivals are the requests of one group of devices, in the order in which they come. */
export interface GroupArrivals extends Arrivals {
  /** How many requests of all groups came before the one at which these arrivals stand. */
  readonly order: number;
}

/**
 * dealtArrivals deals requests to groups of devices as the front does: each goes to the group that has had the fewest
 * for its devices, the first of equals. So like groups get them in turn. Groups that are read side by side hold few
 * requests back.
 * @param devices how many devices each group has
 */
export function dealtArrivals(arrivals: Arrivals, devices: readonly number[]): GroupArrivals[] {
  const dealer = new Dealer(arrivals, devices);
  return devices.map((_, group) => new OfGroup(dealer, group));
}

class Dealer {
  private readonly had: Float64Array;
  private readonly held: Dealt[][];
  private order = 0;

  constructor(
    private readonly arrivals: Arrivals,
    private readonly devices: readonly number[],
  ) {
    this.had = new Float64Array(devices.length);
    this.held = devices.map(() => []);
  }

  /** next gives the next request of a group, undefined where there is no other. */
  next(group: number): Dealt | undefined {
    const held = itemAt(this.held, group);
    while (held.length === 0) if (!this.deal()) return undefined;
    return held.shift();
  }

  private deal(): boolean {
    const { arrivals, had, devices } = this;
    if (!arrivals.next()) return false;
    const loadOf = (group: number) => itemAt(had, group) / itemAt(devices, group);
    let least = 0;
    for (let group = 1; group < devices.length; group++) if (loadOf(group) < loadOf(least)) least = group;
    had[least]! += 1;
    itemAt(this.held, least).push({ atNs: arrivals.atNs, model: arrivals.model, order: this.order });
    this.order += 1;
    return true;
  }
}

class OfGroup implements GroupArrivals {
  atNs = 0;
  model = 0;
  order = 0;

  constructor(
    private readonly dealer: Dealer,
    private readonly group: number,
  ) {}

  next(): boolean {
    const dealt = this.dealer.next(this.group);
    if (dealt === undefined) return false;
    this.atNs = dealt.atNs;
    this.model = dealt.model;
    this.order = dealt.order;
    return true;
  }
}
