/**
 * This room is the live driver, which serves a bundle over HTTP.
 *
 * It takes a bundle's folder, and gives a server that answers the Open Inference Protocol until it is closed.
 * It holds the clock, the tensors, the sockets and the counters. The core in `serving` makes the decisions,
 * and `execution` runs the models. How rows' tensors are fed, kept and read for verdicts is here for others, too, who
 * run stages by hand.
 *
 * A front of any protocol (HTTP, and where gRPC would come in) calls `Intake.submit()` of `live/submit.ts`: a model, tensors
 * and options go in, and how the request ended comes out. The folder `http` alone speaks HTTP. Start reading at `serve.ts`,
 * and follow a request through `http/infer-route.ts`, `live/submit.ts` and `live/live-driver.ts`.
 */

export {
  type CheckedBundle,
  type OpenedBundle,
  openBundle,
  type PlannedBundle,
  readBundle,
} from './bundle/opened-bundle.js';
export type { Fork, LiveModel, PoolWork } from './bundle/pool-work.js';
export { stageTensors } from './bundle/stage-tensors.js';
export { readInferRequest, readJsonRequest } from './http/infer-request.js';
export type { EndedRequests } from './live/counters.js';
export type { UpReason } from './live/live-device.js';
export type { ScaledDevice } from './live/standby-watch.js';
export { checkBundle } from './servable.js';
export { startServer } from './serve.js';
export { type AskedModel, countRows, fitsInput, rowsOfRequest, shapeOf } from './tensors/request-tensors.js';
export { StackMemory } from './tensors/rows.js';
export { RowInFlight } from './tensors/rows-in-flight.js';
export { feedsOf, keepOutputs } from './tensors/tensors-of-rows.js';
export type {
  RunningServer,
  ServeEvent,
  ServeOptions,
} from './types.js';
