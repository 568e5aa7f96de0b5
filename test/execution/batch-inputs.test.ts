import { describe, expect, it } from 'vitest';
import { type BatchInputs, batchInputs, buffersOf } from '../../src/execution/batch-inputs.js';
import type { AskedTask, KeptInput } from '../../src/execution/component-protocol.js';
import type { TensorData, Tensors } from '../../src/execution/index.js';
import { KeptOutputs } from '../../src/execution/kept-outputs.js';

const PAIR = { name: 'x', shape: [1, 2], batchAxis: 0 };

function floats(...values: number[]): TensorData {
  return { dtype: 'float32', dims: [values.length / 2, 2], data: Float32Array.from(values) };
}

function bufferOf({ data }: TensorData): ArrayBufferLike {
  return (data as Float32Array).buffer;
}

function made(kept: KeptOutputs, tasks: readonly AskedTask[], sent: Tensors[] = []): BatchInputs {
  return batchInputs(tasks, [PAIR], { kept, sent, allocate: (bytes) => new ArrayBuffer(bytes + 64) });
}

const takes = (id: number, x: KeptInput): AskedTask => ({ id, rows: 1, kept: { x } });

describe('batchInputs()', () => {
  it('moves the memory of an output into the only task whose last use it is, and copies it for any other', () => {
    const kept = new KeptOutputs();
    const [one, two] = [floats(1, 2), floats(3, 4)];
    kept.keep(1, { y: one });
    kept.keep(2, { y: two });
    const copied = made(kept, [takes(3, { kept: 1, name: 'y' })]);
    expect(copied.feeds.x).toEqual(one);
    expect(bufferOf(copied.feeds.x!)).not.toBe(bufferOf(one));
    expect(copied.taken).toEqual([]);
    const moved = made(kept, [takes(3, { kept: 1, name: 'y', isLast: true })]);
    expect(bufferOf(moved.feeds.x!)).toBe(bufferOf(one));
    expect(moved.taken.map(({ movedTo }) => movedTo)).toEqual(['x']);
    expect(() => kept.find(1, 'y')).toThrow('has moved');
    const lent = kept.lend(2, ['y']);
    const sent = made(kept, [takes(3, { kept: 2, name: 'y', isLast: true })]);
    expect(bufferOf(sent.feeds.x!)).not.toBe(bufferOf(two));
    expect(sent.taken.map(({ movedTo }) => movedTo)).toEqual([undefined]);
    lent.done();
  });

  it('takes nothing where one of the tasks cannot be fed', () => {
    const kept = new KeptOutputs();
    kept.keep(1, { y: floats(1, 2) });
    const last = takes(3, { kept: 1, name: 'y', isLast: true });
    expect(() => made(kept, [last, takes(4, { kept: 9, name: 'y' })])).toThrow('nothing is kept of 9');
    expect(kept.find(1, 'y').state).toBe('kept');
  });

  it('joins in memory that it is given, and gives what was sent to a task alone as it is', () => {
    const kept = new KeptOutputs();
    const sent = floats(5, 6);
    const alone: AskedTask = { id: 3, rows: 1, kept: {} };
    expect(bufferOf(made(kept, [alone], [{ x: sent }]).feeds.x!)).toBe(bufferOf(sent));
    const { feeds } = made(kept, [alone, { ...alone, id: 4 }], [{ x: sent }, { x: floats(7, 8) }]);
    expect(feeds.x).toEqual(floats(5, 6, 7, 8));
    expect(buffersOf(feeds).map(({ byteLength }) => byteLength)).toEqual([16 + 64]);
  });
});
