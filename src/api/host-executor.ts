import { type Executor, hostThreads, startExecutor } from '../execution/index.js';

/**
 * withHostExecutor lets `use` run models on all threads of this machine, by an executor that ends afterwards, or at once
 * when the signal aborts.
 * @throws what `use` throws; the signal's reason on abort
 */
export async function withHostExecutor<T>(
  signal: AbortSignal | undefined,
  use: (executor: Executor) => Promise<T>,
): Promise<T> {
  let executor: Executor | undefined;
  try {
    executor = await startExecutor({ provider: 'cpu', threads: hostThreads() }, { signal });
    return await use(executor);
  } catch (error) {
    // An executor that was ended fails in words of its own.
    signal?.throwIfAborted();
    throw error;
  } finally {
    await executor?.close();
  }
}
