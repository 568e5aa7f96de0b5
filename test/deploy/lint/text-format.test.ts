import { describe, expect, it } from 'vitest';
import { readTextFormat } from '../../../src/deploy/lint/text-format.js';
import { MODEL_CONFIG } from '../../../src/deploy/targets/triton/model-config.js';

const read = (text: string) => readTextFormat(text, MODEL_CONFIG);
const firstError = (text: string) => read(text).errors[0];

describe('readTextFormat()', () => {
  it('reads messages, lists in both writings, maps, and strings that follow one another', () => {
    const { value, errors } = read(`# a comment
name: "a" 'b'
max_batch_size: 4;
input [ { name: "x" data_type: TYPE_FP32 dims: [ 3, -1 ] } ]
output { name: "y", dims: 1 dims: 2 }
output: < name: "z" >
parameters { key: "k" value: { string_value: "a \\"b\\"" } }
`);
    expect(errors).toEqual([]);
    expect(value).toEqual({
      name: 'ab',
      max_batch_size: 4,
      input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [3, -1] }],
      output: [{ name: 'y', dims: [1, 2] }, { name: 'z' }],
      parameters: [{ key: 'k', value: { string_value: 'a "b"' } }],
    });
  });

  it('knows the line of each value', () => {
    const { lines } = read('name: "a"\ninput [\n  { name: "x"\n    dims: [ 1,\n 2 ] }\n]\n');
    expect(lines.get('/name')).toBe(1);
    expect(lines.get('/input/0/name')).toBe(3);
    expect(lines.get('/input/0/dims/1')).toBe(5);
  });

  it('refuses what the message does not have, with the line', () => {
    const cases: [text: string, line: number, message: string][] = [
      ['name: "a"\nnmae: "b"', 2, 'the engine has no field nmae here'],
      ['\ninput [ { dim: [ 1 ] } ]', 2, 'the engine has no field dim here'],
      ['name: "a"\nname: "b"', 2, 'name is given twice'],
      ['max_batch_size: "4"', 1, 'is "4", and must be a whole number'],
      ['max_batch_size: 4.5', 1, 'is 4.5, and must be a whole number'],
      ['name: a', 1, 'is a, and must be a string in quotes'],
      ['max_batch_size: { }', 1, 'is a message, and must be a whole number'],
      ['name: [ "a" ]', 1, 'is a list, and one value is wanted'],
      ['response_cache { enable: yes }', 1, 'is yes, and must be true or false'],
      ['input { data_type: FP32 }', 1, 'is FP32, and must be one of TYPE_BOOL'],
      ['input {\n name: "x"', 2, 'has the end of the file where the name of a field or `}` is wanted'],
      ['name "a"', 1, 'has "a" where `:` or `{` is wanted'],
      ['name:\n', 2, 'has the end of the file where a value is wanted'],
      ['input [ { name: "x" } { name: "y" } ]', 1, 'has { where `,` or `]` is wanted'],
      ['name: "a"\n}', 2, 'has } where the name of a field is wanted'],
      ['toString: 1', 1, 'the engine has no field toString here'],
      ['name: "a\n"', 1, 'has " where a value is wanted'],
    ];
    for (const [text, line, message] of cases)
      expect(firstError(text), text).toEqual({ line, message: expect.stringContaining(message) });
  });
});
