import { itemAt, NONE } from '../../collections/index.js';
import type { Tensors } from '../../execution/index.js';
import {
  hasFailed,
  type ProgramCall,
  type ProgramDriver,
  type ProgramEnd,
  type ProgramTensor,
  type SourceName,
} from '../../programs/index.js';
import { programTensor } from '../../protocol/index.js';
import type { Ending } from '../live/live-requests.js';
import { futureOutput, type KeptOutput, missingAtFront } from './kept-output.js';
import type { CoreInTurns, LiveNeeds } from './live-needs.js';
import type { LiveOutputs } from './live-outputs.js';
import type { CalledTask, LiveRun, OpenRuns, OpenWorkflow } from './live-runs.js';

/** RunPrograms runs the programs of applications, as `ProgramHost` does for one. */
export interface RunPrograms {
  begin(application: number, run: number): void;
  give(
    run: { readonly application: number; readonly number: number },
    source: SourceName,
    tensor: ProgramTensor,
  ): void;
  cancel(application: number, run: number): void;
}

/** LiveProgramsOptions holds the parts of LivePrograms. */
export interface LiveProgramsOptions extends CoreInTurns {
  readonly runs: OpenRuns;
  readonly outputs: LiveOutputs;
  readonly needs: LiveNeeds;
  readonly programs: Pick<RunPrograms, 'give'>;
  readonly componentOf: ReadonlyMap<string, number>;
  /** fail ends a request. */
  readonly fail: (workflow: OpenWorkflow, ending: Ending) => void;
}

/** LivePrograms tells the core what programs call, read and return, and brings them what they read. */
export class LivePrograms implements ProgramDriver {
  constructor(private readonly options: LiveProgramsOptions) {}

  called(number: number, call: ProgramCall): void {
    const { core, turns, runs, componentOf } = this.options;
    const run = runs.run(number);
    if (run === undefined) return;
    const { component, rows, inputs } = call;
    const sources = inputs.map(({ source }) =>
      source.from === 'request' ? run.bodyTask : itemAt(run.tasks, source.task).number,
    );
    const told = { component: componentOf.get(component) as number, rows, inputs: sources };
    const task: CalledTask = {
      run,
      call,
      number: core.submitted(turns.now(), run.request, told),
      output: futureOutput(),
      wanted: new Set(),
      answers: new Set(),
      isAtFront: false,
      bringing: new Set(),
    };
    run.tasks.push(task);
    if (task.number === NONE) return;
    runs.addTask(task);
    turns.decideSoon();
  }

  wanted(number: number, source: SourceName): void {
    const run = this.options.runs.run(number);
    if (run === undefined) return;
    if (source.from === 'request') {
      this.give(run, source, run.inputs);
      return;
    }
    const task = itemAt(run.tasks, source.task);
    task.wanted.add(source.output);
    this.bring(task);
  }

  ended(number: number, end: ProgramEnd): void {
    const { runs, needs, turns, fail } = this.options;
    const run = runs.run(number);
    if (run === undefined) return;
    if (hasFailed(end)) {
      fail(run.of, { kind: 'failed', why: `${end.reason}: ${end.message}` });
      turns.decideSoon();
      return;
    }
    run.result = end;
    for (const output of Object.values(end.outputs))
      if ('from' in output && output.from === 'task') {
        const task = itemAt(run.tasks, output.task);
        task.answers.add(output.output);
        run.awaited.add(task);
      }
    for (const task of [...run.awaited]) this.bring(task);
    needs.returned(run);
    this.finishIfThere(run);
  }

  /** moved hears that the core has had an output brought to the front. */
  moved(output: KeptOutput): void {
    const task = this.options.runs.makerOf(output);
    if (task === undefined) return;
    task.isAtFront = true;
    this.bring(task);
  }

  /** came hears that tensors have come to the front. */
  came(output: KeptOutput): void {
    const task = this.options.runs.makerOf(output);
    if (task === undefined) return;
    task.bringing.clear();
    this.bring(task);
  }

  /** lost tells the core that an output is not at the front, so that it is brought there again, or made again. */
  lost(output: KeptOutput): void {
    const { core, turns, runs } = this.options;
    const task = runs.makerOf(output);
    if (task === undefined) return;
    task.isAtFront = false;
    task.bringing.clear();
    core.outputLost(turns.now(), task.number);
    this.bring(task);
    turns.decideSoon();
  }

  /** namesToFront lists the tensors of an output that go to the front when the core has it brought there. */
  namesToFront(output: KeptOutput): string[] {
    const { wanted = [], answers = [] } = this.options.runs.makerOf(output) ?? {};
    return missingAtFront(output, new Set([...wanted, ...answers])).filter((name) => name in output.sizes);
  }

  /** bring has an output brought to the front that the program or its client needs, once, and hands over what has come there. */
  private bring(task: CalledTask): void {
    const { core, turns, outputs } = this.options;
    const { run, output, wanted, answers, number } = task;
    const needed = new Set([...wanted, ...answers]);
    const lacking = [...needed].find((name) => isLacking(output, name));
    if (lacking !== undefined) this.failFor(run, lacking);
    else if (task.isAtFront) {
      this.handOver(task);
      const missing = missingAtFront(output, needed).filter((name) => !task.bringing.has(name));
      for (const name of missing) task.bringing.add(name);
      if (missing.length > 0) outputs.bring(output, missing);
    } else if (needed.size > 0 && number !== NONE) {
      core.wanted(turns.now(), number);
      turns.decideSoon();
    }
  }

  /** handOver gives the program what it waits for and is at the front, and lets its run finish where that was all. */
  private handOver(task: CalledTask): void {
    const { run, call, output, wanted, answers } = task;
    for (const name of wanted) {
      if (output.front[name] === undefined) continue;
      wanted.delete(name);
      this.give(run, { from: 'task', task: call.task, output: name }, output.front);
    }
    if (missingAtFront(output, answers).length > 0) return;
    if (run.awaited.delete(task)) this.finishIfThere(run);
  }

  private give(run: LiveRun, source: SourceName, tensors: Tensors): void {
    const name = source.from === 'request' ? source.input : source.output;
    const tensor = tensors[name];
    const { application } = run.of;
    if (tensor === undefined) this.failFor(run, name);
    else this.options.programs.give({ application, number: run.number }, source, programTensor(tensor));
  }

  private failFor(run: LiveRun, name: string): void {
    const why = `the program reads ${name}, which its component did not give`;
    this.options.fail(run.of, { kind: 'failed', why });
  }

  /** finishIfThere reports that a program has ended once all that it answers with is at the front. */
  private finishIfThere(run: LiveRun): void {
    const { core, turns } = this.options;
    if (run.result === undefined || run.awaited.size > 0 || run.isFinished || run.isOver) return;
    run.isFinished = true;
    core.finished(turns.now(), run.request);
    turns.decideSoon();
  }
}

/** isLacking returns whether an output exists, and has no tensor of a name. */
function isLacking({ sizes }: KeptOutput, name: string): boolean {
  return Object.keys(sizes).length > 0 && !(name in sizes);
}
