import { PassThrough } from 'node:stream';
import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Bodies } from '../../../src/runtime/http/bodies.js';
import { encodingOf } from '../../../src/runtime/http/content-encoding.js';
import type { RunningServer } from '../../../src/runtime/index.js';
import { inWholeRun } from '../../cases.js';
import { answerOf, inputOf, serveBundle, twoPartitions, WIDTH } from '../tiny-bundle.js';

const LIMIT = 100_000;
let server: RunningServer;
let close: () => Promise<void>;
beforeAll(async () => {
  const options = { maxBodyBytes: LIMIT, policy: ['formation=eager'] };
  ({ server, close } = await serveBundle(twoPartitions(4, 5000), options));
});
afterAll(() => close());

const x = inputOf(1);
const INPUT = { name: 'x', shape: [1, WIDTH], datatype: 'FP32' };
const JSON_BODY = Buffer.from(JSON.stringify({ inputs: [{ ...INPUT, data: [...x.data] }] }));

async function call(body: Uint8Array, headers: Record<string, string>) {
  const answer = await request(`${server.url}/v2/models/tiny/infer`, { method: 'POST', body, headers });
  const bytes = Buffer.from(await answer.body.arrayBuffer());
  const length = Number(answer.headers['inference-header-content-length'] ?? bytes.length);
  const json = JSON.parse(bytes.subarray(0, length).toString()) as {
    error?: string;
    outputs?: { name: string; data: number[] }[];
  };
  return { status: answer.statusCode, headers: answer.headers, json, binary: bytes.subarray(length) };
}

function expectRight(got: ArrayLike<number> | undefined): void {
  const { y } = answerOf(x.data);
  expect(got?.length).toBe(y.length);
  for (const [i, value] of y.entries()) expect(Math.abs(value - got![i]!)).toBeLessThan(1e-4);
}

describe('a compressed body', () => {
  it.each([
    ['gzip', gzipSync],
    ['GZip ', gzipSync],
    ['x-gzip', gzipSync],
    ['identity, gzip', gzipSync],
    ['deflate', deflateSync],
    ['identity', (bytes: Uint8Array) => bytes],
    ['', (bytes: Uint8Array) => bytes],
  ])('of %j is answered like any other, in JSON and in binary', async (encoding, compress) => {
    const headers = { 'content-encoding': encoding };
    const json = await call(compress(JSON_BODY), headers);
    expect(json.status).toBe(200);
    expectRight(json.json.outputs?.find(({ name }) => name === 'y')?.data);
    // As in Triton, the length of the header is that of the inflated one.
    const head = JSON.stringify({
      inputs: [{ ...INPUT, parameters: { binary_data_size: 4 * WIDTH } }],
      outputs: [{ name: 'y', parameters: { binary_data: true } }],
    });
    const body = compress(Buffer.concat([Buffer.from(head), Buffer.from(x.data.buffer)]));
    const { status, binary } = await call(body, {
      ...headers,
      'inference-header-content-length': String(head.length),
    });
    expect(status).toBe(200);
    expectRight(new Float32Array(binary.buffer.slice(binary.byteOffset, binary.byteOffset + binary.length)));
  });

  it('whose encoding is not known is refused with 415 and those that are', async () => {
    for (const encoding of ['br', 'zstd', 'gzip, gzip', 'gzip, deflate', 'nonsense']) {
      const { status, headers, json } = await call(gzipSync(JSON_BODY), { 'content-encoding': encoding });
      expect([status, headers['accept-encoding'], headers['content-type']]).toEqual([
        415,
        'gzip, deflate',
        'application/json',
      ]);
      expect(json.error).toBe(
        `Cannot read the body: its Content-Encoding is "${encoding}"; send it as it is, or with one of gzip, deflate`,
      );
    }
  });

  it('that is cut, of another encoding, or none, is refused with 400 in words', async () => {
    for (const [encoding, body] of [
      ['gzip', gzipSync(JSON_BODY).subarray(0, -10)],
      ['gzip', deflateSync(JSON_BODY)],
      ['gzip', JSON_BODY],
      ['deflate', gzipSync(JSON_BODY)],
      ['deflate', deflateRawSync(JSON_BODY)],
    ] as const) {
      const { status, json } = await call(body, { 'content-encoding': encoding });
      expect(status).toBe(400);
      expect(json.error).toMatch(new RegExp(`^The body is not whole data of ${encoding}: [ -~]+$`));
    }
    const plain = await call(gzipSync(JSON_BODY), {});
    expect(plain.status).toBe(400);
    expect(plain.json.error).toBe('Cannot read the request: the body is not JSON: its text is not UTF-8');
  });

  it('that has more behind its data is refused, whatever the client sends there', async () => {
    for (const [encoding, data] of [
      ['gzip', gzipSync(JSON_BODY)],
      ['deflate', deflateSync(JSON_BODY)],
    ] as const)
      for (const after of [[120], [0, 0, 0], [...data.subarray(0, 9)]]) {
        const { status, json } = await call(Buffer.concat([data, Buffer.from(after)]), {
          'content-encoding': encoding,
        });
        expect([status, json.error]).toEqual([400, expect.stringMatching(/^The body (has|is not whole) /)]);
      }
    expect((await call(JSON_BODY, {})).status).toBe(200);
  });

  inWholeRun(
    'that inflates beyond the largest body is refused with 413, and the connection answers on',
    async () => {
      const bomb = gzipSync(Buffer.alloc(50_000_000, ' '));
      expect(bomb.length).toBeLessThan(LIMIT);
      for (let i = 0; i < 3; i++) {
        const { status, json } = await call(bomb, { 'content-encoding': 'gzip' });
        expect([status, json.error]).toEqual([
          413,
          `The body is too large; at most ${LIMIT} bytes are taken`,
        ]);
        expect((await call(gzipSync(JSON_BODY), { 'content-encoding': 'gzip' })).status).toBe(200);
      }
    },
  );

  it('may inflate to the largest body exactly', async () => {
    const padded = Buffer.concat([JSON_BODY, Buffer.alloc(LIMIT - JSON_BODY.length, ' ')]);
    expect((await call(deflateSync(padded), { 'content-encoding': 'deflate' })).status).toBe(200);
    const longer = Buffer.concat([padded, Buffer.from(' ')]);
    expect((await call(deflateSync(longer), { 'content-encoding': 'deflate' })).status).toBe(413);
  });
});

describe('an answer', () => {
  it('is not compressed, whatever the client accepts', async () => {
    const { headers, json } = await call(JSON_BODY, { 'accept-encoding': 'gzip, deflate' });
    expect(headers['content-encoding']).toBeUndefined();
    expectRight(json.outputs?.find(({ name }) => name === 'y')?.data);
  });
});

/** bodyOf reads a compressed body that comes in pieces, and ends or breaks off. */
async function bodyOf(bodies: Bodies, pieces: readonly Uint8Array[], breaksOff = false) {
  const stream = new PassThrough({ highWaterMark: 2 ** 24 });
  const raw = Object.assign(stream, { headers: { 'content-encoding': 'gzip' } }) as never;
  const outcome = new Promise<{ status?: number; body?: Buffer }>((resolve) =>
    bodies.read(raw, 13, (error, body) => {
      const status = (error as { statusCode?: number } | null)?.statusCode;
      resolve({ ...(status === undefined ? {} : { status }), ...(body === undefined ? {} : { body }) });
    }),
  );
  for (const piece of pieces) stream.write(piece);
  if (breaksOff) stream.destroy(new Error('aborted'));
  else stream.end();
  return { raw, ...(await outcome) };
}

describe('Bodies', () => {
  it('sees what comes behind compressed data in a piece of its own', async () => {
    const bodies = new Bodies({ oneBytes: 2 ** 20, allBytes: 2 ** 22 });
    const packed = gzipSync(JSON_BODY);
    expect((await bodyOf(bodies, [packed])).body?.equals(JSON_BODY)).toBe(true);
    expect((await bodyOf(bodies, [packed, Buffer.alloc(5)])).status).toBe(400);
    // Data of gzip may consist of several parts (RFC 1952, 2.2).
    expect((await bodyOf(bodies, [packed, packed])).body).toHaveLength(2 * JSON_BODY.length);
  });

  it('inflates what comes in pieces, and aligns what follows its JSON part', async () => {
    const bodies = new Bodies({ oneBytes: 2 ** 20, allBytes: 2 ** 22 });
    const sent = Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * i) % 251));
    const packed = gzipSync(sent);
    const pieces = Array.from({ length: Math.ceil(packed.length / 1000) }, (_, i) =>
      packed.subarray(1000 * i, 1000 * (i + 1)),
    );
    const { body } = await bodyOf(bodies, pieces);
    expect(body?.equals(sent)).toBe(true);
    expect((body!.byteOffset + 13) % 8).toBe(0);
  });

  inWholeRun('holds no more for a bomb than the largest body, and no more than all bodies may', async () => {
    const bodies = new Bodies({ oneBytes: 2 ** 20, allBytes: 2 ** 21 });
    const bomb = gzipSync(Buffer.alloc(2 ** 26));
    const allocated = vi.spyOn(Buffer, 'allocUnsafeSlow');
    const first = await bodyOf(bodies, [bomb]);
    expect(first.status).toBe(413);
    expect(Math.max(...allocated.mock.calls.map(([bytes]) => bytes))).toBeLessThanOrEqual(2 ** 20 + 2 ** 16);
    allocated.mockRestore();
    // What it holds counts until its answer is sent.
    const large = gzipSync(Buffer.alloc(2 ** 20 - 100));
    expect((await bodyOf(bodies, [large])).status).toBe(503);
    bodies.release(first.raw);
    expect((await bodyOf(bodies, [large])).body).toHaveLength(2 ** 20 - 100);
  });

  it('says of a compressed body that breaks off that it does', async () => {
    const bodies = new Bodies({ oneBytes: 2 ** 20, allBytes: 2 ** 21 });
    expect((await bodyOf(bodies, [gzipSync(JSON_BODY).subarray(0, 50)], true)).status).toBe(400);
  });
});

it('encodingOf() knows the encodings by any case, and leaves identity out', () => {
  const of = (encoding: string) => encodingOf({ headers: { 'content-encoding': encoding } });
  expect([of(''), of('Identity'), of(' ,identity'), of('DEFLATE'), of('X-GZIP,identity')]).toEqual([
    'identity',
    'identity',
    'identity',
    'deflate',
    'gzip',
  ]);
  expect(encodingOf({ headers: {} })).toBe('identity');
});
