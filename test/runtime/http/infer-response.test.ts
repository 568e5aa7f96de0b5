import { describe, expect, it } from 'vitest';
import type { TensorData, Tensors } from '../../../src/execution/index.js';
import { bytesOf } from '../../../src/protocol/index.js';
import type { InferRequest } from '../../../src/runtime/http/infer-request.js';
import { inferResponseOf } from '../../../src/runtime/http/infer-response.js';

const STEP_BYTES = 64 * 1024;

/** written writes an answer in steps, and counts these and the bytes that are taken. */
function written(outputs: Tensors, binary: (name: string) => boolean) {
  const request: InferRequest = {
    id: 'i',
    inputs: {},
    rows: 1,
    outputs: Object.keys(outputs).map((name) => ({ name, binary: binary(name) })),
  };
  let taken = 0;
  const answer = { rows: 1, outputs, notTaken: [], rowsOf: {}, answeredBy: [] };
  const steps = inferResponseOf({ model: 'm', request, answer }, (bytes) => {
    taken += bytes;
  });
  let count = 1;
  let step = steps.next();
  for (; !step.done; step = steps.next()) count += 1;
  const body = Buffer.concat(step.value.pieces);
  return { ...step.value, body, taken, steps: count };
}

const numbers = (count: number, of: (i: number) => number): TensorData => ({
  dtype: 'float32',
  dims: [1, count],
  data: Float32Array.from({ length: count }, (_, i) => of(i)),
});

describe('inferResponseOf()', () => {
  it.each([
    ['short numbers', numbers(300_000, () => 1)],
    ['long numbers', numbers(100_000, (i) => i / 7)],
    ['strings', { dtype: 'string', dims: [50_000], data: new Array<string>(50_000).fill('naïve "x"') }],
    ['a long string', { dtype: 'string', dims: [1], data: ['é'.repeat(1_000_000)] }],
  ])('writes %s in steps, in pieces whose bytes it counts', (_what, tensor: TensorData) => {
    const { body, pieces, taken, steps, headerLength } = written({ y: tensor }, () => false);
    const { outputs } = JSON.parse(body.toString()) as { outputs: { data: unknown[] }[] };
    expect(outputs[0]!.data).toEqual([...(tensor.data as Float32Array)]);
    expect([taken, headerLength]).toEqual([body.length, undefined]);
    expect(steps).toBeGreaterThan(body.toString().length / (4 * STEP_BYTES));
    expect(Math.max(...pieces.map(({ byteLength }) => byteLength))).toBeLessThan(3 * 2 ** 20);
  });

  it('copies binary outputs in steps behind their JSON, so that it shares no memory with them', () => {
    const [x, y] = [numbers(1_000_000, (i) => i), numbers(3, (i) => i)];
    const { body, pieces, taken, steps, headerLength } = written({ x, y, z: y }, (name) => name !== 'y');
    expect(body.subarray(headerLength).equals(Buffer.concat([bytesOf(x), bytesOf(y)]))).toBe(true);
    expect(JSON.parse(body.subarray(0, headerLength).toString())).toMatchObject({
      model_name: 'm',
      id: 'i',
      outputs: [
        { name: 'x', parameters: { binary_data_size: 4_000_000 } },
        { name: 'y', data: [0, 1, 2] },
        { name: 'z', parameters: { binary_data_size: 12 } },
      ],
    });
    expect([taken, steps]).toEqual([body.length, Math.ceil(body.length / 2 ** 20)]);
    expect(pieces.some(({ buffer }) => buffer === (x.data as Float32Array).buffer)).toBe(false);
  });

  it('writes a short answer in one piece and one step', () => {
    const { pieces, steps } = written({ y: numbers(1000, (i) => i / 7) }, () => false);
    expect([pieces.length, steps]).toEqual([1, 1]);
  });
});
