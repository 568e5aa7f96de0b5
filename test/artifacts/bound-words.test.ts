import { readdirSync, readFileSync } from 'node:fs';
import type { ErrorObject } from 'ajv';
import { expect, it } from 'vitest';
import { boundText, typeWords } from '../../src/artifacts/bound-words.js';

function told(keyword: string, params: object, data: unknown, instancePath = ''): string | undefined {
  return boundText({ keyword, params, data, instancePath } as ErrorObject);
}

it.each([
  ['50ms', '/models/0/sloMs', ': write the number alone, in ms'],
  ['10 Gbps', '/networkGbps', ': write the number alone, in Gbps'],
  ['24GB', '/devices/L4/memoryGiB', ': write the number alone, in GiB'],
  ['2x', '/models/0/weight', ''],
  ['fast', '/models/0/sloMs', ''],
])('of %s at %s it says how the number is written without its unit', (data, path, more) => {
  expect(told('type', { type: 'number' }, data, path)).toBe(`is "${data}"; it must be a number${more}`);
});

it.each([
  ['minimum', { limit: 0 }, -3, 'is -3; it must be at least 0'],
  ['exclusiveMinimum', { limit: 0 }, 0, 'is 0; it must be above 0'],
  ['maximum', { limit: 1 }, 2, 'is 2; it must be at most 1'],
  ['exclusiveMaximum', { limit: 1 }, 1, 'is 1; it must be below 1'],
  ['type', { type: 'number' }, 'fast', 'is "fast"; it must be a number'],
  ['type', { type: 'number' }, '50', 'is "50"; it must be a number: take off its quotation marks'],
  ['type', { type: 'integer' }, 0.5, 'is 0.5; it must be a whole number'],
  ['type', { type: ['number', 'null'] }, true, 'is true; it must be a number or null'],
  ['type', { type: 'string' }, 1, 'is 1; it must be a text: write "1"'],
  ['type', { type: 'array' }, { a: 1 }, 'is {"a":1}; it must be a list'],
  ['type', { type: 'object' }, null, 'is empty (null); it must be an object'],
  ['type', { type: 'boolean' }, 'yes', 'is "yes"; it must be true or false'],
  ['pattern', { pattern: 'a' }, 'b', undefined],
])('%s with %j says of %j: %s', (keyword, params, data, said) => {
  expect(told(keyword, params, data)).toBe(said);
});

it('has words for every type and limit of the schemas', () => {
  const folder = new URL('../../schemas/', import.meta.url);
  const text = readdirSync(folder).map((file) => readFileSync(new URL(file, folder), 'utf8'));
  const types = [...text.join('\n').matchAll(/"type": "(\w+)"/g)].map(([, type]) => type as string);
  expect(new Set(types).size).toBe(7);
  for (const type of types) expect(typeWords([type]), type).toMatch(/^(an? |true or false$|null$)/);
  const limits = [...text.join('\n').matchAll(/"((?:exclusive)?(?:Min|Max|min|max)imum)":/g)];
  expect(limits.length).toBeGreaterThan(100);
  for (const [, keyword] of limits)
    expect(told(keyword as string, { limit: 5 }, 1)).toMatch(/^is 1; it must be /);
});
