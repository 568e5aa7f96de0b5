import { type Fault, fault, hasOwnName, option, toldBeyond } from '../formats/index.js';
import { windowCells } from '../metrics/index.js';
import { applicationsOf, planOf, type ServedPlan, type StagePlan } from '../plans/index.js';
import { expectedRequests, highestRps, type Workload, warmUpNs } from './workload.js';

/** The longest time, 104 days: beyond it a double does not hold whole nanoseconds. */
const MOST_NS = Number.MAX_SAFE_INTEGER;
const NS_PER_DAY = 86_400e9;

/**
 * The highest rate, one request per nanosecond. Beyond it requests would arrive at one instant without end.
 */
const MOST_RPS = 1e9;

/** At a million requests a second, a run of more would take an hour. */
const MOST_REQUESTS = 4e9;

/** Beyond these limits executions would last longer than a time can express. */
const MOST_SLOW = 1e6;
const MOST_JITTER = 100;

/** The most requests whose latencies are all kept, in 3.2 GB. */
const MOST_EXACT = 100_000_000;

/** The most numbers that windows may take, in 32 MB. */
const MOST_WINDOW_CELLS = 4_000_000;

/**
 * lengthFaults says what is wrong with the length of a load: it lasts from 1 ns to 104 days, at no more than 1e9
 * requests/s, of at most 4e9 requests, and with `exact` it has at most 1e8 requests.
 * @returns the first such fault, if any
 */
export function lengthFaults(plan: ServedPlan, workload: Workload, exact: boolean | undefined): Fault[] {
  const { durationNs } = workload;
  const arrivingNs = warmUpNs(workload) + durationNs;
  const whole = workload.kind === 'trace' && workload.whole;
  if (arrivingNs > MOST_NS) {
    const [days, most] = toldBeyond(arrivingNs / NS_PER_DAY, MOST_NS / NS_PER_DAY);
    const said = `requests arrive for ${days} days; at most ${most} are simulated`;
    return [
      whole
        ? fault(`${said}: cut it with ${option('duration')}`, option('traces'))
        : fault(said, option('duration')),
    ];
  }
  if (!(durationNs >= 1))
    return [fault('is less than a nanosecond', whole ? option('traces') : option('duration'))];
  const highest = highestRps(workload);
  if (highest > MOST_RPS) {
    const [asked, most] = toldBeyond(highest, MOST_RPS);
    const said = `asks for ${asked} requests/s; at most ${most} are simulated`;
    return [fault(said, 'the load')];
  }
  const requests = expectedRequests(workload, applicationsOf(plan));
  if (requests > MOST_REQUESTS) {
    const [asked, most] = toldBeyond(requests, MOST_REQUESTS);
    const said = `asks for ${asked} requests; at most ${most} are simulated`;
    return [fault(said, 'the load')];
  }
  if (!exact) return [];
  if (requests <= MOST_EXACT) return [];
  const [asked, most] = toldBeyond(requests, MOST_EXACT);
  const said = `would keep ${asked} latencies; at most ${most} are kept`;
  return [fault(`${said}: without it percentiles are within 0.2 %`, option('exact'))];
}

/**
 * windowFaults says what is wrong with windows of `windowS` seconds: they are shorter than 1 ns, or so many that their
 * figures are more than 4 million numbers. Without a length nothing is wrong.
 */
export function windowFaults(
  plan: StagePlan,
  { durationNs }: Workload,
  windowS: number | undefined,
): Fault[] {
  if (windowS === undefined) return [];
  if (!(windowS * 1e9 >= 1)) return [fault('is less than a nanosecond', option('windows'))];
  const windows = Math.ceil(durationNs / (windowS * 1e9));
  const shape = {
    models: applicationsOf(plan).length,
    classes: Object.keys(plan.classes).length,
    pools: planOf(plan)
      .parts(plan)
      .filter(({ stage }) => hasOwnName(stage)).length,
  };
  if (windowCells(shape, windows) <= MOST_WINDOW_CELLS) return [];
  const most = Math.floor(MOST_WINDOW_CELLS / windowCells(shape, 1));
  const leastMs = Math.ceil(durationNs / 1e6 / most);
  return [
    fault(
      `gives ${windows} windows; at most ${most} are kept for this plan: take ${leastMs}ms or more`,
      option('windows'),
    ),
  ];
}

/** SimulatedNumbers are the options of a simulation that are numbers; what is left out has its default. */
interface SimulatedNumbers {
  readonly slow?: number | undefined;
  readonly jitter?: number | 'profile' | undefined;
  readonly seed?: number | undefined;
  readonly load?: number | undefined;
}

/**
 * numberFaults refuses numbers that cannot be simulated. The conditions are written so that NaN fails them
 * too.
 */
export function numberFaults({ slow = 1, jitter = 0, seed = 0, load = 1 }: SimulatedNumbers): Fault[] {
  const faults: Fault[] = [];
  if (!(slow > 0 && slow <= MOST_SLOW))
    faults.push(fault(`is ${slow}; it must be above 0 and at most ${MOST_SLOW}`, option('slow')));
  if (jitter !== 'profile' && !(jitter >= 0 && jitter <= MOST_JITTER))
    faults.push(fault(`is ${jitter}; it must be 0 to ${MOST_JITTER}`, option('jitter')));
  if (!(Number.isSafeInteger(seed) && seed >= 0))
    faults.push(fault(`is ${seed}; it must be a whole number of 0 or more`, option('seed')));
  if (!(load > 0)) faults.push(fault(`is ${load}; it must be above 0`, option('load')));
  return faults;
}
