import { describe, expect, it } from 'vitest';
import type { DimValues } from '../../src/formats/index.js';
import { bindModel } from '../../src/profiler/bind-model.js';
import * as w from '../onnx/writer.js';

type Dims = readonly (number | string)[];

/** Sum of the inputs, which declare these sizes. */
function sum(inputs: Readonly<Record<string, Dims>>): Uint8Array {
  const names = Object.keys(inputs);
  const graph = w.graph({
    nodes: [w.node('Sum', names, ['y'])],
    inputs: names.map((name) => w.value(name, w.FLOAT, inputs[name])),
    outputs: [w.message([1, 'y'])],
  });
  return w.model(graph);
}

const bind = (inputs: Readonly<Record<string, Dims>>, dims: DimValues) =>
  bindModel(sum(inputs), { name: 'sum', dims });

function sizes({ shaped }: ReturnType<typeof bindModel>): unknown[] {
  return shaped.graph.inputs.map(({ type }) => (type?.kind === 'tensor' ? type.dims : undefined));
}

describe('bindModel() with sizes of −1', () => {
  it('binds each axis by its place, and the batch stays open', () => {
    const bound = bind({ input: [-1, 3, -1, -1] }, { 'input.2': 320, 'input.3': 240 });
    expect(sizes(bound)).toEqual([[undefined, 3, 320, 240]]);
    expect(bound.batch).toMatchObject({ kind: 'symbolic', name: 'input.0' });
  });

  it('binds one axis by its place where a name stands on several', () => {
    const bound = bind({ input: ['-1', 3, '-1', '-1'] }, { 'input.2': 320, 'input.3': 240 });
    expect(sizes(bound)).toEqual([['-1', 3, 320, 240]]);
    expect(bound.batch).toMatchObject({ kind: 'symbolic', name: '-1' });
  });

  it.each<[string, Dims]>([
    ['−1', [-1, 4]],
    ['0', [0, 4]],
    ['a name', ['N', 4]],
  ])('keeps the batch at the size that is given for an axis of %s', (_, dims) => {
    const { batch, fileBatch, notSymbolic } = bind({ input: dims }, { 'input.0': 20 });
    expect(batch).toMatchObject({ kind: 'fixed', size: 20 });
    expect({ fileBatch, notSymbolic }).toEqual({
      fileBatch: 20,
      notSymbolic: 'its dimension input.0 was given the size 20',
    });
  });

  it('keeps the batch at the size that is given for the first axes of two inputs', () => {
    const { notSymbolic } = bind({ a: [-1, 4], b: [-1, 4] }, { 'a.0': 20, 'b.0': 20 });
    expect(notSymbolic).toBe('its dimension a.0 was given the size 20');
    const of1 = bind({ a: [-1, 4], b: [-1, 4] }, { 'a.0': 1, 'b.0': 1 });
    expect(of1.batch.kind).toBe('symbolic');
  });

  it('refuses a place that has a size already', () => {
    expect(() => bind({ input: [1, 4] }, { 'input.0': 20 })).toThrow(/it has no free dimension "input\.0"/);
  });
});

describe('bindModel() with a declared batch', () => {
  const inputs = { INPUT0: [-1, 4], INPUT1: [-1, 4] } as const;

  it('asks for it where two inputs have open axes without names', () => {
    expect(() => bind(inputs, {})).toThrow(
      /INPUT0\.0 is not given[\s\S]*INPUT1\.0 is not given[\s\S]*Where an axis is the batch, give `dim` <input>\.<axis>=batch\./,
    );
  });

  it('takes it on the axes that are given, of any input', () => {
    expect(bind(inputs, { 'INPUT0.0': 'batch', 'INPUT1.0': 'batch' }).batch).toMatchObject({
      kind: 'symbolic',
      name: 'batch',
      inputs: [
        { name: 'INPUT0', axis: 0 },
        { name: 'INPUT1', axis: 0 },
      ],
    });
    const state = bind(
      { x: ['N', -1], state: [2, -1, 4], rate: [] },
      { N: 'batch', 'x.1': 7, 'state.1': 'batch' },
    );
    expect(state.batch).toMatchObject({ inputs: [{ axis: 0 }, { axis: 1 }, { axis: undefined }] });
    expect(sizes(state)).toEqual([['batch', 7], [2, 'batch', 4], []]);
  });

  it('takes it on no first axis at all', () => {
    const { batch, notSymbolic } = bind({ past: [2, -1, 4] }, { 'past.1': 'batch' });
    expect(batch).toMatchObject({ kind: 'symbolic', inputs: [{ name: 'past', axis: 1 }] });
    expect(notSymbolic).toBeUndefined();
  });

  it('refuses an input whose other axes stay open, without asking for the batch’s size', () => {
    expect(() => bind(inputs, { 'INPUT0.0': 'batch' })).toThrow(
      /^Cannot run sum: the size of dimension INPUT1\.0 is not given\n.*input INPUT1 has open axes, none of them batch/,
    );
  });
});
