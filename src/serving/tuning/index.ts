/**
 * This folder decides how many devices each stage of a pipeline has in use: InferLine's tuner (§5), and the tuners that
 * it is compared with.
 *
 * In goes what a plan says of its stages, and what happens: requests, executions, devices that come up. Out come numbers
 * of devices. It activates none itself: `stage-local/scaling/scaler.ts` does. Start with `tuner.ts`, then `inferline.ts`.
 */
export { ArrivalWindows } from './arrival-windows.js';
export { envelopeOf } from './envelope.js';
export {
  needsLoad,
  TUNERS,
  type TunedPlan,
  type TunerName,
  tunerSettings,
} from './tuned-plan.js';
export type { TunedSet } from './tuner.js';
export { Tuning } from './tuning.js';
