import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readForeign } from '../../src/artifacts/index.js';
import { MissingError } from '../../src/formats/index.js';

let folder: string;
const at = (file: string): string => join(folder, file);
const read = async (file: string, text: string): Promise<unknown> => {
  await writeFile(at(file), text);
  return readForeign(at(file));
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-foreign-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('readForeign()', () => {
  it('reads JSON by whatever name, and YAML by its own', async () => {
    const value = { a: [1, '2', null] };
    for (const file of ['a.json', 'a.txt', 'a.yaml'])
      expect(await read(file, JSON.stringify(value))).toEqual(value);
    expect(await read('b.yml', 'a:\n- 1\n- "2"\n- null\n')).toEqual(value);
    await expect(read('b.json', 'a: 1\n')).rejects.toThrow('it is not JSON');
  });

  it('takes what other tools write and our own files may not hold: whole numbers that a double rounds', async () => {
    expect(await read('huge.json', '{"limit":9223372036854775808}')).toEqual({ limit: 2 ** 63 });
  });

  it('reads far more JSON than YAML, whatever the file is called, and refuses more than that', async () => {
    const list = (count: number) => `[${'1,'.repeat(count - 1)}1]`;
    expect(await read('long.yaml', list(200_000))).toHaveLength(200_000);
    await expect(read('long.json', list(1_100_000))).rejects.toThrow('at most 1000000 are read');
    await expect(read('deep.json', '['.repeat(100))).rejects.toThrow('nested more than 64 levels');
    await expect(read('many.yaml', '- 1\n'.repeat(100_000))).rejects.toThrow('write it as JSON');
  });

  it('refuses files that are missing, empty or no text', async () => {
    await expect(readForeign(at('none.json'))).rejects.toBeInstanceOf(MissingError);
    await expect(read('empty.json', ' \n')).rejects.toThrow('the file is empty');
    await writeFile(at('bytes.json'), Uint8Array.of(0x7b, 0x80));
    await expect(readForeign(at('bytes.json'))).rejects.toThrow('not text in UTF-8');
  });
});
