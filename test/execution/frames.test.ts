import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import { describe, expect, it } from 'vitest';
import { encodeMessage, MessageReader, tensorsOf } from '../../src/execution/frames.js';
import { DTYPES, MemoryPool, randomTensor, type Tensors } from '../../src/execution/index.js';

describe('MessageReader', () => {
  it('puts messages together from chunks of any size', () => {
    for (let seed = 0; seed < 60; seed++) {
      const generator = xoroshiro128plus(seed);
      const int = (low: number, high: number) => uniformInt(generator, low, high);
      const sent = Array.from({ length: int(1, 5) }, (_, i) => ({ head: { i }, tensors: someTensors(int) }));
      const bytes = Buffer.concat(sent.flatMap(({ head, tensors }) => encodeMessage(head, tensors)));
      const received: { head: unknown; tensors: Tensors }[] = [];
      const pool = new MemoryPool({ pieces: 4 });
      const reader = new MessageReader<unknown>(
        (message) => received.push({ head: message.head, tensors: tensorsOf(message) }),
        (size) => pool.take(size),
      );
      for (let at = 0; at < bytes.length; ) {
        const length = int(1, seed % 2 === 0 ? 9 : 4000);
        reader.push(bytes.subarray(at, at + length));
        at += length;
      }
      expect(received, `seed ${seed}`).toEqual(sent);
    }
  });
});

function someTensors(int: (low: number, high: number) => number): Tensors {
  const names = [...Object.keys(DTYPES), 'string'];
  const count = int(0, 3);
  return Object.fromEntries(
    Array.from({ length: count }, (_, i) => [
      `tensor ${i} é`,
      randomTensor(
        { dtype: names[int(0, names.length - 1)]!, dims: [int(0, 3), int(1, 40)] },
        () => int(0, 99) / 100,
      ),
    ]),
  );
}
