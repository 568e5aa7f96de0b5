/**
 * The live driver: a bundle served over HTTP.
 *
 * In goes a bundle's folder, out comes a server that answers the Open Inference Protocol until it is closed. Decisions are the
 * serving core's, executions are src/execution's; here are the clock, the tensors, the sockets and the counters.
 * Start with `serve.ts`, then `live-driver.ts`.
 */
export { serveBundle } from './serve.js';
export type {
  RunningServer,
  ServeEvent,
  ServeOptions,
} from './types.js';
