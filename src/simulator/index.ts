/**
 * The virtual driver: a serving core runs against virtual devices and links in virtual time.
 *
 * In go a topology, a core and arrivals, out come a summary and, to observers, everything that happens. Its kernel, a queue of
 * events in total order, serves estimators too. It knows no clock, no files, no randomness but what it is handed; what figures
 * mean is for metrics, which core to drive for its caller.
 */
export type { Arrivals } from '../workload/index.js';
export { EventQueue } from './events.js';
export { OutcomeCode, type SimulationObserver, type SimulationView } from './observer.js';
export { type SimulationOptions, simulate } from './simulate.js';
export type { SimulationSummary } from './virtual-driver.js';
