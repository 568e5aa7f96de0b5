import { gzipSync } from 'node:zlib';

/** The models `wide` (FP32) and `long` (INT64) take so many elements in a row. */
const ELEMENTS = 2_000_000;

/** The model `texts` (BYTES) takes so many strings in a row. */
const TEXTS = 200_000;
/** ROW_MODELS holds the elements of a row of each model, and their type. */
export const ROW_MODELS = {
  wide: { dtype: 'float32', elements: ELEMENTS },
  long: { dtype: 'int64', elements: ELEMENTS },
  texts: { dtype: 'string', elements: TEXTS },
  text: { dtype: 'string', elements: 1 },
} as const;

/** CostShape is a kind of request that tries to cost the server more than its bytes are worth. */
export interface CostShape {
  readonly name: string;
  /**
   * Its body takes at most so many times its bytes: as JSON 16, in binary 3, and as strings in binary, of which each
   * takes a place in a list, 16.
   */
  readonly kind: 'json' | 'binary' | 'texts';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** The bytes of the body once it is inflated. */
  readonly inflatedBytes: number;
  /** The size of the chunks in which it is sent; absent where its length is announced. */
  readonly chunkBytes?: number;
  /** How many clients send it at once; 1 by default. */
  readonly clients?: number;
  /** Whether the clients read nothing of their answers. */
  readonly isUnread?: boolean;
}

const WIDE = '/v2/models/wide/infer';
const LONG = '/v2/models/long/infer';
const input = (data: string, datatype = 'FP32') =>
  `{"name":"x","datatype":"${datatype}","shape":[1,${ELEMENTS}],"data":[${data}]}`;
const inputs = (list: string, more = '') => `{"inputs":[${list}]${more}}`;
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);

/** Filled repeats a piece for about as many bytes as a body is to have, with an end. */
type Filled = (piece: string, end?: string) => string;
/** Named is the name of a shape, its JSON, and its path where it is another than that of `wide`. */
type Named = readonly [name: string, text: string, path?: string];

/** costShapes makes the shapes, most of them with bodies of about so many bytes. */
export function* costShapes(bytes: number): Generator<CostShape> {
  const filled: Filled = (piece, end = '') => piece.repeat(Math.floor(bytes / piece.length)) + end;
  for (const [name, text, path = WIDE] of [...besideData(bytes, filled), ...ofData(bytes, filled)])
    yield shape(name, 'json', { path, body: Buffer.from(text) });
  yield* sentOtherwise(bytes, filled);
}

const small = input('1');
const numbers = (write: (i: number) => string) => Array.from({ length: ELEMENTS }, (_, i) => write(i)).join();

function besideData(bytes: number, filled: Filled): Named[] {
  return [
    ['numbers as inputs', inputs(filled('1,', '1'))],
    ['objects as inputs', inputs(filled('{},', '{}'))],
    ['nulls as inputs', inputs(filled('null,', 'null'))],
    ['one input without end', inputs(filled(`${small},`, small))],
    ['an output named without end', inputs(small, `,"outputs":[${filled('{"name":"y"},', '{"name":"y"}')}]`)],
    ['numbers as outputs', inputs(small, `,"outputs":[${filled('1,', '1')}]`)],
    ['parameters without end', inputs(small, `,"parameters":{${filled('"a":1,', '"a":1')}}`)],
    ['an id of lists', inputs(small, `,"id":[${filled('[],', '[]')}]`)],
    ['a text as id', inputs(small, `,"id":"${filled('x')}"`)],
    ['a text of 4 MB as id', inputs(small, `,"id":"${'x'.repeat(4e6)}"`)],
    ['an unknown member', inputs(small, `,"u":[${filled('{},', '{}')}]`)],
    ['a name without end', inputs(`{"name":"${filled('x')}"}`)],
    ['a shape without end', inputs(`{"name":"x","datatype":"FP32","shape":[${filled('1,', '1')}]}`)],
    [
      'a shape nested 10,000 deep',
      inputs(`{"name":"x","datatype":"FP32","shape":${nested(1e4)},"data":[1]}`),
    ],
    ['a timeout nested 10,000 deep', inputs(small, `,"parameters":{"timeout":${nested(1e4)}}`)],
    ['lists nested without end', nested(bytes / 2)],
    ['a list of numbers', `[${filled('1,', '1')}]`],
    ['a text without end', `{"id":"${filled('x')}`],
    ['escapes without end', `{"id":"${filled('\\u0041', '"}')}`],
    ['spaces', filled(' ')],
  ];
}

function ofData(bytes: number, filled: Filled): Named[] {
  const right = numbers(() => '1');
  return [
    ['data given again without end', inputs(`{"name":"x",${filled('"data":[1],', '"data":[1]')}}`)],
    ['data of the right number, short', inputs(input(right))],
    [
      'data of the right number, 17 digits',
      inputs(input(numbers((i) => `0.${String(1e16 + i * 7919).slice(0, 17)}`))),
    ],
    ['data of the right number, one a list', inputs(input(numbers((i) => `[${i % 10}]`)))],
    ['data of the right number, the last no number', inputs(input(`${right.slice(0, -1)}""`))],
    [
      'INT64 beyond 2^53',
      inputs(
        input(
          numbers((i) => `9007199254${740_993 + i}`),
          'INT64',
        ),
      ),
      LONG,
    ],
    ['more numbers than are needed', inputs(input(filled('1,', '1')))],
    ['objects as data', inputs(input(filled('{},', '{}')))],
    ['texts as data', inputs(input(filled('"",', '""')))],
    ['data nested without end', inputs(input(nested(bytes / 2)))],
    ['spaces as data', inputs(input(filled(' ', '1')))],
    ['one number without end', inputs(input(filled('1', `,${numbers(() => '1').slice(2)}`)))],
  ];
}

/** sentOtherwise makes shapes that are no plain JSON of one client. */
function* sentOtherwise(bytes: number, filled: Filled): Generator<CostShape> {
  const text = Buffer.from(inputs(input(numbers(() => '1'))));
  yield shape('bytes that are no text', 'json', { body: Buffer.alloc(bytes, 0xff) });
  yield shape('objects, gzip', 'json', compressed(inputs(filled('{},', '{}'))));
  yield shape('spaces of 64 MiB, gzip', 'json', compressed(' '.repeat(64 * 2 ** 20)));
  yield shape('data in chunks of 64 KiB', 'json', { body: text, chunkBytes: 65_536 });
  yield shape('data in chunks of 8 bytes', 'json', { body: text, chunkBytes: 8 });
  yield shape('the index, with numbers', 'json', {
    path: '/v2/repository/index',
    body: Buffer.from(`[${filled('1,', '1')}]`),
  });
  yield shape('a path that is not there', 'json', { path: '/v2/nothing', body: Buffer.from(filled('1')) });
  yield shape('an answer in JSON', 'binary', binary(false));
  yield shape('an answer in binary', 'binary', binary(true));
  yield shape('a size that is wrong', 'binary', binary(true, 4 * ELEMENTS - 4));
  yield shape('a body without JSON', 'binary', {
    body: Buffer.alloc(4 * ELEMENTS),
    headers: { 'inference-header-content-length': '0' },
  });
  yield* ofTexts(bytes);
  const objects = Buffer.from(inputs(filled('{},', '{}')));
  yield { ...shape('objects as inputs, 8 clients', 'json', { body: objects }), clients: 8 };
  yield { ...shape('data, 8 clients', 'json', { body: text }), clients: 8 };
  yield { ...shape('answers nobody reads, 30 clients', 'binary', binary(true)), clients: 30, isUnread: true };
}

/** ofTexts makes shapes of strings, in JSON and in binary. */
function* ofTexts(bytes: number): Generator<CostShape> {
  const texts = '/v2/models/texts/infer';
  const text = '/v2/models/text/infer';
  const given = (count: number, data: string) =>
    Buffer.from(inputs(`{"name":"x","datatype":"BYTES","shape":[1,${count}],"data":[${data}]}`));
  const every = (piece: string) => Array.from({ length: TEXTS }, () => piece).join();
  yield shape('empty strings', 'json', { path: texts, body: given(TEXTS, every('""')) });
  yield shape('short strings', 'json', { path: texts, body: given(TEXTS, every('"strings"')) });
  yield shape('strings of escapes', 'json', { path: texts, body: given(TEXTS, every('"\\u00e9"')) });
  yield shape('one huge string', 'json', { path: text, body: given(1, `"${'x'.repeat(bytes)}"`) });
  yield shape('one huge string beyond ASCII', 'json', {
    path: text,
    body: given(1, `"${'é'.repeat(bytes / 2)}"`),
  });
  const sized = (length: number, data = Buffer.alloc(0)) => {
    const head = Buffer.alloc(4);
    head.writeUInt32LE(length);
    return Buffer.concat([head, data]);
  };
  const many = (one: Buffer) => Buffer.concat(Array.from({ length: TEXTS }, () => one));
  const huge = Buffer.alloc(bytes, 'x');
  yield shape('empty strings in binary', 'texts', ofStrings(texts, TEXTS, many(sized(0))));
  yield shape(
    'short strings in binary',
    'texts',
    ofStrings(texts, TEXTS, many(sized(7, Buffer.from('strings')))),
  );
  yield shape('one huge string in binary', 'texts', ofStrings(text, 1, sized(bytes, huge)));
  yield shape('a length of 4 GiB', 'texts', ofStrings(texts, TEXTS, sized(0xffffffff, huge)));
  yield shape('a length that is one too long', 'texts', ofStrings(text, 1, sized(bytes + 1, huge)));
  yield shape('more strings than are needed', 'texts', ofStrings(text, 1, Buffer.alloc(bytes)));
}

function ofStrings(
  path: string,
  count: number,
  data: Buffer,
): { path: string; body: Buffer; headers: Record<string, string> } {
  const head = Buffer.from(
    `{"inputs":[{"name":"x","datatype":"BYTES","shape":[1,${count}],"parameters":{"binary_data_size":${data.length}}}],"parameters":{"binary_data_output":true}}`,
  );
  return {
    path,
    body: Buffer.concat([head, data]),
    headers: { 'inference-header-content-length': String(head.length) },
  };
}

function shape(
  name: string,
  kind: CostShape['kind'],
  part: Partial<CostShape> & { readonly body: Buffer },
): CostShape {
  return { name, kind, path: WIDE, headers: {}, inflatedBytes: part.body.length, ...part };
}

function compressed(text: string): { body: Buffer; headers: Record<string, string>; inflatedBytes: number } {
  return { body: gzipSync(text), headers: { 'content-encoding': 'gzip' }, inflatedBytes: text.length };
}

function binary(isBinary: boolean, size = 4 * ELEMENTS): { body: Buffer; headers: Record<string, string> } {
  const head = Buffer.from(
    `{"inputs":[{"name":"x","datatype":"FP32","shape":[1,${ELEMENTS}],"parameters":{"binary_data_size":${size}}}],"parameters":{"binary_data_output":${isBinary}}}`,
  );
  const values = Float32Array.from({ length: ELEMENTS }, (_, i) => i / 7);
  const body = Buffer.concat([head, Buffer.from(values.buffer)]);
  return { body, headers: { 'inference-header-content-length': String(head.length) } };
}
