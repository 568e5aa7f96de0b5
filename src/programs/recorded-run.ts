import { emittedHead } from '../artifacts/index.js';
import { isReadIn, type Run, type RunTask } from '../formats/index.js';
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
  /** The tasks whose values the program read or returned, in any order. */
  readonly reads: ReadonlySet<number>;
}

/**
 * recordedRun makes a recorded run of what a program did for a request.
 * @param calls the calls that the program made, in their order
 * @returns undefined where it made none, since a run has a task at least
 */
export function recordedRun(calls: readonly RecordedProgramCall[], sizes: RecordedSizes): Run | undefined {
  if (calls.length === 0) return undefined;
  const { application, requestBytes, outputBytes, reads } = sizes;
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
  const { version } = emittedHead('run', []);
  const run: Run = { kind: 'run', version, application, requestBytes, tasks };
  // Most programs read what their calls come after, and return what nothing takes: then there is nothing to be said of it.
  const isUsual = isReadIn(run).every((isRead, task) => isRead === reads.has(task));
  return isUsual ? run : { ...run, reads: [...reads].sort((a, b) => a - b) };
}
