import { describe, expect, it } from 'vitest';
import type { TensorData } from '../../src/execution/index.js';
import { KeptOutputs } from '../../src/execution/kept-outputs.js';

function bytes(...values: number[]): TensorData & { data: Uint8Array } {
  return { dtype: 'uint8', dims: [values.length], data: Uint8Array.from(values) };
}

/** large is more than the garbage collector is left with. */
const large = () => ({ dtype: 'uint8', dims: [1 << 20], data: new Uint8Array(1 << 20).fill(7) });

describe('KeptOutputs', () => {
  it('keep memory as it is where it belongs to one output, and copies of what others have a part in', () => {
    const kept = new KeptOutputs();
    const whole = bytes(1, 2, 3);
    const both = bytes(4, 5, 6, 7);
    const part = { ...both, dims: [2], data: both.data.subarray(2) };
    expect(kept.keep(1, { whole, part, again: whole })).toEqual({ whole: 3, part: 2, again: 3 });
    expect(kept.find(1, 'whole').tensor.data).toBe(whole.data);
    expect(kept.find(1, 'part').tensor).toEqual(bytes(6, 7));
    both.data.fill(0);
    whole.data.fill(0);
    expect(kept.find(1, 'part').tensor).toEqual(bytes(6, 7));
    expect(kept.find(1, 'again').tensor).toEqual(bytes(1, 2, 3));
    expect(kept.totals).toEqual({ kept: 1, outputs: 3, bytes: 8 });
  });

  it('free the memory of what is dropped at once, but not while it is being sent', () => {
    const kept = new KeptOutputs();
    const [sent, other] = [large(), large()];
    kept.keep(1, { sent, other });
    const lent = kept.lend(1, ['sent']);
    kept.drop(1);
    expect(other.data.byteLength).toBe(0);
    expect(lent.tensors.sent!.data[0]).toBe(7);
    lent.done();
    expect(kept.totals).toEqual({ kept: 0, outputs: 0, bytes: 0 });

    const read = large();
    kept.keep(2, { read });
    kept.lend(2, ['read']).done();
    kept.drop(2);
    expect(read.data.byteLength).toBe(0);
  });

  it('count the bytes of strings as they are sent, and drop what a run has not taken alone', () => {
    const kept = new KeptOutputs();
    kept.keep(1, { text: { dtype: 'string', dims: [2], data: ['a', 'ä'] } });
    expect(kept.totals.bytes).toBe(4 + 1 + 4 + 2);
    kept.find(1, 'text').state = 'taken';
    expect(() => kept.drop(1)).toThrow('a run has taken an output of 1');
    expect(() => kept.keep(1, {})).toThrow('kept or awaited under 1 already');
  });
});
