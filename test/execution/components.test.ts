import { describe, expect, it } from 'vitest';
import {
  type ComponentExecutor,
  ExecutionError,
  type KeptInput,
  type TensorData,
  type Tensors,
} from '../../src/execution/index.js';
import { streamOf } from '../../src/random/index.js';
import { cases, inWholeRun, seeds } from '../cases.js';
import { LostThread, type NoOpModel, startNoOpComponents } from './no-op-components.js';

const PAIR = { name: 'x', shape: [1, 2], batchAxis: 0 };
const SPECS = { inputs: [PAIR], outputs: [{ ...PAIR, name: 'y' }] };
const NOTHING = { models: 0, batches: 0, kept: 0, outputs: 0, bytes: 0 };

function floats(...values: number[]): TensorData {
  return { dtype: 'float32', dims: [values.length / 2, 2], data: Float32Array.from(values) };
}

async function started(model: NoOpModel = {}): Promise<ComponentExecutor> {
  return await startNoOpComponents(model)({ provider: 'cpu' }, { name: 'fast' });
}

async function loaded(model: NoOpModel = {}) {
  const executor = await started(model);
  const { model: number } = await executor.load('some.onnx', SPECS);
  return { executor, model: number };
}

/** Gate is a promise that a test opens. */
function gate(): { opened: Promise<void>; open: () => void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

const last = (kept: number, name = 'y'): KeptInput => ({ kept, name, isLast: true });
const turns = async () => {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
};

describe('Components', () => {
  it('execute batches while a model is loaded, however long that takes', async () => {
    const { opened, open } = gate();
    let isFirst = true;
    const executor = await started({
      loading: async () => {
        if (!isFirst) await opened;
        isFirst = false;
      },
    });
    const { model } = await executor.load('first.onnx', SPECS);
    let isLoaded = false;
    const load = executor.load('second.onnx', SPECS).then((answer) => {
      isLoaded = true;
      return answer;
    });
    for (let id = 0; id < 5; id++) await executor.run(model, [{ id, inputs: { x: floats(id, 1) } }]);
    expect(isLoaded).toBe(false);
    open();
    const second = (await load).model;
    expect(second).not.toBe(model);
    await executor.run(second, [{ id: 5, inputs: { x: last(0) } }]);
    expect((await executor.fetch(5, ['y'])).y).toEqual(floats(0, 1));
  });

  it('execute one batch at a time, in the order in which they are asked for, of all models', async () => {
    let running = 0;
    const order: number[] = [];
    const executor = await started({
      outputs: async ({ x }) => {
        running += 1;
        expect(running).toBe(1);
        await turns();
        running -= 1;
        order.push(x!.data[0] as number);
        return { y: x! };
      },
    });
    const models = [await executor.load('a', SPECS), await executor.load('b', SPECS)];
    await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        executor.run(models[(i * 7) % 3 === 0 ? 1 : 0]!.model, [{ id: i, inputs: { x: floats(i, 0) } }]),
      ),
    );
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it('fail a load alone: batches and later loads go on', async () => {
    let loads = 0;
    const { executor, model } = await loaded({
      loading: async () => {
        loads += 1;
        if (loads === 2) throw new Error('no model');
      },
    });
    const failing = executor.load('bad.onnx', SPECS);
    const running = executor.run(model, [{ id: 1, inputs: { x: floats(1, 2) } }]);
    await expect(failing).rejects.toThrow('Cannot load bad.onnx on fast: no model');
    await running;
    await executor.load('good.onnx', SPECS);
    expect(await executor.stats()).toMatchObject({ models: 2, kept: 1 });
  });

  it('keep the inputs of a batch that fails, also those whose memory had moved into it', async () => {
    let fails = true;
    const { executor, model } = await loaded({
      outputs: ({ x }) => {
        if (fails) throw new Error('does not compute');
        return { y: x! };
      },
    });
    await executor.put(1, { y: floats(1, 2) });
    await executor.put(2, { y: floats(3, 4) });
    const alone = [{ id: 3, inputs: { x: last(1) } }];
    const both = [
      { id: 3, inputs: { x: last(1) } },
      { id: 4, inputs: { x: last(2) } },
    ];
    await expect(executor.run(model, alone)).rejects.toThrow('Cannot run a model on fast: does not compute');
    await expect(executor.run(model, both)).rejects.toThrow('does not compute');
    expect((await executor.fetch(1, ['y'])).y).toEqual(floats(1, 2));
    expect(await executor.stats()).toMatchObject({ kept: 2, outputs: 2, bytes: 16 });
    fails = false;
    const { tasks } = await executor.run(model, both, ['y']);
    expect(tasks.map(({ outputs }) => outputs.y)).toEqual([floats(1, 2), floats(3, 4)]);
    expect(tasks.map(({ bytes }) => bytes)).toEqual([{ y: 8 }, { y: 8 }]);
    await expect(executor.fetch(1, ['y'])).rejects.toThrow(
      'output y of 1 has moved into the run that was its last use',
    );
    await expect(executor.run(model, [{ id: 5, inputs: { x: { kept: 1, name: 'y' } } }])).rejects.toThrow(
      'output y of 1 has moved',
    );
  });

  it.each([
    ['memory that is freed when it is not needed', 20 * 1024],
    ['memory that is used again when it is not needed', 64 * 1024],
  ])('keep what is put, and what comes back from a batch that fails, apart from %s', async (_, bytes) => {
    const half = { name: 'x', shape: [1, bytes / 8], batchAxis: 0 };
    const row = (count: number, value: number): TensorData => {
      const dims = [count, bytes / 8];
      return { dtype: 'float32', dims, data: new Float32Array((count * bytes) / 8).fill(value) };
    };
    const executor = await started({
      outputs: ({ x }) => {
        if (x!.data[0] === 1) throw new Error('does not compute');
        return { y: structuredClone(x!) };
      },
    });
    const { model } = await executor.load('wide', { inputs: [half], outputs: [{ ...half, name: 'y' }] });
    const overwrite = async (id: number) => {
      const tasks = [id, id + 1].map((one) => ({ id: one, inputs: { x: row(1, one) } }));
      await executor.run(model, tasks);
    };
    await executor.put(1, { y: row(2, 1) });
    await overwrite(10);
    await overwrite(20);
    expect((await executor.fetch(1, ['y'])).y).toEqual(row(2, 1));
    const failing = executor.run(model, [{ id: 2, rows: 2, inputs: { x: last(1) } }]);
    await expect(failing).rejects.toThrow('does not compute');
    await overwrite(30);
    await overwrite(40);
    expect((await executor.fetch(1, ['y'])).y).toEqual(row(2, 1));
  });

  it('keep the inputs of a batch whose outputs do not fit its tasks, and nothing of what it gave', async () => {
    const { executor, model } = await loaded({ outputs: () => ({ y: floats(1, 2, 3, 4, 5, 6) }) });
    await executor.put(1, { y: floats(1, 2) });
    const tasks = [
      { id: 2, inputs: { x: last(1) } },
      { id: 3, inputs: { x: floats(3, 4) } },
    ];
    await expect(executor.run(model, tasks)).rejects.toThrow(
      'output y cannot be split among the tasks of its batch: it is float32[3, 2], and parts of 1 + 1 rows are asked for along axis 0',
    );
    expect(await executor.stats()).toMatchObject({ batches: 0, kept: 1, outputs: 1, bytes: 8 });
    expect((await executor.fetch(1, ['y'])).y).toEqual(floats(1, 2));
  });

  it('say what is lost with a thread that ends by itself: what has moved to it, and nothing else', async () => {
    const { executor, model } = await loaded({
      outputs: () => {
        throw new LostThread('its thread ended');
      },
    });
    await executor.put(1, { y: floats(1, 2) });
    await executor.put(2, { y: floats(3, 4) });
    await executor.put(3, { y: floats(5, 6) });
    const both = [
      { id: 4, inputs: { x: last(1) } },
      { id: 5, inputs: { x: last(2) } },
    ];
    await expect(executor.run(model, both)).rejects.toThrow('Cannot run a model on fast: its thread ended');
    await expect(executor.run(model, [{ id: 4, inputs: { x: last(3) } }])).rejects.toThrow(
      'its thread ended',
    );
    expect((await executor.fetch(2, ['y'])).y).toEqual(floats(3, 4));
    await expect(executor.fetch(3, ['y'])).rejects.toThrow('has moved into the run');
    expect(await executor.stats()).toMatchObject({ kept: 3, outputs: 2, bytes: 16 });
  });

  it('refuse a batch before it waits, and say why', async () => {
    const { executor, model } = await loaded();
    await executor.put(1, { y: floats(1, 2), z: floats(3, 4) });
    const refusal = async (id: number, inputs: Record<string, TensorData | KeptInput>, more: object = {}) =>
      await executor.run(model, [{ id, inputs, ...more }]).then(
        () => 'taken',
        (error: Error) => {
          expect(error).toBeInstanceOf(ExecutionError);
          return error.message.replace('Cannot run a model on fast: ', '');
        },
      );
    const x = floats(1, 2);
    expect(await refusal(1, { x })).toBe(
      'outputs are kept or awaited under 1 already: drop them first, or give another number',
    );
    expect(await refusal(2, {})).toBe('task 2 has no input x');
    expect(await refusal(2, { x, z: x })).toBe('task 2 has an input z, and the model takes x');
    expect(await refusal(2, { x: { kept: 9, name: 'y' } })).toBe('nothing is kept of 9');
    expect(await refusal(2, { x: { kept: 1, name: 'w' } })).toBe('1 has no output w, only y, z');
    expect(await refusal(2, { x: floats(1, 2, 3, 4) })).toBe(
      'input x of task 2 is [2, 2], and axis 0 of 1 row is 1',
    );
    expect(await refusal(2, { x }, { rows: 2 })).toBe(
      'input x of task 2 is [1, 2], and axis 0 of 2 rows is 2',
    );
    expect(await refusal(2, { x }, { rows: 0 })).toBe('task 2 has 0 rows');
    await expect(executor.run(model, [])).rejects.toThrow('the batch has no tasks');
    const twice = [
      { id: 2, inputs: { x } },
      { id: 2, inputs: { x } },
    ];
    await expect(executor.run(model, twice)).rejects.toThrow('two tasks of the batch have one number');
    await expect(executor.run(7, [{ id: 2, inputs: { x } }])).rejects.toThrow('model 7 is not loaded');
    await expect(executor.run(model, [{ id: 2, inputs: { x } }], ['z'])).rejects.toThrow(
      'output z is not kept, only y',
    );
    await expect(executor.put(1, {})).rejects.toThrow('kept or awaited under 1 already');
    await expect(executor.fetch(8, ['y'])).rejects.toThrow(
      'Cannot fetch outputs on fast: nothing is kept of 8',
    );
    expect(await refusal(2, { x })).toBe('taken');
    expect(await executor.stats()).toMatchObject({ batches: 0, kept: 2, outputs: 3, bytes: 24 });
  });

  it('refuse a number that a batch under way gives, and inputs of one batch that do not fit together', async () => {
    const { executor, model } = await loaded();
    const first = executor.run(model, [{ id: 1, inputs: { x: floats(1, 2) } }]);
    await expect(executor.put(1, {})).rejects.toThrow('kept or awaited under 1 already');
    await first;
    const odd: TensorData = { dtype: 'int32', dims: [1, 2], data: Int32Array.of(1, 2) };
    const tasks = [
      { id: 2, inputs: { x: floats(1, 2) } },
      { id: 3, inputs: { x: odd } },
    ];
    await expect(executor.run(model, tasks)).rejects.toThrow(
      'inputs x do not fit together: part 1 is int32[1, 2], but part 0 is float32[1, 2], axis 0 apart',
    );
  });

  it('drop what a batch takes or gives after its end, refuse it meanwhile, and take the number again then', async () => {
    const { opened, open } = gate();
    const { executor, model } = await loaded({
      outputs: async ({ x }) => {
        await opened;
        return { y: x! };
      },
    });
    await executor.put(1, { y: floats(1, 2) });
    const first = executor.run(model, [{ id: 2, inputs: { x: { kept: 1, name: 'y' } } }]);
    const second = executor.run(model, [{ id: 3, inputs: { x: { kept: 2, name: 'y' } } }], ['y']);
    let isDropped = false;
    const drop = executor.drop([1, 2]).then(() => {
      isDropped = true;
    });
    await expect(executor.run(model, [{ id: 4, inputs: { x: last(1) } }])).rejects.toThrow(
      'nothing is kept of 1',
    );
    await expect(executor.put(2, {})).rejects.toThrow('awaited under 2 already');
    await turns();
    expect(isDropped).toBe(false);
    open();
    await Promise.all([first, drop]);
    expect((await second).tasks[0]!.outputs.y).toEqual(floats(1, 2));
    expect(await executor.stats()).toMatchObject({ batches: 0, kept: 1, outputs: 1 });
    await executor.put(1, { y: floats(5, 6) });
    await executor.drop([1, 3, 77]);
    expect(await executor.stats()).toMatchObject({ kept: 0, outputs: 0, bytes: 0 });
  });

  it('drop a number once that is dropped twice, and not what is kept under it afterwards', async () => {
    const { opened, open } = gate();
    const { executor, model } = await loaded({
      outputs: async ({ x }) => {
        await opened;
        return { y: x! };
      },
    });
    await executor.put(1, { y: floats(1, 2) });
    const run = executor.run(model, [{ id: 2, inputs: { x: floats(1, 2) } }]);
    const late = executor.drop([2]);
    const first = executor.drop([1, 1]);
    const second = executor.drop([1, 2]);
    await first;
    await executor.put(1, { y: floats(3, 4) });
    open();
    await Promise.all([run, late, second]);
    expect((await executor.fetch(1, ['y'])).y).toEqual(floats(3, 4));
    expect(await executor.stats()).toMatchObject({ kept: 1, outputs: 1, bytes: 8 });
  });

  it('fetch what a batch under way gives once it is there, and say where that batch has failed', async () => {
    const { executor, model } = await loaded({
      outputs: async ({ x }) => {
        await turns();
        if (x!.data[0] === 9) throw new Error('fails');
        return { y: x! };
      },
    });
    const runs = Promise.allSettled([
      executor.run(model, [{ id: 1, inputs: { x: floats(9, 9) } }]),
      executor.run(model, [{ id: 2, inputs: { x: floats(1, 2) } }]),
    ]);
    const [failed, fetched] = await Promise.allSettled([executor.fetch(1, ['y']), executor.fetch(2, ['y'])]);
    expect(failed).toMatchObject({
      reason: { message: 'Cannot fetch outputs on fast: nothing is kept of 1' },
    });
    expect(fetched).toEqual({ status: 'fulfilled', value: { y: floats(1, 2) } });
    await runs;
  });

  it('fetch what a batch under way gives before a batch or a drop that is asked for later takes it', async () => {
    const { executor, model } = await loaded();
    const given = executor.run(model, [{ id: 1, inputs: { x: floats(1, 2) } }]);
    const fetched = executor.fetch(1, ['y']);
    const taken = executor.run(model, [{ id: 2, inputs: { x: last(1) } }]);
    const again = executor.fetch(2, ['y']);
    const drop = executor.drop([1, 2]);
    expect(await Promise.all([fetched, again])).toEqual([{ y: floats(1, 2) }, { y: floats(1, 2) }]);
    await Promise.all([given, taken, drop]);
    expect(await executor.stats()).toMatchObject({ kept: 0, outputs: 0, bytes: 0 });
  });

  it('release a model after the batches that were asked for, and take none meanwhile', async () => {
    const { opened, open } = gate();
    const { executor, model } = await loaded({
      outputs: async ({ x }) => {
        await opened;
        return { y: x! };
      },
    });
    const run = executor.run(model, [{ id: 1, inputs: { x: floats(1, 2) } }]);
    const queued = executor.run(model, [{ id: 2, inputs: { x: floats(3, 4) } }]);
    let isReleased = false;
    const release = executor.release(model).then(() => {
      isReleased = true;
    });
    await expect(executor.run(model, [{ id: 3, inputs: { x: floats(1, 2) } }])).rejects.toThrow(
      'is not loaded',
    );
    await turns();
    expect(isReleased).toBe(false);
    expect(await executor.stats()).toMatchObject({ models: 1, batches: 2 });
    open();
    await Promise.all([run, queued, release]);
    expect(await executor.stats()).toMatchObject({ models: 0, kept: 2 });
    await expect(executor.release(model)).rejects.toThrow('is not loaded');
  });

  it('use the threads of released models for the next loads, of which three wait, and start one where there is none', async () => {
    let threads = 0;
    const executor = await started({
      started: () => {
        threads += 1;
      },
    });
    const load = async (count: number) => {
      const loads = Array.from({ length: count }, (_, i) => executor.load(`model-${i}`, SPECS));
      return (await Promise.all(loads)).map(({ model }) => model);
    };
    const first = await load(1);
    expect(threads).toBe(1);
    const models = [...first, ...(await load(4))];
    expect(threads).toBe(5);
    await Promise.all(models.map((model) => executor.release(model)));
    await load(3);
    expect(threads).toBe(5);
    await load(1);
    expect(threads).toBe(6);
  });

  it('give several tasks an output without a batch axis in memory of their own, unless its size depends on the data', async () => {
    const whole = { name: 'y', shape: [1, 2] };
    const executor = await started({ outputs: () => ({ y: floats(7, 8) }) });
    const { model } = await executor.load('whole', { ...SPECS, outputs: [whole] });
    const listed = await executor.load('listed', { ...SPECS, outputs: [{ ...whole, variableAxes: [0] }] });
    const tasks = (from: number) => [
      { id: from, inputs: { x: floats(1, 2) } },
      { id: from + 1, inputs: { x: floats(3, 4) } },
    ];
    await executor.run(model, tasks(1));
    expect(await executor.stats()).toMatchObject({ bytes: 16 });
    await executor.drop([1]);
    expect((await executor.fetch(2, ['y'])).y).toEqual(floats(7, 8));
    await expect(executor.run(listed.model, tasks(3))).rejects.toThrow('split among no rows');
  });

  it('feed several tasks an input without a batch axis once, where it is the same for all', async () => {
    const inputs = [PAIR, { name: 'scale', shape: [1] }];
    const fed: Tensors[] = [];
    const executor = await started({
      outputs: (feeds) => {
        fed.push(structuredClone(feeds));
        return { y: structuredClone(feeds.x!) };
      },
    });
    const { model } = await executor.load('scaled', { ...SPECS, inputs });
    const scale: TensorData = { dtype: 'float32', dims: [1], data: Float32Array.of(3) };
    await executor.put(1, { scale });
    const tasks = (second: TensorData) => [
      { id: 2, inputs: { x: floats(1, 2), scale: last(1, 'scale') } },
      { id: 3, inputs: { x: floats(3, 4), scale: second } },
    ];
    await expect(executor.run(model, tasks({ ...scale, data: Float32Array.of(4) }))).rejects.toThrow(
      'scale has no batch axis and differs between the requests of a batch',
    );
    await executor.run(model, tasks(scale));
    expect(fed).toEqual([{ x: floats(1, 2, 3, 4), scale }]);
    await expect(executor.fetch(1, ['scale'])).rejects.toThrow('has moved');
  });

  it('feed one output to two inputs of a task, also where that is its last use', async () => {
    const inputs = [PAIR, { ...PAIR, name: 'z' }];
    const executor = await started({
      outputs: ({ x, z }) => ({ y: floats(x!.data[0] as number, z!.data[1] as number) }),
    });
    const { model } = await executor.load('two', { ...SPECS, inputs });
    await executor.put(1, { y: floats(1, 2) });
    const { tasks } = await executor.run(model, [{ id: 2, inputs: { x: last(1), z: last(1) } }], ['y']);
    expect(tasks[0]!.outputs.y).toEqual(floats(1, 2));
    expect(await executor.stats()).toMatchObject({ outputs: 1, bytes: 8 });
  });

  it('keep an output whole that a batch took for the last time, twice, before it failed', async () => {
    const wide = { name: 'x', shape: [1, 5000], batchAxis: 0 };
    const executor = await started({
      outputs: () => {
        throw new Error('does not compute');
      },
    });
    const { model } = await executor.load('two', { inputs: [wide, { ...wide, name: 'z' }], outputs: [wide] });
    const y = { dtype: 'float32', dims: [1, 5000], data: new Float32Array(5000).fill(3) };
    await executor.put(1, { y });
    const failing = executor.run(model, [{ id: 2, inputs: { x: last(1), z: last(1) } }]);
    await expect(failing).rejects.toThrow('does not compute');
    expect((await executor.fetch(1, ['y'])).y).toEqual(y);
  });

  it('close after what was asked for', async () => {
    const { executor, model } = await loaded();
    const load = executor.load('late', SPECS);
    const run = executor.run(model, [{ id: 1, inputs: { x: floats(1, 2) } }], ['y']);
    await executor.close();
    expect((await run).tasks[0]!.outputs.y).toEqual(floats(1, 2));
    await load;
    expect(await executor.stats()).toEqual({ ...NOTHING, kept: 1, outputs: 1, bytes: 8 });
  });
});

/** What is kept, as a test knows it: values by task and output; undefined for an output whose last use was. */
type Known = Map<number, Map<string, number[] | undefined>>;

describe('Components under random requests that nobody waits for', () => {
  it.each(seeds(4, 40))('keep exactly what plain rules say, seed %i', async (seed) => {
    const { uniform } = streamOf(seed, 'inputs');
    const below = (n: number) => Math.floor(uniform() * n);
    const { executor, model } = await loaded({
      outputs: async ({ x }) => {
        if (below(3) === 0) await turns();
        const values = [...(x!.data as Float32Array)];
        if (values.some((value) => value < 0)) throw new Error('negative');
        return { y: floats(...values.map((value) => value + 1)) };
      },
    });
    const known: Known = new Map();
    const waiting: Promise<void>[] = [];
    /** Outputs that a batch under way takes last, which nobody may fetch. */
    const takenLast = new Set<number>();
    let next = 0;
    const anyId = () => (known.size === 0 || below(20) === 0 ? -1 : [...known.keys()][below(known.size)]!);
    const same = async (promise: Promise<unknown>, wanted: unknown) => {
      const found = await promise.then(
        (value) => value,
        () => 'refused',
      );
      expect(found, `seed ${seed}`).toEqual(wanted);
    };
    const put = () => {
      const id = next++;
      const values = [below(5) - (below(6) === 0 ? 5 : 0), below(100)];
      known.set(id, new Map([['y', values]]));
      return same(executor.put(id, { y: floats(...values) }), { y: 8 });
    };
    const run = () => {
      const tasks = Array.from({ length: 1 + below(3) }, () => {
        const kept = { kept: anyId(), name: 'y', isLast: below(3) === 0 };
        return { id: next++, inputs: { x: below(3) === 0 ? floats(below(9), below(9)) : kept } };
      });
      const taken = tasks.flatMap(({ inputs: { x } }) => ('kept' in x ? [x] : []));
      const values = tasks.map(({ inputs: { x } }) =>
        'kept' in x ? known.get(x.kept)?.get('y') : [...(x.data as Float32Array)],
      );
      const works = values.every((of) => of?.every((value) => value >= 0));
      for (const { kept, isLast } of taken) if (isLast) takenLast.add(kept);
      const asked = executor.run(model, tasks, ['y']);
      if (!works) return same(asked, 'refused');
      for (const { kept, isLast } of taken) if (isLast) known.get(kept)!.set('y', undefined);
      for (const [i, { id }] of tasks.entries())
        known.set(id, new Map([['y', values[i]!.map((value) => value + 1)]]));
      return same(
        asked.then((batch) => batch.tasks.map(({ outputs }) => [...(outputs.y!.data as Float32Array)])),
        values.map((of) => of!.map((value) => value + 1)),
      );
    };
    const fetch = () => {
      const id = anyId();
      if (takenLast.has(id)) return Promise.resolve();
      const values = known.get(id)?.get('y');
      const asked = executor.fetch(id, ['y']);
      return same(asked, values === undefined ? 'refused' : { y: floats(...values) });
    };
    const drop = () => {
      const ids = Array.from({ length: 1 + below(3) }, anyId);
      for (const id of ids) known.delete(id);
      return same(executor.drop(ids), undefined);
    };
    for (let i = 0; i < 500; i++) {
      waiting.push([put, run, run, fetch, drop][below(5)]!());
      if (below(8) !== 0) continue;
      await Promise.all(waiting.splice(0));
      takenLast.clear();
      const outputs = [...known.values()].flatMap((of) => [...of.values()]).filter((of) => of !== undefined);
      expect(await executor.stats()).toEqual({
        models: 1,
        batches: 0,
        kept: known.size,
        outputs: outputs.length,
        bytes: 8 * outputs.length,
      });
    }
    await Promise.all(waiting);
    await executor.drop([...known.keys()]);
    await executor.release(model);
    expect(await executor.stats()).toEqual(NOTHING);
  });

  inWholeRun('hold nothing after many requests of two calls each', async () => {
    const { executor, model } = await loaded();
    const requests = cases(2_000, 100_000);
    for (let i = 0; i < requests; i++) {
      const [body, first, second] = [3 * i, 3 * i + 1, 3 * i + 2];
      await executor.put(body, { y: floats(i, 1) });
      void executor.run(model, [{ id: first, inputs: { x: { kept: body, name: 'y' } } }]);
      const { tasks } = await executor.run(model, [{ id: second, inputs: { x: last(first) } }], ['y']);
      expect(tasks[0]!.outputs.y!.data[0]).toBe(i);
      await executor.drop([body, first, second]);
    }
    expect(await executor.stats()).toEqual({ ...NOTHING, models: 1 });
  });
});
