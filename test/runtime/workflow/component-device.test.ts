import { afterEach, describe, expect, it, vi } from 'vitest';
import type {
  ComponentExecutor,
  Exit,
  HostCache,
  StartComponentExecutor,
  TensorData,
  Tensors,
} from '../../../src/execution/index.js';
import { HangLimit } from '../../../src/runtime/live/hang-limit.js';
import { ComponentDevice } from '../../../src/runtime/workflow/component-device.js';

afterEach(() => vi.useRealTimers());

const X = { name: 'x', dtype: 'float32', shape: [1, 2], batchAxis: 0 };

/** A fake executor, whose models double what they are given. It writes down what it is asked. */
class FakeExecutor {
  readonly asked: string[] = [];
  end: (exit: Exit) => void = () => {};
  readonly exited = new Promise<Exit>((resolve) => {
    this.end = resolve;
  });
  private models = 0;

  constructor(
    readonly pid: number,
    private readonly isBroken: () => boolean,
  ) {}

  async load({ path }: { path: string }) {
    this.asked.push(`load ${path}`);
    if (this.isBroken()) throw new Error('out of memory');
    return { model: this.models++ };
  }

  async run(
    model: number,
    tasks: readonly { id: number; rows: number; inputs: Readonly<Record<string, TensorData>> }[],
    read?: readonly string[],
  ) {
    this.asked.push(`run ${model} ${tasks.map(({ id, rows }) => `${id}*${rows}`)}`);
    const doubled = tasks.map(({ inputs }): Tensors => {
      if (inputs.x?.data === undefined) return {};
      const { dims, data, dtype } = inputs.x;
      return { y: { dtype, dims, data: (data as Float32Array).map((one) => 2 * one) } };
    });
    return {
      executionUs: 1,
      startedNs: 5,
      endedNs: 6,
      tasks: doubled.map((outputs) => ({ bytes: { y: 8 }, outputs: read === undefined ? {} : outputs })),
    };
  }

  async fetch(id: number, names: readonly string[]) {
    this.asked.push(`fetch ${id} ${names}`);
    return {};
  }

  async put(id: number) {
    this.asked.push(`put ${id}`);
  }

  async drop(ids: readonly number[]) {
    this.asked.push(`drop ${ids}`);
  }

  async release(model: number) {
    this.asked.push(`release ${model}`);
  }

  async close() {
    this.asked.push('close');
    this.end({ code: 0, signal: null } as Exit);
  }
}

/** made makes a device that may hold the pools 3 and 4, and holds 3 at the start. */
function made({ isBroken = () => false }: { readonly isBroken?: () => boolean } = {}) {
  const executors: FakeExecutor[] = [];
  const events: string[] = [];
  const start = async () => {
    const executor = new FakeExecutor(executors.length, isBroken);
    executors.push(executor);
    return executor as unknown as ComponentExecutor;
  };
  const duty = (pool: number) => ({
    pool,
    work: {
      file: `${pool}.onnx`,
      digests: { sha256: '', data: [] },
      fileBytes: 1,
      carried: new Set<string>(),
      inputs: [{ spec: X, from: [] }],
      outputs: [{ spec: { ...X, name: 'y' }, key: 'y' }],
    },
    largestBatch: 4,
    hang: new HangLimit({ latencyNs: Float64Array.of(1e6) }),
  });
  const device = new ComponentDevice({
    plan: { name: 'gpu', device: { provider: 'cpu' }, virtual: 1, cores: undefined, gpu: 'gpu' },
    duties: [duty(3), duty(4)],
    holds: [3],
    start: start as StartComponentExecutor,
    cache: { get: async (path: string) => ({ path }) } as unknown as HostCache,
    events: {
      up: (why) => events.push(`up ${why}`),
      down: (why) => events.push(`down ${why}`),
      failed: (why) => events.push(`failed ${why}`),
      restarted: () => events.push('restarted'),
      hangs: () => events.push('hangs'),
      hangsNoMore: () => events.push('hangs no more'),
    },
  });
  return { device, executors, events };
}

const settled = () => vi.advanceTimersByTimeAsync(0);

describe('ComponentDevice', () => {
  it('starts with what it holds, warm at one row and the largest batch', async () => {
    const { device, executors, events } = made();
    await device.start();
    expect(executors[0]!.asked).toEqual([
      ...['load 3.onnx', 'run 0 -1*1', 'drop -1', 'run 0 -1*4', 'drop -1'],
    ]);
    expect(events).toEqual(['up start']);
    expect(device.generation).toBe(1);
  });

  it('refuses outputs that are not what the manifest says', async () => {
    const { device, executors } = made();
    vi.spyOn(FakeExecutor.prototype, 'run').mockImplementationOnce(async () => ({
      executionUs: 1,
      startedNs: 5,
      endedNs: 6,
      tasks: [{ bytes: { y: 8 }, outputs: { y: { dtype: 'int8', dims: [1, 2], data: new Int8Array(2) } } }],
    }));
    await expect(device.start()).rejects.toThrow('y: is int8; the manifest says float32');
    expect(executors[0]!.asked.at(-1)).toBe('close');
  });

  it('executes, fetches by the names of what is kept, and forgets', async () => {
    const { device, executors } = made();
    await device.start();
    const [executor] = executors;
    executor!.asked.length = 0;
    await device.load(4);
    const inputs = [{ name: 'x', kept: 7, tensor: 'a', isLast: true }];
    expect(await device.run(4, [{ rows: 2, inputs, keepAs: 8 }])).toEqual({
      outputs: [{ y: 8 }],
      startedNs: 5,
      endedNs: 6,
    });
    await device.put(9, { a: { dtype: 'float32', dims: [1], data: new Float32Array(1) } });
    await device.fetch(8, ['y']);
    await device.fetch(9, ['a']);
    device.drop([8, 9]);
    device.release(4);
    expect(executor!.asked).toEqual([
      ...['load 4.onnx', 'run 1 8*2', 'put 9', 'fetch 8 y', 'fetch 9 a', 'drop 8,9', 'release 1'],
    ]);
  });

  it('starts an executor again that has ended, empty, and reports it', async () => {
    vi.useFakeTimers();
    const { device, executors, events } = made();
    await device.start();
    executors[0]!.end({ code: null, signal: 'SIGKILL' } as unknown as Exit);
    await settled();
    expect(events.slice(1)).toEqual(['down its process ended by SIGKILL']);
    await expect(device.run(3, [])).rejects.toThrow('gpu is down');
    await vi.advanceTimersByTimeAsync(100);
    expect(events.slice(2)).toEqual(['up restart', 'restarted']);
    expect(executors[1]!.asked).toEqual([]);
    expect(device.generation).toBe(3);
  });

  it('ends an executor for its driver, and waits longer each time until something is loaded', async () => {
    vi.useFakeTimers();
    let isBroken = false;
    const { device, executors, events } = made({ isBroken: () => isBroken });
    await device.start();
    isBroken = true;
    const startedAt: number[] = [];
    for (let i = 0; i < 9; i++) {
      await expect(device.load(4)).rejects.toThrow('out of memory');
      device.end('could not load 4');
      await settled();
      const from = Date.now();
      while (executors.length < i + 2) await vi.advanceTimersByTimeAsync(10);
      startedAt.push(Date.now() - from);
    }
    expect(events[1]).toBe('down could not load 4');
    expect(startedAt).toEqual([200, 400, 800, 1600, 3200, 5000, 5000, 5000, 5000]);
    isBroken = false;
    await device.load(4);
    executors.at(-1)!.end({ code: 1, signal: null } as Exit);
    await settled();
    await vi.advanceTimersByTimeAsync(100);
    expect(executors).toHaveLength(11);
  });

  it('starts nothing again once it is closed or killed', async () => {
    vi.useFakeTimers();
    const { device, executors, events } = made();
    await device.start();
    await device.close();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(executors).toHaveLength(1);
    expect(events).toEqual(['up start']);
  });
});
