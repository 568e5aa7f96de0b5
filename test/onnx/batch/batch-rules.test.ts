import * as ort from 'onnxruntime-node';
import { describe, expect, it } from 'vitest';
import { batchDim, freeDims, makeBatchSymbolic, type OnnxModel, readModel } from '../../../src/onnx/index.js';
import { noise } from '../noise.js';
import { relativeError, run, type Tensors } from '../runtime.js';
import { rowOf, stacked } from '../stacking.js';
import * as w from '../writer.js';

interface Parts {
  readonly dims: readonly number[];
  readonly nodes: readonly Uint8Array[];
  readonly initializers?: readonly Uint8Array[];
  readonly opset?: number;
  readonly irVersion?: number;
}

function fixed({ dims, nodes, initializers, opset = 17, irVersion = 8 }: Parts): OnnxModel {
  const graph = w.graph({
    nodes,
    inputs: [w.value('x', w.FLOAT, dims)],
    outputs: [w.message([1, 'y'])],
    initializers: initializers ?? [],
  });
  return readModel(w.model(graph, { opsets: { '': opset }, irVersion }));
}

const ints = w.attribute.ints;
const axis = (value: number) => ({ attributes: [w.attribute.int('axis', value)] });
const reshapeTo = (...shape: number[]): Omit<Parts, 'dims'> => ({
  nodes: [w.node('Reshape', ['x', 's'], ['y'])],
  initializers: [w.int64s('s', [shape.length], shape)],
});

/** APART holds graphs whose rows stay apart; each is run at batch 1, 2 and 3. */
const APART: [what: string, parts: Parts, change?: string][] = [
  ['a constant first axis', { dims: [1, 2, 6], ...reshapeTo(1, 3, 4) }, '[1, 3, 4] is [0, 3, 4]'],
  ['a −1 behind a constant first axis', { dims: [1, 2, 6], ...reshapeTo(1, -1) }, '[1, -1] is [0, -1]'],
  ['a first axis of −1 that is the batch', { dims: [1, 2, 6], ...reshapeTo(-1, 12) }],
  ['a first axis of 0', { dims: [1, 2, 6], ...reshapeTo(0, 12) }],
  [
    'a constant first axis where 0 means none',
    {
      dims: [1, 2, 6],
      nodes: [w.node('Reshape', ['x', 's'], ['y'], { attributes: [w.attribute.int('allowzero', 1)] })],
      initializers: [w.int64s('s', [2], [1, -1])],
    },
    '[1, -1] is [-1, 12]',
  ],
  [
    'rows merged for a product and taken apart again',
    {
      dims: [1, 3, 4],
      nodes: [
        w.node('Reshape', ['x', 's'], ['rows']),
        w.node('Gemm', ['rows', 'k'], ['p']),
        w.node('Reshape', ['p', 't'], ['y']),
      ],
      initializers: [
        w.int64s('s', [2], [3, 4]),
        w.floats('k', [4, 2], [1, 2, 3, 4, 5, 6, 7, 8]),
        w.int64s('t', [3], [1, 3, 2]),
      ],
    },
    '[1, 3, 2] is [-1, 3, 2]',
  ],
  [
    'one constant that two Reshapes need to change differently, in a file of IR version 3',
    {
      dims: [1, 4],
      irVersion: 3,
      opset: 9,
      nodes: [
        w.node('Reshape', ['x', 's'], ['a']),
        w.node('Reshape', ['k', 's'], ['b']),
        w.node('Mul', ['a', 'b'], ['y']),
      ],
      initializers: [w.int64s('s', [3], [1, 2, 2]), w.floats('k', [4], [1, 2, 3, 4])],
    },
    '[1, 2, 2] is [0, 2, 2]',
  ],
  [
    'a shape computed from the input’s',
    {
      dims: [1, 2, 6],
      nodes: [
        w.node('Shape', ['x'], ['sh']),
        w.node('Gather', ['sh', 'zero'], ['n']),
        w.node('Concat', ['n', 'rest'], ['t'], axis(0)),
        w.node('Reshape', ['x', 't'], ['y']),
      ],
      initializers: [w.int64s('zero', [1], [0]), w.int64s('rest', [2], [4, 3])],
    },
  ],
  [
    'a batch moved to another axis and back',
    {
      dims: [1, 3, 4],
      nodes: [
        w.node('Transpose', ['x'], ['t'], { attributes: [ints('perm', [1, 0, 2])] }),
        w.node('ReduceMean', ['t'], ['m'], { attributes: [ints('axes', [2])] }),
        w.node('Add', ['t', 'm'], ['s']),
        w.node('Softmax', ['s'], ['p'], axis(0)),
        w.node('Transpose', ['p'], ['y'], { attributes: [ints('perm', [1, 2, 0])] }),
      ],
    },
  ],
  [
    'two batched factors',
    {
      dims: [1, 3, 4],
      nodes: [
        w.node('Transpose', ['x'], ['t'], { attributes: [ints('perm', [0, 2, 1])] }),
        w.node('MatMul', ['x', 't'], ['y']),
      ],
    },
  ],
  [
    'Squeeze before and Unsqueeze after',
    {
      dims: [1, 1, 4],
      nodes: [
        w.node('Squeeze', ['x', 'one'], ['a']),
        w.node('Neg', ['a'], ['b']),
        w.node('Unsqueeze', ['b', 'one'], ['y']),
      ],
      initializers: [w.int64s('one', [1], [1])],
    },
  ],
  [
    'TopK, CumSum and Tile along other axes',
    {
      dims: [1, 2, 4],
      nodes: [
        w.node('TopK', ['x', 'three'], ['k', 'places']),
        w.node('CumSum', ['k', 'last'], ['c']),
        w.node('Tile', ['c', 'often'], ['y']),
      ],
      initializers: [
        w.int64s('three', [1], [3]),
        w.int64s('last', [], [-1]),
        w.int64s('often', [3], [1, 2, 1]),
      ],
    },
  ],
  [
    'what is broadcast to the rows',
    {
      dims: [1, 3, 4],
      nodes: [w.node('Mul', ['x', 'k'], ['y'])],
      initializers: [w.floats('k', [3, 1], [1, 2, 3])],
    },
  ],
];

/** TOGETHER holds graphs in which rows meet or may meet, each with the reason that is given. */
const TOGETHER: [what: string, parts: Parts, why: RegExp][] = [
  [
    'all axes joined into one that is not the batch',
    { dims: [1, 12], ...reshapeTo(12) },
    /output "y" has 12 entries on axis 0 for each request/,
  ],
  [
    'Reshape of a batch that is not first',
    {
      dims: [1, 3, 4],
      nodes: [w.node('Transpose', ['x'], ['t']), w.node('Reshape', ['t', 's'], ['y'])],
      initializers: [w.int64s('s', [2], [1, 12])],
    },
    /Reshape "Reshape_1" on "t" \(batch on axis 2\): the batch is on axis 2 of its input, so rows come apart/,
  ],
  [
    'Softmax over the batch',
    { dims: [1, 4], nodes: [w.node('Softmax', ['x'], ['y'], axis(0))] },
    /normalizes over the batch/,
  ],
  [
    'Softmax of everything, before set 13',
    { dims: [1, 4], opset: 11, nodes: [w.node('Softmax', ['x'], ['y'], axis(0))] },
    /normalizes over the batch/,
  ],
  [
    'a mean over the batch',
    { dims: [1, 4], nodes: [w.node('ReduceMean', ['x'], ['y'], { attributes: [ints('axes', [-2])] })] },
    /reduces over axis 0, the batch/,
  ],
  [
    'a mean over everything',
    { dims: [1, 4], nodes: [w.node('ReduceMean', ['x'], ['y'])] },
    /every axis, the batch too/,
  ],
  [
    'Concat along the batch',
    { dims: [1, 4], nodes: [w.node('Concat', ['x', 'x'], ['y'], axis(0))] },
    /joins along axis 0, the batch/,
  ],
  [
    'Concat with a constant row',
    {
      dims: [1, 4],
      nodes: [w.node('Concat', ['x', 'k'], ['y'], axis(1))],
      initializers: [w.floats('k', [1, 1], [1])],
    },
    /one of its inputs lacks the batch/,
  ],
  [
    'Squeeze of every axis',
    { dims: [1, 4], nodes: [w.node('Squeeze', ['x'], ['y'])] },
    /drops every axis of size 1, the batch too/,
  ],
  [
    'Tile of the batch',
    { dims: [1, 4], nodes: [w.node('Tile', ['x', 't'], ['y'])], initializers: [w.int64s('t', [2], [2, 1])] },
    /repeats axis 0, the batch/,
  ],
  [
    'CumSum over the batch',
    { dims: [1, 4], nodes: [w.node('CumSum', ['x', 'z'], ['y'])], initializers: [w.int64s('z', [], [0])] },
    /works along axis 0, the batch/,
  ],
  [
    'a slice of the batch',
    {
      dims: [1, 4],
      nodes: [w.node('Slice', ['x', 'z', 'o'], ['y'])],
      initializers: [w.int64s('z', [1], [0]), w.int64s('o', [1], [1])],
    },
    /takes part of axis 0, the batch/,
  ],
  [
    'Gather from the batch',
    { dims: [1, 4], nodes: [w.node('Gather', ['x', 'z'], ['y'])], initializers: [w.int64s('z', [], [0])] },
    /picks from axis 0, the batch/,
  ],
  [
    'a table with a row for each of two requests',
    {
      dims: [2, 4],
      nodes: [w.node('Add', ['x', 'k'], ['y'])],
      initializers: [w.floats('k', [2, 4], [1, 2, 3, 4, 5, 6, 7, 8])],
    },
    /an input without the batch has 2 entries on the batch's axis/,
  ],
  [
    'positions added to merged rows',
    {
      dims: [1, 3, 4],
      nodes: [w.node('Reshape', ['x', 's'], ['r']), w.node('Add', ['r', 'k'], ['y'])],
      initializers: [w.int64s('s', [2], [3, 4]), w.floats('k', [3, 1], [1, 2, 3])],
    },
    /an input without the batch has 3 entries on the batch's axis/,
  ],
  [
    'one scale for the whole batch',
    { dims: [1, 4], nodes: [w.node('DynamicQuantizeLinear', ['x'], ['y', 'q', 'z'])] },
    /DynamicQuantizeLinear "DynamicQuantizeLinear_0" on "x" \(batch on axis 0\): it takes its scale from all rows/,
  ],
  [
    'indices that count through the batch',
    {
      dims: [1, 1, 4, 4],
      nodes: [w.node('MaxPool', ['x'], ['p', 'y'], { attributes: [ints('kernel_shape', [2, 2])] })],
    },
    /indices count through the whole batch/,
  ],
  [
    'target sizes that no scale gives',
    {
      dims: [1, 1, 2, 11],
      nodes: [w.node('Resize', ['x', '', '', 's'], ['y'])],
      initializers: [w.int64s('s', [4], [1, 1, 4, 13])],
    },
    /target sizes have the batch in them/,
  ],
  [
    'target sizes for twice the batch',
    {
      dims: [1, 1, 2, 2],
      nodes: [w.node('Resize', ['x', '', '', 's'], ['y'])],
      initializers: [w.int64s('s', [4], [2, 1, 4, 4])],
    },
    /target sizes have the batch in them/,
  ],
  [
    'target sizes that are computed as twice the batch',
    {
      dims: [1, 1, 2, 2],
      nodes: [
        w.node('Shape', ['x'], ['sh']),
        w.node('Mul', ['sh', 'two'], ['s']),
        w.node('Resize', ['x', '', '', 's'], ['y']),
      ],
      initializers: [w.int64s('two', [4], [2, 1, 2, 2])],
    },
    /target sizes have the batch in them/,
  ],
  [
    'target sizes that keep their ratio',
    {
      dims: [1, 1, 2, 2],
      opset: 18,
      nodes: [
        w.node('Resize', ['x', '', '', 's'], ['y'], {
          attributes: [w.message([1, 'keep_aspect_ratio_policy'], [4, 'not_larger'], [20, 3])],
        }),
      ],
      initializers: [w.int64s('s', [4], [1, 1, 4, 4])],
    },
    /it keeps the ratio of its sizes/,
  ],
  [
    'a convolution over the batch as its channels',
    {
      dims: [1, 2, 4, 4],
      nodes: [
        w.node('Transpose', ['x'], ['t'], { attributes: [ints('perm', [1, 0, 2, 3])] }),
        w.node('Conv', ['t', 'k'], ['y']),
      ],
      initializers: [w.floats('k', [1, 1, 1, 1], [2])],
    },
    /the batch is not on axis 0 of its input/,
  ],
  [
    'an initial state that is zero in part',
    {
      dims: [1, 1, 2],
      nodes: [
        w.node('Concat', ['z', 'h'], ['s0'], axis(2)),
        w.node('Transpose', ['x'], ['t'], { attributes: [ints('perm', [1, 0, 2])] }),
        w.node('RNN', ['t', 'k', 'r', '', '', 's0'], ['s'], {
          attributes: [w.attribute.int('hidden_size', 2)],
        }),
        w.node('Transpose', ['s'], ['y'], { attributes: [ints('perm', [2, 0, 1, 3])] }),
      ],
      initializers: [
        w.floats('k', [1, 2, 2], [1, 2, 3, 4]),
        w.floats('r', [1, 2, 2], [0.5, 0, 0, 0.5]),
        w.floats('z', [1, 1, 1], [0]),
        w.floats('h', [1, 1, 1], [0.25]),
      ],
    },
    /its initial state lacks the batch/,
  ],
  [
    'an initial state that is not zero',
    {
      dims: [1, 1, 2],
      nodes: [
        w.node('Transpose', ['x'], ['t'], { attributes: [ints('perm', [1, 0, 2])] }),
        w.node('RNN', ['t', 'k', 'r', '', '', 'h'], ['s'], {
          attributes: [w.attribute.int('hidden_size', 1)],
        }),
        w.node('Transpose', ['s'], ['y'], { attributes: [ints('perm', [2, 0, 1, 3])] }),
      ],
      initializers: [
        w.floats('k', [1, 1, 2], [1, 2]),
        w.floats('r', [1, 1, 1], [0.5]),
        w.floats('h', [1, 1, 1], [0.25]),
      ],
    },
    /its initial state lacks the batch/,
  ],
  [
    'a 0 that copies the batch to another axis',
    {
      dims: [1, 2, 6],
      nodes: [
        w.node('Transpose', ['x'], ['t'], { attributes: [ints('perm', [1, 0, 2])] }),
        w.node('Shape', ['t'], ['sh']),
        w.node('Gather', ['sh', 'one'], ['n']),
        w.node('Concat', ['n', 'rest'], ['s'], axis(0)),
        w.node('Reshape', ['t', 's'], ['y']),
      ],
      initializers: [w.int64s('one', [1], [1]), w.int64s('rest', [2], [0, 12])],
    },
    /it copies the batch to a second axis/,
  ],
  [
    'an output that does not depend on the batch',
    {
      dims: [1, 4],
      nodes: [w.node('Neg', ['k'], ['y'])],
      initializers: [w.floats('k', [1, 4], [1, 2, 3, 4])],
    },
    /output "y" has no batch axis/,
  ],
  [
    'a computation with the batch’s size',
    { dims: [1, 4], nodes: [w.node('Shape', ['x'], ['s']), w.node('Add', ['s', 's'], ['y'])] },
    /it computes with the size of the batch/,
  ],
];

function row(dims: readonly number[], seed: number): Tensors {
  const next = noise(seed * 613 + 1);
  const size = dims.reduce((product, dim) => product * dim, 1);
  return {
    x: new ort.Tensor(
      'float32',
      Float32Array.from({ length: size }, () => next() * 2 - 1),
      dims,
    ),
  };
}

describe('makeBatchSymbolic()', () => {
  it.each(APART)('keeps rows apart through %s', async (_, parts, change) => {
    const model = fixed(parts);
    const made = makeBatchSymbolic(model);
    if (!made.ok) throw new Error(made.missing);
    expect(
      made.changes
        .slice(1)
        .map((line) => line.replace(/^.*?: /, ''))
        .at(-1),
    ).toBe(change);
    const batched = readModel(made.bytes);
    expect(freeDims(batched)).toEqual(['batch']);
    const rows = [1, 2, 3].map((seed) => row(parts.dims, seed));
    for (const size of [1, 2, 3]) {
      const together = await run(made.bytes, stacked(rows.slice(0, size), [{ name: 'x', axis: 0 }]), {
        level: 'all',
      });
      for (let i = 0; i < size; i++) {
        const alone = await run(model.bytes, rows[i]!, { level: 'all' });
        expect(relativeError(rowOf(together.y!, 0, i), alone.y!)).toBeLessThan(1e-5);
      }
    }
  });

  it.each(TOGETHER)('refuses %s', (_, parts, why) => {
    const made = makeBatchSymbolic(fixed(parts));
    expect(made.ok ? made.changes : made.missing).toMatch(why);
  });

  it('takes from measured shapes what the file leaves open', () => {
    const model = fixed({
      dims: [1, 1, 4, 4],
      nodes: [
        w.node('MaxPool', ['x'], ['p'], {
          attributes: [ints('kernel_shape', [2, 2]), w.attribute.text('auto_pad', 'VALID')],
        }),
        w.node('Reshape', ['p', 's'], ['y']),
      ],
      initializers: [w.int64s('s', [2], [-1, 9])],
    });
    expect(makeBatchSymbolic(model)).toEqual({
      ok: false,
      lacksShapes: true,
      missing:
        'Reshape "Reshape_1" on "p" (batch on axis 0): the shape of its input is not known, so the number of its rows per request is not known either',
    });
    const shapes = { p: [1, 1, 3, 3] };
    expect(makeBatchSymbolic(model, { shapes })).toMatchObject({ ok: true, shapes });
  });

  it('lets scales be taken from all rows where rows may influence one another', () => {
    const nodes = [
      w.node('DynamicQuantizeLinear', ['x'], ['q', 'scale', 'zero']),
      w.node('DequantizeLinear', ['q', 'scale', 'zero'], ['y']),
    ];
    const model = fixed({ dims: [1, 4], nodes });
    expect(makeBatchSymbolic(model)).toMatchObject({ ok: false, mixesSlightly: true });
    expect(makeBatchSymbolic(model, { mixing: true })).toMatchObject({ ok: true });
  });
});

describe('batchDim()', () => {
  const of = (...inputs: [string, (number | string)[]][]) =>
    batchDim(
      readModel(
        w.model(
          w.graph({
            nodes: [
              w.node(
                'Sum',
                inputs.map(([name]) => name),
                ['y'],
              ),
            ],
            inputs: inputs.map(([name, dims]) => w.value(name, w.FLOAT, dims)),
            outputs: [w.value('y', w.FLOAT, ['N'])],
          }),
        ),
      ),
    );

  it('finds the symbol of the first input’s first axis on any axis of the others', () => {
    expect(of(['a', ['N', 4]], ['past', [2, 'N', 4]], ['rate', []])).toEqual({
      kind: 'symbolic',
      name: 'N',
      inputs: [
        { name: 'a', axis: 0 },
        { name: 'past', axis: 1 },
        { name: 'rate', axis: undefined },
      ],
      outputs: [{ name: 'y', axis: 0 }],
    });
  });

  it('says why the batch is ambiguous', () => {
    expect(of(['a', ['N', 4]], ['b', ['M', 4]])).toEqual({
      kind: 'none',
      why: 'input b has open axes, none of them N',
    });
    expect(of(['a', ['N', 'N']])).toEqual({ kind: 'none', why: 'input a has N on 2 axes' });
    expect(of(['a', [1, 4]], ['b', [2, 4]])).toEqual({
      kind: 'none',
      why: 'inputs differ at axis 0: 1 and, in b, 2',
    });
    expect(of(['a', [-1, 4]], ['b', [-1, 4]])).toMatchObject({
      kind: 'none',
      why: /a, b have open axes without names/,
    });
    expect(of(['a', [-1, 4]])).toMatchObject({ kind: 'symbolic', name: 'a.0' });
    expect(of(['a', []])).toEqual({ kind: 'none', why: 'no input has any axis' });
  });
});
