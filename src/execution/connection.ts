import type { Socket } from 'node:net';
import type { Child, Exit } from './child-process.js';
import type { Device } from './device.js';
import { ChangedModelError, ExecutionError, OutOfMemoryError } from './errors.js';
import { encodeMessage, MessageReader, type RawMessage, tensorsOf } from './frames.js';
import { freeMemory } from './free-memory.js';
import { type Failure, failureOfEnd, failureOfRefusal } from './lost.js';
import type { MemoryGuard } from './memory-guard.js';
import { uncleared } from './memory-pool.js';
import type { Reply, Tensors } from './protocol.js';
import { checkFeeds } from './tensor.js';

/** RefusedError is the child's answer that it could not do a request, as opposed to the child's end. */
export class RefusedError extends ExecutionError {}

/** Asked is what any request has. */
interface Asked {
  readonly op: string;
}

/** Sent is what goes with a request: its tensors, and whether it holds a whole model, for which others do not wait. */
export interface Sent {
  readonly tensors?: Tensors;
  readonly isModel?: boolean;
}

/** CallAnswer is an answer with its tensors. */
export interface CallAnswer<Answer> {
  readonly answer: Answer;
  readonly tensors: Tensors;
}

/** ConnectionOptions says whose connection it is, and who watches the child's memory. */
export interface ConnectionOptions {
  readonly name: string;
  readonly device: Device;
  readonly memory?: MemoryGuard | undefined;
}

interface Pending {
  readonly op: string;
  readonly what: string;
  resolve(result: CallAnswer<unknown>): void;
  reject(error: Error): void;
}

const GRACE_MS = 5000;
/** TensorRT may build its engine for many seconds; a start that takes longer than this hangs. */
const START_MS = 60_000;

/**
 * Connection carries requests to an executor's child, and its answers back. All requests that wait fail when the child
 * ends. An idle connection does not keep the program running.
 */
export class Connection<Request extends Asked, Answers extends Record<Request['op'], unknown>> {
  readonly exited: Promise<Exit>;
  private pending = new Map<number, Pending>();
  /** The ends of requests under way that hold whole models. */
  private models = new Set<Promise<void>>();
  private nextId = 0;
  private gone: Failure | undefined;
  /**
   * killing says whether this executor has killed the child, so that the child's end says nothing about
   * memory.
   */
  private killing = false;
  private closing: Promise<void> | undefined;

  constructor(
    private readonly child: Child,
    private readonly options: ConnectionOptions,
  ) {
    options.memory?.watch(this.pid, () => this.child.process.kill('SIGKILL'));
    const reader = new MessageReader<Reply<unknown>>((message) => this.settle(message), uncleared);
    child.socket.on('data', (chunk: Uint8Array) => {
      reader.push(chunk);
      freeMemory(chunk);
    });
    // A write to a child that is gone fails here. The child's end says more, and is reported below.
    for (const socket of [child.socket, child.modelSocket]) socket?.on('error', () => {});
    this.exited = child.exited.then((exit) => {
      this.end(exit);
      return exit;
    });
    this.keepAlive(false);
  }

  get name(): string {
    return this.options.name;
  }

  get device(): Device {
    return this.options.device;
  }

  get pid(): number {
    return this.child.process.pid ?? -1;
  }

  get cores(): readonly number[] | undefined {
    return this.child.cores;
  }

  lastWords(): string {
    return this.child.lastWords();
  }

  /** open sends the first request, and kills a child that does not answer it in a minute. */
  async open(request: Extract<Request, { op: 'open' }>): Promise<Answers['open' & keyof Answers]> {
    const kill = setTimeout(() => this.kill(), START_MS);
    try {
      return (await this.call('start', request)).answer as Answers['open' & keyof Answers];
    } finally {
      clearTimeout(kill);
    }
  }

  /** close sends a last request, and kills the child when it is not gone in the grace time. */
  close(request: Extract<Request, { op: 'close' }>, graceMs: number = GRACE_MS): Promise<void> {
    // A connection that is closing already may be given less time.
    const kill = setTimeout(() => this.kill(), graceMs);
    void this.exited.then(() => clearTimeout(kill));
    this.closing ??= this.closeNow(request);
    return this.closing;
  }

  private async closeNow(request: Extract<Request, { op: 'close' }>): Promise<void> {
    this.child.process.ref();
    // The models are sent another way, on which this message would overtake them.
    await Promise.all([...this.models]);
    this.call('close', request).catch(() => {});
    await this.exited;
  }

  private kill(): void {
    this.killing = true;
    this.child.process.kill('SIGKILL');
  }

  /**
   * call sends a request, with the numbers of its tensors where they lie: do not change them before it is answered.
   * @param what completes "Cannot …" in errors
   * @throws InputError when a tensor is not in the array of its dtype; ExecutionError when the child cannot do it or ends
   */
  call<Op extends Request['op']>(
    what: string,
    request: Extract<Request, { op: Op }>,
    { tensors = {}, isModel = false }: Sent = {},
  ): Promise<CallAnswer<Answers[Op]>> {
    const socket = (isModel ? this.child.modelSocket : undefined) ?? this.child.socket;
    const answered = this.ask(socket, { what, request, tensors }) as Promise<CallAnswer<Answers[Op]>>;
    if (isModel) this.follow(answered);
    return answered;
  }

  private follow(answered: Promise<unknown>): void {
    const ended = answered.then(
      () => {},
      () => {},
    );
    this.models.add(ended);
    void ended.then(() => this.models.delete(ended));
  }

  private ask(
    socket: Socket,
    { what, request, tensors }: { what: string; request: Request; tensors: Tensors },
  ): Promise<CallAnswer<unknown>> {
    return new Promise((resolve, reject) => {
      if (this.gone !== undefined) {
        reject(this.failure(request.op, what, this.gone));
        return;
      }
      const id = this.nextId++;
      checkFeeds(tensors);
      const chunks = encodeMessage({ id, request }, tensors);
      this.pending.set(id, { op: request.op, what, resolve, reject });
      if (this.pending.size === 1) this.keepAlive(true);
      socket.cork();
      for (const chunk of chunks) socket.write(chunk);
      socket.uncork();
    });
  }

  private settle(message: RawMessage<Reply<unknown>>): void {
    const reply = message.head;
    const pending = this.pending.get(reply.id);
    this.pending.delete(reply.id);
    if (this.pending.size === 0 && this.closing === undefined) this.keepAlive(false);
    if (pending === undefined) return;
    if ('error' in reply) pending.reject(this.refusal(pending, reply));
    else pending.resolve({ answer: reply.answer, tensors: tensorsOf(message) });
  }

  /** The child is gone, so everything that waits for it fails. */
  private end(exit: Exit): void {
    const memory = this.options.memory?.unwatch(this.pid);
    const end = { words: this.lastWords(), killing: this.killing, memory };
    this.gone = failureOfEnd(this.pid, exit, end);
    for (const { op, what, reject } of this.pending.values()) reject(this.failure(op, what, this.gone));
    this.pending.clear();
  }

  private failure(op: string, what: string, { why, outOfMemory }: Failure): ExecutionError {
    const Kind = outOfMemory ? OutOfMemoryError : ExecutionError;
    return new Kind(`Cannot ${what} on ${this.name}: ${why}`, why, op === 'load');
  }

  private refusal(
    { op, what }: Pending,
    { error: said, isOfFiles }: Extract<Reply, { error: string }>,
  ): ExecutionError {
    if (op === 'open') return new RefusedError(said);
    if (isOfFiles) return new ChangedModelError(`Cannot ${what} on ${this.name}: ${said}`, said, true);
    return this.failure(op, what, failureOfRefusal(said));
  }

  /**
   * Only a request under way keeps the program running, or closing until the child is gone. Every handle that reports
   * the child's end counts, because a killed child closes its socket first, and a program without handles would end
   * before the request has failed.
   */
  private keepAlive(yes: boolean): void {
    const { process, socket, modelSocket } = this.child;
    for (const handle of [process, process.stdout, process.stderr, socket, modelSocket]) {
      const held = handle as { ref?(): void; unref?(): void } | null | undefined;
      if (yes) held?.ref?.();
      else held?.unref?.();
    }
  }
}
