/**
 * This room is the live driver, which serves a bundle over HTTP.
 *
 * It takes a bundle's folder, and gives a server that answers the Open Inference Protocol until it is closed.
 * It holds the clock, the tensors, the sockets and the counters. The core in `serving` makes the decisions,
 * and `execution` runs the models. How rows' tensors are fed, kept and read for verdicts is here for others, too, who
 * run stages by hand.
 *
 * A front of any protocol (HTTP, and where gRPC would come in) calls `Intake.submit()` of `submit.ts`: a model, tensors and
 * options go in, and how the request ended comes out. `front.ts` and `infer-route.ts` alone speak HTTP. Start reading at
 * `serve.ts`, and follow a request through `infer-route.ts`, `submit.ts` and `live-driver.ts`.
 */

export type { EndedRequests } from './counters.js';
export { readInferRequest, readJsonRequest } from './infer-request.js';
export type { UpReason } from './live-device.js';
export {
  type CheckedBundle,
  type OpenedBundle,
  openBundle,
  type PlannedBundle,
  readBundle,
} from './opened-bundle.js';
export type { Fork, LiveModel, PoolWork } from './pool-work.js';
export { type AskedModel, countRows, fitsInput, rowsOfRequest, shapeOf } from './request-tensors.js';
export { StackMemory } from './rows.js';
export { RowInFlight } from './rows-in-flight.js';
export { checkBundle } from './servable.js';
export { startServer } from './serve.js';
export { stageTensors } from './stage-tensors.js';
export type { ScaledDevice } from './standby-watch.js';
export { feedsOf, keepOutputs } from './tensors-of-rows.js';
export type {
  RunningServer,
  ServeEvent,
  ServeOptions,
} from './types.js';
