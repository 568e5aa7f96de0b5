import onnxProto from 'onnx-proto';

const { ModelProto, TensorProto, AttributeProto } = onnxProto.onnx;
const { DataType } = TensorProto;
const { AttributeType } = AttributeProto;

/** EXTERNAL_FILE holds the external data of one of the models. */
export const EXTERNAL_FILE = 'weights.bin';

/** externalData gives the bytes of EXTERNAL_FILE. */
export function externalData(): Buffer {
  return floatBytes(Array.from({ length: 24 }, (_, i) => i));
}

/** baseModels gives valid, encoded models with the features that ONNX files may have, by name. */
export function baseModels(): ReadonlyMap<string, Buffer> {
  return new Map([
    ['chain', encode(chain())],
    ['choosing', encode(choosing())],
    ['external', encode(external())],
    ['functions', encode(functions())],
  ]);
}

type Model = onnxProto.onnx.IModelProto;
type Graph = onnxProto.onnx.IGraphProto;
type Node = onnxProto.onnx.INodeProto;

function encode(model: Model): Buffer {
  return Buffer.from(ModelProto.encode(ModelProto.fromObject(model)).finish());
}

function modelOf(graph: Graph, more: Model = {}): Model {
  return {
    irVersion: 8,
    producerName: 'fuzz',
    opsetImport: [{ domain: '', version: 17 }],
    graph: { name: 'g', ...graph },
    ...more,
  };
}

function node(opType: string, input: string[], output: string[], attribute: Node['attribute'] = []): Node {
  return { opType, name: `${opType}_${output[0]}`, input, output, attribute };
}

function value(
  name: string,
  dims: readonly (number | string)[],
  elemType = DataType.FLOAT,
): onnxProto.onnx.IValueInfoProto {
  const dim = dims.map((size) => (typeof size === 'number' ? { dimValue: size } : { dimParam: size }));
  return { name, type: { tensorType: { elemType, shape: { dim } } } };
}

function floats(name: string, dims: number[]): onnxProto.onnx.ITensorProto {
  const count = dims.reduce((product, dim) => product * dim, 1);
  return {
    name,
    dims,
    dataType: DataType.FLOAT,
    rawData: floatBytes(Array.from({ length: count }, (_, i) => i / count)),
  };
}

function int64s(name: string, values: number[]): onnxProto.onnx.ITensorProto {
  return { name, dims: [values.length], dataType: DataType.INT64, int64Data: values };
}

function floatBytes(values: readonly number[]): Buffer {
  return Buffer.from(Float32Array.from(values).buffer);
}

const ints = (name: string, values: number[]) => ({ name, type: AttributeType.INTS, ints: values });

/** chain has a fixed batch, convolutions, a constant shape and declared types of inner tensors. */
function chain(): Model {
  return modelOf({
    node: [
      node('Conv', ['x', 'w'], ['conv'], [ints('pads', [1, 1, 1, 1])]),
      node('Relu', ['conv'], ['relu']),
      node(
        'Constant',
        [],
        ['shape'],
        [{ name: 'value', type: AttributeType.TENSOR, t: int64s('', [1, 36]) }],
      ),
      node('Reshape', ['relu', 'shape'], ['flat']),
      node('Transpose', ['flat'], ['turned'], [ints('perm', [1, 0])]),
      node('MatMul', ['flat', 'turned'], ['product']),
      node('Softmax', ['product'], ['y']),
    ],
    initializer: [floats('w', [4, 2, 3, 3])],
    input: [value('x', [1, 2, 3, 3])],
    output: [value('y', [1, 1])],
    valueInfo: [value('conv', [1, 4, 3, 3]), value('relu', [1, 4, 3, 3]), value('flat', [1, 36])],
  });
}

/** choosing has branches that use outer tensors, a symbolic batch, and a loop of two values. */
function choosing(): Model {
  const branch = (op: string): Graph => ({
    name: op,
    node: [node(op, ['doubled'], [`${op}_out`])],
    output: [value(`${op}_out`, ['batch', 4])],
  });
  const body: Graph = {
    name: 'body',
    node: [node('Identity', ['going'], ['goes']), node('Add', ['carried', 'doubled'], ['next'])],
    input: [
      value('i', [], DataType.INT64),
      value('going', [], DataType.BOOL),
      value('carried', ['batch', 4]),
    ],
    output: [value('goes', [], DataType.BOOL), value('next', ['batch', 4])],
  };
  const graph = (name: string, g: Graph) => ({ name, type: AttributeType.GRAPH, g });
  return modelOf({
    node: [
      node('Add', ['x', 'x'], ['doubled']),
      node(
        'If',
        ['yes'],
        ['chosen'],
        [graph('then_branch', branch('Neg')), graph('else_branch', branch('Abs'))],
      ),
      node('Loop', ['times', 'yes', 'chosen'], ['looped'], [graph('body', body)]),
      node('Shape', ['looped'], ['size']),
      node('Reshape', ['looped', 'size'], ['y']),
      node('ReduceSum', ['x'], ['sum'], [{ name: 'keepdims', type: AttributeType.INT, i: 0 }]),
    ],
    initializer: [
      { name: 'yes', dims: [], dataType: DataType.BOOL, int32Data: [1] },
      { name: 'times', dims: [], dataType: DataType.INT64, int64Data: [2] },
    ],
    input: [value('x', ['batch', 4])],
    output: [value('y', ['batch', 4]), value('sum', [])],
  });
}

/** external has external data, a sparse initializer, texts, an initializer that is an input, and quantization notes. */
function external(): Model {
  const data = [
    { key: 'location', value: EXTERNAL_FILE },
    { key: 'offset', value: '16' },
    { key: 'length', value: '64' },
  ];
  const far = {
    name: 'far',
    dims: [4, 4],
    dataType: DataType.FLOAT,
    dataLocation: TensorProto.DataLocation.EXTERNAL,
    externalData: data,
  };
  const sparse = { values: { ...floats('thin', [2]), dims: [2] }, indices: int64s('', [1, 6]), dims: [4, 4] };
  return modelOf({
    node: [
      node('MatMul', ['x', 'far'], ['a']),
      node('MatMul', ['a', 'thin'], ['b']),
      node('Add', ['b', 'bias'], ['y']),
      node('Identity', ['words'], ['said']),
    ],
    initializer: [
      far,
      floats('bias', [4]),
      {
        name: 'words',
        dims: [2],
        dataType: DataType.STRING,
        stringData: [Buffer.from('one'), Buffer.from('two')],
      },
    ],
    sparseInitializer: [sparse],
    input: [value('x', ['n', 4]), value('bias', [4])],
    output: [value('y', ['n', 4]), value('said', [2], DataType.STRING)],
    quantizationAnnotation: [
      { tensorName: 'a', quantParameterTensorNames: [{ key: 'SCALE_TENSOR', value: 'bias' }] },
    ],
  });
}

/** functions has functions of its own, one of which calls the other, and a second operator set. */
function functions(): Model {
  const opsetImport = [
    { domain: '', version: 17 },
    { domain: 'own', version: 1 },
  ];
  const twice = {
    name: 'Twice',
    domain: 'own',
    input: ['a'],
    output: ['c'],
    node: [node('Add', ['a', 'a'], ['c'])],
    opsetImport,
  };
  const four = {
    name: 'Four',
    domain: 'own',
    input: ['a'],
    output: ['d'],
    node: [
      { ...node('Twice', ['a'], ['c']), domain: 'own' },
      { ...node('Twice', ['c'], ['d']), domain: 'own' },
    ],
    opsetImport,
  };
  return modelOf(
    {
      node: [
        { ...node('Four', ['x'], ['f']), domain: 'own' },
        node('Dropout', ['f'], ['dropped', 'mask']),
        node('Split', ['dropped'], ['y', 'z'], [{ name: 'axis', type: AttributeType.INT, i: 1 }]),
      ],
      input: [value('x', ['batch', 'wide'])],
      output: [value('y', ['batch', 'half']), value('z', ['batch', 'half'])],
    },
    { opsetImport, functions: [twice, four], metadataProps: [{ key: 'who', value: 'fuzz' }] },
  );
}
