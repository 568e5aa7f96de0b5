/**
 * This program writes the files of a pipeline that runs on any machine: four small ONNX models with seeded weights, the
 * spec with its cluster, and sample requests.
 *
 *     node dist/examples/pipelines/real/build.js [--out pipeline-out] [--samples 200]
 */
import { copyFile, mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { writeWhole } from '../../../src/artifacts/index.js';
import { streamOf } from '../../../src/random/index.js';
import { vitExported } from '../../models/exported-vit.js';
import { mobilenetv2 } from '../../models/mobilenetv2.js';
import { resnet18 } from '../../models/resnet18.js';

const PIXELS = 96;

const MODELS: Readonly<Record<string, () => Uint8Array>> = {
  detect: () => mobilenetv2({ image: PIXELS, classes: 4, seed: 1 }),
  vehicle: () => resnet18({ image: PIXELS, widthMultiplier: 0.5, classes: 8, seed: 2 }),
  person: () => vitExported({ image: PIXELS, classes: 6, seed: 3 }),
  plate: () => resnet18({ image: PIXELS, widthMultiplier: 0.25, classes: 36, seed: 4 }),
};

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: 'pipeline-out' },
    samples: { type: 'string', default: '200' },
  },
});
const count = Number(values.samples);
if (!Number.isSafeInteger(count) || count < 1)
  throw new Error(`--samples is ${values.samples}; give a whole number above 0`);
const here = resolve(import.meta.dirname, '../../../../examples/pipelines/real');
await mkdir(values.out, { recursive: true });
for (const [name, make] of Object.entries(MODELS)) await put(`${name}.onnx`, make());
await put('samples.npy', images(count));
for (const name of ['spec.yaml', 'two-threads.yaml', 'doubled-load.yaml', 'cluster.yaml']) {
  await copyFile(join(here, name), join(values.out, name));
  process.stdout.write(`${join(values.out, name)}\n`);
}

async function put(name: string, bytes: Uint8Array): Promise<void> {
  await writeWhole(join(values.out, name), bytes);
  process.stdout.write(`${join(values.out, name)}\n`);
}

/** images draws pictures as `plan load` does, every number from 0 to 1, and gives them as `np.save` would write them. */
function images(rows: number): Uint8Array {
  const { uniform } = streamOf(1, 'images');
  const pixels = Float32Array.from({ length: rows * 3 * PIXELS ** 2 }, () => uniform());
  const said = `{'descr': '<f4', 'fortran_order': False, 'shape': (${rows}, 3, ${PIXELS}, ${PIXELS}), }`;
  const header = Buffer.alloc(128, ' ');
  header.write('\x93NUMPY\x01\x00', 0, 'latin1');
  header.writeUInt16LE(header.length - 10, 8);
  header.write(said, 10);
  header.write('\n', header.length - 1);
  return Buffer.concat([header, new Uint8Array(pixels.buffer)]);
}
