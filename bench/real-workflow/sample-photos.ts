import type { Tensors } from '../../src/execution/index.js';
import { streamOf } from '../../src/random/index.js';
import { PHOTO_SIZE } from './photo-models.js';

const COLOURS = 3;
const PIXELS = PHOTO_SIZE * PHOTO_SIZE;
const MEAN = 0.45;
const SPREAD = 0.225;

/** samplePhoto draws a photo: waves and a disc of some colours, with noise, so that classifiers find some clearer than others. */
export function samplePhoto(seed: number, number: number): Float32Array {
  const { uniform } = streamOf(seed, `photo/${number}`);
  const colour = () => Array.from({ length: COLOURS }, uniform);
  const slope = () => (2 * uniform() - 1) * 0.6 * uniform();
  const waves = Array.from({ length: 1 + Math.floor(4 * uniform()) }, () => ({
    right: slope(),
    down: slope(),
    phase: 2 * Math.PI * uniform(),
    height: colour(),
  }));
  const disc = {
    x: uniform() * PHOTO_SIZE,
    y: uniform() * PHOTO_SIZE,
    radius: 20 + 80 * uniform(),
    colour: colour(),
  };
  const [ground, noise] = [colour(), 0.5 * uniform() * uniform()];
  const photo = new Float32Array(COLOURS * PIXELS);
  for (let i = 0; i < photo.length; i++) {
    const [c, y, x] = [
      Math.floor(i / PIXELS),
      Math.floor((i % PIXELS) / PHOTO_SIZE),
      i % PHOTO_SIZE,
    ] as const;
    let value = ground[c]!;
    for (const { right, down, phase, height } of waves)
      value += 0.4 * height[c]! * Math.sin(right * x + down * y + phase);
    if ((x - disc.x) ** 2 + (y - disc.y) ** 2 < disc.radius ** 2) value = disc.colour[c]!;
    value += noise * (uniform() - 0.5);
    photo[i] = (Math.min(1, Math.max(0, value)) - MEAN) / SPREAD;
  }
  return photo;
}

/** photoInput gives a photo as a request of the workflow. */
export function photoInput(data: Float32Array): Tensors {
  return { photo: { dtype: 'float32', dims: [1, COLOURS, PHOTO_SIZE, PHOTO_SIZE], data } };
}

/** photosFile gives photos as an array of NumPy: one float32 [photos, 3, 224, 224]. */
export function photosFile(photos: readonly Float32Array[]): Uint8Array {
  const shape = `(${photos.length}, ${COLOURS}, ${PHOTO_SIZE}, ${PHOTO_SIZE})`;
  const header = `{'descr': '<f4', 'fortran_order': False, 'shape': ${shape}, }`.padEnd(117);
  const head = Buffer.from(`\x93NUMPY\x01\x00\x00\x00${header}\n`, 'latin1');
  head.writeUInt16LE(header.length + 1, 8);
  return Buffer.concat([head, ...photos.map((photo) => new Uint8Array(photo.buffer))]);
}
