import { deflateSync, gzipSync } from 'node:zlib';
import type { Dice } from '../seeded/dice.js';
import { TABLE_ROWS, WIDTH } from './material.js';
import { jsonOf, mutateJson } from './mutate-json.js';
import { mutateBytes } from './mutate-text.js';
import { ODD_NUMBERS, ODD_TEXTS } from './odd-values.js';

/** MadeRequest is a request as bytes, in the pieces that it is sent in. */
export interface MadeRequest {
  readonly what: string;
  readonly pieces: readonly Buffer[];
  /** whole: it is one request of HTTP, so that it gets one answer; broken: its framing is wrong, or it never ends. */
  readonly framing: 'whole' | 'broken';
  /** Whether the client waits between pieces. */
  readonly isSlow: boolean;
  /** The client's action after the last piece. */
  readonly after: 'wait' | 'end' | 'destroy';
}

type Header = readonly [name: string, value: string];

interface Parts {
  method: string;
  path: string;
  headers: Header[];
  body: Buffer;
}

const PATHS: readonly string[] = [
  '/v2',
  '/v2/',
  '/v2/health/live',
  '/v2/health/ready',
  '/metrics',
  '/v2/models/dense',
  '/v2/models/dense/config',
  '/v2/models/lookup/stats',
  '/v2/models/lookup/ready',
  '/v2/models/dense/versions/1',
  '/v2/models/dense/versions/2',
  '/v2/models/nobody',
  '/v2/models/dense/infer',
  '/',
  '/v2/models//infer',
  '/v2/models/%2e%2e/infer',
  '/v2/models/dense%00/infer',
  '/v2/models/%ff/infer',
  '/v2/models/dense%0d%0ax-forged:%201%0d%0a/infer',
  '/v2/models/a%0aready:%20http:%2f%2fhere/infer',
  '/v2/repository/index',
  '/v2/models/dense/infer?x=1',
  '/v2/models/dense/infer/',
  '//v2',
  '/V2/MODELS/DENSE',
  `/v2/models/${'a'.repeat(3000)}`,
  '/v2/models/%',
  '/v2/models/__proto__',
  '*',
  '/v2/models/dense/versions/1/infer',
];
const METHODS: readonly string[] = [
  'GET',
  'POST',
  'PUT',
  'DELETE',
  'HEAD',
  'OPTIONS',
  'PATCH',
  'TRACE',
  'QUERY',
];
const HEADERS: readonly Header[] = [
  ['content-type', 'text/plain'],
  ['content-type', ''],
  ['content-type', 'application/json; charset=utf-16'],
  ['content-type', '\u00ff'],
  ['accept', 'image/png'],
  ['content-encoding', 'gzip'],
  ['content-encoding', 'deflate, br'],
  ['inference-header-content-length', '0'],
  ['inference-header-content-length', '-1'],
  ['inference-header-content-length', '1e3'],
  ['inference-header-content-length', '99999999999999999999'],
  ['inference-header-content-length', ''],
  ['inference-header-content-length', '10'],
  ['inference-header-content-length', '0x10'],
  ['inference-header-content-length', 'Infinity'],
  ['inference-header-content-length', '9'.repeat(400)],
  ['expect', '100-continue'],
  ['connection', 'close'],
  ['connection', 'keep-alive, close'],
  ['cookie', 'a=b'],
  ['host', ''],
  ['x', 'y'.repeat(4000)],
  ['range', 'bytes=0-1'],
  ['if-none-match', '*'],
  ['te', 'trailers'],
  ['accept-encoding', 'gzip'],
  ['content-length-x', '3'],
  ['x-http-method-override', 'GET'],
  ['origin', 'null'],
  ['authorization', 'Basic !!!'],
  ['keep-alive', 'timeout=0'],
];

/** mutateRequest makes one request: mostly a faulty inference, sometimes faulty HTTP. */
export function mutateRequest(dice: Dice): MadeRequest {
  if (dice.chance(0.1)) return ofOtherPaths(dice);
  const make = dice.chance(0.2) ? largeInference : dice.chance(0.5) ? jsonInference : binaryInference;
  const { parts, what } = make(dice);
  const told = [what];
  if (dice.chance(0.15)) told.push(compress(dice, parts));
  if (dice.chance(0.15)) told.push(addHeader(dice, parts));
  return framed(dice, parts, told.join('; '));
}

function ofOtherPaths(dice: Dice): MadeRequest {
  const body = dice.chance(0.3) ? Buffer.from('{}') : Buffer.alloc(0);
  const parts: Parts = { method: dice.pick(METHODS), path: dice.pick(PATHS), headers: [], body };
  if (dice.chance(0.3)) addHeader(dice, parts);
  return framed(dice, parts, `${parts.method} ${parts.path.slice(0, 60)}`);
}

function addHeader(dice: Dice, parts: Parts): string {
  const header = dice.pick(HEADERS);
  const copies = dice.chance(0.1) ? dice.pick([2, 50]) : 1;
  // A header of this kind that the request already has is left out, since Node takes the first of two.
  if (dice.chance(0.5)) parts.headers = parts.headers.filter(([name]) => name !== header[0]);
  for (let i = 0; i < copies; i++) parts.headers.push(header);
  return `${header[0]}: ${header[1].slice(0, 40)} ×${copies}`;
}

/** compress sends the body in some encoding, whole, cut, with more after it, or as a little that inflates to much. */
function compress(dice: Dice, parts: Parts): string {
  const encoding = dice.pick(['gzip', 'deflate', 'x-gzip', 'br']);
  const packed = (bytes: Buffer) => (encoding === 'deflate' ? deflateSync(bytes) : gzipSync(bytes));
  const change = dice.pick(['whole', 'cut', 'with more', 'a bomb'] as const);
  const whole = packed(change === 'a bomb' ? Buffer.alloc(2 ** 22, ' ') : parts.body);
  parts.headers.push(['content-encoding', encoding]);
  parts.body =
    change === 'cut'
      ? whole.subarray(0, Math.floor(whole.length / 2))
      : Buffer.concat([whole, Buffer.from(change === 'with more' ? 'more' : '')]);
  return `compressed by ${encoding}, ${change}`;
}

interface Made {
  readonly parts: Parts;
  readonly what: string;
}

interface JsonTensor {
  name: string;
  shape: number[];
  datatype: string;
  data?: unknown;
  parameters?: Record<string, unknown>;
}

function denseInput(rows: number): JsonTensor {
  return {
    name: 'x',
    shape: [rows, WIDTH],
    datatype: 'FP32',
    data: Array.from({ length: rows * WIDTH }, (_, i) => i / 10),
  };
}

function lookupInput(dice: Dice, rows: number): JsonTensor {
  const id = () =>
    dice.chance(0.1) ? dice.pick([TABLE_ROWS, -TABLE_ROWS - 1, 1e9, -(2 ** 40)]) : dice.below(TABLE_ROWS);
  return { name: 'ids', shape: [rows, 2], datatype: 'INT64', data: Array.from({ length: rows * 2 }, id) };
}

function inferTo(model: string, body: Buffer, headers: Header[] = []): Parts {
  return {
    method: 'POST',
    path: `/v2/models/${model}/infer`,
    headers: [['content-type', 'application/json'], ...headers],
    body,
  };
}

function jsonInference(dice: Dice): Made {
  const model = dice.pick(['dense', 'lookup']);
  const rows = dice.pick([1, 1, 2, 3]);
  const document = {
    id: 'one',
    parameters: dice.chance(0.3)
      ? { timeout: dice.pick([1, 5_000_000, 0]), binary_data_output: dice.chance(0.5) }
      : {},
    inputs: [model === 'dense' ? denseInput(rows) : lookupInput(dice, rows)],
    outputs: [{ name: 'y', parameters: dice.chance(0.3) ? { binary_data: true } : {} }],
  };
  if (dice.chance(0.1))
    return { parts: inferTo(model, Buffer.from(JSON.stringify(document))), what: `JSON for ${model}` };
  const { value, what } = mutateJson(dice, document);
  const text = Buffer.from(jsonOf(value));
  const bytes = dice.chance(0.1) ? mutateBytes(dice, text).value : text;
  return { parts: inferTo(model, bytes), what: `JSON for ${model}: ${what}` };
}

/** A server parses longer JSON piece by piece. */
const LONG_BYTES = 66_000;
const FORGING = 'a\r\nx-forged: 1\r\n\n\u2028ready: http://here';
type Place = (document: LargeDocument, value: unknown) => void;
interface LargeDocument {
  id: unknown;
  parameters: Record<string, unknown>;
  inputs: Record<string, unknown>[];
  outputs: Record<string, unknown>[];
}
const PLACES: Readonly<Record<string, Place>> = {
  id: (document, value) => Object.assign(document, { id: value }),
  inputs: (document, value) => Object.assign(document, { inputs: value }),
  outputs: (document, value) => Object.assign(document, { outputs: value }),
  parameters: (document, value) => Object.assign(document, { parameters: value }),
  timeout: ({ parameters }, value) => Object.assign(parameters, { timeout: value }),
  priority: ({ parameters }, value) => Object.assign(parameters, { priority: value }),
  sequence_id: ({ parameters }, value) => Object.assign(parameters, { sequence_id: value }),
  'an unknown parameter': ({ parameters }, value) => Object.assign(parameters, { [FORGING]: value }),
  'the name of an input': ({ inputs }, value) => Object.assign(inputs[0]!, { name: value }),
  'the datatype': ({ inputs }, value) => Object.assign(inputs[0]!, { datatype: value }),
  'the shape': ({ inputs }, value) => Object.assign(inputs[0]!, { shape: value }),
  'the data': ({ inputs }, value) => Object.assign(inputs[0]!, { data: value }),
  'the parameters of an input': ({ inputs }, value) => Object.assign(inputs[0]!, { parameters: value }),
  binary_data_size: ({ inputs }, value) =>
    Object.assign(inputs[0]!, { parameters: { binary_data_size: value } }),
  'the name of an output': ({ outputs }, value) => Object.assign(outputs[0]!, { name: value }),
  binary_data: ({ outputs }, value) => Object.assign(outputs[0]!, { parameters: { binary_data: value } }),
};

/**
 * largeInference has in one place of a right request what is nested deep, said again and again, or forges lines. It is written
 * so long that it is read piece by piece, or not.
 */
function largeInference(dice: Dice): Made {
  const count = dice.pick([11, 100, 3000, 30_000]);
  const document: LargeDocument = {
    id: 'one',
    parameters: {},
    inputs: [{ ...denseInput(dice.pick([1, 2])) }],
    outputs: [{ name: 'y' }],
  };
  const copies = <Item>(item: Item) => Array.from({ length: count }, () => item);
  const [kind, value] = dice.pick<readonly [string, unknown]>([
    ['lists in lists', RAW_MARK],
    ['objects in objects', RAW_MARK],
    ['numbers', copies(1)],
    ['objects', copies({})],
    ['names', copies({ name: 'y' })],
    ['inputs', copies({ ...document.inputs[0] })],
    ['a text', 'x'.repeat(count)],
    ['what forges lines', FORGING],
  ]);
  const [place, put] = dice.pick(Object.entries(PLACES));
  put(document, value);
  const deep =
    kind === 'objects in objects'
      ? `${'{"a":'.repeat(count)}1${'}'.repeat(count)}`
      : `${'['.repeat(count)}1${']'.repeat(count)}`;
  const padding = ' '.repeat(dice.pick([0, LONG_BYTES]));
  const text = `${padding}${JSON.stringify(document).replace(JSON.stringify(RAW_MARK), () => deep)}`;
  const what = `${kind} × ${count} as ${place}${padding === '' ? '' : ', long'}`;
  return { parts: inferTo('dense', Buffer.from(text)), what };
}

/** RAW_MARK stands where JSON is put that is nested too deep to be written by JSON.stringify. */
const RAW_MARK = '\u0001deep';

/** binaryInference sends tensors after the JSON part, with sizes, lengths and bytes that may be wrong. */
function binaryInference(dice: Dice): Made {
  const model = dice.pick(['dense', 'lookup']);
  const rows = dice.pick([1, 1, 2, 4, 9]);
  const { data, ...input } = model === 'dense' ? denseInput(rows) : lookupInput(dice, rows);
  const numbers = data as number[];
  let bytes: Buffer = Buffer.from(
    (model === 'dense' ? Float32Array.from(numbers) : BigInt64Array.from(numbers, BigInt)).buffer,
  );
  if (dice.chance(0.4)) bytes = mutateBytes(dice, bytes).value;
  const size: unknown = dice.chance(0.7)
    ? bytes.length
    : dice.pick<unknown>([...ODD_NUMBERS, ...ODD_TEXTS, null, bytes.length + 1, bytes.length - 1]);
  const document = {
    inputs: [{ ...input, parameters: { binary_data_size: size } }],
    outputs: [{ name: 'y', parameters: { binary_data: dice.chance(0.8) } }],
  };
  const { value, what } = dice.chance(0.4)
    ? mutateJson(dice, document)
    : { value: document, what: 'as it should be' };
  const json = Buffer.from(jsonOf(value));
  const length = dice.chance(0.8)
    ? json.length
    : dice.pick([...ODD_NUMBERS, json.length + 1, json.length - 1]);
  const headers: Header[] = [['inference-header-content-length', String(length)]];
  return {
    parts: inferTo(model, Buffer.concat([json, bytes]), headers),
    what: `binary for ${model}, JSON length ${length}, size ${String(size).slice(0, 20)}: ${what}`,
  };
}

/** framed turns a request into bytes, with a length or in chunks, rightly or wrongly. */
function framed(dice: Dice, parts: Parts, what: string): MadeRequest {
  const isSlow = dice.chance(0.04);
  const made = { isSlow, after: dice.chance(0.1) ? 'end' : 'wait' } as const;
  if (dice.chance(0.07)) return broken(dice, parts, what);
  const isChunked = dice.chance(0.2);
  const framing: Header = isChunked
    ? ['transfer-encoding', 'chunked']
    : ['content-length', String(parts.body.length)];
  const body = isChunked ? chunked(dice, parts.body) : [parts.body];
  const pieces = [headOf(parts, [framing]), ...body];
  const sent = isSlow ? pieces.flatMap((piece) => cutUp(dice, piece)) : [Buffer.concat(pieces)];
  return {
    ...made,
    what: `${what}${isChunked ? '; chunked' : ''}${isSlow ? '; slowly' : ''}${made.after === 'end' ? '; half closed' : ''}`,
    pieces: sent,
    framing: 'whole',
  };
}

function headOf({ method, path, headers }: Parts, more: readonly Header[]): Buffer {
  const host = headers.some(([name]) => name === 'host') ? [] : [['host', 'localhost'] as const];
  const lines = [...host, ...headers, ...more].map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1');
}

function chunked(dice: Dice, body: Buffer): Buffer[] {
  const chunks = cutUp(dice, body).filter((piece) => piece.length > 0);
  const extension = dice.chance(0.1) ? ';a=b' : '';
  const trailer = dice.chance(0.1) ? 'x-trailer: 1\r\n' : '';
  return [
    ...chunks.map((piece) =>
      Buffer.concat([
        Buffer.from(`${piece.length.toString(16)}${extension}\r\n`),
        piece,
        Buffer.from('\r\n'),
      ]),
    ),
    Buffer.from(`0\r\n${trailer}\r\n`),
  ];
}

function cutUp(dice: Dice, bytes: Buffer): Buffer[] {
  const cuts = Array.from({ length: dice.below(4) }, () => dice.below(bytes.length + 1)).sort(
    (a, b) => a - b,
  );
  return [...cuts, bytes.length].map((end, i, all) => bytes.subarray(i === 0 ? 0 : all[i - 1], end));
}

/**
 * broken makes bytes that are not an HTTP request: wrong lengths, both framings, changed bytes anywhere, or an early
 * end.
 */
function broken(dice: Dice, parts: Parts, what: string): MadeRequest {
  const { body } = parts;
  const right: Header = ['content-length', String(body.length)];
  const whole = (...headers: Header[]) => Buffer.concat([headOf(parts, headers), body]);
  const ways: Record<string, () => Buffer> = {
    'a length too large': () =>
      whole(['content-length', String(body.length + dice.pick([1, 100, 1e9, 1e20]))]),
    'a length too small': () => whole(['content-length', String(dice.below(body.length + 1))]),
    'two lengths': () => whole(right, ['content-length', '3']),
    'length and chunks': () => whole(right, ['transfer-encoding', 'chunked']),
    'no number as length': () =>
      whole(['content-length', dice.pick(['', '-1', '1.5', 'x', '0x5', '1e3', ' 5 5'])]),
    'another encoding': () =>
      whole([
        'transfer-encoding',
        dice.pick(['gzip', 'chunked, gzip', 'identity', 'CHUNKED', 'chunked\u000b']),
      ]),
    'no chunk where one should be': () => whole(['transfer-encoding', 'chunked']),
    'a chunk of absurd size': () =>
      Buffer.concat([
        headOf(parts, [['transfer-encoding', 'chunked']]),
        Buffer.from(`${dice.pick(['fffffffffffffffff', '-5', 'zz', 'ffffffff'])}\r\n`),
        body,
      ]),
    'a header without end': () =>
      Buffer.from(
        `POST /v2/models/dense/infer HTTP/1.1\r\nhost: localhost\r\nx: ${'y'.repeat(dice.pick([10, 20_000]))}`,
      ),
    'many headers': () =>
      headOf(
        parts,
        Array.from({ length: 3000 }, (_, i): Header => [`x-${i}`, '1']),
      ),
    'another version': () =>
      Buffer.from(
        whole(right)
          .toString('latin1')
          .replace('HTTP/1.1', dice.pick(['HTTP/0.9', 'HTTP/2.0', 'HTTP/9.9', 'HTTP/1.0', 'X'])),
        'latin1',
      ),
    'changed bytes': () => mutateBytes(dice, whole(right)).value,
    'nothing but noise': () => dice.bytes(dice.below(300)),
    'cut off': () => whole(right).subarray(0, dice.below(whole(right).length)),
    'two at once': () => Buffer.concat([whole(right), whole(right)]),
  };
  const [way, make] = dice.pick(Object.entries(ways));
  return {
    what: `${what}; ${way}`,
    pieces: [make()],
    framing: 'broken',
    isSlow: false,
    after: dice.pick(['end', 'end', 'end', 'destroy', 'wait']),
  };
}
