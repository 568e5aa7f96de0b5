import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { streamOf } from '../../../src/random/index.js';
import { type RunningServer, startServer } from '../../../src/runtime/index.js';
import { cases, describeInWholeRun } from '../../cases.js';
import { echo, onePartition, serveBundle, twoPartitions, words, writeBundle } from '../tiny-bundle.js';

/** Its bytes have a NUL, which ONNX Runtime gives as it is. */
const CONSTANT = Buffer.from('a\0\u00e9');

let server: RunningServer;
let close: () => Promise<void>;
beforeAll(async () => {
  ({ server, close } = await serveBundle(onePartition(echo('string', CONSTANT))));
});
afterAll(() => close());

const INFER = '/v2/models/tiny/infer';

async function call(body: string | Uint8Array, headers: Record<string, string> = {}) {
  const answer = await request(server.url + INFER, { method: 'POST', body, headers });
  const bytes = Buffer.from(await answer.body.arrayBuffer());
  const length = Number(answer.headers['inference-header-content-length'] ?? bytes.length);
  const json = JSON.parse(bytes.subarray(0, length).toString()) as {
    error?: string;
    outputs?: { name: string; data?: string[] }[];
  };
  return { status: answer.statusCode, json, binary: bytes.subarray(length) };
}

/** framed puts the length of each string before it. */
function framed(texts: readonly Uint8Array[]): Buffer {
  return Buffer.concat(
    texts.flatMap((text) => {
      const length = Buffer.alloc(4);
      length.writeUInt32LE(text.length);
      return [length, text];
    }),
  );
}

/** sendBytes sends strings as bytes, and asks for them as bytes. */
async function sendBytes(texts: readonly Uint8Array[]) {
  const data = framed(texts);
  const head = JSON.stringify({
    inputs: [
      {
        name: 'x',
        shape: [texts.length, 1],
        datatype: 'BYTES',
        parameters: { binary_data_size: data.length },
      },
    ],
    outputs: [{ name: 'y', parameters: { binary_data: true } }],
  });
  return await call(Buffer.concat([Buffer.from(head), data]), {
    'inference-header-content-length': String(Buffer.byteLength(head)),
  });
}

async function sendJson(data: string) {
  return await call(`{"inputs":[{"name":"x","shape":[1,1],"datatype":"BYTES","data":${data}}]}`);
}

describe('strings', () => {
  it('come back byte for byte', async () => {
    const texts = ['', 'plain', 'naïve', '日本語', '😀', '\ufeffmarked', '\ufffd', '\u0001\u007f\u2028"\\\n'];
    for (const text of texts) {
      const { status, binary } = await sendBytes([Buffer.from(text)]);
      expect([status, binary.toString('hex')]).toEqual([200, framed([Buffer.from(text)]).toString('hex')]);
      const { json } = await sendJson(JSON.stringify([text]));
      expect(json.outputs?.find(({ name }) => name === 'y')?.data).toEqual([text]);
    }
    const four = texts.slice(1, 5).map((text) => Buffer.from(text));
    expect((await sendBytes(four)).binary).toEqual(framed(four));
  });

  it('that a model gives of itself come whole, also with a NUL', async () => {
    const { json } = await sendJson('["x"]');
    expect(json.outputs?.find(({ name }) => name === 'told')?.data).toEqual([CONSTANT.toString()]);
  });

  it.each([
    ['a NUL', [0x61, 0, 0x62], 'string 0 holds a NUL, at which ONNX Runtime for Node would end it'],
    ['a NUL alone', [0], 'string 0 holds a NUL'],
    ['bytes that are not UTF-8', [0x61, 0xff], 'string 0 is not UTF-8'],
    ['a character that is cut', [0xe6, 0x97], 'string 0 is not UTF-8'],
    ['half a surrogate pair', [0xed, 0xa0, 0x80], 'string 0 is not UTF-8'],
  ])('with %s are refused as bytes, with the reason', async (_what, bytes, why) => {
    const { status, json } = await sendBytes([Uint8Array.from(bytes)]);
    expect(status).toBe(400);
    expect(json.error).toContain(`Cannot infer with tiny: input x: ${why}`);
  });

  it.each([
    ['a NUL', '["a\\u0000b"]', 'string 0 holds a NUL'],
    ['half a surrogate pair', '["\\ud800"]', 'string 0 holds half a surrogate pair'],
    ['the halves of a pair the wrong way round', '["\\udc00\\ud800"]', 'half a surrogate pair'],
    ['a number', '[9007199254740993]', 'its data at 0 is 9007199254740993, not a string'],
  ])('with %s are refused in JSON', async (_what, data, why) => {
    const { status, json } = await sendJson(data);
    expect([status, json.error]).toEqual([400, expect.stringContaining(why)]);
  });

  it('in JSON that is not UTF-8 are refused', async () => {
    const body = Buffer.from(
      '{"inputs":[{"name":"x","shape":[1,1],"datatype":"BYTES","data":["\xe9"]}]}',
      'latin1',
    );
    expect(await call(body)).toMatchObject({
      status: 400,
      json: { error: 'Cannot read the request: the body is not JSON: its text is not UTF-8' },
    });
  });

  it('are the body itself where its header has no length', async () => {
    const { status, binary } = await call(Buffer.from('naïve'), { 'inference-header-content-length': '0' });
    expect(status).toBe(200);
    expect(binary).toEqual(Buffer.concat([framed([Buffer.from('naïve')]), framed([CONSTANT])]));
    const refused = await call(Buffer.from([0xff]), { 'inference-header-content-length': '0' });
    expect([refused.status, refused.json.error]).toEqual([400, expect.stringContaining('not UTF-8')]);
  });

  it('of any bytes come back as they were sent, or are refused', async () => {
    const stream = streamOf(5, 'texts');
    const outcomes = new Set<number>();
    for (let i = 0; i < cases(100, 2000); i++) {
      const bytes = Buffer.from(
        Array.from(
          { length: stream.integer(6) },
          () => [0x61, 0xc3, 0xa9, 0xe2, 0x82, 0xac, 0, 0xff, 0xf0][stream.integer(9)]!,
        ),
      );
      const { status, binary } = await sendBytes([bytes]);
      outcomes.add(status);
      if (status === 200) expect(binary).toEqual(framed([bytes]));
      else expect([status, isKept(bytes)]).toEqual([400, false]);
    }
    expect([...outcomes].sort()).toEqual([200, 400]);
  });
});

describeInWholeRun('a string with a NUL between two partitions', () => {
  it('fails the requests that it is of, and no other of their batch', async () => {
    const table = ['fine', 'cut\0here', 'né'];
    const partitions = { ...twoPartitions(4, 10_000), model: words(table) };
    const served = await serveBundle(partitions, { policy: ['drop=never'] });
    try {
      const ask = async (data: number[]) => {
        const input = { name: 'ids', shape: [data.length, 1], datatype: 'INT64', data };
        const body = JSON.stringify({ inputs: [input] });
        const answer = await request(served.server.url + INFER, { method: 'POST', body });
        return { status: answer.statusCode, text: await answer.body.text() };
      };
      const ids = Array.from({ length: 24 }, (_, i) => (i % 5 === 1 ? [0, 1] : [i % 2 === 0 ? 0 : 2]));
      const answers = await Promise.all(ids.map(ask));
      for (const [i, { status, text }] of answers.entries()) {
        const isCut = ids[i]!.includes(1);
        expect(status).toBe(isCut ? 500 : 200);
        if (isCut) expect(text).toContain('y: string ');
        else expect(JSON.parse(text).outputs[0].data).toEqual(ids[i]!.map((id) => table[id]));
      }
    } finally {
      await served.close();
    }
  });
});

describe('a model whose text is not UTF-8', () => {
  it('is not served where its answers may hold it, and the file and the constant are named', async () => {
    const { folder, remove } = await writeBundle(onePartition(echo('string', Uint8Array.of(0x63, 0xe9))));
    try {
      await expect(startServer(folder, { port: 0 })).rejects.toThrow(
        /0-1\.onnx: constant c holds bytes that are not UTF-8, which ONNX Runtime for Node replaces/,
      );
    } finally {
      await remove();
    }
  });
});

/** isKept says by another decoder whether bytes are text without NUL. */
function isKept(bytes: Uint8Array): boolean {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return !text.includes('\0');
  } catch {
    return false;
  }
}
