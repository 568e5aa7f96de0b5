import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { sha256Of } from '../../../src/formats/index.js';
import { openBundle } from '../../../src/runtime/bundle/opened-bundle.js';
import { HangLimit } from '../../../src/runtime/live/hang-limit.js';
import { LiveDevice, planDevices } from '../../../src/runtime/live/live-device.js';
import { inWholeRun } from '../../cases.js';
import { FEATURES, looksUp, rowModel } from '../../onnx/row-models.js';
import { inputOf, twoPartitions, writeBundle } from '../tiny-bundle.js';

const hang = new HangLimit({ latencyNs: Float64Array.of(1e6) });
const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** oneFile is the duty of a device that runs one file on x[n, 8], which was profiled with x or is fed it by another file. */
async function oneFile(offset: number, isInner: boolean) {
  const { folder, remove } = await writeBundle(twoPartitions(2));
  const file = join(folder, 'looks-up.onnx');
  const bytes = rowModel(looksUp(offset));
  await writeFile(file, bytes);
  const spec = (name: string) => ({ name, dtype: 'float32', shape: [1, FEATURES], batchAxis: 0 });
  const work = {
    file,
    digests: { sha256: sha256Of(bytes), data: [] },
    fileBytes: 0,
    carried: new Set<string>(),
    inputs: [{ spec: spec('x'), from: ['x'], isInner }],
    outputs: [{ spec: spec('y'), key: 'y' }],
  };
  const ignored = { up() {}, down() {}, off() {}, failed() {}, restarted() {}, hangs() {}, hangsNoMore() {} };
  const plan = planDevices(await openBundle(folder))[0]!;
  const device = new LiveDevice(plan, [{ pool: 0, work, largestBatch: 2, hang }], ignored);
  closers.push(remove, () => device.close());
  return device;
}

/** liveDevice is a device that holds both partitions of the tiny model, with what it has told so far. */
async function liveDevice() {
  const { folder, remove } = await writeBundle(twoPartitions(2));
  const bundle = await openBundle(folder);
  const told: string[] = [];
  let heard = () => {};
  const tell = (event: string) => {
    told.push(event);
    heard();
  };
  const duties = bundle.work.map((work, pool) => ({ pool, work, largestBatch: 2, hang }));
  const device = new LiveDevice(planDevices(bundle)[0]!, duties, {
    up: () => tell('up'),
    down: () => tell('down'),
    off: () => tell('off'),
    failed: (why) => tell(`failed: ${why}`),
    restarted: () => tell('restarted'),
    hangs: () => tell('hangs'),
    hangsNoMore: () => tell('hangs no more'),
  });
  closers.push(remove, () => device.close());
  const until = async (count: number) => {
    while (told.length < count)
      await new Promise<void>((resolve) => {
        heard = resolve;
      });
  };
  return { device, told, until, folder };
}

describe('LiveDevice', () => {
  it('runs the models of all its pools, and names a device that is down', async () => {
    const { device, told } = await liveDevice();
    const x = inputOf(1, 2);
    await expect(device.run(0, { x })).rejects.toThrow('is down');
    await device.start();
    expect(told).toEqual(['up']);
    const first = await device.run(0, { x });
    expect(Object.keys(first.outputs).sort()).toEqual(['early', 'h']);
    const second = await device.run(1, { x, h: first.outputs.h! });
    expect(Object.keys(second.outputs)).toEqual(['y']);
  });

  inWholeRun(
    'comes up again when it is activated after it was closed, and reports no end that was wanted',
    async () => {
      const { device, told, until } = await liveDevice();
      await device.start();
      const { pid } = device;
      await device.close();
      expect(device.pid).toBeUndefined();
      device.activate();
      await until(3);
      expect(told).toEqual(['up', 'off', 'up']);
      expect(device.pid).not.toBe(pid);
      await device.run(0, { x: inputOf(1) });
    },
  );

  it('is up once after orders that contradict one another, and obeys the last', async () => {
    const { device, told, until } = await liveDevice();
    device.activate();
    const closed = device.close();
    device.activate();
    await closed;
    await until(1);
    expect(told).toEqual(['up']);
    device.activate();
    await until(2);
    expect(device.pid).toBeDefined();
    await device.close();
    expect(device.pid).toBeUndefined();
    expect(told).not.toContain('down');
  });

  it('starts no second executor when it is closed and activated while it starts', async () => {
    const { device, told } = await liveDevice();
    const started = device.start();
    const closed = device.close();
    device.activate();
    await Promise.all([started, closed]);
    await device.run(0, { x: inputOf(1) });
    expect(told).toEqual(['up']);
  });

  it('does not start, and says nothing of it, when it is closed before', async () => {
    const { device, told } = await liveDevice();
    const started = device.start();
    await Promise.all([started, device.close()]);
    expect(device.pid).toBeUndefined();
    expect(told).toEqual(['off']);
  });

  inWholeRun('reports once why it cannot be brought up, while it tries again', async () => {
    const { device, told, until, folder } = await liveDevice();
    await rm(join(folder, 'partitions'), { recursive: true });
    device.activate();
    await until(1);
    expect(told[0]).toMatch(/^failed: Cannot /);
    await device.close();
    expect(told.slice(1)).toEqual(['off']);
  });

  inWholeRun('is started again when it ends by itself, with all its models', async () => {
    const { device, told, until } = await liveDevice();
    device.activate();
    await until(1);
    process.kill(device.pid!, 'SIGKILL');
    await until(4);
    expect(told).toEqual(['up', 'down', 'up', 'restarted']);
    await device.run(1, {
      x: inputOf(1),
      h: { dtype: 'float32', dims: [1, 32], data: new Float32Array(32) },
    });
  });

  it('warms a file on what its inputs were profiled with, so that it need not run on zeros', async () => {
    const device = await oneFile(8, false);
    await device.start();
    const x = { dtype: 'float32', dims: [1, FEATURES], data: new Float32Array(FEATURES).fill(3) };
    expect((await device.run(0, { x })).outputs.y?.data).toEqual(new Float32Array(FEATURES).fill(5));
  });

  it('does not start where a file does not run on what its inputs were profiled with', async () => {
    const device = await oneFile(9, false);
    await expect(device.start()).rejects.toThrow(/Cannot serve .*looks-up\.onnx: .*8/s);
  });

  it.each([8, 9])(
    'starts with a file that takes no zeros, or no values that are known, of an inner tensor: %d',
    async (offset) => {
      const device = await oneFile(offset, true);
      await device.start();
      const x = { dtype: 'float32', dims: [1, FEATURES], data: new Float32Array(FEATURES).fill(4) };
      expect((await device.run(0, { x })).outputs.y?.data).toEqual(
        new Float32Array(FEATURES).fill(offset - 4),
      );
    },
  );
});
