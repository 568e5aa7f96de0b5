import { streamOf } from '../../src/random/index.js';

/** The pictures are so many pixels wide and high. */
export const PIXELS = 48;
export const CLASSES = 10;

const STROKES = 3;
/** How far a glyph is shifted at most, how far it stays from the edge, and how wide its strokes are, in pixels. */
const SHIFT = 3;
const EDGE = 9;
const WIDTH = 3;
const NOISE = 0.7;

/** Glyphs are labelled pictures: `pixels` has one after another, each row by row. */
export interface Glyphs {
  readonly pixels: Float32Array;
  readonly labels: Int32Array;
}

/**
 * drawGlyphs draws pictures of ten made-up characters of three strokes each. Every picture is shifted and noisy, and a
 * second character shows through, faintly in most and almost as strongly in some: so some are easy and some are not.
 */
export function drawGlyphs(count: number, seed: number): Glyphs {
  const shapes = characters();
  const stream = streamOf(seed, 'glyphs');
  const size = PIXELS ** 2;
  const pixels = new Float32Array(count * size);
  const labels = Int32Array.from({ length: count }, () => stream.integer(CLASSES));
  for (let i = 0; i < count; i++) {
    const picture = pixels.subarray(i * size, (i + 1) * size);
    const second = stream.integer(CLASSES);
    const shown = 0.8 * stream.uniform() ** 2;
    for (const [shape, strength] of [
      [shapes[labels[i] as number], 1],
      [shapes[second], shown],
    ] as const)
      add(picture, shape as Float32Array, {
        right: stream.integer(2 * SHIFT + 1) - SHIFT,
        down: stream.integer(2 * SHIFT + 1) - SHIFT,
        strength: strength * (0.7 + 0.6 * stream.uniform()),
      });
    for (let pixel = 0; pixel < size; pixel++) picture[pixel]! += NOISE * stream.normal();
  }
  return { pixels, labels };
}

/** characters draws the ten characters, always the same: each has three straight strokes of soft edges. */
function characters(): Float32Array[] {
  const { uniform } = streamOf(1, 'characters');
  return Array.from({ length: CLASSES }, () => {
    const shape = new Float32Array(PIXELS ** 2);
    for (let stroke = 0; stroke < STROKES; stroke++) {
      const [x0, y0, x1, y1] = Array.from({ length: 4 }, () => EDGE + (PIXELS - 2 * EDGE) * uniform()) as [
        number,
        number,
        number,
        number,
      ];
      for (let y = 0; y < PIXELS; y++)
        for (let x = 0; x < PIXELS; x++) {
          const along = Math.hypot(x1 - x0, y1 - y0) ** 2;
          const t = Math.min(1, Math.max(0, ((x - x0) * (x1 - x0) + (y - y0) * (y1 - y0)) / along));
          const away = Math.hypot(x - x0 - t * (x1 - x0), y - y0 - t * (y1 - y0));
          const at = y * PIXELS + x;
          shape[at] = Math.max(shape[at] as number, Math.exp(-((away / WIDTH) ** 2)));
        }
    }
    return shape;
  });
}

function add(
  picture: Float32Array,
  shape: Float32Array,
  { right, down, strength }: { readonly right: number; readonly down: number; readonly strength: number },
): void {
  for (let y = 0; y < PIXELS; y++)
    for (let x = 0; x < PIXELS; x++) {
      const [fromX, fromY] = [x - right, y - down];
      if (fromX < 0 || fromY < 0 || fromX >= PIXELS || fromY >= PIXELS) continue;
      picture[y * PIXELS + x]! += strength * (shape[fromY * PIXELS + fromX] as number);
    }
}
