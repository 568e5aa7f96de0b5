import { describe, expect, it } from 'vitest';
import { resultOf } from '../../src/programs/answer.js';
import { arrayOf, tensorCopy } from '../../src/programs/datatypes.js';
import { moduleFaults, told } from '../../src/programs/module-faults.js';
import type { Datatype, TensorMetadata } from '../../src/programs/program.js';
import { fitted, ProgramSources, rowsOfShape } from '../../src/programs/program-sources.js';
import { recordedRun } from '../../src/programs/recorded-run.js';
import { placeOf, toldError } from '../../src/programs/told-error.js';

const tensor = (name: string, shape: readonly number[], datatype: Datatype = 'FP32'): TensorMetadata => ({
  name,
  datatype,
  shape,
});

/** madeOf adds an output of a task to sources, as a run is given it. */
const madeOf = (sources: ProgramSources, metadata: TensorMetadata, rows = 1) =>
  sources.add({ source: { from: 'task', task: 3, output: metadata.name }, metadata, rows });

describe('The tensor of a program', () => {
  it('is copied in the array of its datatype, with a shape of its own', () => {
    const shape = [2];
    const data = Float32Array.of(0, 1, 2).subarray(1);
    const copy = tensorCopy({ datatype: 'FP32', shape, data })!;
    expect(copy).toEqual({ datatype: 'FP32', shape: [2], data: Float32Array.of(1, 2) });
    expect(copy.shape).not.toBe(shape);
    expect(copy.data).not.toBe(data);
    expect((copy.data as Float32Array).buffer.byteLength).toBe(8);
    const texts = ['a', 'b'];
    expect(tensorCopy({ datatype: 'BYTES', shape, data: texts })!.data).toEqual(texts);
    expect(tensorCopy({ datatype: 'BYTES', shape, data: texts })!.data).not.toBe(texts);
  });

  it('is refused in another array, and as text with anything else', () => {
    expect(tensorCopy({ datatype: 'FP32', shape: [1], data: Float64Array.of(1) as never })).toBeUndefined();
    expect(tensorCopy({ datatype: 'BYTES', shape: [2], data: ['a', 1] as never })).toBeUndefined();
    expect(tensorCopy({ datatype: 'BYTES', shape: [1], data: 'a' as never })).toBeUndefined();
    expect([arrayOf('BYTES'), arrayOf('FP16'), arrayOf('INT64')]).toEqual([
      'a list of strings',
      'a Uint16Array',
      'a BigInt64Array',
    ]);
  });
});

describe('What a program returns', () => {
  const outputs = [tensor('y', [-1, 2]), tensor('z', [3], 'INT8')];
  const face = { inputs: [], outputs };
  const sources = new ProgramSources();
  const returned = (value: unknown) => resultOf(value, face, sources);
  const y = { datatype: 'FP32', shape: [1, 2], data: Float32Array.of(1, 2) };

  it('has a tensor of one row or a source for each output, or nothing', () => {
    const source = madeOf(sources, tensor('made', [3], 'INT8'));
    expect(returned({ y, z: source })).toEqual({
      outputs: { y, z: { from: 'task', task: 3, output: 'made' } },
      notTaken: [],
    });
    expect(returned({ y: null })).toEqual({ outputs: {}, notTaken: ['y', 'z'] });
    expect(returned(Object.assign(Object.create(null), { y }))).toMatchObject({ notTaken: ['z'] });
  });

  it('is refused where it is no object that was written as one', () => {
    for (const value of [undefined, null, 7, 'y', [], new Map(), () => y])
      expect(returned(value)).toEqual([expect.stringMatching(/^returned .*; return an object with y, z$/)]);
  });

  it('is refused with each name that is none of the outputs, and each value that does not fit', () => {
    const faulty = [
      [{ x: y }, 'returned "x", which is none of its outputs y, z'],
      [{ y: { ...y, datatype: 'FP64' } }, 'returned as y what is "FP64", not FP32'],
      [{ y: { ...y, shape: 2 } }, 'returned as y what has the shape 2; give a list of sizes'],
      [{ y: { ...y, shape: [1, -2] } }, 'returned as y what has the shape [1,-2]; give a list of sizes'],
      [{ y: { ...y, shape: [1, 0.5] } }, 'returned as y what has the shape [1,0.5]; give a list of sizes'],
      [{ y: { ...y, shape: [2, 2] } }, 'returned as y what has the shape [2, 2], not [1, 2]'],
      [{ y: { ...y, shape: [1, 2, 1] } }, 'returned as y what has the shape [1, 2, 1], not [1, 2]'],
      [{ y: { ...y, shape: [1] } }, 'returned as y what has the shape [1], not [1, 2]'],
      [
        { y: { ...y, data: [1, 2] } },
        'returned as y what holds its data otherwise than in a Float32Array, as FP32 is held',
      ],
      [{ y: { ...y, data: Float32Array.of(1) } }, 'returned as y what has 1 elements; its shape has 2'],
      [{ z: madeOf(sources, tensor('made', [4], 'INT8')) }, 'returned as z what is INT8[4], not INT8[3]'],
    ] as const;
    for (const [value, fault] of faulty) expect(returned(value)).toEqual([fault]);
    expect(
      returned({
        y: 1,
        z: new ProgramSources().add({
          source: { from: 'request', input: 'a' },
          metadata: tensor('a', []),
          rows: 1,
        }),
      }),
    ).toEqual([
      expect.stringMatching(/^returned as y what is no source.*; or return a tensor/),
      expect.stringMatching(/^returned as z what belongs to the run of another request/),
    ]);
    // What lacks a part of a tensor is looked at as a source.
    for (const part of ['datatype', 'shape', 'data'])
      expect(returned({ y: { ...y, [part]: undefined } })).toHaveLength(1);
    expect(returned({ y: { datatype: 'FP32', shape: [1, 2] } })).toEqual([
      expect.stringContaining('is no source: calls take no values'),
    ]);
  });
});

describe('The call of a program', () => {
  const component = { inputs: [tensor('a', [-1, 2]), tensor('b', [-1], 'INT8')], outputs: [] };

  it('has the rows of its inputs, and where each comes from', () => {
    const sources = new ProgramSources();
    const a = madeOf(sources, tensor('a', [-1, 2]), 4);
    const b = sources.add({
      source: { from: 'request', input: 'b' },
      metadata: tensor('b', [4], 'INT8'),
      rows: 4,
    });
    expect(a).toEqual({ name: 'a' });
    expect(Object.isFrozen(a)).toBe(true);
    expect(fitted(component, { a, b }, sources)).toEqual({
      inputs: [
        { name: 'a', source: { from: 'task', task: 3, output: 'a' } },
        { name: 'b', source: { from: 'request', input: 'b' } },
      ],
      rows: 4,
    });
    const single = { inputs: [tensor('c', [2])], outputs: [] };
    const c = madeOf(sources, tensor('c', [2]), 5);
    expect(fitted(single, { c }, sources)).toMatchObject({ rows: 1 });
    expect([rowsOfShape([], 7), rowsOfShape([-1, 3], 7), rowsOfShape([2, 3], 7)]).toEqual([1, 7, 2]);
  });

  it('is refused with all that is wrong with its inputs', () => {
    const sources = new ProgramSources();
    const a = madeOf(sources, tensor('a', [-1, 2]), 4);
    const faultsOf = (given: Readonly<Record<string, unknown>>) => fitted(component, given, sources);
    expect(faultsOf({ a, c: a })).toEqual(['it has no input "c", only a, b', 'its input b is missing']);
    expect(faultsOf({ a, b: undefined })).toEqual(['its input b is missing']);
    const misfits = [tensor('b', [-1, 1], 'INT8'), tensor('b', [-1], 'INT16'), tensor('b', [], 'INT8')];
    expect(misfits.map((one) => faultsOf({ a, b: madeOf(sources, one, 4) }))).toEqual([
      ['what is given as b is INT8[4, 1], not INT8[-1]'],
      ['what is given as b is INT16[4], not INT8[-1]'],
      ['what is given as b is INT8[], not INT8[-1]'],
    ]);
    const wide = madeOf(sources, tensor('a', [-1, 3]), 4);
    expect(faultsOf({ a: wide, b: { out: () => a } })).toEqual([
      'what is given as a is FP32[4, 3], not FP32[-1, 2]',
      expect.stringMatching(/^what is given as b is a handle; give one of its outputs/),
    ]);
    expect(faultsOf({ a, b: madeOf(sources, tensor('b', [-1], 'INT8'), 3) })).toEqual([
      'its inputs hold unequal numbers of rows: a 4, b 3',
    ]);
    // A size that is free fits any.
    expect(
      faultsOf({
        a: madeOf(sources, tensor('a', [4, -1]), 4),
        b: madeOf(sources, tensor('b', [4], 'INT8'), 4),
      }),
    ).toMatchObject({ rows: 4 });
  });
});

describe('The module of a program', () => {
  const x = { name: 'x', datatype: 'FP32', shape: [-1, 8] };
  const good = { inputs: [x], outputs: [x], default: async () => ({}) };
  const placesOf = (change: object) => moduleFaults({ ...good, ...change }).map(({ path }) => path);

  it('has no fault with tensors and a function, async or not', () => {
    expect(placesOf({})).toEqual([]);
    expect(placesOf({ default: () => ({}) })).toEqual([]);
    expect(placesOf({ default: function classOf() {} })).toEqual([]);
  });

  it('is refused where its default is no function that returns', () => {
    for (const given of [
      undefined,
      1,
      { constructor: Function },
      class {},
      function* () {},
      async function* () {},
    ])
      expect(placesOf({ default: given })).toEqual(['/default']);
  });

  it('is refused with every place of its tensors that is wrong', () => {
    expect(placesOf({ inputs: undefined, outputs: [] })).toEqual(['/inputs', '/outputs']);
    expect(placesOf({ inputs: { 0: x, length: 1 } })).toEqual(['/inputs']);
    expect(placesOf({ inputs: [x, null, 7] })).toEqual(['/inputs/1', '/inputs/2']);
    expect(placesOf({ inputs: [{ name: '', datatype: 'FP31', shape: [] }] })).toEqual([
      '/inputs/0/name',
      '/inputs/0/datatype',
      '/inputs/0/shape',
    ]);
    for (const shape of [undefined, '8', [0], [-2], [1.5], [2, 0]])
      expect(placesOf({ outputs: [{ ...x, shape }] })).toEqual(['/outputs/0/shape']);
    for (const shape of [[-1], [1], [8, -1]]) expect(placesOf({ outputs: [{ ...x, shape }] })).toEqual([]);
    expect(moduleFaults({ ...good, inputs: [x, { ...x, name: 'z' }, x] })).toEqual([
      { path: '/inputs/2/name', message: 'is "x", as that of /inputs/0; give each its own' },
    ]);
    expect(
      placesOf({
        inputs: [
          { ...x, name: 1 },
          { ...x, name: 1 },
        ],
      }),
    ).toEqual(['/inputs/0/name', '/inputs/1/name']);
  });

  it('is described in few letters by what it gives', () => {
    expect([told(undefined), told(() => 1), told(1n), told('a')]).toEqual([
      'absent',
      'a function',
      'what is no JSON',
      '"a"',
    ]);
    expect(told('a'.repeat(58))).toBe(`"${'a'.repeat(58)}"`);
    expect(told('a'.repeat(59))).toBe(`"${'a'.repeat(59)}…`);
    expect(told(Symbol('a'))).toBe('Symbol(a)');
  });
});

describe('What a program throws', () => {
  it('is reported with its kind, its words and the file and line', () => {
    const error = new TypeError('no');
    error.stack = `TypeError: no\n    at node:internal/x:1:1\n    at call (file:///tmp/some%20where/chat.mjs:12:5)\n    at file:///tmp/b.mjs:3:1`;
    expect(toldError(error)).toBe('threw TypeError: no (chat.mjs:12)');
    error.stack = 'TypeError: no\n    at node:internal/x:1:1';
    expect(toldError(error)).toBe('threw TypeError: no');
    expect(placeOf(error)).toBe('');
  });

  it('is reported where it is no error, and cut where it is long', () => {
    expect([undefined, null, 'no', 7, {}].map(toldError)).toEqual([
      'threw undefined',
      'threw null',
      'threw "no"',
      'threw 7',
      'threw an object that is no Error',
    ]);
    expect(toldError('a'.repeat(1000))).toBe(`threw "${'a'.repeat(993)}…`);
    expect(toldError('a'.repeat(992))).toBe(`threw "${'a'.repeat(992)}"`);
    const spiteful = new Error('no');
    Object.defineProperty(spiteful, 'name', {
      get: () => {
        throw new Error('no');
      },
    });
    expect(toldError(spiteful)).toBe('threw something that cannot be told');
  });
});

describe('The recorded run of a program', () => {
  const call = (task: number, more: object = {}) => ({
    task,
    component: 'c',
    inputs: [
      {
        name: 'a',
        source:
          task === 0
            ? ({ from: 'request', input: 'a' } as const)
            : ({ from: 'task', task: 0, output: 'y' } as const),
      },
    ],
    rows: 1,
    after: [],
    thinkMs: 0,
    ...more,
  });
  const sizes = { application: 'chat', requestBytes: 9, outputBytes: (task: number) => 10 + task };

  it('has a task for each call, with what it takes and comes after', () => {
    const calls = [call(0, { thinkMs: 0.0009 }), call(1, { after: [1, 0], thinkMs: 0.0015, rows: 2 })];
    const run = recordedRun(calls, { ...sizes, reads: new Set([1, 0]) })!;
    expect(run).toMatchObject({ kind: 'run', application: 'chat', requestBytes: 9 });
    expect(run.tasks).toEqual([
      { component: 'c', inputs: ['request'], after: [], outputBytes: 10, rows: 1 },
      { component: 'c', inputs: [0], after: [0, 1], thinkMs: 0.002, outputBytes: 11, rows: 2 },
    ]);
  });

  it('has no run without a call, and names its reads only where they are not the usual ones', () => {
    expect(recordedRun([], { ...sizes, reads: new Set() })).toBeUndefined();
    const calls = [call(0), call(1)];
    // The second is returned; nothing comes after a value of the first, which only the second takes.
    expect(recordedRun(calls, { ...sizes, reads: new Set([1]) })).not.toHaveProperty('reads');
    expect(recordedRun(calls, { ...sizes, reads: new Set([1, 0]) })).toMatchObject({ reads: [0, 1] });
    expect(recordedRun(calls, { ...sizes, reads: new Set() })).toMatchObject({ reads: [] });
  });
});
