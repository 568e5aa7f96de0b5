import { Decisions, type LogEntry, recorded, type ServingCore, type Topology } from '../serving/index.js';
import type { Arrivals } from '../workload/index.js';
import type { SimulatedEngine } from './ingress.js';
import type { SimulationObserver } from './observer.js';
import type { RowsOf, VerdictOf, WeightOf } from './verdicts.js';
import { type SimulationSummary, VirtualDriver } from './virtual-driver.js';

/** SimulatorOptions holds the parts of a simulation. */
export interface SimulatorOptions {
  topology: Topology;
  /** `makeCore` makes the core to be driven, over the buffer it is given. */
  makeCore: (decisions: Decisions) => ServingCore;
  /** `arrivals` gives the arrivals one by one, in the order of their times. */
  arrivals: Arrivals;
  observers?: readonly SimulationObserver[];
  /**
   * `execution` is how long a batch really takes, in nanoseconds (rounded) of at least 0; the plan's latency where
   * absent. It is asked once, when the batch starts.
   */
  execution?: (pool: number, size: number, plannedNs: number, device: number) => number;
  /** `verdict` is what the models of stages say of rows; 0 where absent. It is asked where edges depend on it. */
  verdict?: VerdictOf;
  /** `rows` is how many rows each request has; 1 where absent. */
  rows?: RowsOf;
  /** `weight` is the weight of each request, above 0 and finite; 1 where absent. */
  weight?: WeightOf;
  /** `activationDelayNs` is the time from a device's activation until it takes work; 0 where absent. */
  activationDelayNs?: number;
  /**
   * `servedUntilNs` is until when devices are kept though nothing may arrive any more: until then they are in use, and the core
   * is woken as it asks. It is asked once all requests have ended; the run ends with the last of them where absent.
   */
  servedUntilNs?: () => number;
  /**
   * `engine` is what an engine takes beside its devices; nothing where absent. Requests then arrive at the core after the
   * ingress and a hop, their deadline counts from when the ingress began them, and their latency from when they came to it
   * until their answer is back.
   */
  engine?: SimulatedEngine | undefined;
  /** `log` receives every event that the core hears and every decision that it makes. */
  log?: (entry: LogEntry) => void;
}

/**
 * simulate runs a core against virtual devices and links in virtual time, until the arrivals end, no
 * request is open and devices are kept no longer. The deadline of a request is its model's SLO after its arrival, or after an
 * engine's ingress began it.
 *
 * It is deterministic: the same options give the same calls in the same order. Memory follows the requests in
 * flight, not all that came. A batch costs O(log n) with n devices and a request costs constant time, besides
 * the core's own cost.
 * @throws Error where the core breaks its contract: an outcome twice or never, or a wake-up that is not ahead
 * @throws RangeError where arrivals go back in time, are no whole nanoseconds or name no model, or `execution` gives no
 *   number or a negative one
 * @throws InputError where the run would last more than 104 days
 */
export function simulate(options: SimulatorOptions): SimulationSummary {
  const { topology, makeCore, arrivals, observers = [], execution, log } = options;
  const { verdict, rows, weight, activationDelayNs = 0, servedUntilNs = () => 0, engine } = options;
  const decisions = new Decisions();
  const bare = makeCore(decisions);
  const core = log === undefined ? bare : recorded(bare, decisions, log);
  const world = { execution, verdict, rows, weight, activationDelayNs, servedUntilNs, engine };
  return new VirtualDriver({ topology, decisions, core, arrivals, observers, ...world }).run();
}
