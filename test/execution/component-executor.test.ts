import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { CallingExecutor, type ComponentCalls } from '../../src/execution/component-executor.js';
import {
  ChangedModelError,
  type ComponentExecutor,
  type ComponentLoadOptions,
  DTYPES,
  ExecutionError,
  type Executor,
  type ExecutorOptions,
  HostCache,
  type KeptInput,
  randomTensor,
  stackBatch,
  startComponentExecutor,
  startExecutor,
  type TensorData,
} from '../../src/execution/index.js';
import { MissingError, sha256Of } from '../../src/formats/index.js';
import { streamOf } from '../../src/random/index.js';
import { inLongRun, inWholeRun, whole } from '../cases.js';
import * as w from '../onnx/writer.js';
import { matmulChain, modelFolder, unary } from './tiny-models.js';

const folder = modelFolder();
const started: ComponentExecutor[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((executor) => executor.close()));
});
afterAll(() => folder.remove());

async function start(options: ExecutorOptions = {}, slowdown = 1): Promise<ComponentExecutor> {
  const executor = await startComponentExecutor({ provider: 'cpu', threads: 1, slowdown }, options);
  started.push(executor);
  return executor;
}

let common: Promise<ComponentExecutor> | undefined;
afterAll(async () => await (await common)?.close());

/** shared gives the executor of all tests that leave nothing behind. */
function shared(): Promise<ComponentExecutor> {
  common ??= startComponentExecutor({ provider: 'cpu', threads: 1 }, { name: 'fast' });
  return common;
}

const { uniform } = streamOf(1, 'inputs');

/** A model with one input x and one output y, of rows of this width. */
function specs(width: number): ComponentLoadOptions {
  const of = (name: string) => ({ name, shape: [1, width], batchAxis: 0 });
  return { inputs: [of('x')], outputs: [of('y')] };
}

function rows(count: number, width: number): TensorData {
  return randomTensor({ dtype: 'float32', dims: [count, width] }, uniform);
}

const last = (kept: number, name = 'y'): KeptInput => ({ kept, name, isLast: true });
const WIDTH = 48;
const first = folder.write('first.onnx', matmulChain(3, WIDTH));
const second = folder.write('second.onnx', unary('Exp', 'float32', ['n', WIDTH]));
/** It takes far longer to load than many of the others take to run. */
const large = folder.write('large.onnx', weighty(3000));

/** weighty writes a model of one product with a weight of width² floats, as raw bytes. */
function weighty(width: number): Uint8Array {
  const weight = new Uint8Array(new Float32Array(width * width).fill(0.5).buffer);
  const graph = w.graph({
    nodes: [w.node('MatMul', ['x', 'v'], ['y'])],
    initializers: [w.message([1, width], [1, width], [2, w.FLOAT], [8, 'v'], [9, weight])],
    inputs: [w.value('x', w.FLOAT, ['n', width])],
    outputs: [w.value('y', w.FLOAT, ['n', width])],
  });
  return w.model(graph);
}

describe('A component executor', () => {
  inWholeRun(
    'gives what the executor of single models gives, for chains by reference, by wire and mixed',
    async () => {
      const plain: Executor = await startExecutor({ provider: 'cpu', threads: 1 });
      try {
        const models = [await plain.load(first), await plain.load(second)];
        const executor = await shared();
        const [a, b] = [await executor.load(first, specs(WIDTH)), await executor.load(second, specs(WIDTH))];
        for (const counts of whole([[2], [3, 1, 2]], [[1], [2], [1, 1], [3, 1, 2], [1, 1, 1, 1, 1, 1]])) {
          const inputs = counts.map((count) => rows(count, WIDTH));
          const middle = (await plain.run(models[0]!.model, { x: stackBatch(inputs, 0) })).outputs.y!;
          const end = (await plain.run(models[1]!.model, { x: middle })).outputs.y!;
          const ids = counts.map((_, i) => i);
          const tasksOf = (from: number, inputOf: (i: number) => TensorData | KeptInput) =>
            counts.map((count, i) => ({ id: from + i, rows: count, inputs: { x: inputOf(i) } }));
          for (const way of ['reference', 'last reference', 'wire', 'mixed']) {
            await executor.run(
              a.model,
              tasksOf(0, (i) => inputs[i]!),
            );
            const fetched = await Promise.all(ids.map((id) => executor.fetch(id, ['y'])));
            expect(
              stackBatch(
                fetched.map(({ y }) => y!),
                0,
              ),
            ).toEqual(middle);
            const inputOf = (i: number): TensorData | KeptInput => {
              const isSent = way === 'wire' || (way === 'mixed' && i % 2 === 0);
              return isSent ? fetched[i]!.y! : { kept: i, name: 'y', isLast: way === 'last reference' };
            };
            const { tasks, startedNs, endedNs } = await executor.run(b.model, tasksOf(100, inputOf), ['y']);
            expect(startedNs).toBeLessThan(endedNs);
            expect(tasks.map(({ bytes }) => bytes)).toEqual(
              counts.map((count) => ({ y: 4 * count * WIDTH })),
            );
            expect(
              stackBatch(
                tasks.map(({ outputs }) => outputs.y!),
                0,
              ),
              way,
            ).toEqual(end);
            await executor.drop([...ids, ...ids.map((id) => id + 100)]);
          }
        }
        expect(await executor.stats()).toMatchObject({ kept: 0, outputs: 0, bytes: 0 });
        await Promise.all([executor.release(a.model), executor.release(b.model)]);
      } finally {
        await plain.close();
      }
    },
  );

  inWholeRun('keeps and passes on every dtype, empty tensors too', async () => {
    const executor = await shared();
    for (const dtype of [...Object.keys(DTYPES), 'string']) {
      const path = folder.write(`${dtype}.onnx`, unary('Identity', dtype, ['n', 2]));
      const { model } = await executor.load(path, specs(2));
      for (const n of [0, 3]) {
        const x = randomTensor({ dtype, dims: [n, 2] }, () => Math.floor(uniform() * 10) / 10);
        const alike = randomTensor({ dtype, dims: [1, 2] }, uniform);
        await executor.put(1, { y: x });
        await executor.put(2, { y: alike });
        if (n > 0) {
          await executor.run(model, [
            { id: 3, rows: n, inputs: { x: { kept: 1, name: 'y' } } },
            { id: 4, inputs: { x: last(2) } },
          ]);
          expect((await executor.fetch(3, ['y'])).y, dtype).toEqual(x);
          expect((await executor.fetch(4, ['y'])).y, dtype).toEqual(alike);
          const moved = await executor.run(model, [{ id: 5, rows: n, inputs: { x: last(3) } }], ['y']);
          expect(moved.tasks[0]!.outputs.y, dtype).toEqual(x);
        }
        expect((await executor.fetch(1, ['y'])).y, dtype).toEqual(x);
        await executor.drop([1, 2, 3, 4, 5]);
      }
      await executor.release(model);
    }
    expect(await executor.stats()).toEqual({ models: 0, batches: 0, kept: 0, outputs: 0, bytes: 0 });
  });

  inWholeRun('executes batches while it loads a large model, from bytes and from a file', async () => {
    const executor = await start();
    const { model } = await executor.load(second, specs(WIDTH));
    const cache = new HostCache({ limitBytes: 2 ** 30 });
    const bytes = await cache.get(large);
    for (const source of [bytes, large]) {
      const order: string[] = [];
      const load = executor.load(source, specs(3000)).then((answer) => {
        order.push('loaded');
        return answer;
      });
      for (let i = 0; i < 3; i++) {
        await executor.run(model, [{ id: i, inputs: { x: rows(1, WIDTH) } }]);
        order.push('executed');
      }
      const answer = await load;
      expect(order).toEqual(['executed', 'executed', 'executed', 'loaded']);
      const { tasks } = await executor.run(
        answer.model,
        [
          {
            id: 9,
            inputs: { x: { dtype: 'float32', dims: [1, 3000], data: new Float32Array(3000).fill(2) } },
          },
        ],
        ['y'],
      );
      expect(tasks[0]!.outputs.y!.data[2999]).toBe(3000);
      await executor.drop([0, 1, 2, 9]);
      await executor.release(answer.model);
    }
  });

  it('executes one batch at a time, in the order asked for, by the times that it reports', async () => {
    const executor = await shared();
    const models = [await executor.load(first, specs(WIDTH)), await executor.load(second, specs(WIDTH))];
    const batches = await Promise.all(
      Array.from({ length: 60 }, (_, id) =>
        executor.run(models[id % 2]!.model, [{ id, rows: 40, inputs: { x: rows(40, WIDTH) } }]),
      ),
    );
    for (let i = 1; i < batches.length; i++)
      expect(batches[i]!.startedNs).toBeGreaterThanOrEqual(batches[i - 1]!.endedNs);
    await executor.drop(batches.map((_, id) => id));
    await Promise.all(models.map(({ model }) => executor.release(model)));
  });

  it('sends the bytes of a model where no batch waits for them, and all else in order', async () => {
    const sent: string[] = [];
    const calls = {
      call: async (_what: string, { op }: { op: string }, { isModel = false } = {}) => {
        sent.push(`${op} ${isModel}`);
        return { answer: { bytes: [] }, tensors: {} };
      },
    } as unknown as ComponentCalls;
    const executor = new CallingExecutor(calls);
    await executor.load({ path: 'm.onnx', bytes: new Uint8Array(8), data: [] }, specs(2));
    await executor.load('m.onnx', specs(2));
    await executor.run(0, [{ id: 1, inputs: {} }]);
    expect(sent).toEqual(['load true', 'load false', 'run false']);
  });

  it('fails a corrupt model alone, by file and by bytes, with batches before and behind', async () => {
    const executor = await shared();
    const { model } = await executor.load(first, specs(WIDTH));
    const bad = folder.write('bad.onnx', Buffer.from('not onnx'));
    const cut = readFileSync(large).subarray(0, 5_000_000);
    const outcomes = await Promise.allSettled([
      executor.run(model, [{ id: 1, inputs: { x: rows(1, WIDTH) } }]),
      executor.load(bad, specs(WIDTH)),
      executor.load({ path: 'cut.onnx', bytes: cut, data: [] }, specs(WIDTH)),
      executor.load('nowhere/none.onnx', specs(WIDTH)),
      executor.run(model, [{ id: 2, inputs: { x: rows(1, WIDTH) } }]),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual([
      ...['fulfilled', 'rejected', 'rejected', 'rejected', 'fulfilled'],
    ]);
    const said = outcomes.map((outcome) => String((outcome as PromiseRejectedResult).reason));
    expect(said[1]).toMatch(/ExecutionError: Cannot load .*bad\.onnx on fast: .*[Pp]rotobuf/);
    expect(said[2]).toMatch(/ExecutionError: Cannot load cut\.onnx on fast: /);
    expect(said[3]).toMatch(/ExecutionError: Cannot load nowhere\/none\.onnx on fast: /);
    await executor.drop([1, 2]);
    await executor.release(model);
    expect(await executor.stats()).toMatchObject({ models: 0, kept: 0 });
  });

  it('fails a batch that the model does not take alone, and its inputs can be used once more', async () => {
    const executor = await shared();
    const { model } = await executor.load(first, specs(WIDTH));
    const x = rows(1, WIDTH);
    await executor.put(1, { y: x, odd: rows(1, 7) });
    await expect(executor.run(model, [{ id: 2, inputs: { x: last(1, 'odd') } }])).rejects.toThrow(
      /Cannot run a model on fast: .*imensions/,
    );
    expect((await executor.fetch(1, ['odd'])).odd!.dims).toEqual([1, 7]);
    await executor.run(model, [{ id: 2, inputs: { x: last(1) } }]);
    await expect(executor.fetch(1, ['y'])).rejects.toThrow('has moved into the run that was its last use');
    await expect(executor.run(model, [{ id: 3, inputs: { x: last(1) } }])).rejects.toThrow('has moved into');
    const halves = { dtype: 'float16', dims: [1, WIDTH], data: new Float32Array(WIDTH) };
    await expect(executor.run(model, [{ id: 3, inputs: { x: halves } }])).rejects.toThrow(
      /is float16 and held in Float32Array/,
    );
    await executor.drop([1, 2]);
    await executor.release(model);
  });

  it('loads a model with external data from a host cache, and computes with it when the cache is gone', async () => {
    const count = 1 << 16;
    const weights = Buffer.from(new Float32Array(count).fill(2).buffer);
    const external = { location: 'scale.data', offset: '0', length: String(4 * count) };
    const graph = w.graph({
      nodes: [w.node('Mul', ['x', 'v'], ['y'])],
      initializers: [w.externalFloats('v', [count], external)],
      inputs: [w.value('x', w.FLOAT, ['n', count])],
      outputs: [w.value('y', w.FLOAT, ['n', count])],
    });
    const bytes = w.model(graph);
    const path = folder.write('scale.onnx', bytes);
    const data = [{ path: folder.write('scale.data', weights), sha256: sha256Of(weights) }];
    const digests = { sha256: sha256Of(bytes), data };
    const cache = new HostCache({ limitBytes: 2 ** 20 });
    const executor = await shared();
    const models = [
      await executor.load(await cache.get(path, digests), specs(count)),
      await executor.load(path, { ...specs(count), digests }),
    ];
    folder.write('scale.data', Buffer.alloc(4 * count));
    const x = { dtype: 'float32', dims: [1, count], data: new Float32Array(count).fill(3) };
    for (const { model } of models) {
      const { tasks } = await executor.run(model, [{ id: 1, inputs: { x } }], ['y']);
      expect(new Set(tasks[0]!.outputs.y!.data as Float32Array)).toEqual(new Set([6]));
      await executor.drop([1]);
      await executor.release(model);
    }
    await expect(executor.load(path, { ...specs(count), digests })).rejects.toThrow(ChangedModelError);
    await expect(executor.load(await cache.get(path), specs(count))).rejects.toThrow(
      /scale\.data|[Ee]xternal/,
    );
  });

  inWholeRun(
    'ends alone when it is killed: runs, loads and fetches reject, and exited resolves',
    async () => {
      const victim = await start({ name: 'victim' }, 1e6);
      const { model } = await victim.load(first, specs(WIDTH));
      const pending = Promise.allSettled([
        victim.run(model, [{ id: 1, inputs: { x: rows(64, WIDTH) }, rows: 64 }]),
        victim.run(model, [{ id: 2, inputs: { x: { kept: 1, name: 'y' } }, rows: 64 }]),
        victim.fetch(1, ['y']),
        victim.load({ path: 'large.onnx', bytes: readFileSync(large), data: [] }, specs(3000)),
      ]);
      process.kill(victim.pid, 'SIGKILL');
      expect(await victim.exited).toEqual({ code: null, signal: 'SIGKILL' });
      for (const outcome of await pending)
        expect(String((outcome as PromiseRejectedResult).reason)).toMatch(
          /ExecutionError: Cannot .* on victim: its process \d+ ended by SIGKILL/,
        );
      await expect(victim.stats()).rejects.toThrow(ExecutionError);
    },
  );

  inWholeRun(
    'does what was asked before close(), loads included, and is killed where that takes too long',
    async () => {
      const executor = await start();
      const { model } = await executor.load(first, specs(WIDTH));
      const asked = Promise.all([
        executor.load({ path: 'large.onnx', bytes: readFileSync(large), data: [] }, specs(3000)),
        executor.run(model, [{ id: 1, inputs: { x: rows(1, WIDTH) } }], ['y']),
      ]);
      await executor.close({ graceMs: 60_000 });
      expect((await asked)[1].tasks[0]!.outputs.y!.dims).toEqual([1, WIDTH]);
      expect(await executor.exited).toEqual({ code: 0, signal: null });

      const slow = await start({}, 1e6);
      const held = await slow.load(first, specs(WIDTH));
      const endless = slow.run(held.model, [{ id: 1, rows: 64, inputs: { x: rows(64, WIDTH) } }]);
      const outcome = endless.catch((error: unknown) => error);
      await slow.close({ graceMs: 100 });
      expect(await slow.exited).toEqual({ code: null, signal: 'SIGKILL' });
      expect(await outcome).toBeInstanceOf(ExecutionError);
    },
  );

  it('throws MissingError with advice when the provider is missing', async () => {
    const absent = process.platform === 'win32' ? 'coreml' : 'dml';
    const error = await startComponentExecutor({ provider: absent }, { name: 'big' }).catch(
      (one: unknown) => one,
    );
    expect(error).toBeInstanceOf(MissingError);
    expect(String(error)).toContain(`Cannot use device big: ${absent}: backend not found`);
  });

  inWholeRun('does not keep an idle program running, whose models and outputs it holds', () => {
    const built = pathToFileURL(createRequire(import.meta.url).resolve('#dist/src/execution/index.js')).href;
    const program = `
      import { startComponentExecutor } from ${JSON.stringify(built)};
      const executor = await startComponentExecutor({ provider: 'cpu', threads: 1 });
      const { model } = await executor.load(${JSON.stringify(second)}, ${JSON.stringify(specs(WIDTH))});
      await executor.put(1, { y: { dtype: 'float32', dims: [1, 1], data: Float32Array.of(1) } });
      console.log('idle');`;
    const args = ['--input-type=module', '-e', program];
    const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 60_000 });
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'idle\n' });
  });

  inLongRun(
    'does not grow over loads and releases, nor over outputs that are kept and dropped',
    async ({ skip }) => {
      skip(!existsSync('/proc/self/status'), 'this system does not tell what a process holds');
      const executor = await start();
      const bytes = readFileSync(large);
      const cycle = async (times: number) => {
        for (let i = 0; i < times; i++) {
          const { model } = await executor.load({ path: 'large.onnx', bytes, data: [] }, specs(3000));
          await executor.run(model, [{ id: 1, rows: 300, inputs: { x: rows(300, 3000) } }]);
          await executor.drop([1]);
          await executor.release(model);
        }
        const held = /^RssAnon:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${executor.pid}/status`, 'utf8'))![1];
        return Number(held) / 1024;
      };
      const before = await cycle(10);
      // A leak of a model would add up to 680 MiB, and one of an output to 69.
      expect((await cycle(20)) - before).toBeLessThan(60);
    },
  );
});
