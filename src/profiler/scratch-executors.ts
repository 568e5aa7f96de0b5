import {
  type Device,
  deviceText,
  type Executor,
  type MemoryGuard,
  type StartExecutor,
  startExecutor,
  type Tensors,
} from '../execution/index.js';

/**
 * ScratchExecutors hold one executor for each device that work beside the measurements needs: layers' times and
 * blocks' inputs. To start one takes as long as such work does on a small model, so it stays for the next call. An
 * emulated device shares the executor of the device that it stands on, because nothing here depends on the hold-back.
 */
export class ScratchExecutors {
  private readonly open = new Map<string, Promise<Executor>>();

  constructor(
    private readonly memory: MemoryGuard,
    private readonly start: StartExecutor = startExecutor,
    /** Ends all executors at once, whatever they do. */
    private readonly signal?: AbortSignal,
  ) {}

  /** Gives the device's executor: the one that is open, or a new one. @throws as `startExecutor` does */
  of({ slowdown: _heldBack, ...device }: Device): Promise<Executor> {
    const key = deviceText(device);
    const open = this.open.get(key);
    if (open !== undefined) return open;
    const started = this.start(device, { memory: this.memory, signal: this.signal });
    this.open.set(key, started);
    const forget = () => {
      if (this.open.get(key) === started) this.open.delete(key);
    };
    // An executor that ended, for example because memory ran out, is replaced when it is needed again.
    started.then(({ exited }) => exited.then(forget), forget);
    return started;
  }

  /**
   * Runs a model once, without graph optimizations, and gives the tensors that are fetched. All executors end then,
   * because measurements are about to begin.
   */
  async runOnce(
    device: Device,
    { path, request, fetches }: { path: string; request: Tensors; fetches: readonly string[] },
  ): Promise<Tensors> {
    try {
      const executor = await this.of(device);
      const { model } = await executor.load(path, {
        optimization: 'disabled',
        memoryPattern: false,
        prepacking: false,
      });
      return (await executor.run(model, request, fetches)).outputs;
    } finally {
      await this.close();
    }
  }

  /** Ends all executors, so that measurements have the machine to themselves. */
  async close(): Promise<void> {
    const executors = await Promise.allSettled(this.open.values());
    this.open.clear();
    await Promise.all(
      executors.map((opened) => (opened.status === 'fulfilled' ? opened.value.close() : undefined)),
    );
  }
}
