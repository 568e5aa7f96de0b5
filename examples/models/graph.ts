import onnxProto from 'onnx-proto';
import { streamOf } from '../../src/random/index.js';

const { ModelProto, TensorProto, AttributeProto } = onnxProto.onnx;
const { AttributeType } = AttributeProto;
const { DataType } = TensorProto;

const OPSET = 17;
const IR_VERSION = 8;

export type Dim = number | string;
const ELEM_TYPES = { float32: DataType.FLOAT, int64: DataType.INT64, string: DataType.STRING } as const;

export type Dtype = keyof typeof ELEM_TYPES;
type Attribute = number | number[] | { readonly float: number } | IntegerTensor;

/** IntegerTensor is an int64 tensor in an attribute: a scalar without dimensions, else a list. */
interface IntegerTensor {
  readonly integers: readonly number[];
  readonly dims: readonly number[];
}

/** Draw says how a weight's values are drawn: uniformly from [centre − reach, centre + reach). */
export interface Draw {
  readonly centre?: number;
  readonly reach: number;
}

export interface NodeOptions {
  readonly name: string;
  readonly attributes?: Readonly<Record<string, Attribute>>;
  /** The name of the node's one output: `<name>_out` by default. */
  readonly output?: string | undefined;
}

/**
 * GraphBuilder writes an ONNX graph node by node. Operators take their inputs' names and return their
 * output's name. Each weight has its own random stream, named after the tensor, so that changing one leaves
 * the others as they are.
 */
export class GraphBuilder {
  private readonly nodes: onnxProto.onnx.INodeProto[] = [];
  private readonly initializers: onnxProto.onnx.ITensorProto[] = [];
  private readonly inputs: onnxProto.onnx.IValueInfoProto[] = [];
  private readonly outputs: onnxProto.onnx.IValueInfoProto[] = [];

  constructor(
    readonly name: string,
    readonly seed: number,
  ) {}

  input(name: string, dtype: Dtype, dims: readonly Dim[]): string {
    this.inputs.push(valueInfo(name, dtype, dims));
    return name;
  }

  output(name: string, dims: readonly Dim[], dtype: Dtype = 'float32'): void {
    this.outputs.push(valueInfo(name, dtype, dims));
  }

  /** weight adds a float32 initializer with seeded values. */
  weight(name: string, dims: readonly number[], { centre = 0, reach }: Draw): string {
    const values = new Float32Array(dims.reduce((product, dim) => product * dim, 1));
    const { uniform } = streamOf(this.seed, `${this.name}/${name}`);
    for (let i = 0; i < values.length; i++) values[i] = centre + reach * (2 * uniform() - 1);
    return this.initializer(name, DataType.FLOAT, dims, values);
  }

  floats(name: string, dims: readonly number[], values: readonly number[]): string {
    return this.initializer(name, DataType.FLOAT, dims, Float32Array.from(values));
  }

  integers(name: string, dims: readonly number[], values: readonly number[]): string {
    return this.initializer(name, DataType.INT64, dims, BigInt64Array.from(values, BigInt));
  }

  /** node adds a node, and returns the name of its output. */
  node(op: string, inputs: readonly string[], options: NodeOptions): string {
    const { name, attributes = {}, output = `${name}_out` } = options;
    this.add(op, inputs, { name, attributes, outputs: [output] });
    return output;
  }

  /** split adds a Split along the last axis into parts of these sizes, and returns the names of its outputs. */
  split(x: string, { name, sizes }: { readonly name: string; readonly sizes: readonly number[] }): string[] {
    const lengths = this.integers(`${name}.sizes`, [sizes.length], sizes);
    const outputs = sizes.map((_, part) => `${name}_out${part}`);
    this.add('Split', [x, lengths], { name, attributes: { axis: -1 }, outputs });
    return outputs;
  }

  private add(
    op: string,
    inputs: readonly string[],
    {
      name,
      attributes,
      outputs,
    }: { name: string; attributes: Readonly<Record<string, Attribute>>; outputs: readonly string[] },
  ): void {
    this.nodes.push({
      name,
      opType: op,
      input: [...inputs],
      output: [...outputs],
      attribute: Object.entries(attributes).map(([key, value]) => attributeProto(key, value)),
    });
  }

  /** bytes encodes the model as a file. */
  bytes(): Uint8Array {
    const graph = {
      name: this.name,
      node: this.nodes,
      initializer: this.initializers,
      input: this.inputs,
      output: this.outputs,
    };
    return ModelProto.encode({
      irVersion: IR_VERSION,
      producerName: 'inferplan example models',
      opsetImport: [{ domain: '', version: OPSET }],
      graph,
    }).finish();
  }

  private initializer(
    name: string,
    dataType: onnxProto.onnx.TensorProto.DataType,
    dims: readonly number[],
    values: Float32Array | BigInt64Array,
  ): string {
    const rawData = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
    this.initializers.push({ name, dataType, dims: [...dims], rawData });
    return name;
  }
}

function valueInfo(name: string, dtype: Dtype, dims: readonly Dim[]): onnxProto.onnx.IValueInfoProto {
  const elemType = ELEM_TYPES[dtype];
  const dim = dims.map((value) => (typeof value === 'number' ? { dimValue: value } : { dimParam: value }));
  return { name, type: { tensorType: { elemType, shape: { dim } } } };
}

function attributeProto(name: string, value: Attribute): onnxProto.onnx.IAttributeProto {
  if (typeof value === 'number') return { name, type: AttributeType.INT, i: value };
  if (Array.isArray(value)) return { name, type: AttributeType.INTS, ints: value };
  if ('integers' in value) {
    const values = BigInt64Array.from(value.integers, BigInt);
    const rawData = new Uint8Array(values.buffer);
    const t = { name: '', dataType: DataType.INT64, dims: [...value.dims], rawData };
    return { name, type: AttributeType.TENSOR, t };
  }
  return { name, type: AttributeType.FLOAT, f: value.float };
}
