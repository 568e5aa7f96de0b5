import { resolve } from 'node:path';
import { withTemporaryFolder } from '../../src/artifacts/index.js';
import { ExecutionError, OutOfMemoryError } from '../../src/execution/errors.js';
import {
  AS_SERVED,
  deviceText,
  type Executor,
  type StartExecutor,
  startExecutor,
  type Tensors,
  virtualThreads,
} from '../../src/execution/index.js';
import { failureOfRefusal } from '../../src/execution/lost.js';
import type { Answers, Request } from '../../src/execution/protocol.js';
import { SessionHolder } from '../../src/execution/session-holder.js';

/**
 * startInProcess starts executors that run models in this process, as the child of a real one does. A child takes half
 * a second to start, which most tests need not wait for. Nothing here can be killed, pinned, or watched for its memory.
 */
export const startInProcess: StartExecutor = async (device, options = {}) => {
  if (device.provider !== 'cpu') return await startExecutor(device, options);
  const { virtual = 1, name = deviceText(device) } = options;
  const holder = new SessionHolder();
  let gone = () => {};
  const exited = new Promise<{ code: number; signal: null }>((end) => {
    gone = () => end({ code: 0, signal: null });
  });
  const call = async <Op extends Request['op']>(
    request: Extract<Request, { op: Op }>,
    feeds: Tensors = {},
  ): Promise<{ answer: Answers[Op]; tensors: Tensors }> => {
    try {
      const { answer, tensors = {} } = await holder.handle(request, feeds);
      return { answer: answer as Answers[Op], tensors };
    } catch (error) {
      const { why, outOfMemory } = failureOfRefusal((error as Error).message);
      const Kind = outOfMemory ? OutOfMemoryError : ExecutionError;
      throw new Kind(`Cannot ${request.op} on ${name}: ${why}`, why, request.op === 'load');
    }
  };
  const executor: Executor = {
    name,
    device,
    pid: process.pid,
    cores: undefined,
    exited,
    load: async (path, options = {}) =>
      (await call({ op: 'load', path: resolve(path), ...AS_SERVED, ...options })).answer,
    run: async (model, feeds, fetches) => {
      const { answer, tensors } = await call({ op: 'run', model, ...(fetches && { fetches }) }, feeds);
      return { ...answer, outputs: tensors };
    },
    nodeTimings: (path, feeds, { runs, warmupRuns = 1, optimization = AS_SERVED.optimization }) =>
      withTemporaryFolder('timings', async (folder) => {
        const request = { op: 'nodeTimings', path: resolve(path), folder, runs, warmupRuns } as const;
        const { answer, tensors } = await call({ ...request, optimization }, feeds);
        const optimizedModel = tensors.optimizedModel?.data as Uint8Array | undefined;
        return { ...answer, ...(optimizedModel && { optimizedModel }) };
      }),
    release: async (model) => void (await call({ op: 'release', model })),
    close: async () => {
      await call({ op: 'close' });
      gone();
    },
  };
  await call({ op: 'open', device, threads: virtualThreads(device, virtual) });
  return executor;
};
