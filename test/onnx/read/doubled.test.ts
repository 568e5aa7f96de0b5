import { execFileSync, spawnSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import * as ort from 'onnxruntime-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { InputError } from '../../../src/formats/index.js';
import { readModel } from '../../../src/onnx/index.js';
import { run } from '../runtime.js';
import * as w from '../writer.js';

const HAS_ONNX = spawnSync('python3', ['-c', 'import onnx']).status === 0;

/** Its bias is there twice, once as 1 and once as 2; of its scale there is one. */
const DOUBLED = w.model(
  w.graph({
    nodes: [w.node('Add', ['x', 'b'], ['z']), w.node('Mul', ['z', 's'], ['y'])],
    inputs: [w.value('x', w.FLOAT, ['batch', 2])],
    outputs: [w.value('y', w.FLOAT, ['batch', 2])],
    initializers: [w.floats('b', [2], [1, 1]), w.floats('s', [1], [10]), w.floats('b', [2], [2, 2])],
  }),
);
const NAME = `-it's a "model".onnx`;
const MENDED = `-it's a "model".mended.onnx`;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-doubled-'));
  await writeFile(join(folder, NAME), DOUBLED);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** The command that the refusal of the model prints on its last line. */
function remedy(): string {
  try {
    readModel(DOUBLED, { name: NAME });
  } catch (error) {
    const { message, faults } = error as InputError;
    expect(error).toBeInstanceOf(InputError);
    expect(faults).toEqual([
      { path: 'graph', message: 'tensor "b" is made twice: by an initializer and by an initializer' },
    ]);
    return message.split('\n').at(-1) as string;
  }
  throw new Error('accepted');
}

async function outputOf(bytes: Uint8Array): Promise<unknown> {
  const x = new ort.Tensor('float32', [1, 3], [1, 2]);
  return (await run(bytes, { x }, { level: 'disabled' })).y?.data;
}

describe('the remedy for an initializer that a model has twice', () => {
  it('is a command that a shell takes as it is printed, whatever the file is called', async () => {
    const bin = join(folder, 'bin');
    await mkdir(bin);
    await writeFile(join(bin, 'python3'), '#!/bin/sh\nfor a; do printf "%s\\0" "$a"; done\n');
    await chmod(join(bin, 'python3'), 0o755);
    const PATH = `${bin}${delimiter}${process.env.PATH}`;
    const told = execFileSync('sh', ['-c', remedy()], { encoding: 'utf8', env: { PATH } });
    expect(told.split('\0').slice(0, -1)).toEqual([
      '-c',
      expect.stringContaining('import onnx'),
      NAME,
      MENDED,
    ]);
  });

  it.skipIf(!HAS_ONNX)(
    'writes a model that is read, and says what ONNX Runtime says of the first (where onnx is installed)',
    async () => {
      execFileSync('sh', ['-c', remedy()], { cwd: folder });
      const mended = await readFile(join(folder, MENDED));
      expect([...readModel(mended).graph.initializers.keys()]).toEqual(['b', 's']);
      expect(await outputOf(mended)).toEqual(new Float32Array([30, 50]));
      expect(await outputOf(DOUBLED)).toEqual(await outputOf(mended));
    },
  );
});
