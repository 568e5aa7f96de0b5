import { resolve } from 'node:path';
import { withTemporaryFolder } from '../artifacts/index.js';
import { itemAt } from '../collections/index.js';
import type { Exit } from './child-process.js';
import {
  type AskedTask,
  type BatchTensors,
  type ComponentAnswers,
  type ComponentRequest,
  type ComponentStats,
  type KeptInput,
  MODEL_BYTES,
  type OutputBytes,
  taskOfTensor,
  taskTensor,
} from './component-protocol.js';
import { connect, type ExecutorOptions } from './connect.js';
import type { CallAnswer, Sent } from './connection.js';
import type { Device } from './device.js';
import type { ModelBytes } from './host-cache.js';
import type { LoadedModel, RunTimes, Tensors } from './protocol.js';
import { AS_SERVED, type SessionChoice } from './session-choice.js';
import type { TensorData } from './tensor-data.js';
import { absoluteDigests, type ModelDigests } from './verified-model.js';

/** BatchTask is a task of a batch: where its inputs come from, and the number under which its outputs are kept. */
export interface BatchTask {
  /** A number that must not be in use: a task's outputs are kept until they are dropped. */
  readonly id: number;
  /** How many rows of the batch it takes; 1 by default. */
  readonly rows?: number;
  /** Each input of the model: a tensor to be sent along, or an output that the executor keeps. */
  readonly inputs: Readonly<Record<string, TensorData | KeptInput>>;
}

/** ExecutedBatch says when a batch was executed, and what each of its tasks has given. */
export interface ExecutedBatch extends RunTimes {
  readonly tasks: readonly {
    /** The bytes of each kept output. */
    readonly bytes: OutputBytes;
    /** The outputs that were asked for. */
    readonly outputs: Tensors;
  }[];
}

/** ComponentLoadOptions says what batches of a model look like, and how its session is made. */
export interface ComponentLoadOptions extends BatchTensors, Partial<SessionChoice> {
  /** The digests that a model loaded from its file must have. */
  readonly digests?: ModelDigests;
}

/**
 * ComponentExecutor is a device that holds several models and the outputs of tasks: one child process, in which each model
 * has a thread of its own. Batches are executed one at a time, in the order in which they are asked for; models are
 * loaded and released meanwhile.
 *
 * Outputs stay in the child until they are dropped, and later batches take them from there. A request rejects with
 * ExecutionError when it fails or the child ends (OutOfMemoryError where memory ran out), and with InputError when a tensor
 * is not in the array of its dtype. A batch that fails gives nothing, and takes nothing of what is kept, nor does it touch
 * other batches. The memory of what is sent must not be changed until the request is answered. An idle executor does not
 * keep the program running, and a program that ends takes its executors with it.
 */
export interface ComponentExecutor {
  readonly name: string;
  readonly device: Device;
  readonly pid: number;
  /** The cores that it is pinned to; undefined where it is not pinned. */
  readonly cores: readonly number[] | undefined;
  /** exited resolves when the child is gone, for whatever reason. */
  readonly exited: Promise<Exit>;
  /**
   * load makes a session of an ONNX file, or of bytes that a host cache gave. A load that fails touches nothing else.
   * With `digests` it loads a file of these bytes or none.
   */
  load(model: string | ModelBytes, options: ComponentLoadOptions): Promise<LoadedModel>;
  /**
   * run executes a batch: it joins the tasks' inputs along their batch axes, and splits the outputs among the tasks. Joining
   * is one copy. The input of a single task is not copied where it is sent along, or where `isLast` says so.
   * @param read names outputs that come along with the answer; all are kept
   */
  run(model: number, tasks: readonly BatchTask[], read?: readonly string[]): Promise<ExecutedBatch>;
  /** put keeps tensors under a number, as if a task of this number had given them. */
  put(id: number, tensors: Tensors): Promise<OutputBytes>;
  /** fetch gives outputs of a task. It waits for the batch that gives them, where one was asked for before. */
  fetch(id: number, names: readonly string[]): Promise<Tensors>;
  /**
   * drop frees all outputs of these numbers, after the batches that were asked for before and that take or give them. It
   * does nothing for numbers of which nothing is kept.
   */
  drop(ids: readonly number[]): Promise<void>;
  /** release frees a model, after the batches that were asked for before. */
  release(model: number): Promise<void>;
  /** stats counts what the executor holds. */
  stats(): Promise<ComponentStats>;
  /**
   * close does what was asked for before, releases everything and ends the child, and kills it when it is not gone in the
   * grace time (5 s). It never rejects.
   */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

/**
 * startComponentExecutor starts such an executor and its device's provider, and runs a tiny model on it. Where a pinned
 * child does not come up, it tries once more without pinning.
 * @throws MissingError when ONNX Runtime or the provider is missing, or the provider cannot start (saying what is
 *   missing); ExecutionError when the child process cannot be started, ends, or does not start the provider within a
 *   minute
 */
export async function startComponentExecutor(
  device: Device,
  options: ExecutorOptions = {},
): Promise<ComponentExecutor> {
  const { connection } = await connect<ComponentRequest, ComponentAnswers>('components', device, options);
  return new CallingExecutor(connection);
}

/** StartComponentExecutor starts executors as `startComponentExecutor` does, perhaps elsewhere. */
export type StartComponentExecutor = typeof startComponentExecutor;

/** ComponentCalls is what carries the requests of a component executor. */
export interface ComponentCalls
  extends Pick<ComponentExecutor, 'name' | 'device' | 'pid' | 'cores' | 'exited'> {
  call<Op extends ComponentRequest['op']>(
    what: string,
    request: Extract<ComponentRequest, { op: Op }>,
    sent?: Sent,
  ): Promise<CallAnswer<ComponentAnswers[Op]>>;
  close(request: Extract<ComponentRequest, { op: 'close' }>, graceMs?: number): Promise<void>;
}

/** CallingExecutor puts the requests of a component executor into messages. */
export class CallingExecutor implements ComponentExecutor {
  constructor(private readonly calls: ComponentCalls) {}

  get name(): string {
    return this.calls.name;
  }

  get device(): Device {
    return this.calls.device;
  }

  get pid(): number {
    return this.calls.pid;
  }

  get cores(): readonly number[] | undefined {
    return this.calls.cores;
  }

  get exited(): Promise<Exit> {
    return this.calls.exited;
  }

  load(model: string | ModelBytes, options: ComponentLoadOptions): Promise<LoadedModel> {
    return typeof model === 'string' ? this.loadFile(model, options) : this.loadBytes(model, options);
  }

  private async loadFile(modelPath: string, options: ComponentLoadOptions): Promise<LoadedModel> {
    const { digests } = options;
    const load = async (verify?: { digests: ModelDigests; folder?: string }): Promise<LoadedModel> => {
      const source = { path: resolve(modelPath), ...(verify && { verify }) };
      const request = { op: 'load', source, ...asked(options) } as const;
      return (await this.calls.call(`load ${modelPath}`, request)).answer;
    };
    if (digests === undefined || digests.data.length === 0) return await load(digests && { digests });
    // The parts of it that a session has mapped stay when the folder is gone.
    return await withTemporaryFolder('model', (folder) =>
      load({ digests: absoluteDigests(digests), folder }),
    );
  }

  private async loadBytes(
    { path, bytes, data }: ModelBytes,
    options: ComponentLoadOptions,
  ): Promise<LoadedModel> {
    const tensors = Object.fromEntries([
      [MODEL_BYTES, bytesTensor(bytes)],
      ...data.map((file, i) => [taskTensor(i, file.location), bytesTensor(file.bytes)]),
    ]) as Tensors;
    const source = { dataLocations: data.map(({ location }) => location) };
    const request = { op: 'load', source, ...asked(options) } as const;
    return (await this.calls.call(`load ${path}`, request, { tensors, isModel: true })).answer;
  }

  async run(
    model: number,
    tasks: readonly BatchTask[],
    read: readonly string[] = [],
  ): Promise<ExecutedBatch> {
    const { tasks: askedTasks, tensors } = askedOf(tasks);
    const request = { op: 'run', model, tasks: askedTasks, read } as const;
    const { answer, tensors: outputs } = await this.calls.call('run a model', request, { tensors });
    const { bytes, ...times } = answer;
    const told = bytes.map((of) => ({ bytes: of, outputs: {} as Tensors }));
    for (const [text, tensor] of Object.entries(outputs)) {
      const { i, name } = taskOfTensor(text);
      itemAt(told, i).outputs[name] = tensor;
    }
    return { ...times, tasks: told };
  }

  async put(id: number, tensors: Tensors): Promise<OutputBytes> {
    return (await this.calls.call('keep tensors', { op: 'put', id }, { tensors })).answer.bytes;
  }

  async fetch(id: number, names: readonly string[]): Promise<Tensors> {
    return (await this.calls.call('fetch outputs', { op: 'fetch', id, names })).tensors;
  }

  async drop(ids: readonly number[]): Promise<void> {
    await this.calls.call('drop outputs', { op: 'drop', ids });
  }

  async release(model: number): Promise<void> {
    await this.calls.call('release a model', { op: 'release', model });
  }

  async stats(): Promise<ComponentStats> {
    return (await this.calls.call('count what is held', { op: 'stats' })).answer;
  }

  close({ graceMs }: { readonly graceMs?: number } = {}): Promise<void> {
    return this.calls.close({ op: 'close' }, graceMs);
  }
}

function asked({
  inputs,
  outputs,
  digests: _told,
  ...choice
}: ComponentLoadOptions): Pick<Extract<ComponentRequest, { op: 'load' }>, 'tensors' | 'choice'> {
  return { tensors: { inputs, outputs }, choice: { ...AS_SERVED, ...choice } };
}

function bytesTensor(data: Uint8Array): TensorData {
  return { dtype: 'uint8', dims: [data.length], data };
}

/** askedOf tells what is kept of a batch's inputs from what is sent along. */
function askedOf(tasks: readonly BatchTask[]): { tasks: AskedTask[]; tensors: Tensors } {
  const tensors: Tensors = {};
  const asked = tasks.map(({ id, rows = 1, inputs }, i) => {
    const kept: Record<string, KeptInput> = {};
    for (const [name, input] of Object.entries(inputs)) {
      if ('kept' in input) kept[name] = input;
      else tensors[taskTensor(i, name)] = input;
    }
    return { id, rows, kept };
  });
  return { tasks: asked, tensors };
}
