/**
 * This folder compares a load on a server with the simulation of the same arrivals, and corrects profiles by it. A load
 * report and a plan go in; a verification and profiles come out. Start reading at `verify.ts`.
 */
export { type VerifyOptions, verifyLoad } from './verify.js';
