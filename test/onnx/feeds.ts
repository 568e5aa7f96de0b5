import * as ort from 'onnxruntime-node';
import { type OnnxModel, readModel } from '../../src/onnx/index.js';
import { noise } from './noise.js';
import type { Tensors } from './runtime.js';
import { sharedBytes } from './shared.js';

/** OPEN_SIZES holds sizes for the open dimensions of the shared models. */
const OPEN_SIZES: Record<string, number> = {
  height: 64,
  width: 96,
  max_seq_len_in_batch: 12,
  seq_len: 5,
};
/** SPECIAL makes the inputs that are no plain floats: indices within the vocabulary, masks, sampling rates. */
const SPECIAL: Record<string, (size: number, at: number) => number> = {
  input_ids: (_, at) => (at * 7 + 3) % 20,
  token_type_ids: (_, at) => at % 2,
  attention_mask: (size, at) => (at % size < size / 2 ? 1 : 0),
  input_mask: (size, at) => (at % 12 < 9 || size < 12 ? 1 : 0),
  sr: () => 16000,
};

/** feedsOf makes inputs of the right type and range for a shared model at batch 1; another seed gives other numbers. */
export function feedsOf(name: string, model: OnnxModel, seed = 0): Tensors {
  return Object.fromEntries(
    model.graph.inputs.map((input, index) => {
      if (input.type?.kind !== 'tensor') throw new Error(`${input.name} is not a tensor`);
      const dims = (input.type.dims ?? []).map((dim, axis) => sizeOf(name, input.name, dim, axis));
      return [input.name, tensorOf(input.name, input.type.dtype, dims, index + 1 + seed * 100)];
    }),
  );
}

function sizeOf(name: string, input: string, dim: number | string | undefined, axis: number) {
  if (typeof dim === 'number') return dim;
  // silero_vad does not name its axes, which are input [batch, samples] and state [2, batch, 128].
  if (name.startsWith('silero') && input === 'input' && axis === 1) return 512;
  return OPEN_SIZES[dim ?? ''] ?? 1;
}

function tensorOf(name: string, dtype: string, dims: number[], seed: number): ort.Tensor {
  const size = dims.reduce((product, dim) => product * dim, 1);
  const special = SPECIAL[name];
  const next = noise(seed * 7919);
  const value = (at: number) => (special === undefined ? next() * 2 - 1 : special(size, at + seed));
  if (dtype === 'int64')
    return new ort.Tensor(
      'int64',
      BigInt64Array.from({ length: size }, (_, at) => BigInt(value(at))),
      dims,
    );
  if (dtype === 'float32')
    return new ort.Tensor(
      'float32',
      Float32Array.from({ length: size }, (_, at) => value(at)),
      dims,
    );
  throw new Error(`no feed of type ${dtype}`);
}

export function sharedModel(name: string): OnnxModel {
  return readModel(sharedBytes(name), { name });
}

/** tensorOutputs lists the graph outputs that can be fetched: squeezenet's probabilities are a sequence of maps. */
export function tensorOutputs(model: OnnxModel): string[] {
  return model.graph.outputs
    .filter((output) => output.type === undefined || output.type.kind === 'tensor')
    .map((output) => output.name);
}
