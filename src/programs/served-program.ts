import type { Attribution } from './attribution.js';
import {
  Beat,
  NO_RUN,
  type ProgramAct,
  type ThreadAnswer,
  type ThreadEvent,
  type ThreadOrder,
} from './messages.js';
import { ProgramRun, type RunSurroundings } from './program-run.js';

/** ServedParts are what a ServedProgram is made of. */
export interface ServedParts extends Omit<RunSurroundings, 'acting' | 'tell'> {
  readonly attribution: Attribution;
  readonly beat: Int32Array;
  readonly answer: (answer: ThreadAnswer) => void;
  /** later calls back when all that follows from what was done is done too, as setImmediate does. */
  readonly later: (act: () => void) => void;
  /** leaveIfFull ends the thread where it holds too much, with the run in the heartbeat that has brought it so far. */
  readonly leaveIfFull: () => void;
}

/**
 * ServedProgram runs a program for many requests in its thread. It takes one event at a time, waits until all
 * that follows from it is done, and answers what programs did meanwhile. The actions of programs in an event
 * that does not end are not reported.
 */
export class ServedProgram {
  private readonly runs = new Map<number, ProgramRun>();
  private readonly events: ThreadEvent[] = [];
  private isBusy = false;
  private acts: ProgramAct[] = [];
  private readonly around: RunSurroundings;

  constructor(private readonly parts: ServedParts) {
    this.around = { ...parts, acting: () => this.acting, tell: (act) => this.tell(act) };
  }

  /** acting is the run whose code is executed. */
  get acting(): ProgramRun | undefined {
    return this.runs.get(this.parts.attribution.current);
  }

  /** ownerOf gives the run that made a promise, as long as it goes on. */
  ownerOf(promise: Promise<unknown>): ProgramRun | undefined {
    return this.runs.get(this.parts.attribution.ownerOf(promise));
  }

  /** take takes an event when those before it are over, and an order at once. */
  take(message: ThreadEvent | ThreadOrder): void {
    if (message.event === 'cancel') {
      this.runs.get(message.run)?.cancel();
      this.runs.delete(message.run);
      return;
    }
    this.events.push(message);
    if (!this.isBusy) this.next();
  }

  private next(): void {
    const event = this.events.shift();
    this.isBusy = event !== undefined;
    if (event === undefined) return;
    const { attribution, beat, later } = this.parts;
    Atomics.add(beat, Beat.events, 1);
    attribution.resume(event.run);
    this.handle(event);
    later(() => this.over(event));
  }

  private handle(event: ThreadEvent): void {
    if (event.event === 'give') {
      this.runs.get(event.run)?.give(event.source, event.tensor, event.nowMs);
      return;
    }
    const run = new ProgramRun(this.around, event.run, event);
    this.runs.set(event.run, run);
    void run.begin();
  }

  private over({ run }: ThreadEvent): void {
    this.parts.attribution.resume(run);
    this.parts.leaveIfFull();
    this.runs.get(run)?.settle();
    this.parts.attribution.resume(NO_RUN);
    this.parts.answer({ answer: 'acted', acts: this.acts });
    this.acts = [];
    this.next();
  }

  private tell(act: ProgramAct): void {
    this.acts.push(act);
    if (act.act === 'end') this.runs.delete(act.run);
  }
}
