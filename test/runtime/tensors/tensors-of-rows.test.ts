import { describe, expect, it } from 'vitest';
import type { TensorData } from '../../../src/execution/index.js';
import type { TensorSpec } from '../../../src/formats/index.js';
import type { LiveModel, PoolWork } from '../../../src/runtime/bundle/pool-work.js';
import { StackMemory } from '../../../src/runtime/tensors/rows.js';
import { RowInFlight } from '../../../src/runtime/tensors/rows-in-flight.js';
import { answerOf, feedsOf, keepOutputs } from '../../../src/runtime/tensors/tensors-of-rows.js';

const spec = (name: string): TensorSpec => ({ name, dtype: 'float32', shape: [1, 2], batchAxis: 0 });
const tensor = (...data: number[]): TensorData => ({
  dtype: 'float32',
  dims: [data.length / 2, 2],
  data: Float32Array.from(data),
});

/** rowWith is a row that carries these tensors. */
function rowWith(tensors: Record<string, TensorData>): RowInFlight {
  const row = new RowInFlight({}, [], []);
  Object.assign(row.tensors, tensors);
  return row;
}

const WORK: PoolWork = {
  file: 'a.onnx',
  digests: { sha256: '', data: [] },
  fileBytes: 1,
  inputs: [{ spec: spec('x'), from: ['b.y', 'c.y'] }],
  outputs: [{ spec: spec('y'), key: 'a.y', endKey: 'end a.y' }],
  carried: new Set(),
  // A row goes on where its first element is positive.
  fork: { verdictOn: ({ y }) => ((y?.data[0] as number) > 0 ? 1 : 0) },
};

describe('feedsOf()', () => {
  it('takes, for each row, the first source that the row has', () => {
    const rows = [rowWith({ 'c.y': tensor(1, 2) }), rowWith({ 'b.y': tensor(3, 4), 'c.y': tensor(5, 6) })];
    expect(feedsOf(rows, WORK, new StackMemory())).toEqual({ x: tensor(1, 2, 3, 4) });
  });

  it('refuses a row that has none of the sources', () => {
    expect(() => feedsOf([rowWith({ y: tensor(1, 2) })], WORK, new StackMemory())).toThrow(
      'a row carries no x',
    );
  });
});

describe('keepOutputs()', () => {
  it('gives each row its part and its verdict, and an answer only to rows that go no further', () => {
    const rows = [rowWith({}), rowWith({})];
    expect(keepOutputs(rows, WORK, { y: tensor(1, 2, -3, 4) })).toEqual([1, 0]);
    expect(rows.map(({ tensors }) => Object.keys(tensors))).toEqual([['a.y'], ['a.y', 'end a.y']]);
    expect(rows[1]!.tensors['end a.y']).toEqual(tensor(-3, 4));
  });

  it('gives no verdicts where the stage has no conditional edges', () => {
    const { fork: _, ...work } = WORK;
    expect(keepOutputs([rowWith({})], work, { y: tensor(1, 2) })).toEqual([]);
  });

  it('refuses a result that lacks an output', () => {
    expect(() => keepOutputs([rowWith({})], WORK, {})).toThrow('the model gave no y');
  });
});

describe('answerOf()', () => {
  const model: LiveModel = {
    name: 'm',
    sloNs: 1,
    inputs: [],
    inputKeys: [],
    maxRows: 4,
    plannedRps: 1,
    weight: 1,
    outputs: [spec('y'), spec('z')],
    outputKeys: ['end a.y', 'b.z'],
    mayLackOutputs: true,
  };

  it('joins the rows that came to an output, and says which rows and which outputs are missing', () => {
    const rows = [rowWith({ 'b.z': tensor(1, 2) }), rowWith({}), rowWith({ 'b.z': tensor(3, 4) })];
    expect(answerOf(model, rows)).toEqual({
      rows: 3,
      outputs: { z: tensor(1, 2, 3, 4) },
      notTaken: ['y'],
      rowsOf: { z: [0, 2] },
      answeredBy: [],
    });
  });

  it('says nothing of rows where an output has all of them', () => {
    const rows = [rowWith({ 'end a.y': tensor(1, 2), 'b.z': tensor(3, 4) })];
    expect(answerOf(model, rows)).toMatchObject({ notTaken: [], rowsOf: {} });
  });

  it('fails where a model must give an output and has not', () => {
    const rows = [rowWith({ 'b.z': tensor(1, 2) })];
    expect(() => answerOf({ ...model, mayLackOutputs: false }, rows)).toThrow('the model gave no y');
  });
});
