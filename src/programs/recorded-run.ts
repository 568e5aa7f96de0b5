import { FORMAT_VERSION, type Run, type RunTask } from '../artifacts/index.js';
import type { ProgramCall } from './messages.js';

/** RecordedProgramCall is a call, and what came before it. */
export interface RecordedProgramCall extends ProgramCall {
  /** The tasks whose values the program had read before it made the call, in the order in which it read them. */
  readonly after: readonly number[];
  /** How long the program took from the last of these reads, or from its beginning, to the call. */
  readonly thinkMs: number;
}

/** RecordedSizes are what a recorded run has that no program knows. */
export interface RecordedSizes {
  /** The workflow, by its name. */
  readonly application: string;
  readonly requestBytes: number;
  /** outputBytes is the size of what a task gave. */
  readonly outputBytes: (task: number) => number;
}

/**
 * recordedRun makes a recorded run of what a program did for a request.
 * @param calls the calls that the program made, in their order
 * @returns undefined where it made none, since a run has a task at least
 */
export function recordedRun(calls: readonly RecordedProgramCall[], sizes: RecordedSizes): Run | undefined {
  if (calls.length === 0) return undefined;
  const { application, requestBytes, outputBytes } = sizes;
  const tasks = calls.map((call): RunTask => {
    const { component, inputs, after, thinkMs, rows, task } = call;
    return {
      component,
      inputs: inputs.map(({ source }) => (source.from === 'request' ? 'request' : source.task)),
      after: after.toSorted((a, b) => a - b),
      // A millionth of a second is far below what a clock tells of a program.
      ...(thinkMs < 0.001 ? {} : { thinkMs: Number(thinkMs.toFixed(3)) }),
      outputBytes: outputBytes(task),
      rows,
    };
  });
  return { kind: 'run', version: FORMAT_VERSION, application, requestBytes, tasks };
}
