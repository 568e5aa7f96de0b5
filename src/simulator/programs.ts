import { itemAt, NONE } from '../collections/index.js';

/** RecordedCall is a call that a program made. */
export interface RecordedCall {
  readonly component: number;
  readonly rows: number;
  /** The calls whose outputs it takes, by their places in the run; NONE for what the client sent. */
  readonly inputs: readonly number[];
  /** The calls whose outputs the program had read before it made this one. */
  readonly after: readonly number[];
  /** How long the program took from the last of these reads, or from its start, to the call. */
  readonly thinkNs: number;
  readonly outputBytes: number;
}

/** RecordedRun is what a program did for a request. */
export interface RecordedRun {
  readonly requestBytes: number;
  readonly calls: readonly RecordedCall[];
  /**
   * The calls whose outputs the program read or returned; where absent, those that a call came after, and those that
   * nothing took.
   */
  readonly reads?: readonly number[];
}

/**
 * ReplayedProgram makes the calls of a run again, each when the outputs that it came after have been read. A program reads what its
 * calls came after, and for its answer what else it read or returned.
 */
export class ReplayedProgram {
  /** The task of each call that was made, NONE of the others. */
  readonly tasks: Int32Array;
  /**
   * For each call, how many reads and calls it still waits for, the calls that wait for a read of its output, and those
   * that take it.
   */
  private readonly waitsFor: Int32Array;
  private readonly waiting: readonly number[][];
  private readonly takers: readonly number[][];
  /** For each call, whether its output is still to be read, and whether it is read for the answer alone. */
  private readonly isRead: Uint8Array;
  private readonly isForAnswer: Uint8Array;
  private callsLeft: number;
  private readsLeft: number;
  /** isOver says whether the request has its outcome, so that no more is called. */
  isOver = false;

  constructor(
    readonly request: number,
    private readonly run: RecordedRun,
  ) {
    const { calls, reads } = run;
    this.tasks = new Int32Array(calls.length).fill(NONE);
    this.waiting = calls.map(() => []);
    this.takers = calls.map(() => []);
    const isTaken = new Uint8Array(calls.length);
    for (const [call, { inputs, after }] of calls.entries()) {
      for (const input of new Set(inputs)) {
        if (input === NONE) continue;
        isTaken[input] = 1;
        itemAt(this.takers, input).push(call);
      }
      for (const read of after) itemAt(this.waiting, read).push(call);
    }
    this.waitsFor = Int32Array.from(calls, ({ inputs, after }) => {
      const taken = new Set(inputs);
      taken.delete(NONE);
      return after.length + taken.size;
    });
    const isAnswered = reads === undefined ? isTaken.map((taken) => 1 - taken) : marks(calls.length, reads);
    this.isForAnswer = isAnswered.map((answered, call) => (this.readsBeforeCall(call) ? 0 : answered));
    this.isRead = isAnswered.map((answered, call) => (this.readsBeforeCall(call) ? 1 : answered));
    this.callsLeft = calls.length;
    this.readsLeft = this.isRead.reduce((sum, read) => sum + read, 0);
  }

  /** callOf is the call at a place in the run. */
  callOf(call: number): RecordedCall {
    return this.run.calls[call] as RecordedCall;
  }

  /** first lists the calls that are made without having read anything. */
  first(): number[] {
    return [...this.waitsFor.keys()].filter((call) => this.waitsFor[call] === 0);
  }

  /** reads returns whether the output of a call is still to be read. */
  reads(call: number): boolean {
    return this.isRead[call] === 1;
  }

  /** readsBeforeCall returns whether a call comes after a read of the output of another. */
  readsBeforeCall(call: number): boolean {
    return (this.waiting[call] as number[]).length > 0;
  }

  /** isResult returns whether the output of a call is read for the answer alone. */
  isResult(call: number): boolean {
    return this.isForAnswer[call] === 1;
  }

  /** waitsForRead returns whether the program waits for the output of a call now. */
  waitsForRead(call: number): boolean {
    return this.reads(call) && (this.readsBeforeCall(call) || this.hasReturned);
  }

  /** hasReturned returns whether all calls were made, so that nothing but the answer is read any more. */
  get hasReturned(): boolean {
    return this.callsLeft === 0;
  }

  /**
   * called reports that a call was made.
   * @returns the calls that have waited for this alone, as they take its output
   */
  called(call: number, task: number): number[] {
    this.tasks[call] = task;
    this.callsLeft -= 1;
    return this.released(this.takers[call] as number[]);
  }

  /**
   * read reports that an output was read.
   * @returns the calls that have waited for this read alone
   */
  read(call: number): number[] {
    this.isRead[call] = 0;
    this.readsLeft -= 1;
    return this.released(this.waiting[call] as number[]);
  }

  private released(waiting: readonly number[]): number[] {
    return waiting.filter((call) => {
      this.waitsFor[call]! -= 1;
      return this.waitsFor[call] === 0;
    });
  }

  /** hasEnded returns whether all was called and read. */
  get hasEnded(): boolean {
    return this.callsLeft === 0 && this.readsLeft === 0;
  }
}

/** marks has a 1 at each of some places. */
function marks(length: number, places: readonly number[]): Uint8Array {
  const marked = new Uint8Array(length);
  for (const place of places) marked[place] = 1;
  return marked;
}
