import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { GraphBuilder } from '../../examples/models/graph.js';
import { mobilenetv2 } from '../../examples/models/index.js';

const SHARED = fileURLToPath(new URL('../../../../shared/models/', import.meta.url));

/** PHOTO_SIZE is the width and height of a photo. */
export const PHOTO_SIZE = 224;
const THUMBNAIL_EVERY = 7;
const ENLARGED = 3;
const MARGIN = 96;
/** Photos have their colours with the mean 0 and the variance 1, as classifiers of ImageNet are trained. */
const MEAN = 0.45;
const SPREAD = 0.225;

/** PUBLISHED are the components that others made, by the file of `../shared/models` that each is. */
export const PUBLISHED = {
  classifier: 'shufflenet-v2-12-int8.onnx',
  kind: 'tinyvit_demo.onnx',
  finder: 'yolox_nano.onnx',
  enlarge: 'super_resolution.onnx',
} as const;

/** MADE are the components that are made here: a model of the examples, and what fits the tensors of one model to the next. */
export const MADE = { namer: () => mobilenetv2(), prepare, again } as const;

/** PHOTO_COMPONENTS are the names of all components that `photos.mjs` calls. */
export const PHOTO_COMPONENTS: readonly string[] = [...Object.keys(PUBLISHED), ...Object.keys(MADE)];

/** publishedAt gives the path of a model of `../shared/models`. */
export function publishedAt(file: string): string {
  return join(SHARED, file);
}

/** writePhotoModels writes the model of each component into a folder, as `<component>.onnx`. */
export async function writePhotoModels(folder: string): Promise<void> {
  for (const [name, file] of Object.entries(PUBLISHED))
    await copyFile(publishedAt(file), join(folder, `${name}.onnx`));
  for (const [name, make] of Object.entries(MADE)) await writeFile(join(folder, `${name}.onnx`), make());
}

/** prepare gives what a photo shows as grey from 0 to 1, as a small photo, and with a margin in the colours from 0 to 255. */
function prepare(): Uint8Array {
  const graph = new GraphBuilder('prepare', 0);
  const photo = graph.input('photo', 'float32', ['n', 3, PHOTO_SIZE, PHOTO_SIZE]);
  const weights = [0.299, 0.587, 0.114].map((part) => part * SPREAD);
  const grey = graph.node(
    'Conv',
    [photo, graph.floats('parts', [1, 3, 1, 1], weights), graph.floats('mean', [1], [MEAN])],
    {
      name: 'grey',
    },
  );
  graph.node('Clip', [grey, graph.floats('black', [], [0]), graph.floats('white', [], [1])], {
    name: 'clip',
    output: 'luma',
  });
  pooled(graph, photo, { every: THUMBNAIL_EVERY, output: 'thumbnail' });
  const scaled = graph.node('Mul', [photo, graph.floats('spread', [], [255 * SPREAD])], { name: 'scale' });
  const shifted = graph.node('Add', [scaled, graph.floats('shift', [], [255 * MEAN])], { name: 'shifted' });
  graph.node('Pad', [shifted, graph.integers('margins', [8], [0, 0, MARGIN, MARGIN, 0, 0, MARGIN, MARGIN])], {
    name: 'pad',
    output: 'padded',
  });
  graph.output('luma', ['n', 1, PHOTO_SIZE, PHOTO_SIZE]);
  const small = PHOTO_SIZE / THUMBNAIL_EVERY;
  graph.output('thumbnail', ['n', 3, small, small]);
  graph.output('padded', ['n', 3, PHOTO_SIZE + 2 * MARGIN, PHOTO_SIZE + 2 * MARGIN]);
  return graph.bytes();
}

/** again makes what was enlarged as small as it was, once as grey, and once as a photo. */
function again(): Uint8Array {
  const graph = new GraphBuilder('again', 0);
  const size = PHOTO_SIZE * ENLARGED;
  const enlarged = graph.input('enlarged', 'float32', ['n', 1, size, size]);
  const luma = pooled(graph, enlarged, { every: ENLARGED, output: 'luma' });
  const shifted = graph.node('Sub', [luma, graph.floats('mean', [], [MEAN])], { name: 'shifted' });
  const scaled = graph.node('Div', [shifted, graph.floats('spread', [], [SPREAD])], { name: 'scale' });
  graph.node('Concat', [scaled, scaled, scaled], {
    name: 'colours',
    attributes: { axis: 1 },
    output: 'photo',
  });
  graph.output('luma', ['n', 1, PHOTO_SIZE, PHOTO_SIZE]);
  graph.output('photo', ['n', 3, PHOTO_SIZE, PHOTO_SIZE]);
  return graph.bytes();
}

function pooled(
  graph: GraphBuilder,
  x: string,
  { every, output }: { readonly every: number; readonly output: string },
): string {
  const attributes = { kernel_shape: [every, every], strides: [every, every] };
  return graph.node('AveragePool', [x], { name: `pool_${output}`, attributes, output });
}
