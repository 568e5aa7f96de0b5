/**
 * This program trains a family of four classifiers on pictures that it draws, and writes them with labelled samples and
 * specs:
 *
 *     node dist/examples/cascades/build.js [--out cascade-out] [--samples 2000] [--training 5000]
 */
import { copyFile, mkdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { writeWhole } from '../../src/artifacts/index.js';
import { type Executor, startExecutor } from '../../src/execution/index.js';
import { Classifier, type ClassifierOptions } from './classifier.js';
import { drawGlyphs, type Glyphs, PIXELS } from './glyphs.js';

const FAMILY: Readonly<Record<string, ClassifierOptions>> = {
  tiny: { channels: 8, epochs: 5, seed: 1 },
  small: { channels: 16, epochs: 5, seed: 1 },
  medium: { channels: 80, epochs: 5, seed: 3 },
  large: { channels: 400, epochs: 5, seed: 4 },
};
/** So many pictures are looked at in one run. */
const BATCH = 50;

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: 'cascade-out' },
    samples: { type: 'string', default: '2000' },
    training: { type: 'string', default: '5000' },
  },
});
const [count, learnt] = (['samples', 'training'] as const).map((name) => {
  const number = Number(values[name]);
  if (!Number.isSafeInteger(number) || number < 1)
    throw new Error(`--${name} is ${values[name]}; give a whole number above 0`);
  return number;
}) as [number, number];
const here = resolve(import.meta.dirname, '../../../examples/cascades');
await mkdir(values.out, { recursive: true });
const training = drawGlyphs(learnt, 1);
const executor = await startExecutor({ provider: 'cpu', threads: 1 });
try {
  for (const [name, options] of Object.entries(FAMILY)) {
    const classifier = new Classifier(options);
    classifier.learn(await featuresOf(classifier, executor), training.labels);
    await put(`${name}.onnx`, classifier.onnx());
  }
} finally {
  await executor.close();
}
// The records are of pictures that nothing was learnt from, and so are the pictures that a server is tried with.
for (const [name, seed] of [
  ['validation', 2],
  ['test', 3],
] as const) {
  const glyphs = drawGlyphs(count, seed);
  await put(`${name}.npy`, arrayOf(glyphs));
  await put(`${name}-labels.csv`, Buffer.from(`label\n${Array.from(glyphs.labels).join('\n')}\n`));
}
for (const name of ['spec.yaml', 'accuracy.yaml', 'cluster.yaml']) {
  await copyFile(join(here, name), join(values.out, name));
  process.stdout.write(`${join(values.out, name)}\n`);
}

async function put(name: string, bytes: Uint8Array): Promise<void> {
  await writeWhole(join(values.out, name), bytes);
  process.stdout.write(`${join(values.out, name)}\n`);
}

/** featuresOf runs a classifier's convolutions on the pictures that it is to learn from. */
async function featuresOf(classifier: Classifier, executor: Executor): Promise<Float32Array> {
  const file = join(values.out, 'features.onnx');
  await writeWhole(file, classifier.featuresOnnx());
  const { model } = await executor.load(file);
  const features = new Float32Array(learnt * classifier.features);
  for (let from = 0; from < learnt; from += BATCH) {
    const count = Math.min(BATCH, learnt - from);
    const data = training.pixels.slice(from * PIXELS ** 2, (from + count) * PIXELS ** 2);
    const pictures = { dtype: 'float32' as const, dims: [count, 1, PIXELS, PIXELS], data };
    const { outputs } = await executor.run(model, { pictures }, ['features']);
    features.set(outputs.features?.data as Float32Array, from * classifier.features);
  }
  await executor.release(model);
  await rm(file);
  return features;
}

/** arrayOf gives pictures as `np.save` would write them. */
function arrayOf({ pixels, labels }: Glyphs): Uint8Array {
  const said = `{'descr': '<f4', 'fortran_order': False, 'shape': (${labels.length}, 1, ${PIXELS}, ${PIXELS}), }`;
  const header = Buffer.alloc(128, ' ');
  header.write('\x93NUMPY\x01\x00', 0, 'latin1');
  header.writeUInt16LE(header.length - 10, 8);
  header.write(said, 10);
  header.write('\n', header.length - 1);
  return Buffer.concat([header, new Uint8Array(pixels.buffer)]);
}
