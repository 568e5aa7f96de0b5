import { describe, expect, it } from 'vitest';
import { YamlFile } from '../../../src/deploy/lint/yaml-file.js';

/** Each list has ten times what the one before stands for. */
const MANY = Array.from({ length: 9 }, (_, i) =>
  i === 0
    ? 'a0: &a0 [x, x, x, x, x, x, x, x, x, x]'
    : `a${i}: &a${i} [${`*a${i - 1}, `.repeat(9)}*a${i - 1}]`,
).join('\n');

describe('YamlFile', () => {
  it('has the values of its documents, with lines', () => {
    const file = new YamlFile('a: 1\n---\nb:\n  - c\n  - d: e\n');
    expect(file.values).toEqual([{ a: 1 }, { b: ['c', { d: 'e' }] }]);
    expect(file.errors).toEqual([]);
    expect([file.lineOf(['b', 1, 'd'], 1), file.lineOf(['b', 9], 1), file.lineOf(['z'])]).toEqual([5, 3, 1]);
  });

  it.each([
    ['anchors that stand for too many values', MANY, 'its aliases stand for too many values'],
    [
      'lists that are nested too deep',
      `a: ${'['.repeat(5000)}${']'.repeat(5000)}`,
      'it is nested more than 64 levels',
    ],
    ['a text that is none', 'a: [', 'Flow sequence'],
    ['a key that is given twice', 'a:\n  b: 1\n  c: 2\n  b: 3\n', 'the key b is given twice'],
  ])('has an error and no value for %s', (_, text, said) => {
    const { errors, values } = new YamlFile(text);
    expect(values).toEqual([]);
    expect(
      errors.some(({ message }) => message.includes(said)),
      JSON.stringify(errors.slice(0, 2)),
    ).toBe(true);
  });
});
