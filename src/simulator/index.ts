/**
 * The room `simulator` is the virtual driver: it runs a serving core against virtual devices and links in virtual time.
 *
 * In go a topology, a core and arrivals. Out come a summary and, to observers, every event. The room has no clock,
 * reads no files and draws no random numbers of its own. The room `metrics` gives figures their meaning, and the caller
 * chooses the core.
 *
 * Start with `simulate.ts`, then `virtual-driver.ts` for the order of events within an instant.
 */

export { simulatedEngine } from './ingress.js';
export { DeviceState, OutcomeCode, type SimulationObserver, type SimulationView } from './observer.js';
export type { RecordedCall, RecordedRun } from './programs.js';
export { type SimulatorOptions, simulate } from './simulate.js';
export type { VerdictOf, WeightOf } from './verdicts.js';
export type { SimulationSummary } from './virtual-driver.js';
export { type Trouble, WorkflowDriver, type WorkflowSummary } from './workflow-driver.js';
