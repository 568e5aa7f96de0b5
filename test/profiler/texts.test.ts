import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { prepareModel } from '../../src/profiler/index.js';
import { startInProcess } from '../execution/in-process.js';
import * as w from '../onnx/writer.js';

const folder = mkdtempSync(join(tmpdir(), 'inferplan-texts-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** prepared takes a model that gives back its text, and a constant beside it. */
async function prepared(constant: string | Uint8Array) {
  const path = join(folder, 'told.onnx');
  const graph = w.graph({
    nodes: [w.node('Identity', ['x'], ['y']), w.node('Identity', ['c'], ['told'])],
    inputs: [w.value('x', w.STRING, ['batch', 1])],
    outputs: [w.value('y', w.STRING, ['batch', 1]), w.value('told', w.STRING, [1])],
    initializers: [w.message([1, 1], [2, w.STRING], [6, constant], [8, 'c'])],
  });
  writeFileSync(path, w.model(graph));
  return await prepareModel(path, {
    device: { provider: 'cpu', threads: 1 },
    startExecutor: startInProcess,
  });
}

test('prepareModel() refuses a model that may answer with bytes that are not UTF-8, and takes other text', async () => {
  expect((await prepared('café')).outputs.map(({ name }) => name)).toEqual(['y', 'told']);
  await expect(prepared(Uint8Array.of(0x63, 0xe9))).rejects.toThrow(
    /^Cannot profile .*told\.onnx: it may give text of constant c as y, told, and bytes of it are not UTF-8, .*\nSave the model with its text in UTF-8\.$/,
  );
});
