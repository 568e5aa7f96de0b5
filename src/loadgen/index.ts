/**
 * This room is an open-loop load client for the Open Inference Protocol.
 *
 * It takes a server's URL and a load, and gives a load report. Requests are sent when the load says, whatever
 * the server does. It starts no server, and `api` writes the report to a file. Start reading at `load.ts`.
 */
export { type ClientAccess, type ClientAccessOptions, readClientAccess } from './client-access.js';
export { describeServer, driveLoad } from './load.js';
export { type MeasuredEngine, type MeasureEngineOptions, measureEngine } from './measure-engine.js';
export type { RemoteModel } from './remote-model.js';
export type { LoadOptions, LoadReport, LoadResponse, LoadSchedule, TensorsAs } from './types.js';
