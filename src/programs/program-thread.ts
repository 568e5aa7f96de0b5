import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import type { Fault } from '../formats/index.js';
import {
  Beat,
  type CalledFace,
  FULL_EXIT,
  type KeyedAnswer,
  NO_RUN,
  type ProgramAct,
  type ThreadAnswer,
  type ThreadData,
  type ThreadEvent,
  type ThreadOrder,
} from './messages.js';

const ENTRY = createRequire(import.meta.url).resolve('#dist/src/programs/program-worker.js');

/** The young generation of the heap, which V8 makes as large as the machine allows where no size is given. */
const YOUNG_MIB = 8;

/** LostThread says how a thread ended, and whose continuation ran then: NO_RUN where nobody's did. */
export interface LostThread {
  readonly cause: 'silent' | 'heap' | 'arrays' | 'exit' | 'awaits';
  readonly run: number;
  /** The error that ended the thread, where it is known. */
  readonly error?: Error;
}

/** ThreadListener hears what a thread tells. After `refused` and `lost` it hears nothing more. */
export interface ThreadListener {
  loaded(face: CalledFace): void;
  refused(faults: readonly Fault[]): void;
  /** acted tells what came of an event. */
  acted(event: ThreadEvent, acts: readonly ProgramAct[]): void;
  lost(how: LostThread): void;
  /** printed tells what the program wrote to its console. */
  printed(text: string): void;
}

/**
 * ProgramThread is the outer end of a program's thread: it sends events, hears answers in their order, and notices when
 * none come.
 */
export class ProgramThread {
  private readonly worker: Worker;
  private readonly beat = new Int32Array(new SharedArrayBuffer(Object.keys(Beat).length * 4));
  private readonly unanswered: ThreadEvent[] = [];
  private loaded = false;
  private isOver = false;
  /** The events that the thread had begun when it was last looked at; undefined where it had nothing to do then. */
  private eventsSeen: number | undefined;
  /** How long it is known to have begun no other. */
  private silentMs = 0;

  constructor(
    private readonly data: Omit<ThreadData, 'beat' | 'key'>,
    private readonly listener: ThreadListener,
  ) {
    this.beat[Beat.run] = NO_RUN;
    const key = randomUUID();
    const workerData: ThreadData = { ...data, key, beat: this.beat.buffer as SharedArrayBuffer };
    this.worker = new Worker(ENTRY, {
      workerData,
      env: {},
      execArgv: [],
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: data.limits.heapMiB, maxYoungGenerationSizeMb: YOUNG_MIB },
    });
    this.worker.on('message', (message: KeyedAnswer | undefined | null) => {
      if (message?.key === key) this.hear(message.answer);
    });
    this.worker.on('error', (error) => this.lose(isOutOfMemory(error) ? 'heap' : 'exit', error));
    this.worker.on('exit', (code) => this.lose(causeOf(code)));
    for (const stream of [this.worker.stdout, this.worker.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => this.listener.printed(text));
  }

  /** isLoaded says whether events can be sent. */
  get isLoaded(): boolean {
    return this.loaded;
  }

  /** send sends an event, which the thread answers, or an order. */
  send(message: ThreadEvent | ThreadOrder): void {
    if (message.event !== 'cancel') this.unanswered.push(message);
    this.worker.postMessage(message);
  }

  /**
   * watch looks whether the thread goes on. Each look counts for the time that lies between two by plan, however late
   * it comes, since a machine that keeps the watcher from its work also keeps the thread.
   */
  watch(sinceMs: number): void {
    const isBusy = !this.loaded || this.unanswered.length > 0;
    const events = isBusy ? Atomics.load(this.beat, Beat.events) : undefined;
    this.silentMs = isBusy && events === this.eventsSeen ? this.silentMs + sinceMs : 0;
    this.eventsSeen = events;
    const { continuationMs, loadMs } = this.data.limits;
    // Where no continuation runs, the thread has not come to its next event, and nobody is to blame.
    const isResumed = this.loaded && Atomics.load(this.beat, Beat.run) !== NO_RUN;
    if (this.silentMs >= (isResumed ? continuationMs : loadMs)) this.lose('silent');
  }

  /** end ends the thread, whatever it does. Nothing more is heard of it. */
  async end(): Promise<void> {
    this.isOver = true;
    await this.worker.terminate();
  }

  private hear(answer: ThreadAnswer): void {
    if (this.isOver) return;
    switch (answer.answer) {
      case 'loaded':
        this.loaded = true;
        this.eventsSeen = undefined;
        this.listener.loaded(answer.face);
        return;
      case 'refused':
        void this.end();
        this.listener.refused(answer.faults);
        return;
      case 'acted':
        this.listener.acted(this.unanswered.shift() as ThreadEvent, answer.acts);
    }
  }

  private lose(cause: LostThread['cause'], error?: Error): void {
    if (this.isOver) return;
    const run = Atomics.load(this.beat, Beat.run);
    void this.end();
    this.listener.lost({ cause, run, ...(error === undefined ? {} : { error }) });
  }
}

/** Node ends a thread with this code whose module awaits at its top level what nothing settles any more. */
const UNSETTLED_EXIT = 13;

function causeOf(code: number): LostThread['cause'] {
  if (code === FULL_EXIT) return 'arrays';
  return code === UNSETTLED_EXIT ? 'awaits' : 'exit';
}

function isOutOfMemory(error: Error): boolean {
  return (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY';
}
