import { NONE as SHARED_NONE, Slots } from '../collections/index.js';
import type { WorkflowCore } from '../serving/index.js';
import type { EventQueue } from './events.js';
import { type RecordedRun, ReplayedProgram } from './programs.js';
import { WorkflowEvent as SharedWorkflowEvent } from './workflow-events.js';
import type { WorkflowLinks } from './workflow-links.js';

const NONE = SHARED_NONE;
const WorkflowEvent = SharedWorkflowEvent;

interface Call {
  readonly program: ReplayedProgram;
  readonly call: number;
}

/** WorkflowPrograms replays the programs of requests, and tells the core what they call, read and need no more. */
export class WorkflowPrograms {
  private readonly programs: (ReplayedProgram | undefined)[] = [];
  private readonly calls: (Call | undefined)[] = [];
  private readonly callSlots = new Slots();
  private readonly ofTask = new Map<number, Call>();

  constructor(
    private readonly core: WorkflowCore,
    private readonly events: EventQueue,
    private readonly links: WorkflowLinks,
  ) {}

  /** begin begins the program of a request. */
  begin(at: number, request: number, run: RecordedRun): ReplayedProgram {
    const program = new ReplayedProgram(request, run);
    this.programs[request] = program;
    this.makeAll(at, program, program.first());
    if (program.hasEnded) this.core.finished(at, request);
    return program;
  }

  /** due makes the call that a program has thought about. */
  due(at: number, slot: number): void {
    const { program, call } = this.calls[slot] as Call;
    this.calls[slot] = undefined;
    this.callSlots.giveBack(slot);
    this.makeAll(at, program, this.make(at, program, call));
  }

  /** read reports that an output has come to the front, where its program reads it if it does. */
  read(at: number, task: number): void {
    const { program, call } = this.ofTask.get(task) ?? {};
    if (program === undefined || call === undefined || !program.reads(call)) return;
    this.makeAll(at, program, program.read(call));
    if (program.hasEnded) this.core.finished(at, program.request);
  }

  /** lost reports that an output is not at the front, where it had moved to. */
  lost(at: number, task: number): void {
    const { program, call } = this.ofTask.get(task) ?? {};
    if (program === undefined || call === undefined) return;
    this.links.lose((output) => output.task === task && (output.from === NONE || output.to === NONE));
    this.core.outputLost(at, task);
    if (program.waitsForRead(call)) this.core.wanted(at, task);
  }

  /** bytesOf is how large the output of a task is, 0 where its request has its outcome. */
  bytesOf(task: number): number {
    const made = this.ofTask.get(task);
    return made === undefined ? 0 : made.program.callOf(made.call).outputBytes;
  }

  /** executed tells the core which inputs of executed tasks are needed no more. */
  executed(at: number, tasks: readonly number[]): void {
    for (const task of tasks) {
      const { program, call } = this.ofTask.get(task) ?? {};
      if (program === undefined || call === undefined || !program.hasReturned) continue;
      for (const input of new Set(program.callOf(call).inputs))
        if (input !== NONE) this.tellIfUnneeded(at, program, input);
    }
  }

  /** over ends the program of a request that has its outcome. */
  over(request: number): void {
    const program = this.programs[request] as ReplayedProgram;
    program.isOver = true;
    this.programs[request] = undefined;
    for (const task of program.tasks) this.ofTask.delete(task);
  }

  /**
   * makeAll makes calls that nothing keeps a program from any more, and those that follow from them at once, in the
   * order of the run. Where a program thinks before a call, it is made after that.
   */
  private makeAll(at: number, program: ReplayedProgram, released: readonly number[]): void {
    // The calls to be made now, the first one last.
    const due: number[] = [];
    const add = (calls: readonly number[]) => {
      for (const call of calls)
        if (!this.isThoughtAbout(at, program, call)) due.splice(placeIn(due, call), 0, call);
    };
    add(released);
    for (let call = due.pop(); call !== undefined; call = due.pop()) add(this.make(at, program, call));
  }

  /** isThoughtAbout returns whether a program thinks before a call, which is then made later. */
  private isThoughtAbout(at: number, program: ReplayedProgram, call: number): boolean {
    const { thinkNs } = program.callOf(call);
    if (thinkNs === 0) return false;
    const slot = this.callSlots.take();
    this.calls[slot] = { program, call };
    this.events.schedule(at + thinkNs, WorkflowEvent.callIsMade, slot);
    return true;
  }

  /** make makes a call, and gives those that have waited for it alone. */
  private make(at: number, program: ReplayedProgram, call: number): readonly number[] {
    if (program.isOver) return [];
    const { core } = this;
    const { component, rows, inputs } = program.callOf(call);
    const body = core.bodyOf(program.request);
    const sources = inputs.map((input) => (input === NONE ? body : (program.tasks[input] as number)));
    const task = core.submitted(at, program.request, { component, rows, inputs: sources });
    const next = program.called(call, task);
    if (task === NONE) return [];
    this.ofTask.set(task, { program, call });
    if (program.readsBeforeCall(call)) core.wanted(at, task);
    if (program.hasReturned) this.returned(at, program);
    if (program.hasEnded) core.finished(at, program.request);
    return next;
  }

  /**
   * returned reports the outputs that a program reads for its answer after its last call, and then those that it
   * needs no more: a result that was lost is made again, from what its task takes.
   */
  private returned(at: number, program: ReplayedProgram): void {
    for (const [call, task] of program.tasks.entries())
      if (program.isResult(call)) this.core.wanted(at, task);
    for (const call of program.tasks.keys()) this.tellIfUnneeded(at, program, call);
  }

  private tellIfUnneeded(at: number, program: ReplayedProgram, call: number): void {
    const task = program.tasks[call] as number;
    if (program.isResult(call) || this.core.takersOf(task) > 0) return;
    this.links.lose((output) => output.task === task);
    this.core.unneeded(at, task);
  }
}

/** placeIn finds the place of a number in a list that falls. */
function placeIn(falling: readonly number[], number: number): number {
  let place = falling.length;
  while (place > 0 && (falling[place - 1] as number) < number) place -= 1;
  return place;
}
