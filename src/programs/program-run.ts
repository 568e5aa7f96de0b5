import { type Stream, streamOf } from '../random/index.js';
import { resultOf } from './answer.js';
import type { ProgramLimits } from './limits.js';
import {
  type CalledFace,
  type FailureReason,
  type ProgramAct,
  type ProgramEnd,
  type SourceName,
  sourceKey,
  sourceText,
} from './messages.js';
import type {
  Datatype,
  Program,
  ProgramContext,
  ProgramTensor,
  TaskHandle,
  TensorMetadata,
  TensorSource,
  WorkflowRequest,
} from './program.js';
import { fitted, type KnownSource, names, ProgramSources, rowsOfShape } from './program-sources.js';
import { placeOf, toldError } from './told-error.js';

/** RunSurroundings is what all runs of a thread have in common. */
export interface RunSurroundings {
  readonly program: Program;
  readonly face: CalledFace;
  readonly components: Readonly<Record<string, CalledFace>>;
  readonly limits: ProgramLimits;
  readonly seed: number;
  /** acting gives the run whose code is executed. */
  readonly acting: () => ProgramRun | undefined;
  readonly tell: (act: ProgramAct) => void;
}

/** A read that was made, and what settles it; undefined once the values have come. */
interface Read {
  readonly values: Promise<ProgramTensor>;
  settle: ((tensor: ProgramTensor) => void) | undefined;
}

/**
 * ProgramRun is a run of a program in its thread: it gives the program its handles, and reports what the program does
 * with them.
 */
export class ProgramRun {
  private readonly sources = new ProgramSources();
  private readonly reads = new Map<string, Read>();
  /** Reads whose values have not come. */
  private awaited = 0;
  private tasks = 0;
  private isOver = false;
  private timeMs: number;
  private readonly draws: Stream;

  /** @param stream names the run's stream of random numbers */
  constructor(
    private readonly around: RunSurroundings,
    private readonly run: number,
    { stream, nowMs }: { readonly stream: number; readonly nowMs: number },
  ) {
    this.timeMs = nowMs;
    this.draws = streamOf(around.seed, `program/${stream}`);
  }

  /** nowMs is the time at which the last event of the run came. */
  get nowMs(): number {
    return this.timeMs;
  }

  readonly random = (): number => this.draws.uniform();

  /** begin starts the program. */
  async begin(): Promise<void> {
    const { program, face } = this.around;
    try {
      const returned = await program(this.request, this.context);
      const result = resultOf(returned, face, this.sources);
      this.end('outputs' in result ? result : { reason: 'program-error', message: result.join('; ') });
    } catch (error) {
      this.fail('program-error', toldError(error));
    }
  }

  /** give hands in the values of a source that the program reads. */
  give(source: SourceName, tensor: ProgramTensor, nowMs: number): void {
    const read = this.reads.get(sourceKey(source));
    if (read?.settle === undefined) {
      this.fail('program-not-deterministic', `did not read ${sourceText(source)} when it was replayed`);
      return;
    }
    this.timeMs = nowMs;
    this.awaited -= 1;
    read.settle(tensor);
    read.settle = undefined;
  }

  /**
   * settle ends the run where nothing that will be handed in can resume it. It is called when nothing of it is left to
   * be executed.
   */
  settle(): void {
    if (this.awaited > 0) return;
    this.fail(
      'program-stuck',
      'waits for what is neither a read nor follows from one, so that it would never go on: a program may await handle.read() and request.read() alone',
    );
  }

  /** left reports that something was rejected, or thrown, that the program does not wait for. */
  left(error: unknown): void {
    this.fail('program-error', `${toldError(error)}, where nothing awaited it`);
  }

  /** fail ends the run without an answer. */
  fail(reason: FailureReason, message: string): void {
    this.end({ reason, message });
  }

  /** cancel ends the run without telling. */
  cancel(): void {
    this.isOver = true;
  }

  private end(end: ProgramEnd): void {
    if (this.isOver) return;
    this.isOver = true;
    this.around.tell({ act: 'end', run: this.run, end });
  }

  private readonly request: WorkflowRequest = {
    in: (name) => this.sources.add(this.input(name, this.request.in)),
    read: (name, datatype) =>
      this.read(this.input(name, this.request.read), datatype, this.request.read) as never,
  };

  private readonly call = (component: string, inputs: Readonly<Record<string, TensorSource>>): TaskHandle => {
    this.refuseOthers(this.call);
    const { components, limits } = this.around;
    if (this.tasks === limits.tasks)
      this.refuse(
        `makes more than ${limits.tasks} calls, the most that one run may`,
        this.call,
        'program-limit',
      );
    const face = Object.hasOwn(components, component) ? components[component] : undefined;
    if (face === undefined) {
      const known = Object.keys(components).sort().join(', ');
      return this.refuse(`calls "${component}", which is no component here; there are ${known}`, this.call);
    }
    const fit = fitted(face, inputs ?? {}, this.sources);
    if (!('inputs' in fit)) return this.refuse(`calls ${component}: ${fit.join('; ')}`, this.call);
    const task = this.tasks++;
    this.around.tell({ act: 'call', run: this.run, call: { task, component, ...fit } });
    return this.handle(component, face, { task, rows: fit.rows });
  };

  private readonly context: ProgramContext = {
    call: this.call,
    now: () => this.timeMs,
    random: this.random,
  };

  private handle(
    component: string,
    { outputs }: CalledFace,
    { task, rows }: { readonly task: number; readonly rows: number },
  ): TaskHandle {
    const known = (name: string, caller: unknown): KnownSource => {
      const metadata = this.named(outputs, name);
      if (metadata === undefined)
        return this.refuse(`asks ${component} for "${name}"; it gives ${names(outputs)}`, caller);
      return {
        source: { from: 'task', task, output: name },
        metadata,
        rows: rowsOfShape(metadata.shape, rows),
      };
    };
    const handle: TaskHandle = {
      out: (name) => this.sources.add(known(name, handle.out)),
      read: (name, datatype) => this.read(known(name, handle.read), datatype, handle.read) as never,
    };
    return handle;
  }

  private input(name: string, caller: unknown): KnownSource {
    const { inputs } = this.around.face;
    const metadata = this.named(inputs, name);
    if (metadata === undefined)
      return this.refuse(`asks the request for "${name}"; it has ${names(inputs)}`, caller);
    return { source: { from: 'request', input: name }, metadata, rows: rowsOfShape(metadata.shape, 1) };
  }

  private named(tensors: readonly TensorMetadata[], name: string): TensorMetadata | undefined {
    return tensors.find((tensor) => tensor.name === name);
  }

  private read(
    { source, metadata }: KnownSource,
    datatype: Datatype | undefined,
    caller: unknown,
  ): Promise<ProgramTensor> {
    this.refuseOthers(caller);
    if (datatype !== undefined && datatype !== metadata.datatype)
      this.refuse(`reads ${metadata.name} as ${datatype}; it is ${metadata.datatype}`, caller);
    const key = sourceKey(source);
    const before = this.reads.get(key);
    if (before !== undefined) return before.values;
    let settle: Read['settle'];
    const values = new Promise<ProgramTensor>((resolve) => {
      settle = resolve;
    });
    this.reads.set(key, { values, settle });
    this.awaited += 1;
    this.around.tell({ act: 'want', run: this.run, source });
    return values;
  }

  /** refuseOthers refuses what another run does with what this one was handed, and what is done after the end. */
  private refuseOthers(caller: unknown): void {
    const acting = this.around.acting();
    if (acting !== undefined && acting !== this)
      acting.refuse('uses what the run of another request was handed; use what this run was handed', caller);
    if (this.isOver) this.refuse('goes on after its run has ended', caller);
  }

  /** refuse ends the run for a mistake, and throws it, so that the program does not go on. */
  private refuse(message: string, caller: unknown, reason: FailureReason = 'program-error'): never {
    const error = new Error(message);
    Error.captureStackTrace(error, caller as () => void);
    this.fail(reason, `${message}${placeOf(error)}`);
    throw error;
  }
}
