import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { BUNDLE_MANIFEST, type Bundle } from '../../../src/formats/index.js';
import { openBundle } from '../../../src/runtime/bundle/opened-bundle.js';
import { twoPartitions, writeBundle } from '../tiny-bundle.js';

let folder: string;
let remove: () => Promise<void>;
beforeEach(async () => {
  ({ folder, remove } = await writeBundle(twoPartitions()));
});
afterEach(() => remove());

it.each<[string, (manifest: Bundle) => unknown, string]>([
  ['a model', ({ models }) => models.push(models[0]!), '/models/1: is the model tiny again, as /models/0'],
  [
    'a partition',
    ({ partitions }) => partitions.push(partitions[0]!),
    '/partitions/2: is model 0, blocks 0 to 1 again',
  ],
  [
    'an input of a model',
    ({ models: [model] }) => model!.inputs.push(model!.inputs[0]!),
    '/models/0/inputs/1: is the input x again',
  ],
  [
    'an output of a partition',
    ({ partitions: [one] }) => one!.outputs.push(one!.outputs[0]!),
    '/partitions/0/outputs/2: is the output early again',
  ],
])('A bundle whose manifest names %s twice is refused', async (_, change, told) => {
  await openBundle(folder);
  const path = join(folder, BUNDLE_MANIFEST);
  const manifest = JSON.parse(await readFile(path, 'utf8')) as Bundle;
  change(manifest);
  await writeFile(path, JSON.stringify(manifest));
  await expect(openBundle(folder)).rejects.toThrow(told);
});
