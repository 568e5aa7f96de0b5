import Ajv from 'ajv';
import { expect, it } from 'vitest';
import { countErrors, MORE_ERRORS, toldErrors } from '../../src/artifacts/counted-errors.js';
import { parseArtifact } from '../../src/artifacts/load.js';
import { validatorOf } from '../../src/artifacts/schemas.js';
import { ARTIFACT_KINDS } from '../../src/formats/artifact-kinds.js';
import { fault, InputError, MOST_FAULTS } from '../../src/formats/errors.js';
import { shown } from '../../src/formats/shown.js';
import { MOST_JSON_VALUES, MOST_YAML_MARKS, tooLargeJson } from '../../src/formats/text-bounds.js';
import { ToldFaults } from '../../src/formats/told-faults.js';
import { formatOfFiles } from '../../src/profiler/import-format.js';
import { parseTrace } from '../../src/workload/trace-reader.js';
import { inWholeRun } from '../cases.js';

/** refusal gives the message about a text that cannot be read. */
function refusal(text: string, path: string): string {
  try {
    parseArtifact(text, path, ARTIFACT_KINDS);
  } catch (error) {
    return (error as Error).message;
  }
  return 'accepted';
}

const gearsText = (count: number) =>
  `{"kind":"gear-plan","version":"1.0","gears":[${Array(count).fill('{}').join(',')}]}`;

it('parseArtifact() reports the first 20 errors of YAML, and how many more there are', () => {
  // A hundred maps in each other are within the library's stack on every machine; a thousand are not.
  const told = refusal(`${'a: '.repeat(100)}\n`, 'c.yaml').split('\n');
  expect(told).toHaveLength(22);
  expect(told.at(-1)).toContain('… and 79 more faults');
});

it('parseArtifact() reports the first 20 numbers that are not finite, in the order of the file', () => {
  const told = refusal(`{"a": [${Array(200).fill('1e999').join(',')}]}`, 'c.json').split('\n');
  expect(told).toHaveLength(22);
  expect(told[1]).toContain('/a/0');
  // That it has no kind is one of the others.
  expect(told.at(-1)).toContain('and 181 more faults');
});

it('a validator keeps as many errors of a long list as of a short one, and counts all of them', () => {
  const validate = validatorOf('gear-plan');
  const [short, long] = [100, 20_000].map((count) => {
    validate(JSON.parse(gearsText(count)));
    return [...(validate.errors ?? [])];
  });
  expect(long?.length).toBe(short?.length);
  const told = refusal(gearsText(20_000), 'gears.json');
  const [, more] = /… and (\d+) more faults/.exec(told) ?? [];
  // Each gear lacks the eight fields that it needs, and the plan some of its own.
  expect(Number(more)).toBeGreaterThan(8 * 20_000 - MOST_FAULTS);
  expect(Number(more)).toBeLessThan(8 * 20_000 + MOST_FAULTS);
});

inWholeRun('counted errors are as many as a validator finds that keeps all of them', () => {
  const schema = {
    definitions: {
      entry: {
        type: 'object',
        required: ['a', 'b'],
        additionalProperties: false,
        properties: {
          a: { type: 'number' },
          b: { oneOf: [{ type: 'string' }, { type: 'array', items: { type: 'number' } }] },
        },
      },
    },
    type: 'object',
    propertyNames: { pattern: '^[a-z]+$' },
    additionalProperties: { type: 'array', items: { $ref: '#/definitions/entry' } },
  };
  const wrong = [{}, { a: 'x' }, { a: 1, b: 2 }, { a: 1, b: 'fits' }, { a: 1, b: ['x', 'y'], c: 1, d: 2 }];
  const list = Array.from({ length: 500 }, (_, i) => wrong[(i * 7) % wrong.length]);
  const data = Object.fromEntries(
    Array.from({ length: 60 }, (_, i) => [i % 3 === 0 ? 'ab'.repeat(i + 1) : `n${i}`, list.slice(i * 3)]),
  );
  const options = { allErrors: true, verbose: true };
  const whole = new Ajv.default(options).compile(schema);
  const bounded = new Ajv.default(options);
  countErrors(bounded);
  const counting = bounded.compile(schema);
  expect(whole(data)).toBe(false);
  expect(counting(data)).toBe(false);
  const number = [...toldErrors(counting.errors ?? [])].reduce(
    (sum, { keyword, params }) => sum + (keyword === MORE_ERRORS ? Number(params.count) : 1),
    0,
  );
  expect(number).toBe([...toldErrors(whole.errors ?? [])].length);
  expect(counting.errors?.length).toBeLessThan(25 * MOST_FAULTS);
  for (const fits of [{}, { a: [] }, { a: [{ a: 1, b: [1, 2] }] }]) expect(counting(fits)).toBe(true);
  // What a list was wrong in is wrong as a whole, whatever alternative is looked at next.
  expect(counting({ a: Array(100).fill({ a: 1, b: Array(100).fill('x') }) })).toBe(false);
});

it('ToldFaults keeps 20 faults and counts the others, those of other errors too', () => {
  const told = new ToldFaults();
  for (let i = 0; i < 900; i++) told.add(fault(`is wrong in way ${i}`));
  told.add(fault('is wrong in way 7'));
  told.addOfFile('x.json', new InputError('read x.json', Array(70).fill(fault('is bad'))));
  const { faults, message } = told.error('do it');
  expect(faults).toHaveLength(MOST_FAULTS + 1);
  // The file's fault was told 20 times, of which 19 were known, and counted 50 times.
  expect(faults.at(-1)?.more).toBe(900 - MOST_FAULTS + 1 + 50);
  expect(message.split('\n')).toHaveLength(MOST_FAULTS + 2);
});

it('an error is a page whatever it quotes', () => {
  const huge = 'x'.repeat(10 ** 6);
  const faults = Array.from({ length: 1000 }, () => fault(huge, huge));
  expect(new InputError(`read ${huge}`, faults).message.length).toBeLessThan(200_000);
});

it('shown() writes what JSON has, cut, and looks at no more than it writes', () => {
  for (const value of [0, 'a"b', null, true, undefined, [1, [2]], { a: 1, b: { c: 'd' }, e: [] }, []])
    expect(shown(value)).toBe(JSON.stringify(value) ?? 'absent');
  let looked = 0;
  const watched = new Proxy(
    {},
    {
      ownKeys: () => Array.from({ length: 1000 }, (_, i) => `k${i}`),
      getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true, value: 1 }),
      get: () => {
        looked++;
        return 1;
      },
    },
  );
  expect(shown(watched)).toHaveLength(58);
  expect(looked).toBeLessThan(40);
  expect(shown('y'.repeat(10 ** 7))).toBe(`"${'y'.repeat(56)}…"`);
});

it('texts with more values than are read are refused before they are parsed, and name the limit', () => {
  const json = `{"kind":"profile","blocks":[${'1,'.repeat(MOST_JSON_VALUES)}1]}`;
  expect(refusal(json, 'p.json')).toContain(`at most ${MOST_JSON_VALUES} are read`);
  const marks = `kind: [${','.repeat(MOST_YAML_MARKS)}]`;
  expect(refusal(marks, 'p.yaml')).toContain(`at most ${MOST_YAML_MARKS} are read`);
  expect(refusal(`${'['.repeat(70)}${']'.repeat(70)}`, 'p.json')).toContain('more than 64 levels deep');
  // Commas and brackets of texts are no values.
  const quoted = JSON.stringify({ kind: ',[{\\"'.repeat(MOST_JSON_VALUES / 2) });
  expect(refusal(quoted, 'p.json')).toContain('its kind is');
});

it('JSON of other tools is refused before it is parsed, too', () => {
  const many = `[${'{},'.repeat(2_000_000)}{}]`;
  const said = 'it has 4000003 values, empty ones counted twice; at most 3000000 are read (docs/limits.md)';
  expect(tooLargeJson(many)).toBe(said);
  expect(tooLargeJson(`[${'{},'.repeat(1000)}{}]`)).toBeUndefined();
  expect(() => parseTrace(`{"data":${many}}`)).toThrow(/at most 3000000 are read/);
  expect(() => formatOfFiles([{ path: 'a.json', text: many }])).toThrow(said);
});
