/**
 * This room runs the programs of workflows: modules of JavaScript that call components as they go, each application in a thread of
 * its own.
 *
 * In go the path of a module, the components that there are, requests one row at a time, and the values that programs
 * read. Out come the calls that programs make, what they want to read, and how each run ends; and, of what a program
 * did, a recorded run. It executes no component, schedules nothing and keeps no request: its driver does. Start reading
 * at `program-host.ts`, and at `program-worker.ts` for the inside of the thread; `program.ts` has the types for those
 * who write programs.
 */

export type { ProgramClock } from './clock.js';
export { DATATYPES } from './datatypes.js';
export { PROGRAM_LIMITS, type ProgramLimits } from './limits.js';
export {
  type CalledFace,
  type FailureReason,
  hasFailed,
  type ProgramCall,
  type ProgramEnd,
  type ProgramFailure,
  type ProgramResult,
  type SourceName,
  sourceKey,
} from './messages.js';
export type {
  DataOf,
  Datatype,
  Program,
  ProgramAnswer,
  ProgramContext,
  ProgramTensor,
  TaskHandle,
  TensorMetadata,
  TensorSource,
  WorkflowRequest,
} from './program.js';
export { type ProgramDriver, ProgramHost, type ProgramHostOptions } from './program-host.js';
export { type RecordedProgramCall, type RecordedSizes, recordedRun } from './recorded-run.js';
