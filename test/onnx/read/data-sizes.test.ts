import { describe, expect, it } from 'vitest';
import { dataSizedTensors, readModel } from '../../../src/onnx/index.js';
import * as w from '../writer.js';

/** sized gives the data-sized tensors of a graph of x[1, 4] and n[1]. */
function sized(
  nodes: readonly Uint8Array[],
  {
    constants = [],
    settled = [],
    opsets = { '': 17 },
  }: {
    constants?: readonly Uint8Array[];
    settled?: readonly string[];
    opsets?: Record<string, number>;
  } = {},
): string[] {
  const graph = w.graph({
    nodes,
    initializers: constants,
    inputs: [w.value('x', w.FLOAT, [1, 4]), w.value('n', w.INT64, [1])],
    outputs: [w.message([1, 'y'])],
  });
  return [...dataSizedTensors(readModel(w.model(graph, { opsets })), new Set(settled))];
}

const two = [w.int64s('two', [1], [2])];

describe('dataSizedTensors()', () => {
  it('finds what NonZero and its like give, and all that is made of it', () => {
    const nodes = [
      w.node('Neg', ['x'], ['a']),
      w.node('NonZero', ['a'], ['places']),
      w.node('Transpose', ['places'], ['y']),
    ];
    expect(sized(nodes)).toEqual(['places', 'y']);
  });

  it('takes operators and tensors with names that every object of JavaScript has as any others', () => {
    const nodes = [
      w.node('constructor', ['x'], ['toString'], { domain: 'own' }),
      w.node('NonZero', ['toString'], ['__proto__']),
      w.node('__proto__', ['__proto__'], ['constructor'], { domain: 'own' }),
      w.node('Neg', ['x'], ['y']),
    ];
    expect(sized(nodes, { opsets: { '': 17, own: 1 } })).toEqual(['__proto__', 'constructor']);
  });

  it('leaves NonZero of constants alone', () => {
    expect(sized([w.node('NonZero', ['two'], ['y'])], { constants: two })).toEqual([]);
  });

  it('finds what is cut, stretched or filled to sizes computed of elements', () => {
    const by = (...nodes: Uint8Array[]) => sized(nodes, { constants: two });
    expect(by(w.node('Slice', ['x', 'two', 'n'], ['y']))).toEqual(['y']);
    expect(by(w.node('ConstantOfShape', ['n'], ['y']))).toEqual(['y']);
    expect(by(w.node('Add', ['n', 'two'], ['m']), w.node('TopK', ['x', 'm'], ['y', 'i']))).toEqual([
      'y',
      'i',
    ]);
    expect(by(w.node('TopK', ['x', 'two'], ['y', 'i']))).toEqual([]);
    expect(by(w.node('TopK', ['x', 'n'], ['y', 'i'])).length).toBe(2);
  });

  it('knows sizes that follow shapes alone', () => {
    const nodes = [
      w.node('Shape', ['x'], ['s']),
      w.node('Add', ['s', 'two'], ['t']),
      w.node('Expand', ['x', 't'], ['y']),
    ];
    expect(sized(nodes, { constants: two })).toEqual([]);
    const ofSized = [
      w.node('NonZero', ['x'], ['z']),
      w.node('Shape', ['z'], ['s']),
      w.node('ConstantOfShape', ['s'], ['y']),
    ];
    expect(sized(ofSized)).toEqual(['z', 's', 'y']);
  });

  it('takes inputs that always hold the same for constants', () => {
    const nodes = [w.node('Slice', ['x', 'two', 'n'], ['y'])];
    expect(sized(nodes, { constants: two, settled: ['n'] })).toEqual([]);
  });

  it('looks into branches and loops', () => {
    const branch = (op: string) =>
      w.attribute.graph(
        `${op}_branch`,
        w.graph({ nodes: [w.node('NonZero', ['x'], ['o'])], outputs: [w.message([1, 'o'])] }),
      );
    const taken = w.node('If', ['always'], ['y'], { attributes: [branch('then'), branch('else')] });
    const always = w.message([2, w.BOOL], [8, 'always'], [9, Uint8Array.of(1)]);
    expect(sized([taken], { constants: [always] })).toEqual(['y']);
  });
});
