import { resolve } from 'node:path';
import { withTemporaryFolder } from '../artifacts/index.js';
import type { Exit } from './child-process.js';
import { connect, type ExecutorOptions } from './connect.js';
import type { Connection } from './connection.js';
import type { Device } from './device.js';
import type { Answers, LoadedModel, NodeTiming, Request, RunTimes, Tensors, VerifyLoad } from './protocol.js';
import { AS_SERVED, type Optimization, type SessionChoice } from './session-choice.js';
import { absoluteDigests, type ModelDigests } from './verified-model.js';

/** RunResult holds a run's outputs by name, and the device's time with the hold-back of an emulated device. */
export interface RunResult extends RunTimes {
  readonly outputs: Tensors;
}

/** NodeTimings are ONNX Runtime's own times, without the hold-back of an emulated device. */
export interface NodeTimings {
  readonly runUs: number[];
  readonly nodes: NodeTiming[];
  /** The optimized graph, which gives the nodes their names; absent where the provider compiles the graph. */
  readonly optimizedModel?: Uint8Array;
}

/** NodeTimingOptions says how often the nodes of a graph are timed, and how it is optimized before. */
export interface NodeTimingOptions {
  readonly runs: number;
  /** The number of runs before those that count; 1 by default. */
  readonly warmupRuns?: number;
  /** How the graph is optimized; as in serving (`AS_SERVED`) by default. */
  readonly optimization?: Optimization;
}

/**
 * Executor is a virtual GPU: one child process with its sessions. It handles requests in the order in which they are
 * made; while one runs, the next is already sent over. A request rejects with ExecutionError when it fails or the child
 * ends (OutOfMemoryError where memory ran out), and with InputError when a feed is not in the array of its dtype. The
 * memory of feeds must not be changed until their request is answered. An idle executor does not keep the program
 * running, and a program that ends takes its executors with it.
 */
export interface Executor {
  readonly name: string;
  readonly device: Device;
  readonly pid: number;
  /** The cores that it is pinned to; undefined where it is not pinned. */
  readonly cores: readonly number[] | undefined;
  /**
   * load makes a session of an ONNX file, with the settings that serving uses unless options change them. With `digests`
   * it makes one of these bytes or none.
   */
  load(modelPath: string, options?: VerifiedLoadOptions): Promise<LoadedModel>;
  /** run runs a model once. Without `fetches` it returns every output that is a tensor. */
  run(model: number, feeds: Tensors, fetches?: readonly string[]): Promise<RunResult>;
  /** nodeTimings times each node of a file's graph in a session of its own. Keep runs × nodes below 100,000. */
  nodeTimings(modelPath: string, feeds: Tensors, options: NodeTimingOptions): Promise<NodeTimings>;
  release(model: number): Promise<void>;
  /**
   * close releases everything and ends the child, and kills it when it is not gone in the grace time (5 s). It never
   * rejects.
   */
  close(options?: { readonly graceMs?: number }): Promise<void>;
  /** exited resolves when the child is gone, for whatever reason. */
  readonly exited: Promise<Exit>;
}

/** VerifiedLoadOptions says how a session is made, and what the bytes of its files must be. */
interface VerifiedLoadOptions extends Partial<SessionChoice> {
  readonly digests?: ModelDigests;
}

/**
 * startExecutor starts an executor and its device's provider, and runs a tiny model on it. Where a pinned child does
 * not come up, it tries once more without pinning.
 * @throws MissingError when ONNX Runtime or the provider is missing, or the provider cannot start (saying what is
 *   missing); ExecutionError when the child process cannot be started, ends, or does not start the provider within a
 *   minute
 */
export async function startExecutor(device: Device, options: ExecutorOptions = {}): Promise<Executor> {
  return (await openExecutor(device, options)).executor;
}

/** StartExecutor starts executors as `startExecutor` does, perhaps elsewhere. */
export type StartExecutor = typeof startExecutor;

/** openExecutor does as `startExecutor`, with the same errors, and lists the providers of its build of ONNX Runtime. */
export async function openExecutor(
  device: Device,
  options: ExecutorOptions = {},
): Promise<{ executor: Executor; backends: readonly string[] }> {
  const { connection, backends } = await connect<Request, Answers>('sessions', device, options);
  return { executor: new ChildExecutor(connection), backends };
}

class ChildExecutor implements Executor {
  constructor(private readonly connection: Connection<Request, Answers>) {}

  get name(): string {
    return this.connection.name;
  }

  get device(): Device {
    return this.connection.device;
  }

  get pid(): number {
    return this.connection.pid;
  }

  get cores(): readonly number[] | undefined {
    return this.connection.cores;
  }

  get exited(): Promise<Exit> {
    return this.connection.exited;
  }

  async load(modelPath: string, { digests, ...choice }: VerifiedLoadOptions = {}): Promise<LoadedModel> {
    const load = async (verify?: VerifyLoad): Promise<LoadedModel> => {
      const asked = { op: 'load', path: resolve(modelPath), ...AS_SERVED, ...choice } as const;
      const request = verify === undefined ? asked : { ...asked, verify };
      return (await this.connection.call(`load ${modelPath}`, request)).answer;
    };
    if (digests === undefined || digests.data.length === 0) return await load(digests && { digests });
    // The parts of it that a session has mapped stay when the folder is gone.
    return await withTemporaryFolder('model', (folder) =>
      load({ digests: absoluteDigests(digests), folder }),
    );
  }

  async run(model: number, feeds: Tensors, fetches?: readonly string[]): Promise<RunResult> {
    const request = { op: 'run', model, ...(fetches === undefined ? {} : { fetches }) } as const;
    const { answer, tensors } = await this.connection.call('run a model', request, { tensors: feeds });
    return { ...answer, outputs: tensors };
  }

  async nodeTimings(
    modelPath: string,
    feeds: Tensors,
    { runs, warmupRuns = 1, optimization = AS_SERVED.optimization }: NodeTimingOptions,
  ): Promise<NodeTimings> {
    return await withTemporaryFolder('timings', async (folder) => {
      const path = resolve(modelPath);
      const request = { op: 'nodeTimings', path, folder, runs, warmupRuns, optimization } as const;
      const { answer, tensors } = await this.connection.call(`time the nodes of ${modelPath}`, request, {
        tensors: feeds,
      });
      const optimizedModel = tensors.optimizedModel?.data as Uint8Array | undefined;
      return { ...answer, ...(optimizedModel === undefined ? {} : { optimizedModel }) };
    });
  }

  async release(model: number): Promise<void> {
    await this.connection.call('release a model', { op: 'release', model });
  }

  close({ graceMs }: { readonly graceMs?: number } = {}): Promise<void> {
    return this.connection.close({ op: 'close' }, graceMs);
  }
}
