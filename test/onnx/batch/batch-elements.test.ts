import * as ort from 'onnxruntime-node';
import { expect, it } from 'vitest';
import {
  elements,
  elementsOf,
  slicedElements,
  transposedElements,
} from '../../../src/onnx/batch/batch-elements.js';
import { streamOf } from '../../../src/random/index.js';
import { run } from '../runtime.js';
import * as w from '../writer.js';

const DIMS = [3, 2, 5];
const VALUES = Array.from({ length: 30 }, (_, i) => i);
const ELEMENTS = elementsOf(elements(VALUES, DIMS))!;

/** inRuntime gives what ONNX Runtime makes of the elements. */
async function inRuntime(node: Uint8Array, initializers: readonly Uint8Array[] = []) {
  const graph = w.graph({
    nodes: [node],
    initializers,
    inputs: [w.value('x', w.FLOAT, DIMS)],
    outputs: [w.message([1, 'y'])],
  });
  const x = new ort.Tensor('float32', Float32Array.from(VALUES), DIMS);
  const { y } = await run(w.model(graph), { x }, { level: 'disabled' });
  return { values: Array.from(y!.data, Number), dims: [...y!.dims] };
}

it('slicedElements() takes what Slice takes, from any start to any end in any steps', async () => {
  const stream = streamOf(1, 'slices');
  const vector = (name: string, values: readonly number[]) => w.int64s(name, [values.length], values);
  for (let k = 0; k < 60; k++) {
    const ranges = [0, 1, 2]
      .filter(() => stream.uniform() < 0.7)
      .map((axis) => {
        const step = [-2, -1, 1, 2, 3][stream.integer(5)]!;
        const [start, end] = [stream.integer(15) - 7, stream.integer(15) - 7];
        return { axis, start: start === -7 ? -(2 ** 40) : start, end: end === 7 ? 2 ** 40 : end, step };
      });
    if (ranges.length === 0) continue;
    const node = w.node('Slice', ['x', 'starts', 'ends', 'axes', 'steps'], ['y']);
    const wanted = await inRuntime(node, [
      vector(
        'starts',
        ranges.map(({ start }) => start),
      ),
      vector(
        'ends',
        ranges.map(({ end }) => end),
      ),
      vector(
        'axes',
        ranges.map(({ axis }) => axis),
      ),
      vector(
        'steps',
        ranges.map(({ step }) => step),
      ),
    ]);
    expect(slicedElements(ELEMENTS, ranges), JSON.stringify(ranges)).toEqual(wanted);
  }
});

it('transposedElements() permutes axes as Transpose does', async () => {
  for (const perm of [
    [2, 0, 1],
    [1, 0, 2],
    [2, 1, 0],
    [0, 1, 2],
  ]) {
    const node = w.node('Transpose', ['x'], ['y'], { attributes: [w.attribute.ints('perm', perm)] });
    expect(transposedElements(ELEMENTS, perm)).toEqual(await inRuntime(node));
  }
});

it('elementsOf() gives none where the shape or some elements are not known', () => {
  expect(elementsOf({ values: [1, 2] })).toBeUndefined();
  expect(elementsOf({ values: [1, 2], dims: [undefined] })).toBeUndefined();
  expect(elementsOf({ dims: [2] })).toBeUndefined();
});
