import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { checkPlainFile } from '../artifacts/index.js';
import { type Fault, fault, InputError } from '../formats/index.js';
import { MACHINE_CLOCK, type ProgramClock } from './clock.js';
import { PROGRAM_LIMITS, type ProgramLimits } from './limits.js';
import {
  type CalledFace,
  hasFailed,
  NO_RUN,
  type ProgramAct,
  type ProgramCall,
  type ProgramEnd,
  type ProgramFailure,
  type SourceName,
  sourceText,
  type ThreadEvent,
} from './messages.js';
import { OpenRun } from './open-run.js';
import type { ProgramTensor } from './program.js';
import { type LostThread, ProgramThread } from './program-thread.js';
import type { RecordedProgramCall } from './recorded-run.js';

/**
 * ProgramDriver hears what programs do, and answers what they want by `ProgramHost.give`. Runs are named by the numbers
 * with which it began them.
 */
export interface ProgramDriver {
  /** called reports that a run calls a component. */
  called(run: number, call: ProgramCall): void;
  /** wanted tells, once for each source, that a run reads a source. */
  wanted(run: number, source: SourceName): void;
  /**
   * ended tells, once for each run, how it ended. Outputs that a result names by their sources have not been `wanted`: the driver
   * brings them to the client.
   * @param calls all calls that it made, for `recordedRun`
   */
  ended(run: number, end: ProgramEnd, calls: readonly RecordedProgramCall[]): void;
}

/** ProgramHostOptions says what a program is served with. */
export interface ProgramHostOptions {
  /** The components that it may call, by name. A first size of −1 is that of a batch's rows. */
  readonly components: Readonly<Record<string, CalledFace>>;
  readonly driver: ProgramDriver;
  /** The seed of the randomness of all runs, beside the number of each run. */
  readonly seed: number;
  /** In place of those of PROGRAM_LIMITS. */
  readonly limits?: Partial<ProgramLimits> | undefined;
  /** By default that of the machine. */
  readonly clock?: ProgramClock | undefined;
  /** Hears what the program writes to its console, which goes nowhere by default. */
  readonly printed?: ((text: string) => void) | undefined;
}

/** A thread is looked at so often within the time that a continuation may take. */
const LOOKS = 4;
/** The numbers of runs begin anew behind this one, the last that the heartbeat can hold. */
const MOST_ID = 2 ** 31 - 1;

/**
 * ProgramHost runs the program of one application for all its requests, in a thread of its own. A run that
 * throws, that takes more than it may or that goes on for ever ends with its reason. Where only the end of
 * the thread can end it, the others are replayed on a fresh one: they get the same events again, and calls
 * that they have made are not reported twice.
 */
export class ProgramHost {
  private readonly open = new Map<number, OpenRun>();
  private readonly ids = new Map<number, number>();
  private thread: ProgramThread | undefined;
  private nextId = 0;
  private isClosed = false;
  private readonly limits: ProgramLimits;
  private readonly clock: ProgramClock;
  private readonly startMs: number;
  private readonly stopWatch: () => void;
  private tensors: CalledFace | undefined;
  /** The promise that waits for the first thread to be loaded. */
  private first: { readonly resolve: () => void; readonly reject: (error: InputError) => void } | undefined;

  private constructor(
    private readonly path: string,
    private readonly options: ProgramHostOptions,
  ) {
    this.limits = { ...PROGRAM_LIMITS, ...options.limits };
    this.clock = options.clock ?? MACHINE_CLOCK;
    this.startMs = this.clock.nowMs();
    const periodMs = this.limits.continuationMs / LOOKS;
    this.stopWatch = this.clock.every(periodMs, () => this.watch(periodMs));
  }

  /**
   * start loads a program, a module of JavaScript.
   * @throws MissingError where there is no such file; InputError with everything that keeps the module from being a program
   */
  static async start(path: string, options: ProgramHostOptions): Promise<ProgramHost> {
    await checkPlainFile(path);
    const host = new ProgramHost(path, options);
    try {
      await new Promise<void>((resolve, reject) => {
        host.first = { resolve, reject };
        host.startThread();
      });
    } catch (error) {
      await host.close();
      throw error;
    }
    return host;
  }

  /** face has the tensors that clients send and get. */
  get face(): CalledFace {
    return this.tensors as CalledFace;
  }

  /**
   * begin runs the program for a row of a request.
   * @param run a number that no run has that goes on. With the seed it determines what the program draws
   */
  begin(run: number): void {
    if (this.isClosed) throw new Error(`Cannot begin run ${run}: the program is closed`);
    if (this.ids.has(run)) throw new Error(`Cannot begin run ${run}: it goes on already`);
    const id = this.unusedId();
    const nowMs = this.clock.nowMs();
    const open = new OpenRun(id, run, nowMs);
    this.open.set(id, open);
    this.ids.set(run, id);
    this.tell(open, { event: 'begin', run: id, stream: run, nowMs });
    if (this.thread === undefined) this.startThread();
  }

  /**
   * give hands in the values of a source that was `wanted`. They are kept as long as the run goes on: nobody may change
   * them. It does nothing where the run has ended.
   */
  give(run: number, source: SourceName, tensor: ProgramTensor): void {
    const open = this.find(run);
    if (open === undefined) return;
    if (!open.takes(source))
      throw new Error(`Cannot give run ${run} ${sourceText(source)}: it waits for no such values`);
    this.tell(open, { event: 'give', run: open.id, source, tensor, nowMs: this.clock.nowMs() });
  }

  /** cancel ends a run, of which nothing more is reported. It does nothing where the run has ended. */
  cancel(run: number): void {
    const open = this.find(run);
    if (open !== undefined) this.forget(open);
  }

  /** close ends the thread. Nothing more is reported of runs that go on. */
  async close(): Promise<void> {
    this.isClosed = true;
    this.stopWatch();
    this.open.clear();
    this.ids.clear();
    await this.thread?.end();
  }

  private find(run: number): OpenRun | undefined {
    const id = this.ids.get(run);
    return id === undefined ? undefined : this.open.get(id);
  }

  private unusedId(): number {
    while (this.open.has(this.nextId)) this.nextId = this.nextId === MOST_ID ? 0 : this.nextId + 1;
    const id = this.nextId;
    this.nextId = id === MOST_ID ? 0 : id + 1;
    return id;
  }

  private tell(open: OpenRun, event: ThreadEvent): void {
    open.record(event);
    if (this.thread?.isLoaded) this.thread.send(event);
  }

  private startThread(): void {
    const url = pathToFileURL(resolve(this.path)).href;
    // Other fields that a driver keeps of its components may be nothing that can be sent between threads.
    const faces = Object.entries(this.options.components).map(([name, { inputs, outputs }]) => [
      name,
      { inputs, outputs },
    ]);
    const components = Object.fromEntries(faces) as ProgramHostOptions['components'];
    const data = { url, components, seed: this.options.seed, limits: this.limits, nowMs: this.startMs };
    this.thread = new ProgramThread(data, {
      loaded: (face) => this.loaded(face),
      refused: (faults) => this.refused(faults),
      acted: (event, acts) => this.acted(event, acts),
      lost: (how) => this.lost(how),
      printed: (text) => this.options.printed?.(text),
    });
  }

  private loaded(face: CalledFace): void {
    this.tensors = face;
    this.first?.resolve();
    this.first = undefined;
    for (const open of this.open.values()) for (const event of open.again()) this.thread?.send(event);
  }

  private refused(faults: readonly Fault[]): void {
    this.thread = undefined;
    if (this.first !== undefined) this.first.reject(new InputError(`use the program ${this.path}`, faults));
    else this.endAll({ reason: 'program-error', message: `could not be loaded again: ${told(faults)}` });
  }

  private acted(event: ThreadEvent, acts: readonly ProgramAct[]): void {
    this.open.get(event.run)?.resumes();
    for (const act of acts) {
      const open = this.open.get(act.run);
      if (open !== undefined) this.act(open, act);
    }
    const open = this.open.get(event.run);
    const difference = open?.settles();
    if (open !== undefined && difference !== undefined) this.refuseReplay(open, difference);
  }

  private act(open: OpenRun, act: ProgramAct): void {
    const { driver } = this.options;
    switch (act.act) {
      case 'call': {
        const made = open.makes(act.call, this.clock.nowMs());
        if (made === 'new') driver.called(open.run, act.call);
        else if (made !== 'again') this.refuseReplay(open, made.differs);
        return;
      }
      case 'want':
        if (open.wants(act.source)) driver.wanted(open.run, act.source);
        return;
      case 'end': {
        const difference = hasFailed(act.end) ? undefined : open.settles();
        if (difference === undefined) this.end(open, act.end);
        else this.refuseReplay(open, difference);
      }
    }
  }

  private refuseReplay(open: OpenRun, message: string): void {
    this.end(open, { reason: 'program-not-deterministic', message });
  }

  private end(open: OpenRun, end: ProgramEnd): void {
    this.forget(open);
    this.options.driver.ended(open.run, end, open.calls);
  }

  private forget(open: OpenRun): void {
    this.open.delete(open.id);
    this.ids.delete(open.run);
    if (this.thread?.isLoaded) this.thread.send({ event: 'cancel', run: open.id });
  }

  private endAll(end: ProgramFailure): void {
    for (const open of [...this.open.values()]) this.end(open, end);
  }

  private lost(how: LostThread): void {
    const isLoaded = this.thread?.isLoaded === true;
    this.thread = undefined;
    const end = this.failureOf(how, isLoaded);
    if (this.first !== undefined) {
      this.first.reject(new InputError(`use the program ${this.path}`, [fault(`its module ${end.message}`)]));
      return;
    }
    // The driver may have given up the culprit meanwhile. Where there is none, as while the module is loaded, all have to end.
    const culprit = this.open.get(how.run);
    if (culprit !== undefined) this.end(culprit, end);
    else if (how.run === NO_RUN) this.endAll(end);
    // A driver that has begun another run meanwhile has started it.
    if (this.open.size > 0 && this.thread === undefined) this.startThread();
  }

  private failureOf({ cause, run, error }: LostThread, isLoaded: boolean): ProgramFailure {
    const { continuationMs, loadMs, heapMiB, arraysMiB } = this.limits;
    switch (cause) {
      case 'silent': {
        if (!isLoaded) return { reason: 'program-stuck', message: `had not loaded after ${loadMs} ms` };
        const looped = `did not give control back within ${continuationMs} ms: it loops for ever, or computes too long at a stretch`;
        const idle = `runs in a thread that has done nothing for ${loadMs} ms`;
        return { reason: 'program-stuck', message: run === NO_RUN ? idle : looped };
      }
      case 'heap':
        return { reason: 'program-limit', message: `took more than ${heapMiB} MiB of heap` };
      case 'arrays':
        return {
          reason: 'program-limit',
          message: `brought what typed arrays of all runs hold beyond ${arraysMiB} MiB`,
        };
      case 'awaits':
        return { reason: 'program-error', message: 'awaits at its top level what never comes' };
      case 'exit':
        return {
          reason: 'program-error',
          message: `ended its thread${error === undefined ? ', as process.exit() does: a program returns its outputs' : `: ${error.message}`}`,
        };
    }
  }

  private watch(sinceMs: number): void {
    this.thread?.watch(sinceMs);
    const { runMs } = this.limits;
    const latestMs = this.clock.nowMs() - runMs;
    for (const open of [...this.open.values()]) {
      if (open.begunMs > latestMs) return;
      this.end(open, {
        reason: 'program-limit',
        message: `had not ended after ${runMs} ms, the longest that a run may take`,
      });
    }
  }
}

function told(faults: readonly Fault[]): string {
  return faults.map(({ path, message }) => `${path} ${message}`.trim()).join('; ');
}
