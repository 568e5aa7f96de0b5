import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import onnxProto from 'onnx-proto';

const { onnx } = onnxProto;

const ELEM_TYPES: Readonly<Record<string, number>> = {
  float32: 1,
  uint8: 2,
  int8: 3,
  uint16: 4,
  int16: 5,
  int32: 6,
  int64: 7,
  string: 8,
  bool: 9,
  float16: 10,
  float64: 11,
  uint32: 12,
  uint64: 13,
};

export interface TinyNode {
  op: string;
  inputs: string[];
  outputs: string[];
  attributes?: onnxProto.onnx.IAttributeProto[];
}

export interface TinyModel {
  nodes: TinyNode[];
  inputs: Record<string, [dtype: string, dims: (number | string)[]]>;
  outputs: Record<string, [dtype: string, dims: (number | string)[]] | onnxProto.onnx.ITypeProto>;
  initializers?: Record<string, { dims: number[]; values: number[] }>;
}

/** tinyModel writes a model of a few nodes as bytes. */
export function tinyModel({ nodes, inputs, outputs, initializers = {} }: TinyModel): Uint8Array {
  const graph = {
    name: 'tiny',
    node: nodes.map(({ op, inputs, outputs, attributes = [] }, i) => ({
      name: `node${i}`,
      opType: op,
      input: inputs,
      output: outputs,
      attribute: attributes,
    })),
    input: Object.entries(inputs).map(([name, [dtype, dims]]) => ({ name, type: tensorType(dtype, dims) })),
    output: Object.entries(outputs).map(([name, type]) => ({
      name,
      type: Array.isArray(type) ? tensorType(...type) : type,
    })),
    initializer: Object.entries(initializers).map(([name, { dims, values }]) => ({
      name,
      dims,
      dataType: 1,
      floatData: values,
    })),
  };
  const model = { irVersion: 8, opsetImport: [{ domain: '', version: 17 }], graph };
  return onnx.ModelProto.encode(onnx.ModelProto.create(model)).finish();
}

export function tensorType(dtype: string, dims: (number | string)[]): onnxProto.onnx.ITypeProto {
  const dim = dims.map((d) => (typeof d === 'number' ? { dimValue: d } : { dimParam: d }));
  return { tensorType: { elemType: ELEM_TYPES[dtype]!, shape: { dim } } };
}

/** unary writes a model y = op(x), with both of one dtype and shape. */
export function unary(op: string, dtype: string, dims: (number | string)[]): Uint8Array {
  return tinyModel({
    nodes: [{ op, inputs: ['x'], outputs: ['y'] }],
    inputs: { x: [dtype, dims] },
    outputs: { y: [dtype, dims] },
  });
}

/** matmulChain writes a chain of matrix products: it has many nodes, and enough work to be timed. */
export function matmulChain(length: number, width: number): Uint8Array {
  const values = Array.from({ length: width * width }, (_, i) => Math.sin(i) / Math.sqrt(width));
  const nodes = Array.from({ length }, (_, i) => ({
    op: 'MatMul',
    inputs: [i === 0 ? 'x' : `t${i}`, 'w'],
    outputs: [i === length - 1 ? 'y' : `t${i + 1}`],
  }));
  return tinyModel({
    nodes,
    inputs: { x: ['float32', ['batch', width]] },
    outputs: { y: ['float32', ['batch', width]] },
    initializers: { w: { dims: [width, width], values } },
  });
}

/** modelFolder makes a folder for a test file's models, and removes it. */
export function modelFolder(): { write(name: string, bytes: Uint8Array): string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'inferplan-execution-'));
  return {
    write(name, bytes) {
      const path = join(folder, name);
      writeFileSync(path, bytes);
      return path;
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
