import { CallingExecutor, type ComponentCalls } from '../../src/execution/component-executor.js';
import type { ComponentAnswers, ComponentRequest } from '../../src/execution/component-protocol.js';
import { Components } from '../../src/execution/components.js';
import { ExecutionError } from '../../src/execution/errors.js';
import { encodeMessage, MessageReader, type RawMessage, tensorsOf } from '../../src/execution/frames.js';
import {
  deviceText,
  MemoryPool,
  monotonicNs,
  type StartComponentExecutor,
  type Tensors,
} from '../../src/execution/index.js';
import { failureOfRefusal } from '../../src/execution/lost.js';
import type { ModelThread, RunEnd, ThreadLoad, ThreadRun } from '../../src/execution/model-thread.js';

/** NoOpModel is what takes the place of a model: it gives outputs without computing much, late or never as a test wants. */
export interface NoOpModel {
  /** The outputs of a batch; by default each fetched output is the input of the same place. It may throw. */
  outputs?(feeds: Tensors, fetches: readonly string[]): Tensors | Promise<Tensors>;
  /** Hears of each thread that is started. */
  started?(): void;
  /** What a load waits for. It may reject. */
  loading?(load: ThreadLoad): Promise<void>;
}

/** LostThread is what `outputs` throws where a thread is to end by itself in a run, with all that has moved to it. */
export class LostThread extends Error {}

/**
 * startNoOpComponents starts component executors that hold and split tensors in this process, as the child of a real one
 * does, and compute nothing. Nothing here can be killed, pinned, or watched for its memory.
 */
export function startNoOpComponents(model: NoOpModel = {}): StartComponentExecutor {
  return async (device, { name = deviceText(device) } = {}) => {
    const components = new Components(() => new NoOpThread(model), new MemoryPool({ pieces: 4 }));
    let gone = () => {};
    const exited = new Promise<{ code: number; signal: null }>((end) => {
      gone = () => end({ code: 0, signal: null });
    });
    const calls: ComponentCalls = {
      name,
      device,
      pid: process.pid,
      cores: undefined,
      exited,
      call: async <Op extends ComponentRequest['op']>(
        what: string,
        request: Extract<ComponentRequest, { op: Op }>,
        { tensors = {} }: { tensors?: Tensors } = {},
      ) => {
        try {
          const handled = await components.handle(request, received(request, tensors));
          const back = tensorsOf(received({}, handled.tensors ?? {}));
          handled.done?.();
          return { answer: handled.answer as ComponentAnswers[Op], tensors: back };
        } catch (error) {
          const { why } = failureOfRefusal((error as Error).message);
          throw new ExecutionError(`Cannot ${what} on ${name}: ${why}`, why, request.op === 'load');
        }
      },
      close: async (request) => {
        await calls.call('close', request);
        gone();
      },
    };
    await calls.call('start', { op: 'open', device, threads: 1 });
    return new CallingExecutor(calls);
  };
}

/** received gives a message as it comes through a socket. */
export function received(head: unknown, tensors: Tensors): RawMessage<unknown> {
  let message: RawMessage<unknown> | undefined;
  const reader = new MessageReader<unknown>(
    (one) => {
      message = one;
    },
    (bytes) => new ArrayBuffer(bytes),
  );
  for (const chunk of encodeMessage(head, tensors)) reader.push(chunk);
  return message!;
}

/** NoOpThread moves memory as a real thread does: what was moved to it is empty where it came from. */
class NoOpThread implements ModelThread {
  private isLoaded = false;

  constructor(private readonly model: NoOpModel) {
    model.started?.();
  }

  async open(): Promise<string[]> {
    return ['cpu'];
  }

  async load(load: ThreadLoad, moved: readonly ArrayBuffer[]) {
    structuredClone(moved, { transfer: [...moved] });
    await this.model.loading?.(load);
    this.isLoaded = true;
    return { loadMs: 0, inputs: [], outputs: [], inputInfo: [], outputInfo: [] };
  }

  async run({ feeds: given, fetches }: ThreadRun, moved: readonly ArrayBuffer[]): Promise<RunEnd> {
    if (!this.isLoaded) throw new Error('a thread without a model was asked to run');
    const feeds = structuredClone(given, { transfer: [...moved] });
    const startedNs = monotonicNs();
    try {
      const { outputs: compute = copied } = this.model;
      const outputs = await compute(feeds, fetches);
      const endedNs = monotonicNs();
      return { feeds, outputs, times: { startedNs, endedNs, executionUs: (endedNs - startedNs) / 1000 } };
    } catch (error) {
      if (error instanceof LostThread) throw error;
      return { feeds, error: (error as Error).message };
    }
  }

  async release(): Promise<void> {
    this.isLoaded = false;
  }

  async end(): Promise<void> {}
}

function copied(feeds: Tensors, fetches: readonly string[]): Tensors {
  const inputs = Object.values(feeds);
  return Object.fromEntries(fetches.map((name, i) => [name, structuredClone(inputs[i % inputs.length]!)]));
}
