import { describe, expect, it } from 'vitest';
import { DTYPES, STRING_DTYPE } from '../../src/execution/dtype.js';
import { bodyOf, type Encoded } from '../../src/loadgen/encode-request.js';
import { requestBytes, targetOf } from '../../src/loadgen/target.js';

/** What a request of one small input holds besides its tensor. */
const HEAD_BYTES = 300;

describe('requestBytes()', () => {
  const dtypes = [...Object.keys(DTYPES), STRING_DTYPE].filter((dtype) => dtype !== 'float16');
  const fills = [
    undefined,
    0,
    1,
    -1,
    0.1,
    -2.2250738585072014e-308,
    -1.7976931348623157e308,
    123456789.12345679,
  ];

  it.each(dtypes)(
    'is no less than what a request of %s takes as JSON, whatever it is filled with',
    (dtype) => {
      const isReal = dtype.startsWith('float');
      for (const fill of fills.filter((one) => isReal || one === undefined || one === 0 || one === 1)) {
        const filled = fill === undefined ? {} : { fill };
        const input = { name: 'x', dtype, shape: [1, 997], batchAxis: 0, ...filled };
        const model = { name: 'm', inputs: [input], outputs: [{ name: 'y', dtype: 'float32', shape: [1] }] };
        const asked = { rows: 3, tensors: 'json' as const };
        const target = targetOf(model, { ...asked, rps: 1, durationS: 1, seed: 5 } as never);
        for (const [i, request] of (target.requests[0] as Encoded[]).entries()) {
          const body = Buffer.concat(bodyOf(request, i));
          expect(body.length).toBe(Number(request.headers['content-length']));
          expect(JSON.parse(body.toString()).inputs[0].data.flat(9)).toHaveLength(3 * 997);
          expect(body.length).toBeLessThanOrEqual(requestBytes(model, asked) + HEAD_BYTES);
        }
      }
    },
  );
});
