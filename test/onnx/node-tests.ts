import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import onnxProto from 'onnx-proto';
import * as ort from 'onnxruntime-node';
import type { OnnxModel } from '../../src/onnx/index.js';
import type { Tensors } from './runtime.js';
import { sharedFile } from './shared.js';

const { onnx } = onnxProto;

/** NodeTests are the ONNX project's node tests in a folder of their own: one folder for each, by name. */
export interface NodeTests {
  readonly names: readonly string[];
  readonly folderOf: (name: string) => string;
  readonly modelOf: (name: string) => Uint8Array;
  readonly remove: () => void;
}

/** unpackNodeTests unpacks the published archive into a temporary folder. */
export function unpackNodeTests(): NodeTests {
  const folder = mkdtempSync(join(tmpdir(), 'inferplan-onnx-'));
  execFileSync('tar', ['xzf', sharedFile('onnx-node-tests-all.tar.gz'), '-C', folder]);
  const root = join(folder, 'onnx/backend/test/data/node');
  const folderOf = (name: string) => join(root, name);
  return {
    names: readdirSync(root),
    folderOf,
    modelOf: (name) => new Uint8Array(readFileSync(join(folderOf(name), 'model.onnx'))),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

type Numbers = new (buffer: ArrayBuffer) => ort.Tensor['data'];

/** ARRAYS holds the types that onnxruntime-node takes, by their numbers in onnx.proto. */
const ARRAYS: Readonly<Record<number, readonly [string, Numbers]>> = {
  1: ['float32', Float32Array],
  2: ['uint8', Uint8Array],
  3: ['int8', Int8Array],
  4: ['uint16', Uint16Array],
  5: ['int16', Int16Array],
  6: ['int32', Int32Array],
  7: ['int64', BigInt64Array],
  9: ['bool', Uint8Array],
  10: ['float16', Uint16Array],
  11: ['float64', Float64Array],
  12: ['uint32', Uint32Array],
  13: ['uint64', BigUint64Array],
};

/** nodeTestInputs gives a node test's inputs where all are tensors of numbers that onnxruntime-node takes. */
export function nodeTestInputs(folder: string, model: OnnxModel): Tensors | undefined {
  const feeds: Tensors = {};
  for (const [index, { name, type }] of model.graph.inputs.entries()) {
    const path = join(folder, 'test_data_set_0', `input_${index}.pb`);
    if (type?.kind !== 'tensor' || !existsSync(path)) return undefined;
    const { dataType, rawData, dims } = onnx.TensorProto.decode(readFileSync(path));
    const [dtype, array] = ARRAYS[dataType ?? 0] ?? [];
    if (dtype === undefined || array === undefined || !rawData) return undefined;
    const data = new array(Uint8Array.from(rawData).buffer);
    feeds[name] = new ort.Tensor(dtype as 'float32', data as Float32Array, (dims ?? []).map(Number));
  }
  return feeds;
}
