import { readdir, readFile } from 'node:fs/promises';
import { Ajv } from 'ajv';
import { expect, it } from 'vitest';
import { schemaFaults } from '../../src/artifacts/faults.js';

const SCHEMAS = new URL('../../schemas/', import.meta.url);

/** patternsOf finds each pattern of a text that is not valid where it stands; keys of objects have no fault of their own. */
async function patternsOf(): Promise<string[]> {
  const texts = await Promise.all(
    (await readdir(SCHEMAS)).map((name) => readFile(new URL(name, SCHEMAS), 'utf8')),
  );
  const found = texts.flatMap((text) => [...text.matchAll(/"pattern": ("(?:[^"\\\\]|\\\\.)*")/g)]);
  return [...new Set(found.map(([, pattern]) => JSON.parse(pattern as string) as string))];
}

it('schemaFaults() says in words what each pattern of the schemas asks for, with an example that it takes', async () => {
  const patterns = await patternsOf();
  expect(patterns.length).toBeGreaterThan(5);
  for (const pattern of patterns) {
    const validate = new Ajv({ verbose: true }).compile({ type: 'string', pattern });
    expect(validate('a b!')).toBe(false);
    const [told] = schemaFaults(validate);
    expect(told?.message, pattern).toMatch(/^is "a b!", which is not a /);
    const examples = /such as (.+)$/.exec(told?.message ?? '')?.[1]?.split(/, | or /) ?? [];
    for (const example of examples) expect(example.replaceAll('"', ''), pattern).toMatch(new RegExp(pattern));
  }
});
