import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicNs, type StartExecutor, startExecutor } from '../../src/execution/index.js';

/**
 * sleeper gives a start of executors that answer as the models do, each run as long after its start as planned, or after the end
 * of the run before.
 * @param plannedMs the milliseconds of a run by its file and the rows of its batch
 */
export function sleeper(plannedMs: (file: string, rows: number) => number): StartExecutor {
  return async (device, options) => {
    const { slowdown: _, ...plain } = device;
    const executor = await startExecutor(plain, options);
    const files = new Map<number, string>();
    let last: Promise<unknown> = Promise.resolve();
    return {
      name: executor.name,
      device,
      pid: executor.pid,
      cores: executor.cores,
      exited: executor.exited,
      nodeTimings: (...asked) => executor.nodeTimings(...asked),
      release: (...asked) => executor.release(...asked),
      close: (...asked) => executor.close(...asked),
      load: async (file, choice) => {
        const loaded = await executor.load(file, choice);
        files.set(loaded.model, file);
        return loaded;
      },
      run: (...asked) => {
        const [model, feeds] = asked;
        const rows = Object.values(feeds)[0]?.dims[0] ?? 1;
        const forMs = plannedMs(files.get(model) as string, rows);
        const run = last.then(async () => {
          const startedNs = monotonicNs();
          const { outputs } = await executor.run(...asked);
          await sleep(Math.max(0, forMs - (monotonicNs() - startedNs) / 1e6));
          const endedNs = monotonicNs();
          return { outputs, startedNs, endedNs, executionUs: (endedNs - startedNs) / 1e3 };
        });
        last = run.catch(() => {});
        return run;
      },
    };
  };
}
