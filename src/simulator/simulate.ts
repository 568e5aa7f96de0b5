import { Decisions, type LogEntry, recorded, type ServingCore, type Topology } from '../serving/index.js';
import type { Arrivals } from '../workload/index.js';
import type { SimulationObserver } from './observer.js';
import { type SimulationSummary, VirtualDriver } from './virtual-driver.js';

export interface SimulationOptions {
  topology: Topology;
  /** Makes the core that is driven, over the buffer it is given. */
  makeCore: (decisions: Decisions) => ServingCore;
  /** Pulled one by one. */
  arrivals: Arrivals;
  observers?: readonly SimulationObserver[];
  /** How long a batch really takes, nanoseconds (rounded); the plan's latency where absent. Asked once, when it starts. */
  execution?: (pool: number, size: number, plannedNs: number) => number;
  /** Told all that the core hears and says. */
  log?: (entry: LogEntry) => void;
}

/**
 * Runs a core against virtual devices and links in virtual time until arrivals end and nothing is open. Every request has one row
 * and its model's SLO from its arrival as its deadline.
 *
 * Deterministic: the same options give the same calls in the same order. Memory follows what is in flight, not how many came.
 * Cost: O(log n) per batch with n devices, constant per request, besides the core's own.
 * @throws Error where the core breaks its contract: an outcome twice or never, a wake-up that is not ahead
 * @throws RangeError where arrivals go back in time, are no whole nanoseconds or name no model
 */
export function simulate(options: SimulationOptions): SimulationSummary {
  const { topology, makeCore, arrivals, observers = [], execution, log } = options;
  const decisions = new Decisions();
  const bare = makeCore(decisions);
  const core = log === undefined ? bare : recorded(bare, decisions, log);
  return new VirtualDriver({ topology, decisions, core, arrivals, observers, execution }).run();
}
