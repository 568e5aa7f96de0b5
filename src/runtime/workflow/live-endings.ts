import { itemAt } from '../../collections/index.js';
import type { TensorData } from '../../execution/index.js';
import { tensorOfProgram } from '../../protocol/index.js';
import { Answer, DROP_REASONS, unreachable } from '../../serving/index.js';
import type { LiveModel } from '../bundle/pool-work.js';
import type { Drops } from '../live/drops.js';
import type { Ending } from '../live/live-requests.js';
import { NO_TIME, timesOf } from '../live/request-times.js';
import { toldOf } from '../live/told-of.js';
import { type AnsweredRow, answerOf } from '../tensors/tensors-of-rows.js';
import type { CoreInTurns } from './live-needs.js';
import type { LiveOutputs } from './live-outputs.js';
import type { RunPrograms } from './live-programs.js';
import type { LiveRun, OpenRuns, OpenWorkflow } from './live-runs.js';

/** The place that `Drops.ending` calls the entry. */
const NOWHERE = -1;

/** LiveEndingsOptions holds the parts of LiveEndings. */
export interface LiveEndingsOptions extends CoreInTurns {
  readonly models: readonly LiveModel[];
  readonly runs: OpenRuns;
  readonly outputs: LiveOutputs;
  readonly programs: Pick<RunPrograms, 'cancel'>;
  readonly drops: Pick<Drops, 'took' | 'gave' | 'ending'>;
  /**
   * follows does something once all decisions are carried out, as the core may use their numbers again once it is told
   * anything.
   */
  readonly follows: (act: () => void) => void;
}

/** LiveEndings gives each request of a client its one ending: when all rows are answered, or one of them fails or is dropped. */
export class LiveEndings {
  private readonly open = new Set<OpenWorkflow>();

  constructor(private readonly options: LiveEndingsOptions) {}

  /** pending counts the requests without an ending. */
  get pending(): number {
    return this.open.size;
  }

  /** opened takes in a request of a given number of rows. */
  opened(workflow: OpenWorkflow, rows: number): void {
    this.open.add(workflow);
    this.options.drops.took(workflow.application, rows);
  }

  /** answer ends a row as the core has decided. */
  answer(request: number, how: Answer): void {
    const run = this.options.runs.ofRequest(request);
    if (run === undefined) return;
    const { of, row } = run;
    switch (how) {
      case Answer.inTime:
      case Answer.late:
        of.isInTime &&= how === Answer.inTime;
        of.answers[row] = rowAnswer(run);
        this.over(run);
        if (of.runs.every((one) => one?.isOver)) this.end(of, this.answered(of));
        return;
      case Answer.failed:
        this.over(run);
        this.options.follows(() => this.end(of, { kind: 'failed', why: of.lastFailure }));
        return;
      default:
        unreachable(how);
    }
  }

  /** drop ends a request one of whose rows the core has dropped. */
  drop(request: number, reason: number, pool: number): void {
    const run = this.options.runs.ofRequest(request);
    if (run === undefined) return;
    const { of } = run;
    this.over(run);
    const ending = this.options.drops.ending(of.application, itemAt(DROP_REASONS, reason), pool);
    this.options.follows(() => this.end(of, ending));
  }

  /** cancel ends a request whose client has left, and returns whether it was open. */
  cancel(workflow: OpenWorkflow): boolean {
    if (workflow.isOver) return false;
    this.close(workflow);
    return true;
  }

  /** abandon ends every open request as dropped because the server closes. It gives how many these were. */
  abandon(): number {
    const open = [...this.open];
    for (const workflow of open)
      this.end(workflow, this.options.drops.ending(workflow.application, 'draining', NOWHERE));
    return open.length;
  }

  /** end ends a request, with all of its runs. */
  end(workflow: OpenWorkflow, ending: Ending): void {
    if (workflow.isOver) return;
    this.close(workflow);
    const { cameNs, readNs, batches, done } = workflow;
    const endNs = this.options.turns.now();
    const times = cameNs === undefined ? NO_TIME : timesOf({ cameNs, readNs, endNs }, batches);
    // Whoever is answered may use the memory again of what was sent.
    const bodies = workflow.runs.flatMap((run) => run?.body ?? []);
    const sent = ending.kind === 'answered' ? this.options.outputs.sentFromFront(bodies) : undefined;
    if (sent === undefined) done(ending, times);
    else void sent.then(() => done(ending, times));
  }

  private answered({ application, answers, isInTime }: OpenWorkflow): Ending {
    try {
      const rows = answers.map((answer) => answer!);
      return {
        kind: 'answered',
        inTime: isInTime,
        ...answerOf(itemAt(this.options.models, application), rows),
      };
    } catch (error) {
      return { kind: 'failed', why: toldOf(error) };
    }
  }

  private close(workflow: OpenWorkflow): void {
    const { core, turns, drops } = this.options;
    workflow.isOver = true;
    this.open.delete(workflow);
    drops.gave(workflow.application, workflow.runs.length);
    for (const run of workflow.runs) {
      if (run === undefined || run.isOver) continue;
      core.cancelled(turns.now(), run.request);
      turns.decideSoon();
      this.over(run);
    }
  }

  /** over lets go of a run for which nobody can ask any more. */
  private over(run: LiveRun): void {
    const { runs, programs, outputs } = this.options;
    run.isOver = true;
    programs.cancel(run.of.application, run.number);
    runs.remove(run);
    outputs.forget(run.body);
    for (const { output } of run.tasks) outputs.forget(output);
  }
}

function rowAnswer({ result, tasks, inputs }: LiveRun): AnsweredRow {
  const tensors: Record<string, TensorData> = {};
  for (const [name, output] of Object.entries(result!.outputs)) {
    if (!('from' in output)) tensors[name] = tensorOfProgram(output);
    else if (output.from === 'request') tensors[name] = inputs[output.input]!;
    else tensors[name] = itemAt(tasks, output.task).output.front[output.output]!;
  }
  return { tensors, answered: undefined };
}
