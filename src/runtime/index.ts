/**
 * This room is the live driver, which serves a bundle over HTTP.
 *
 * It takes a bundle's folder, and gives a server that answers the Open Inference Protocol until it is closed.
 * It holds the clock, the tensors, the sockets and the counters. The core in `serving` makes the decisions,
 * and `execution` runs the models. Start reading at `serve.ts`, then `live-driver.ts`.
 */
export { type OpenedBundle, openBundle } from './opened-bundle.js';
export { startServer } from './serve.js';
export type {
  RunningServer,
  ServeEvent,
  ServeOptions,
} from './types.js';
