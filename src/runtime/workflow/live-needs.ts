import { itemAt } from '../../collections/index.js';
import type { WorkflowCore } from '../../serving/index.js';
import type { CoreTurns } from '../live/core-turns.js';
import type { LiveOutputs } from './live-outputs.js';
import type { CalledTask, LiveRun } from './live-runs.js';

/** CoreInTurns is a core with the clock by which it is told what happens. */
export interface CoreInTurns {
  readonly core: WorkflowCore;
  readonly turns: CoreTurns;
}

/** LiveNeedsOptions holds the parts of LiveNeeds. */
export interface LiveNeedsOptions extends CoreInTurns {
  readonly outputs: LiveOutputs;
  /** unneeded counts an output that is let go. */
  readonly unneeded: () => void;
}

/**
 * LiveNeeds knows for which outputs nobody can ask any more. A program may use its handles until it has returned; after
 * that an output is needed by the calls that take it and have not been executed, and where the result names it.
 */
export class LiveNeeds {
  constructor(private readonly options: LiveNeedsOptions) {}

  /** isLastUse returns whether nothing needs the output of a task but `takers` tasks of a batch. */
  isLastUse(task: CalledTask, takers: number): boolean {
    return hasNoReaders(task) && this.options.core.takersOf(task.number) === takers;
  }

  /** returned lets go of what a program that has returned needs no more. */
  returned({ tasks }: LiveRun): void {
    for (const task of tasks) this.letGo(task);
  }

  /** executed lets go of what nothing takes any more once these tasks have been executed. */
  executed(tasks: readonly CalledTask[]): void {
    for (const task of tasks)
      for (const one of new Set([...inputsOf(task), task])) if (!one.run.isOver) this.letGo(one);
  }

  private letGo(task: CalledTask): void {
    const { core, turns, outputs, unneeded } = this.options;
    const { isOver, sizes } = task.output;
    if (isOver || Object.keys(sizes).length === 0 || !this.isLastUse(task, 0)) return;
    outputs.giveUp(task.output);
    core.unneeded(turns.now(), task.number);
    unneeded();
  }
}

/** inputsOf lists the tasks whose outputs a task takes, each once. */
export function inputsOf({ run, call }: CalledTask): CalledTask[] {
  const tasks = call.inputs.flatMap(({ source }) =>
    source.from === 'task' ? [itemAt(run.tasks, source.task)] : [],
  );
  return [...new Set(tasks)];
}

/** hasNoReaders returns whether neither the program of a task nor its client can ask for its output any more. */
function hasNoReaders({ run, answers }: CalledTask): boolean {
  return run.result !== undefined && answers.size === 0;
}
