import { type Fault, fault } from './errors.js';

/**
 * Run is a recorded request of a workflow, whose program chose its tasks as it went. Under every scheduler a task is
 * submitted when the values were read that the program had read before, so that a run can be replayed under any.
 */
export interface Run {
  $schema?: string;
  kind: 'run';
  version: string;
  /** The workflow that was called, by its name. */
  application: string;
  /** The size of the request, as a task gets it that has the request as an input. */
  requestBytes: number;
  /** The calls of components, in the order in which they became known. Others name them by their places, from 0 on. */
  tasks: RunTask[];
  /** The tasks whose values the program read or returned. Default: those that a call came after, and those that no task takes. */
  reads?: number[];
}

/** isReadIn tells of each task of a run whether its program read or returned a value of it. */
export function isReadIn({ tasks, reads }: Pick<Run, 'tasks' | 'reads'>): boolean[] {
  const before = new Set(tasks.flatMap(({ after }) => after));
  if (reads !== undefined) {
    const own = new Set([...before, ...reads]);
    return tasks.map((_, t) => own.has(t));
  }
  const taken = new Set(tasks.flatMap(({ inputs }) => inputs));
  return tasks.map((_, t) => before.has(t) || !taken.has(t));
}

/** RunTask is a call of a component. */
export interface RunTask {
  component: string;
  /**
   * The inputs of the call: the outputs of tasks before it, and the request. An input that it gets twice is
   * listed twice.
   */
  inputs: (number | 'request')[];
  /** The tasks whose values were read before the call was made. Without any, it was known when the request came. */
  after: number[];
  /** How long the program took from the last of these reads, or from the request, to the call. Default 0. */
  thinkMs?: number;
  /** The size of what it gave. */
  outputBytes: number;
  /** How many rows of a batch it takes. */
  rows: number;
}

/**
 * taskOrderFaults finds where a run that keeps to its schema contradicts itself: a task that needs itself, or one that
 * comes later.
 */
export function* taskOrderFaults({ tasks, reads = [] }: Run): Generator<Fault> {
  for (const [i, read] of reads.entries())
    if (read >= tasks.length)
      yield fault(
        `is ${read}, and the last task is ${tasks.length - 1}; give the place of a task, from 0 on`,
        `/reads/${i}`,
      );
  for (const [own, { inputs, after }] of tasks.entries()) {
    for (const [i, input] of inputs.entries())
      if (input !== 'request' && input >= own)
        yield fault(
          `${notBefore(input, own)}; give ${own === 0 ? '' : `${before(own)}, or `}"request"`,
          `/tasks/${own}/inputs/${i}`,
        );
    for (const [i, read] of after.entries())
      if (read >= own)
        yield fault(
          `${notBefore(read, own)}; ${own === 0 ? 'leave it out' : `give ${before(own)}`}`,
          `/tasks/${own}/after/${i}`,
        );
  }
}

function notBefore(named: number, own: number): string {
  return `is ${named}, and ${own === 0 ? 'no task stands before the first' : `this is task ${own}`}`;
}

function before(own: number): string {
  return own === 1 ? 'task 0, which stands before it' : `a task before it, 0 to ${own - 1}`;
}
