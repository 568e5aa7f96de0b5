import { loadArtifact, readWhole } from '../artifacts/index.js';
import { itemAt } from '../collections/index.js';
import { type Fault, fault, type TensorSpec } from '../formats/index.js';
import { readModel } from '../onnx/index.js';

/** AlikeModel is a model of a cascade with where its profile is or will be, and its file. */
export interface AlikeModel {
  readonly name: string;
  readonly profile: string;
  /** The ONNX file, where the profile is yet to be made of it. */
  readonly file?: string | undefined;
}

/** Tensor is an input or output. A size that may be any is undefined: that of the batch, and others that are not known. */
interface Tensor {
  readonly name: string;
  readonly dtype: string;
  readonly sizes: readonly (number | undefined)[];
}

interface Tensors {
  readonly inputs: readonly Tensor[];
  readonly outputs: readonly Tensor[];
}

/**
 * unlikeFileFaults finds models of a cascade that are not fed or do not answer as the first: no request could be
 * answered by any of them, as a deployed cascade is. It reads profiles, and the files of models that have none.
 * @throws InputError where a profile or a model cannot be read
 */
export async function unlikeFileFaults(models: readonly AlikeModel[]): Promise<Fault[]> {
  const read: (Tensors | undefined)[] = [];
  for (const model of models) read.push(await tensorsOf(model));
  const first = read.findIndex((tensors) => tensors !== undefined);
  const wanted = read[first];
  if (wanted === undefined) return [];
  return read.flatMap((own, i) => {
    if (own === undefined) return [];
    return (['inputs', 'outputs'] as const).flatMap((which) =>
      areAlike(own[which], wanted[which])
        ? []
        : [
            fault(
              `${which} are ${wordsOf(own[which])}, and those of ${models[first]?.name} are ${wordsOf(wanted[which])}: all models of a cascade must be alike`,
              `/models/${i}`,
            ),
          ],
    );
  });
}

async function tensorsOf({ profile, file }: AlikeModel): Promise<Tensors | undefined> {
  if (file === undefined) {
    const { inputs, outputs } = (await loadArtifact(profile, ['profile'])).value.model;
    if (inputs === undefined || outputs === undefined) return undefined;
    return { inputs: inputs.map(profiled), outputs: outputs.map(profiled) };
  }
  const { graph } = readModel(await readWhole(file), { name: file });
  const tensors = (values: typeof graph.inputs): Tensor[] =>
    values.flatMap(({ name, type }) => {
      if (graph.initializers.has(name) || type?.kind !== 'tensor') return [];
      const sizes = (type.dims ?? []).map((size, axis) =>
        axis > 0 && typeof size === 'number' ? size : undefined,
      );
      return [{ name, dtype: type.dtype, sizes }];
    });
  return { inputs: tensors(graph.inputs), outputs: tensors(graph.outputs) };
}

function profiled({ name, dtype, shape, batchAxis, variableAxes = [] }: TensorSpec): Tensor {
  const isKnown = (axis: number, size: number) =>
    axis > 0 && axis !== batchAxis && size > 0 && !variableAxes.includes(axis);
  return { name, dtype, sizes: shape.map((size, axis) => (isKnown(axis, size) ? size : undefined)) };
}

function areAlike(own: readonly Tensor[], others: readonly Tensor[]): boolean {
  return (
    own.length === others.length &&
    own.every(({ name, dtype, sizes }, i) => {
      const other = itemAt(others, i);
      const isRank = sizes.length === 0 || other.sizes.length === 0 || sizes.length === other.sizes.length;
      const areSizes = sizes.every((size, axis) => {
        const wanted = other.sizes[axis];
        return size === undefined || wanted === undefined || size === wanted;
      });
      return name === other.name && dtype === other.dtype && isRank && areSizes;
    })
  );
}

function wordsOf(tensors: readonly Tensor[]): string {
  return tensors
    .map(({ name, dtype, sizes }) => `${name} ${dtype}[${sizes.map((size) => size ?? '*').join(', ')}]`)
    .join(', ');
}
