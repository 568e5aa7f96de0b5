import { describe, expect, it, vi } from 'vitest';
import { FirstFaults } from '../../../src/runtime/http/first-faults.js';
import { inferRequestOf, readInferRequest } from '../../../src/runtime/http/infer-request.js';
import type { AskedModel } from '../../../src/runtime/tensors/request-tensors.js';

const BYTES = 400_000;
/** An answer that says what is wrong is for a person. */
const MOST_TOLD = 4000;
/** What a body of JSON may take in memory beside itself, for each of its bytes. */
const MOST_FOR_A_BYTE = 15;

const tensor = (name: string, dtype: string, width: number) => ({
  name,
  dtype,
  shape: [1, width],
  batchAxis: 0,
});
function modelOf(dtype: string, width = 4): AskedModel {
  const outputs = ['y', 'z'].map((name) => tensor(name, 'float32', width));
  return { name: 'm', inputs: [tensor('x', dtype, width)], outputs, maxRows: 1e6 };
}
const FP32 = modelOf('float32');

/** filled repeats a piece until it is as long as the body of a shape. */
function filled(piece: string, end = piece): string {
  return piece.repeat(Math.floor(BYTES / piece.length)) + end;
}
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
const right = (data: string, rows = 1) =>
  `{"name":"x","datatype":"FP32","shape":[${rows},4],"data":[${data}]}`;
const DATA = '1,2,3,4';
const RIGHT = right(DATA);
/** member writes a request that is right, but for what is in one place. */
const member = (name: string, value: string) => `{"inputs":[${RIGHT}],"${name}":${value}}`;
const ofInput = (name: string, value: string) => `{"inputs":[${RIGHT.slice(0, -1)},"${name}":${value}}]}`;
const ofParameters = (name: string, value: string) => member('parameters', `{"${name}":${value}}`);

interface Shape {
  readonly body: string | Buffer;
  readonly model?: AskedModel;
  readonly why: string | RegExp;
  /** Whether it is a text or spaces, of which no values are made. */
  readonly isText?: true;
}

const SHAPES: Readonly<Record<string, Shape>> = {
  'numbers for inputs': {
    body: `{"inputs":[${filled('1,', '1')}]}`,
    why: /inputs: has 200001 entries; the model has 1 input/,
  },
  'objects for inputs': { body: `{"inputs":[${filled('{},', '{}')}]}`, why: /has 133334 entries/ },
  'the right input without end': {
    body: `{"inputs":[${filled(`${RIGHT},`, RIGHT)}]}`,
    why: /has \d+ entries; the model has 1 input/,
  },
  'an output named without end': {
    body: member('outputs', `[${filled('{"name":"y"},', '{"name":"y"}')}]`),
    why: /outputs: has 30770 entries; the model has 2 outputs/,
  },
  'numbers for outputs': {
    body: member('outputs', `[${filled('1,', '1')}]`),
    why: /outputs: has 200001 entries/,
  },
  'a name without end': {
    body: ofInput('name', `"${filled('x')}"`),
    why: /input x{80}…: is not one/,
    isText: true,
  },
  'an output with a name without end': {
    body: member('outputs', `[{"name":"${filled('x')}"}]`),
    why: /output "x{79}…: is not one/,
    isText: true,
  },
  'an id without end that is no text': {
    body: member('id', `[${filled('1,', '1')}]`),
    why: /200\d\d\d values beside the data of its inputs; at most/,
  },
  'an unknown member of lists': {
    body: member('u', `[${filled('[],', '[]')}]`),
    why: /values beside the data/,
  },
  'parameters without end': {
    body: member('parameters', `{${filled('"a":1,', '"a":1')}}`),
    why: /values beside the data/,
  },
  'parameters of an input without end': {
    body: ofInput('parameters', `{${filled('"a":1,', '"a":1')}}`),
    why: /values beside the data/,
  },
  'a shape without end': { body: ofInput('shape', `[${filled('1,', '1')}]`), why: /values beside the data/ },
  'data given again without end': {
    body: ofInput('data', filled('[1],"data":', '[1]')),
    why: /values beside the data/,
  },
  'JSON with a fault behind its data, whose place is not told as that of what is left': {
    body: `{"inputs":[${right(filled('1,', '1'))}],"outputs":[}`,
    why: /the body is not JSON: (?!.*(position|\d)).*, beside the data of its inputs$/,
    isText: true,
  },
  'one number too many': {
    body: `{"inputs":[${right(filled('1,', '1'))}]}`,
    why: /its data has 200001 elements; its shape \[1, 4\] needs 4/,
  },
  'texts for numbers': { body: `{"inputs":[${right(filled('"",', '""'), 1)}]}`, why: /has 133334 elements/ },
  'as many texts as numbers are needed': {
    body: `{"inputs":[${right(`${'"",'.repeat(99_999)}""`, 25_000)}]}`,
    why: /its data at 0 is "", not a valid FP32/,
  },
  'objects as data': { body: `{"inputs":[${right(filled('{},', '{}'))}]}`, why: /has 133334 elements/ },
  'data nested without end': { body: `{"inputs":[${right(nested(BYTES / 2))}]}`, why: /more than 64 deep/ },
  'lists nested without end': { body: nested(BYTES / 2), why: /more than 64 deep/ },
  'a list of numbers': { body: `[${filled('1,', '1')}]`, why: /values beside the data/ },
  'a text without end': { body: `{"id":"${filled('x')}`, why: /it ends early/ },
  'a list without end': { body: `{"inputs":[{"data":[${filled('1,')}`, why: /it ends early/ },
  spaces: { body: filled(' '), why: /is not JSON/, isText: true },
  'one number without end': {
    body: `{"inputs":[${right(`${filled('1')},2,3,4`)}]}`,
    why: /its data at 0 is "1+….*, not a valid FP32/,
  },
  'bytes that are no text': { body: Buffer.alloc(BYTES, 0xff), why: /its text is not UTF-8/ },
  'a right input in binary too often': {
    body: `{"inputs":[${filled('{"name":"x","parameters":{"binary_data_size":0}},', '{}')}]}`,
    why: /has \d+ entries; the model has 1 input/,
  },
};
/** These are nested 10,000 deep where something else belongs. */
const PLACES: readonly (readonly [place: string, body: (value: string) => string])[] = [
  ['the shape', (value) => ofInput('shape', value)],
  ['a size of the shape', (value) => ofInput('shape', `[1,${value}]`)],
  ['the datatype', (value) => ofInput('datatype', value)],
  ['the name of an input', (value) => ofInput('name', value)],
  ['the data', (value) => ofInput('data', value)],
  ['the parameters of an input', (value) => ofInput('parameters', value)],
  ['binary_data_size', (value) => ofInput('parameters', `{"binary_data_size":${value}}`)],
  ['the name of an output', (value) => member('outputs', `[{"name":${value}}]`)],
  ['binary_data', (value) => member('outputs', `[{"name":"y","parameters":{"binary_data":${value}}}]`)],
  ['an output', (value) => member('outputs', `[${value}]`)],
  ['the outputs', (value) => member('outputs', value)],
  ['an input', (value) => `{"inputs":[${value}]}`],
  ['the inputs', (value) => `{"inputs":${value}}`],
  ['the id', (value) => member('id', value)],
  ['the parameters', (value) => member('parameters', value)],
  ...[
    'timeout',
    'priority',
    'sequence_id',
    'sequence_start',
    'sequence_end',
    'binary_data_output',
    'content_type',
    'other',
  ].map((name) => [name, (value: string) => ofParameters(name, value)] as const),
];

/** read reads a body in steps, and counts what that takes. */
function read(model: AskedModel, body: string | Buffer, headerLength?: string) {
  const bytes = Buffer.from(body as string);
  const parse = vi.spyOn(JSON, 'parse');
  let charged = 0;
  const take = (more: number) => {
    charged += more;
  };
  let steps = 1;
  let message = '';
  try {
    const work = inferRequestOf(model, bytes, { take, headerLength });
    while (!work.next().done) steps += 1;
  } catch (error) {
    message = (error as Error).message;
    expect((error as Error).name).toBe('InputError');
  }
  const texts = parse.mock.calls.map(([text]) => text.length);
  parse.mockRestore();
  return {
    bytes,
    message,
    charged,
    steps,
    parsed: Math.max(0, ...texts),
    parsedInAll: texts.reduce((a, b) => a + b, 0),
  };
}

describe('a request of hostile content', () => {
  it.each(Object.entries(SHAPES))(
    '%s is refused in few words, and is neither parsed whole nor charged for',
    (_what, shape) => {
      const { message, charged, parsed, bytes } = read(shape.model ?? FP32, shape.body);
      expect(message).toMatch(shape.why);
      expect(message.length).toBeLessThan(MOST_TOLD);
      expect(charged).toBeLessThan(MOST_FOR_A_BYTE * bytes.length);
      expect(parsed).toBeLessThan(shape.isText ? 1.1 * BYTES : 70_000);
    },
  );

  it.each(PLACES)(
    'that is nested where %s belongs is refused with a sentence, or does not count',
    (_place, body) => {
      for (const value of [nested(10_000), `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`])
        for (const padding of ['', ' '.repeat(70_000)]) {
          const { message } = read(FP32, padding + body(value));
          expect(message).toMatch(/^Cannot (read the request|infer with m):/);
          expect(message.length).toBeLessThan(MOST_TOLD);
        }
    },
  );

  it('has its first ten faults reported, and the others counted', () => {
    const names = Array.from({ length: 12 }, (_, i) => `{"name":"n${i}"}`);
    const { message } = read(FP32, member('outputs', `[${names.join()}]`));
    expect(message.match(/is not one of the model's/g)).toHaveLength(10);
    expect(message).toContain('… and 2 more faults');
  });

  it('has no output that is named twice', () => {
    const { message } = read(FP32, member('outputs', `[${'{"name":"y"},'.repeat(11)}{"name":"z"}]`));
    expect(message.match(/output "y": is named twice/g)).toHaveLength(10);
  });
});

describe('a request with strings in binary', () => {
  const sized = (length: number, text = '') => {
    const head = Buffer.alloc(4);
    head.writeUInt32LE(length);
    return Buffer.concat([head, Buffer.from(text)]);
  };
  const asked = (rows: number, data: Buffer) => {
    const head = Buffer.from(
      `{"inputs":[{"name":"x","datatype":"BYTES","shape":[${rows},4],"parameters":{"binary_data_size":${data.length}}}]}`,
    );
    return read(modelOf('string'), Buffer.concat([head, data]), String(head.length));
  };

  it('is charged for each of them, and for their text', () => {
    const empty = asked(25_000, Buffer.alloc(4 * 100_000));
    expect([empty.message, empty.charged]).toEqual(['', 32 * 100_000 + 2 * 400_000]);
    expect(empty.steps).toBeGreaterThan(100_000 / 4096);
    const huge = asked(1, Buffer.concat([sized(BYTES, 'x'.repeat(BYTES)), Buffer.alloc(12)]));
    expect([huge.message, huge.charged]).toEqual(['', 32 * 4 + 2 * (BYTES + 16)]);
  });

  it.each([
    ['a length of 4 GiB', 1, sized(0xffffffff, 'x'.repeat(1000)), /string 0 runs past the end/],
    [
      'a length that is one too long',
      1,
      Buffer.concat([Buffer.alloc(12), sized(8, 'strings')]),
      /string 3 runs past/,
    ],
    ['a length that is cut', 1, Buffer.alloc(15), /string 3 runs past the end/],
    [
      'fewer than its shape says',
      900_000,
      Buffer.alloc(4),
      /holds 1 strings in 4 of 4 bytes; 3600000 are needed/,
    ],
    [
      'more than its shape says',
      1,
      Buffer.alloc(BYTES),
      /holds 4 strings in 16 of 400000 bytes; 4 are needed/,
    ],
  ])('that has %s is refused, and charged by its bytes alone', (_what, rows, data, why) => {
    const { message, charged } = asked(rows, data);
    expect(message).toMatch(why);
    expect(charged).toBeLessThanOrEqual(10 * data.length + 128);
  });
});

describe('FirstFaults', () => {
  it('makes no text of a fault that is not reported', () => {
    const faults = new FirstFaults();
    const make = vi.fn(() => ['a', 'is wrong'] as const);
    for (let i = 0; i < 1e5; i++) faults.tell(make);
    expect([make.mock.calls.length, faults.told.length, faults.size]).toEqual([10, 11, 1e5]);
    expect(faults.told.at(-1)!.message).toBe('… and 99990 more faults');
  });
});

describe('a request with much JSON', () => {
  it.each([
    ['float32', 'FP32', '1,', 4],
    ['float64', 'FP64', '1,', 8],
    ['int64', 'INT64', '1,', 8],
    ['bool', 'BOOL', '1,', 1],
    ['string', 'BYTES', '"",', 32],
  ])(
    'of %s is charged with the memory that its tensor takes, before it is made',
    (dtype, datatype, element, each) => {
      const count = 4 * Math.floor(BYTES / element.length / 4);
      const data = element.repeat(count - 1) + element.slice(0, -1);
      const body = `{"inputs":[{"name":"x","datatype":"${datatype}","shape":[${count / 4},4],"data":[${data}]}]}`;
      const { message, charged, bytes, parsed, parsedInAll, steps } = read(modelOf(dtype), body);
      expect(message).toBe('');
      expect(charged).toBeGreaterThanOrEqual(each * count);
      expect(charged).toBeLessThan(MOST_FOR_A_BYTE * bytes.length);
      expect(parsed).toBeLessThanOrEqual(65_536);
      expect(parsedInAll).toBeLessThan(1.1 * bytes.length);
      expect(steps).toBeGreaterThan(bytes.length / 65_536);
    },
  );

  it('makes no tensor where its memory is refused', () => {
    const body = `{"inputs":[${right(`${'1,'.repeat(99_999)}1`, 25_000)}]}`;
    const made = vi.spyOn(globalThis, 'Float32Array');
    const take = () => {
      throw new Error('no memory');
    };
    try {
      expect(() => [...inferRequestOf(FP32, Buffer.from(body), { take })]).toThrow('no memory');
      expect(made).not.toHaveBeenCalled();
    } finally {
      made.mockRestore();
    }
  });

  it('is read as the same without the spaces that make it long', () => {
    const asked = [
      RIGHT,
      right('[1,2],[3,4]'),
      right('1,2,3'),
      right('1,2,3,"a"'),
      `${RIGHT},${RIGHT}`,
      `{"name":"q"},${RIGHT}`,
      RIGHT.replace('FP32', 'INT64'),
      RIGHT.replace('"data"', '"DATA"'),
    ].map((inputs) => `{"id":"i","inputs":[${inputs}],"parameters":{"timeout":5,"priority":2}}`);
    const outcome = (body: string) => {
      try {
        return readInferRequest(FP32, Buffer.from(body));
      } catch (error) {
        return (error as Error).message;
      }
    };
    for (const body of [...asked, '{"inputs":null}', '{}', '[1]', ofParameters('timeout', '-1')])
      expect(outcome(' '.repeat(70_000) + body)).toEqual(outcome(body));
    expect(outcome(asked[0]!)).toMatchObject({ rows: 1, timeoutUs: 5, priority: 2, id: 'i' });
  });

  it('may bring as much text beside its data as others send, but not as many values', () => {
    const { message } = read(FP32, member('padding', `"${filled('x')}"`));
    expect(message).toBe('');
  });
});

describe('strings in binary', () => {
  it('are charged for, and read in steps', () => {
    const count = BYTES / 4;
    const head = `{"inputs":[{"name":"x","datatype":"BYTES","shape":[${count / 4},4],"parameters":{"binary_data_size":${BYTES}}}]}`;
    const body = Buffer.concat([Buffer.from(head), Buffer.alloc(BYTES)]);
    const { message, charged, steps } = read(modelOf('string'), body, String(head.length));
    expect([message, charged]).toEqual(['', 32 * count + 2 * BYTES]);
    expect(steps).toBeGreaterThan(count / 4096);
  });
});
