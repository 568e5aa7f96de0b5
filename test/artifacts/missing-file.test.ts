import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readWhole } from '../../src/artifacts/index.js';
import { MissingError } from '../../src/formats/index.js';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-missing-'));
  for (const name of ['spec.yaml', 'dense.profile.json', 'a.json']) await writeFile(join(folder, name), '{}');
  await mkdir(join(folder, 'empty'));
});

afterAll(() => rm(folder, { recursive: true }));

describe('A missing file', () => {
  it.each([
    ['spex.yaml', 'there is no such file; did you mean spec.yaml?'],
    ['SPEC.yaml', 'there is no such file; did you mean spec.yaml?'],
    ['spec.yam', 'there is no such file; did you mean spec.yaml?'],
    ['dense', 'there is no such file; did you mean dense.profile.json?'],
    ['dens.profile.json', 'there is no such file; did you mean dense.profile.json?'],
    ['b.json', 'there is no such file\nCheck the path; the folder is FOLDER.'],
    ['gone.json', 'there is no such file\nCheck the path; the folder is FOLDER.'],
    ['empty/spec.yaml', 'there is no such file\nCheck the path; the folder is FOLDER/empty.'],
    ['none/spec.yaml', 'there is no such file\nThere is no folder FOLDER/none.'],
  ])('%s is reported with what to do', async (name, said) => {
    const error = await readWhole(join(folder, name)).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(MissingError);
    expect((error as Error).message).toBe(
      `Cannot read ${join(folder, name)}: ${said.replace('FOLDER', folder)}`,
    );
  });
});
