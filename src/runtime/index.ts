/**
 * The live driver: a bundle served over HTTP, and an open-loop client that loads a server.
 *
 * In goes a bundle's folder, out comes a server that answers the Open Inference Protocol until it is closed; in goes a URL
 * and a load, out comes a report. Decisions are the serving core's, executions are src/execution's; here are the clock, the
 * tensors, the sockets and the counters.
 */
export { driveLoad } from '../loadgen/load.js';
export { serveBundle } from './serve.js';
export type {
  LoadOptions,
  LoadReport,
  LoadResponse,
  RunningServer,
  ServeEvent,
  ServeOptions,
} from './types.js';
