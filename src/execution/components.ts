import { type BatchInputs, batchInputs, buffersOf } from './batch-inputs.js';
import { outputsOfTasks } from './batch-outputs.js';
import {
  type AskedTask,
  type BatchTensors,
  type ComponentAnswers,
  type ComponentRequest,
  type ComponentStats,
  type OutputBytes,
  taskOfTensor,
  taskTensor,
} from './component-protocol.js';
import type { Device } from './device.js';
import { type RawMessage, tensorsOf } from './frames.js';
import { freeMemory } from './free-memory.js';
import { idInUse, KeptOutputs, type Lent } from './kept-outputs.js';
import { CLASS_BYTES, type MemoryPool } from './memory-pool.js';
import type { ModelThread } from './model-thread.js';
import type { LoadedModel, RunTimes, Tensors } from './protocol.js';
import { type RunNames, RunQueue } from './run-queue.js';
import type { TensorData } from './tensor-data.js';

type Asked<Op extends ComponentRequest['op']> = Extract<ComponentRequest, { op: Op }>;

/** ComponentAnswer is an answer, with tensors that are views of what is kept until `done` is called. */
export interface ComponentAnswer {
  readonly answer: ComponentAnswers[keyof ComponentAnswers];
  readonly tensors?: Tensors;
  readonly done?: () => void;
}

/** Where components come and go, a device holds now a few more, now a few less. */
const MOST_SPARES = 3;

interface Model {
  readonly thread: ModelThread;
  readonly tensors: BatchTensors;
}

/**
 * Components are the models of one device in the child process, each with its session in a thread of its own,
 * and the outputs that are kept. Batches are executed one at a time, in the order in which they are asked
 * for; loads and releases go on meanwhile.
 */
export class Components {
  private readonly kept = new KeptOutputs();
  private readonly models = new Map<number, Model>();
  private readonly runs = new RunQueue();
  private readonly loads = new Set<Promise<unknown>>();
  /** The numbers whose outputs are dropped once the batches that need them have ended. */
  private readonly dropping = new Set<number>();
  private releasing = 0;
  private isClosing = false;
  private device: Device = { provider: 'cpu' };
  private threads = 1;
  private nextModel = 0;
  /** Threads without a session, for the next loads: a thread takes some 70 ms to start, and some 10 MB while it waits. */
  private readonly spares: ModelThread[] = [];

  constructor(
    private readonly startThread: () => ModelThread,
    /** Payloads come from it, and go back to it. */
    private readonly pool: MemoryPool,
  ) {}

  /**
   * handle does one request. Many may be under way.
   * @throws Error for what cannot be done, in plain words or those of ONNX Runtime; ChangedFilesError
   */
  async handle(request: ComponentRequest, message: RawMessage<unknown>): Promise<ComponentAnswer> {
    switch (request.op) {
      case 'open':
        return { answer: await this.open(request) };
      case 'load':
        return { answer: await this.counted(this.load(request, message)) };
      case 'run':
        return await this.run(request, message);
      case 'put':
        return { answer: { bytes: this.put(request.id, message) } };
      case 'fetch':
        return await this.fetch(request);
      case 'drop':
        return await this.drop(request.ids);
      case 'release':
        return await this.release(request.model);
      case 'stats':
        return { answer: this.stats() };
      case 'close':
        return await this.close();
    }
  }

  private async open({ device, threads }: Asked<'open'>): Promise<ComponentAnswers['open']> {
    this.device = device;
    this.threads = threads;
    const spare = this.startThread();
    this.spares.push(spare);
    return { backends: await spare.open(device, threads) };
  }

  private async load(request: Asked<'load'>, message: RawMessage<unknown>): Promise<LoadedModel> {
    const { source, choice, tensors } = request;
    const thread = this.spares.pop() ?? this.startThread();
    const bytes = tensorsOf(message);
    const load = { source, choice, bytes, device: this.device, threads: this.threads };
    try {
      const loaded = await thread.load(load, buffersOf(bytes));
      const model = this.nextModel++;
      this.models.set(model, { thread, tensors });
      return { model, ...loaded };
    } catch (error) {
      await thread.end();
      throw error;
    }
  }

  private async run(request: Asked<'run'>, message: RawMessage<unknown>): Promise<ComponentAnswer> {
    try {
      const model = this.model(request.model);
      const names = namesOf(request);
      this.checkIds(request.tasks, names);
      checkRead(request.read, model.tensors);
      const sent = sentByTask(request.tasks.length, message);
      return await this.runs.add(names, () => this.execute(model, request, sent));
    } finally {
      // A payload that has moved to a thread is empty here, and its memory comes back by itself.
      this.pool.give(message.payload);
    }
  }

  private async execute(
    model: Model,
    { tasks, read }: Asked<'run'>,
    sent: readonly Tensors[],
  ): Promise<ComponentAnswer> {
    const allocate = (bytes: number) => this.pool.take(bytes);
    const inputs = batchInputs(tasks, model.tensors.inputs, { kept: this.kept, sent, allocate });
    const { split, times, feeds } = await this.computed(model, tasks, inputs);
    for (const { kept, movedTo } of inputs.taken) this.kept.consumed(kept, movedTo !== undefined);
    this.recycle(feeds);
    const owned = new Set<ArrayBufferLike>();
    const bytes = tasks.map(({ id }, i) => this.kept.keep(id, split[i]!, owned));
    return { answer: { ...times, bytes }, ...this.read(tasks, read) };
  }

  /** Runs the model, and splits its outputs; where that fails, the inputs are what they were. */
  private async computed(
    { thread, tensors: { outputs } }: Model,
    tasks: readonly AskedTask[],
    inputs: BatchInputs,
  ): Promise<{ split: Tensors[]; times: RunTimes; feeds: Tensors }> {
    let feeds: Tensors = {};
    try {
      const fetches = outputs.map(({ name }) => name);
      const end = await thread.run({ feeds: inputs.feeds, fetches }, buffersOf(inputs.feeds));
      feeds = end.feeds;
      if ('error' in end) throw new Error(end.error);
      return { split: outputsOfTasks(end.outputs, outputs, tasks), times: end.times, feeds };
    } catch (error) {
      this.giveBack(inputs, feeds);
      throw error;
    }
  }

  /**
   * A batch that failed may be tried again, so that its inputs must be there. Tensors that a thread took with
   * it are lost.
   */
  private giveBack({ taken }: BatchInputs, feeds: Tensors): void {
    const others = { ...feeds };
    for (const { kept, movedTo } of taken) {
      const back = movedTo === undefined ? kept.tensor : feeds[movedTo];
      if (back === undefined) {
        this.kept.consumed(kept, true);
        continue;
      }
      kept.tensor = back;
      kept.state = 'kept';
      if (movedTo !== undefined) delete others[movedTo];
    }
    this.recycle(others);
  }

  private recycle(feeds: Tensors): void {
    for (const buffer of buffersOf(feeds)) {
      if (buffer.byteLength % CLASS_BYTES === 0) this.pool.give(buffer);
      else freeMemory(new Uint8Array(buffer));
    }
  }

  private read(tasks: readonly AskedTask[], names: readonly string[]): Partial<Lent> {
    if (names.length === 0) return {};
    const lent = tasks.map(({ id }) => this.kept.lend(id, names));
    const tensors = lent.flatMap((of, i) =>
      Object.entries(of.tensors).map(([name, tensor]): [string, TensorData] => [taskTensor(i, name), tensor]),
    );
    return {
      tensors: Object.fromEntries(tensors),
      done: () => {
        for (const of of lent) of.done();
      },
    };
  }

  private put(id: number, message: RawMessage<unknown>): OutputBytes {
    try {
      this.checkNew(id);
      return this.kept.keep(id, tensorsOf(message), new Set([message.payload]));
    } finally {
      this.pool.give(message.payload);
    }
  }

  /** An output that a batch is still to give is waited for. */
  private async fetch({ id, names }: Asked<'fetch'>): Promise<ComponentAnswer> {
    return { answer: {}, ...(await this.runs.read(id, () => this.kept.lend(id, names))) };
  }

  /**
   * Outputs that earlier batches take or give are dropped after the end of those batches, and fetched outputs
   * after the fetch.
   */
  private async drop(ids: readonly number[]): Promise<ComponentAnswer> {
    // A number that is being dropped already may be in use again when this comes to it.
    const own = new Set(ids.filter((id) => !this.dropping.has(id)));
    for (const id of own) this.dropping.add(id);
    await this.runs.unused(ids);
    for (const id of own) {
      this.kept.drop(id);
      this.dropping.delete(id);
    }
    return { answer: {} };
  }

  /** Batches that were asked for before are executed first; none is taken any more. */
  private async release(number: number): Promise<ComponentAnswer> {
    const { thread } = this.model(number);
    this.models.delete(number);
    this.releasing += 1;
    try {
      await this.runs.idle(number);
      await thread.release();
      if (this.spares.length < MOST_SPARES && !this.isClosing) this.spares.push(thread);
      else await thread.end();
    } finally {
      this.releasing -= 1;
    }
    return { answer: {} };
  }

  private stats(): ComponentStats {
    return { models: this.models.size + this.releasing, batches: this.runs.size, ...this.kept.totals };
  }

  /** Earlier requests are done first. */
  private async close(): Promise<ComponentAnswer> {
    this.isClosing = true;
    await Promise.allSettled([...this.loads]);
    await Promise.allSettled([...this.models.keys()].map((model) => this.release(model)));
    await Promise.all(this.spares.map((thread) => thread.end()));
    return { answer: {} };
  }

  private async counted<Result>(work: Promise<Result>): Promise<Result> {
    this.loads.add(work);
    try {
      return await work;
    } finally {
      this.loads.delete(work);
    }
  }

  private model(number: number): Model {
    const model = this.models.get(number);
    if (model === undefined) throw new Error(`model ${number} is not loaded`);
    return model;
  }

  private checkIds(tasks: readonly AskedTask[], { gives, takes }: RunNames): void {
    if (tasks.length === 0) throw new Error('the batch has no tasks');
    for (const { id, rows } of tasks) {
      this.checkNew(id);
      if (!(Number.isInteger(rows) && rows >= 1)) throw new Error(`task ${id} has ${rows} rows`);
    }
    if (gives.size < tasks.length) throw new Error('two tasks of the batch have one number');
    for (const id of takes) if (this.dropping.has(id)) throw new Error(`nothing is kept of ${id}`);
  }

  private checkNew(id: number): void {
    if (this.runs.isAwaited(id) || this.kept.has(id) || this.dropping.has(id)) throw new Error(idInUse(id));
  }
}

function namesOf({ model, tasks }: Asked<'run'>): RunNames {
  return {
    model,
    gives: new Set(tasks.map(({ id }) => id)),
    takes: new Set(tasks.flatMap((task) => Object.values(task.kept).map(({ kept }) => kept))),
  };
}

function checkRead(read: readonly string[], { outputs }: BatchTensors): void {
  const known = outputs.map(({ name }) => name);
  const odd = read.find((name) => !known.includes(name));
  if (odd !== undefined) throw new Error(`output ${odd} is not kept, only ${known.join(', ')}`);
}

/** sentByTask gives each task of a batch the tensors that were sent along for it. */
function sentByTask(count: number, message: RawMessage<unknown>): Tensors[] {
  const sent = Array.from({ length: count }, (): Tensors => ({}));
  for (const [text, tensor] of Object.entries(tensorsOf(message))) {
    const { i, name } = taskOfTensor(text);
    sent[i]![name] = tensor;
  }
  return sent;
}
