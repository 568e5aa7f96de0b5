import { describe, expect, it } from 'vitest';
import type { TensorData } from '../../src/execution/index.js';
import type { TensorSpec } from '../../src/formats/index.js';
import {
  calledFace,
  callFaults,
  programTensor,
  sentFace,
  tensorOfProgram,
} from '../../src/protocol/index.js';

const of = (spec: Partial<TensorSpec>): TensorSpec => ({ name: 'x', dtype: 'int64', shape: [1, 4], ...spec });

describe('calledFace() and sentFace()', () => {
  it('stand −1 for rows and for sizes that depend on the data, and give the same again', () => {
    const face = {
      inputs: [of({ batchAxis: 0, variableAxes: [1] }), of({ name: 'text', dtype: 'string', shape: [3] })],
      outputs: [of({ dtype: 'float16', batchAxis: 0 })],
    };
    const called = calledFace(face);
    expect(called).toEqual({
      inputs: [
        { name: 'x', datatype: 'INT64', shape: [-1, -1] },
        { name: 'text', datatype: 'BYTES', shape: [3] },
      ],
      outputs: [{ name: 'x', datatype: 'FP16', shape: [-1, 4] }],
    });
    const sent = sentFace(called);
    expect(sent.inputs[0]).toEqual(of({ shape: [1, 1], batchAxis: 0, variableAxes: [1] }));
    expect(sent.outputs).toEqual(face.outputs);
    expect(calledFace(sent)).toEqual(called);
  });
});

describe('programTensor() and tensorOfProgram()', () => {
  it('give a tensor under the names of both, on the same memory', () => {
    const tensor: TensorData = { dtype: 'bool', dims: [1, 2], data: Uint8Array.of(0, 1) };
    const read = programTensor(tensor);
    expect(read).toEqual({ datatype: 'BOOL', shape: [1, 2], data: tensor.data });
    expect(read.data).toBe(tensor.data);
    expect(tensorOfProgram(read)).toEqual(tensor);
  });
});

describe('callFaults()', () => {
  it('finds tensors that programs cannot hold, and rows that the first axis does not count', () => {
    const face = (spec: Partial<TensorSpec>) => ({ inputs: [of(spec)], outputs: [] });
    expect(callFaults(face({ batchAxis: 0 }))).toEqual([]);
    expect(callFaults(face({}))).toEqual([]);
    expect(callFaults(face({ dtype: 'complex64' }))[0]).toContain('complex64');
    expect(callFaults(face({ shape: [2, 4], batchAxis: 0 }))[0]).toContain('2 of axis 0 of x');
    expect(callFaults(face({ batchAxis: 1 }))[0]).toContain('axis 1 of x');
  });
});
