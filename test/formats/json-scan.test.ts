import { describe, expect, it } from 'vitest';
import { jsonFindings, notJson } from '../../src/formats/json-scan.js';

/** Texts that are not JSON, with what is said of each. */
const REFUSED: readonly (readonly [text: string, said: string])[] = [
  ['', 'the end of the text stands where a value belongs (line 1, column 1)'],
  ['{"kind": ', 'the text ends where a value belongs (line 1, column 10)'],
  ['{\n  "kind" 5\n}', '5 stands where the colon of a key belongs (line 2, column 10)'],
  ['{"a": 1,}', 'a comma stands before }; take it out (line 1, column 8)'],
  ['[1, 2,\n]', 'a comma stands before ]; take it out (line 1, column 6)'],
  ['[1 2]', '2 stands where a comma or ] belongs (line 1, column 4)'],
  ['{"a": {"b": [1, {"c": 2}, 3', 'a list is not closed (line 1, column 13)'],
  ['{"a": 1', 'a map is not closed (line 1, column 1)'],
  ['{"a": 1, ', 'a map is not closed (line 1, column 1)'],
  ['["a, 1]', 'a text is not closed on its line (line 1, column 2)'],
  ['{a: 1}', 'a stands where a key in double quotation marks belongs (line 1, column 2)'],
  ["{'a': 1}", "' stands where a key in double quotation marks belongs (line 1, column 2)"],
  ["['a']", "' stands where a value belongs; JSON has texts in double quotation marks (line 1, column 2)"],
  ['[NaN]', 'NaN stands where a value belongs; JSON has finite numbers alone (line 1, column 2)'],
  ['[True]', 'True stands where a value belongs; write true (line 1, column 2)'],
  ['[None]', 'None stands where a value belongs; the value that says nothing is null (line 1, column 2)'],
  ['[1, // one\n2]', '// stands where a value belongs; JSON has no comments (line 1, column 5)'],
  ['[.5]', '.5 stands where a value belongs; numbers are written as 0.5, 12 or -3e-7 (line 1, column 2)'],
  ['[01]', '01 stands where a value belongs; numbers are written as 0.5, 12 or -3e-7 (line 1, column 2)'],
  ['[yes]', 'yes stands where a value belongs; texts stand in double quotation marks (line 1, column 2)'],
  ['["C:\\dir"]', 'a backslash begins no character of JSON; write it twice, or a slash (line 1, column 5)'],
  [
    '["a\tb"]',
    'a text holds a tab or another control character; write it with a backslash, such as \\t (line 1, column 4)',
  ],
  ['{}\n}', '} stands behind the end of the value (line 2, column 1)'],
  ['1 2', '2 stands behind the end of the value (line 1, column 3)'],
];

describe('notJson()', () => {
  it.each(REFUSED)('says of %j what is wrong, and where', (text, said) => {
    expect(() => JSON.parse(text)).toThrow();
    expect(notJson(text)).toBe(said);
  });

  it('reports a wrong place in what was cut off, changed or doubled, wherever the parser refuses it, and none elsewhere', () => {
    const whole = '{"a": [1, -2.5e-3, "x\\u00e9\\n", {}], "b": {"c": null, "d": [[], true]}}';
    const edits = [...whole].flatMap((letter, i) => [
      whole.slice(0, i),
      whole.slice(0, i) + whole.slice(i + 1),
      whole.slice(0, i) + letter + whole.slice(i),
      ...[...'{}[],:"0 a\\\n-.'].map((other) => whole.slice(0, i) + other + whole.slice(i + 1)),
    ]);
    for (const text of edits)
      expect([text, jsonFindings(text).fault === undefined]).toEqual([text, isJson(text)]);
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe('jsonFindings()', () => {
  it('finds keys that are given twice in one map, however they are written', () => {
    const text = '{"a": {"a": 1}, "b": [{"a": 1}, {"a": 1, "\\u0061": 2}]}';
    expect(jsonFindings(text).twice).toEqual([{ key: 'a', at: text.indexOf('"\\u0061"') }]);
  });

  it('finds whole numbers that are not distinguished, with their pointers', () => {
    const text =
      '{"a/b": [[1], {"~": 9007199254740993}], "c": [1e17, 12345678901234567.5, -9007199254740992]}';
    expect(jsonFindings(text).huge).toEqual([
      { pointer: '/a~1b/1/~0', text: '9007199254740993' },
      { pointer: '/c/2', text: '-9007199254740992' },
    ]);
  });

  it('looks through a text that is nested beyond the stack', () => {
    const deep = '['.repeat(200_000);
    expect(jsonFindings(deep).fault).toEqual({ words: expect.any(String), at: 199_999 });
  });
});
