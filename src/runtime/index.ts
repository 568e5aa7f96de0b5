/**
 * This room is the live driver, which serves a bundle over HTTP.
 *
 * It takes a bundle's folder, and gives a server that answers the Open Inference Protocol until it is closed.
 * It holds the clock, the tensors, the sockets and the counters. The core in `serving` makes the decisions,
 * and `execution` runs the models. How rows' tensors are fed, kept and read for verdicts is here for others, too, who
 * run stages by hand. Start reading at `serve.ts`, then `live-driver.ts`.
 */
export {
  type AskedModel,
  countRows,
  fitsInput,
  readInferRequest,
  readJsonRequest,
  rowsOfRequest,
  shapeOf,
} from './infer-request.js';
export { type OpenedBundle, openBundle } from './opened-bundle.js';
export { StackMemory } from './rows.js';
export { RowInFlight } from './rows-in-flight.js';
export { startServer } from './serve.js';
export { requestKey, stageTensors } from './stage-tensors.js';
export { feedsOf, keepOutputs } from './tensors-of-rows.js';
export type {
  RunningServer,
  ServeEvent,
  ServeOptions,
} from './types.js';
