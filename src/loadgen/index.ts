/**
 * An open-loop load client for the Open Inference Protocol, and the report of what it saw.
 *
 * In goes a server's URL and a load; requests are sent when the load says, whatever the server does. Out comes a load report.
 * Start with `load.ts`.
 */
export { driveLoad } from './load.js';
export type { LoadOptions, LoadReport, LoadResponse } from './types.js';
